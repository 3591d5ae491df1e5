// SPDX-License-Identifier: ISC
#include "header/field.h"
#include "header/addresses.h"
#include "mail/address.h"

static const struct str privates[] = {STR("bcc"), STR("resent-bcc"), STR("return-path")};
static const struct str with_addresses[] = {
	STR("from"),
	STR("sender"),
	STR("reply-to"),
	STR("to"),
	STR("cc"),
	STR("bcc"),
	STR("resent-from"),
	STR("resent-to"),
	STR("resent-cc"),
	STR("resent-bcc"),
	STR("resent-sender"),
	STR("resent-reply-to"),
	STR("disposition-notification-to"),
	STR("return-receipt-to"),
	STR("errors-to"),
	STR("mail-followup-to"),
	STR("mail-reply-to"),
};

static bool is_one_of_field_names(struct str name, const struct str *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (str_equal_nocase(name, names[i]))
			return true;
	return false;
}

bool header_next_line(struct str *text, struct str *line_out)
{
	if (!str_split(text, '\n', line_out))
		return false;
	if (line_out->length > 0 && line_out->data[line_out->length - 1] == '\r')
		line_out->length--;
	return line_out->length > 0;
}

bool header_field_parse(struct str whole, struct header_field *field_out)
{
	size_t length = 0;
	size_t colon;

	while (length < whole.length && whole.data[length] > ' ' && whole.data[length] < 0x7f &&
	       whole.data[length] != ':')
		length++;
	colon = length;
	while (colon < whole.length && (whole.data[colon] == ' ' || whole.data[colon] == '\t'))
		colon++;
	if (length == 0 || colon == whole.length || colon > HEADER_NAME_MAX ||
	    whole.data[colon] != ':')
		return false;
	field_out->whole = whole;
	field_out->name = str_slice(whole.data, length);
	field_out->body = str_skip(whole, colon + 1);
	if (field_out->body.length >= 2)
		field_out->body.length -= 2;
	return true;
}

bool header_field_has_addresses(struct str name)
{
	return is_one_of_field_names(name, with_addresses, COUNT_OF(with_addresses));
}

bool header_field_is_private(struct str name)
{
	return is_one_of_field_names(name, privates, COUNT_OF(privates));
}

void header_field_complete(const struct header_field *field, struct str domain, struct buffer *out)
{
	struct buffer body CLEANUP(buffer_clear) = {0};

	if (!header_field_has_addresses(field->name) ||
	    header_addresses_parse(field->body, domain, MAIL_ADDRESS_UTF8, &body, NULL, NULL) < 0) {
		buffer_append_str(out, field->whole);
		return;
	}
	buffer_append(out, field->whole.data, (size_t)(field->body.data - field->whole.data));
	buffer_append_str(out, buffer_view(&body));
	buffer_append(out, "\r\n", 2);
}

bool header_field_is_8bit(const struct header_field *field)
{
	for (size_t i = 0; i < field->whole.length; i++)
		if ((unsigned char)field->whole.data[i] >= 0x80)
			return true;
	return false;
}
