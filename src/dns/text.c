// SPDX-License-Identifier: ISC
#include "dns/text.h"

bool dns_text_append(struct buffer *out, struct str data)
{
	while (data.length > 0) {
		size_t length = (unsigned char)data.data[0];

		data = str_skip(data, 1);
		if (length > data.length)
			return false;
		buffer_append(out, data.data, length);
		data = str_skip(data, length);
	}
	return true;
}
