// SPDX-License-Identifier: ISC
/* A field for a host that takes only ASCII in headers (header/field.h). */
#include "header/field.h"
#include "header/internal.h"
#include "header/name.h"
#include "mail/unicode.h"

static bool is_domain_byte(char c)
{
	return (unsigned char)c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
	       (c >= 'a' && c <= 'z') || c == '-' || c == '.' || c == '_';
}

/* Domains after '@' as A-labels. */
static void encode_domains(struct str text, struct buffer *out)
{
	size_t i = 0;

	while (i < text.length) {
		size_t end = ++i;
		struct str domain;

		buffer_append_byte(out, text.data[i - 1]);
		if (text.data[i - 1] != '@')
			continue;
		while (end < text.length && is_domain_byte(text.data[end]))
			end++;
		domain = str_slice(text.data + i, end - i);
		if (!header_name_is_8bit(domain) || mail_unicode_domain(domain, out) < 0)
			buffer_append_str(out, domain);
		i = end;
	}
}

/* In a form that atoms may have: what is the same stays the same. */
static void escape_bytes(struct str text, struct buffer *out)
{
	for (size_t i = 0; i < text.length; i++) {
		if ((unsigned char)text.data[i] >= 0x80)
			buffer_append_format(out, "=%02X", (unsigned char)text.data[i]);
		else
			buffer_append_byte(out, text.data[i]);
	}
}

bool header_field_to_ascii(const struct header_field *field, struct buffer *out)
{
	struct buffer encoded CLEANUP(buffer_clear) = {0};
	size_t before = out->length;

	if (str_equal_nocase(field->name, STR("delivered-to"))) { /* as we know it again */
		buffer_append(out, field->whole.data,
			      (size_t)(field->body.data - field->whole.data));
		mail_unicode_address(field->body, out);
		buffer_append(out, "\r\n", 2);
		return true;
	}
	header_field_encode(field, &encoded);
	if (!header_field_has_addresses(field->name)) {
		escape_bytes(buffer_view(&encoded), out);
		return true;
	}
	encode_domains(buffer_view(&encoded), out);
	return !header_name_is_8bit(str_skip(buffer_view(out), before));
}
