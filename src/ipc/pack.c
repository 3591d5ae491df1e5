// SPDX-License-Identifier: ISC
#include "ipc/pack.h"
#include <endian.h>
#include <string.h>

void pack_u32(struct buffer *out, uint32_t value)
{
	value = htole32(value);
	buffer_append(out, &value, sizeof value);
}

void pack_u64(struct buffer *out, uint64_t value)
{
	value = htole64(value);
	buffer_append(out, &value, sizeof value);
}

void pack_str(struct buffer *out, struct str value)
{
	pack_u32(out, (uint32_t)value.length);
	buffer_append_str(out, value);
}

static bool take_packed_bytes(struct unpack *unpack, void *out, size_t size)
{
	if (unpack->failed || unpack->rest.length < size) {
		unpack->failed = true;
		return false;
	}
	memcpy(out, unpack->rest.data, size);
	unpack->rest = str_skip(unpack->rest, size);
	return true;
}

uint32_t unpack_u32(struct unpack *unpack)
{
	uint32_t value;

	return take_packed_bytes(unpack, &value, sizeof value) ? le32toh(value) : 0;
}

uint64_t unpack_u64(struct unpack *unpack)
{
	uint64_t value;

	return take_packed_bytes(unpack, &value, sizeof value) ? le64toh(value) : 0;
}

struct str unpack_str(struct unpack *unpack)
{
	size_t length = unpack_u32(unpack);
	struct str value;

	if (unpack->failed || unpack->rest.length < length) {
		unpack->failed = true;
		return STR("");
	}
	value = str_slice(unpack->rest.data, length);
	unpack->rest = str_skip(unpack->rest, length);
	return value;
}

bool unpack_is_whole(const struct unpack *unpack)
{
	return !unpack->failed && unpack->rest.length == 0;
}
