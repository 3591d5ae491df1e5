// SPDX-License-Identifier: ISC
/* Which aliases are lists: those that have an owner-NAME. */
#include "base/panic.h"
#include "base/table.h"
#include "directory/key.h"
#include "exchange/internal.h"
#include "os/stream.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct str PREFIX = {"owner-", 6};

struct owner {
	UT_hash_handle hh;
	size_t length;
	char name[]; /* of the list: its address as a key */
};

struct exchange_owners {
	struct owner *names;
};

int exchange_owner_address(struct str list, struct buffer *out)
{
	struct buffer owner CLEANUP(buffer_clear) = {0};
	bool is_quoted = list.length > 0 && list.data[0] == '"';

	if (is_quoted)
		buffer_append_byte(&owner, '"');
	buffer_append_str(&owner, PREFIX);
	buffer_append_str(&owner, str_skip(list, is_quoted));
	return directory_key_address(buffer_view(&owner), out);
}

/* Whose owner the address OWNER, a key, is by its name; -EINVAL: of none. */
static int list_address(struct str owner, struct buffer *out)
{
	struct buffer list CLEANUP(buffer_clear) = {0};
	bool is_quoted = owner.data[0] == '"';
	struct str rest = str_skip(owner, is_quoted);

	if (!str_starts_with(rest, PREFIX))
		return -EINVAL;
	if (is_quoted)
		buffer_append_byte(&list, '"');
	buffer_append_str(&list, str_skip(rest, PREFIX.length));
	return directory_key_address(buffer_view(&list), out);
}

static void add(struct exchange_owners *owners, struct str list)
{
	struct owner *owner;

	if (exchange_owners_have(owners, list))
		return;
	owner = memory_alloc_zero(1, sizeof *owner + list.length + 1);
	owner->length = list.length;
	memcpy(owner->name, list.data, list.length);
	HASH_ADD(hh, owners->names, name, (unsigned)owner->length, owner);
}

/* Of the logical line LINE. */
static void take_line(struct exchange_reader *reader, struct exchange_owners *owners,
		      struct str line)
{
	struct buffer owner CLEANUP(buffer_clear) = {0};
	struct buffer list CLEANUP(buffer_clear) = {0};
	ptrdiff_t colon = exchange_find_bare(line, ":");
	struct str name;
	struct str address;

	if (colon <= 0)
		return;
	name = str_trim(str_slice(line.data, (size_t)colon));
	if (exchange_address(reader, name, &address) == NULL &&
	    directory_key_address(address, &owner) == 0 &&
	    list_address(buffer_view(&owner), &list) == 0)
		add(owners, buffer_view(&list));
	arena_reset(reader->arena);
}

int exchange_owners_read(struct exchange_reader *reader, struct exchange_owners **owners_out)
{
	struct exchange_lines lines = {.descriptor = reader->lines.descriptor};
	struct exchange_owners *owners = memory_alloc_zero(1, sizeof *owners);
	struct str line;
	int result;

	while ((result = exchange_lines_next_logical(&lines, &line)) != 0) {
		if (result > 0)
			take_line(reader, owners, line);
		else if (result != -EMSGSIZE)
			break;
	}
	exchange_lines_clear(&lines);
	if (result == 0)
		result = os_stream_rewind(reader->lines.descriptor);
	if (result < 0)
		exchange_owners_free(owners);
	else
		*owners_out = owners;
	return result;
}

bool exchange_owners_have(const struct exchange_owners *owners, struct str list)
{
	struct owner *found = NULL;

	HASH_FIND(hh, owners->names, list.data, (unsigned)list.length, found);
	return found != NULL;
}

void exchange_owners_free(struct exchange_owners *owners)
{
	struct owner *one;
	struct owner *next;

	if (owners == NULL)
		return;
	HASH_ITER (hh, owners->names, one, next) {
		HASH_DEL(owners->names, one);
		free(one);
	}
	free(owners);
}
