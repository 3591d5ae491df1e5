// SPDX-License-Identifier: ISC
#include "base/text/quote.h"

void quote_append(struct buffer *out, struct str text)
{
	buffer_append_byte(out, '"');
	for (size_t i = 0; i < text.length; i++) {
		if (text.data[i] == '"' || text.data[i] == '\\')
			buffer_append_byte(out, '\\');
		buffer_append_byte(out, text.data[i]);
	}
	buffer_append_byte(out, '"');
}
