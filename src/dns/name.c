// SPDX-License-Identifier: ISC
#include "dns/name.h"
#include <string.h>

enum { LABEL_MAX = 63 };

static bool is_host_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

/* Moves one label from *DATA to the end of NAME. */
static bool take_label(struct str *data, char name[DNS_NAME_SIZE])
{
	size_t used = strlen(name);
	size_t length = (unsigned char)data->data[0];

	if (length > LABEL_MAX || length >= data->length || used + length + 2 > DNS_NAME_SIZE)
		return false;
	if (used > 0)
		name[used++] = '.';
	memcpy(name + used, data->data + 1, length);
	name[used + length] = '\0';
	str_lower(name + used, length);
	for (size_t i = 0; i < length; i++)
		if (!is_host_byte(name[used + i]))
			return false;
	*data = str_skip(*data, length + 1);
	return true;
}

bool dns_name_parse(struct str data, char name_out[DNS_NAME_SIZE])
{
	name_out[0] = '\0';
	while (data.length > 0 && data.data[0] != '\0')
		if (!take_label(&data, name_out))
			return false;
	return data.length == 1;
}

bool dns_name_is_host(struct str text)
{
	size_t label = 0;

	for (size_t i = 0; i < text.length; i++) {
		bool is_dot = text.data[i] == '.';

		if (is_dot ? label == 0 : !is_host_byte(text.data[i]) || ++label > LABEL_MAX)
			return false;
		if (is_dot)
			label = 0;
	}
	return label > 0 && text.length < DNS_NAME_SIZE;
}
