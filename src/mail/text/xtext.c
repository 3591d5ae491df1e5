// SPDX-License-Identifier: ISC
#include "mail/text/xtext.h"

static bool is_graphic(uint64_t byte)
{
	return byte > ' ' && byte <= '~';
}

/* Whether BYTE is literal in xtext. */
static bool is_xchar(unsigned char byte)
{
	return is_graphic(byte) && byte != '=' && byte != '+';
}

size_t mail_xtext_length(struct str text)
{
	uint64_t byte;

	if (is_xchar((unsigned char)text.data[0]))
		return 1;
	if (text.data[0] != '+' || text.length < 3 ||
	    !str_to_u64_hex(str_slice(text.data + 1, 2), &byte))
		return 0;
	return is_graphic(byte) || byte == ' ' ? 3 : 0;
}

bool mail_xtext_is_valid(struct str text)
{
	bool is_valid = text.length > 0;

	while (is_valid && text.length > 0) {
		size_t length = mail_xtext_length(text);

		is_valid = length > 0;
		text = str_skip(text, length);
	}
	return is_valid;
}

void mail_xtext_append(struct buffer *out, struct str text)
{
	for (size_t i = 0; i < text.length; i++) {
		unsigned char byte = (unsigned char)text.data[i];

		if (is_xchar(byte))
			buffer_append_byte(out, text.data[i]);
		else
			buffer_append_format(out, "+%02X", byte);
	}
}

/* In place of xtext: only what would end the value, or begin a code of it, is written as one. */
static void append_utf8_xtext(struct buffer *out, struct str text)
{
	for (size_t i = 0; i < text.length; i++) {
		unsigned char byte = (unsigned char)text.data[i];

		if (byte >= 0x80 || (is_xchar(byte) && byte != '\\'))
			buffer_append_byte(out, text.data[i]);
		else
			buffer_append_format(out, "\\x{%02X}", byte);
	}
}

void mail_orcpt_append(struct buffer *out, struct str address)
{
	if (str_is_ascii(address)) {
		buffer_append_string(out, "rfc822;");
		mail_xtext_append(out, address);
	} else {
		buffer_append_string(out, "utf-8;");
		append_utf8_xtext(out, address);
	}
}
