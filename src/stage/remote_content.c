// SPDX-License-Identifier: ISC
#include "stage/remote_content.h"
#include <string.h>

enum { SCAN_MAX = 16 }; /* chunks; a longer message counts as 8-bit */

static bool has_high_bit(struct str data)
{
	uint64_t all = 0;
	size_t i = 0;

	for (uint64_t word; i + sizeof word <= data.length; i += sizeof word) {
		memcpy(&word, data.data + i, sizeof word);
		all |= word;
	}
	for (; i < data.length; i++)
		all |= (unsigned char)data.data[i];
	return (all & UINT64_C(0x8080808080808080)) != 0;
}

bool remote_content_is_8bit(const struct ipc_content *content, char *chunk)
{
	uint64_t position = 0;

	for (int i = 0; i < SCAN_MAX; i++) {
		struct str part;

		if (ipc_content_read(content, position, chunk, REMOTE_CHUNK_SIZE, &part) < 0 ||
		    has_high_bit(part))
			return true;
		position += part.length;
		if (position >= content->size)
			return false;
	}
	return true;
}

/* The end of the header in DATA, which begins with a header's line; all of DATA when
 * the end is not in it. */
static struct str header_in(struct str data)
{
	const char *end = memmem(data.data, data.length, "\r\n\r\n", 4);

	return end != NULL ? str_slice(data.data, (size_t)(end - data.data)) : data;
}

/* Of a header that is longer than a chunk only the chunk is known; then it counts as
 * ASCII as far as its rest goes. A local LMTP server stores what there is, so that
 * this is no question there. */
bool remote_content_has_8bit_header(const struct ipc_content *content, char *chunk)
{
	struct str part;

	return ipc_content_read(content, 0, chunk, REMOTE_CHUNK_SIZE, &part) == 0 &&
	       has_high_bit(header_in(part));
}
