// SPDX-License-Identifier: ISC
/* https://cr.yp.to/proto/netstrings.txt */
#include "directory/socketmap/internal.h"
#include <errno.h>

enum { LENGTH_DIGITS = 6 }; /* of DIRECTORY_SOCKETMAP_MAX */

int socketmap_take(struct str input, struct str *content_out, size_t *length_out)
{
	size_t digits = 0;
	size_t length = 0;

	while (digits < input.length && input.data[digits] >= '0' && input.data[digits] <= '9') {
		if (digits == LENGTH_DIGITS)
			return -EMSGSIZE;
		if (digits > 0 && length == 0)
			return -EINVAL; /* a leading zero */
		length = length * 10 + (size_t)(input.data[digits++] - '0');
	}
	if (digits == input.length)
		return 0;
	if (digits == 0 || input.data[digits] != ':')
		return -EINVAL;
	if (length > DIRECTORY_SOCKETMAP_MAX)
		return -EMSGSIZE;
	if (input.length < digits + 1 + length + 1)
		return 0;
	if (input.data[digits + 1 + length] != ',')
		return -EINVAL;
	*content_out = str_slice(input.data + digits + 1, length);
	*length_out = digits + 1 + length + 1;
	return 1;
}

void socketmap_append(struct buffer *out, const char *word, struct str text)
{
	struct str name = str_from(word);

	if (name.length + 1 + text.length > DIRECTORY_SOCKETMAP_MAX) {
		name = STR("PERM");
		text = STR("the answer is too long for this protocol");
	}
	buffer_append_number(out, name.length + 1 + text.length);
	buffer_append_byte(out, ':');
	buffer_append_str(out, name);
	buffer_append_byte(out, ' ');
	buffer_append_str(out, text);
	buffer_append_byte(out, ',');
}
