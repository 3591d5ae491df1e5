// SPDX-License-Identifier: ISC
#include "mail/localpart.h"
#include "base/text/quote.h"
#include "mail/unicode.h"
#include <errno.h>
#include <string.h>

enum { COMPONENT_MAX = 255 }; /* NAME_MAX of Linux file systems */

struct mail_parts mail_parts_of(struct str address)
{
	ptrdiff_t at = str_find_last(address, '@');

	if (at < 0)
		return (struct mail_parts){address, str_slice("", 0)};
	return (struct mail_parts){str_slice(address.data, (size_t)at),
				   str_skip(address, (size_t)at + 1)};
}

/* Copies what is within the quotes of LOCAL. *ESCAPED_OUT: how many '+' are before the first that
 * is not escaped. */
static int copy_unquoted_local_part(struct str local, struct mail_localpart *out,
				    size_t *escaped_out)
{
	bool has_tag = false;
	size_t i = 1;

	for (; i < local.length && local.data[i] != '"'; i++) {
		bool is_escaped = local.data[i] == '\\';

		if (is_escaped && ++i == local.length)
			return -EINVAL;
		has_tag |= local.data[i] == '+' && !is_escaped;
		*escaped_out += local.data[i] == '+' && !has_tag;
		out->text[out->length++] = local.data[i];
	}
	return i + 1 == local.length ? 0 : -EINVAL;
}

/* Lower case and NFC, so that all spellings are one mailbox. What cannot be converted, such as
 * bytes that are not UTF-8, stays unchanged. */
static int fold_local_part(struct mail_localpart *local)
{
	struct buffer form = {0};
	bool fits = true;
	bool is_ascii = true;

	str_lower(local->text, local->length);
	for (size_t i = 0; i < local->length; i++)
		is_ascii = is_ascii && (unsigned char)local->text[i] < 0x80;
	if (!is_ascii && mail_unicode_local(mail_localpart_whole(local), &form) == 0) {
		fits = form.length < sizeof local->text;
		if (fits) {
			memcpy(local->text, buffer_data(&form), form.length);
			local->length = form.length;
		}
	}
	buffer_clear(&form);
	return fits ? 0 : -EINVAL;
}

/* Up to the first '+' after so many that are ESCAPED. */
static size_t find_user_of_local_part(struct str text, size_t escaped)
{
	for (size_t i = 0; i < text.length; i++) {
		if (text.data[i] != '+')
			continue;
		if (escaped == 0)
			return i > 0 ? i : text.length;
		escaped--;
	}
	return text.length;
}

/* LOCAL in its case. */
static int parse_written(struct str local, struct mail_localpart *parsed, size_t *escaped_out)
{
	if (local.length == 0 || local.length >= sizeof parsed->text)
		return -EINVAL;
	if (local.data[0] == '"') {
		if (copy_unquoted_local_part(local, parsed, escaped_out) < 0 || parsed->length == 0)
			return -EINVAL;
	} else {
		for (; parsed->length < local.length; parsed->length++)
			parsed->text[parsed->length] = local.data[parsed->length];
	}
	return 0;
}

void mail_localpart_tag(struct str local, struct buffer *out)
{
	struct mail_localpart parsed = {.length = 0};
	size_t escaped = 0;
	size_t begin;

	if (parse_written(local, &parsed, &escaped) < 0)
		return;
	begin = find_user_of_local_part(mail_localpart_whole(&parsed), escaped) + 1;
	if (begin < parsed.length)
		buffer_append(out, parsed.text + begin, parsed.length - begin);
}

int mail_localpart_parse(struct str local, struct mail_localpart *out)
{
	struct mail_localpart parsed = {.length = 0};
	size_t escaped = 0;

	if (parse_written(local, &parsed, &escaped) < 0 || fold_local_part(&parsed) < 0)
		return -EINVAL;
	parsed.user_length = find_user_of_local_part(mail_localpart_whole(&parsed), escaped);
	*out = parsed;
	return 0;
}

struct str mail_localpart_whole(const struct mail_localpart *local)
{
	return str_slice(local->text, local->length);
}

struct str mail_localpart_user(const struct mail_localpart *local)
{
	return str_slice(local->text, local->user_length);
}

void mail_local_unquote(struct str local, struct buffer *out)
{
	if (local.length < 2 || local.data[0] != '"') {
		buffer_append_str(out, local);
		return;
	}
	for (size_t i = 1; i + 1 < local.length; i++) {
		if (local.data[i] == '\\' && i + 2 < local.length)
			i++;
		buffer_append_byte(out, local.data[i]);
	}
}

void mail_address_write(struct str local, struct str domain, struct buffer *out)
{
	struct mail_address parsed;
	bool is_plain =
		mail_address_parse(local,
				   MAIL_ADDRESS_UTF8 | MAIL_ADDRESS_NO_DOMAIN | MAIL_ADDRESS_STRICT,
				   &parsed) != -EINVAL &&
		str_find(local, '"') < 0 && str_find(local, '@') < 0;

	if (is_plain)
		buffer_append_str(out, local);
	else
		quote_append(out, local);
	buffer_append_byte(out, '@');
	buffer_append_str(out, domain);
}

bool mail_name_is_path_safe(struct str name)
{
	if (name.length == 0 || name.length > COMPONENT_MAX || name.data[0] == '.')
		return false;
	for (size_t i = 0; i < name.length; i++) {
		unsigned char c = (unsigned char)name.data[i];

		if (c == '/' || c < 0x20 || c == 0x7f)
			return false;
	}
	return true;
}

bool mail_is_postmaster(struct str address)
{
	struct mail_localpart local;

	return mail_localpart_parse(mail_parts_of(address).local, &local) == 0 &&
	       str_equal_nocase(mail_localpart_user(&local), STR("postmaster"));
}
