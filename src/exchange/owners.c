// SPDX-License-Identifier: ISC
/* Which aliases are lists: those that have an owner-NAME. */
#include "base/panic.h"
#include "exchange/internal.h"
#include "os/stream.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

static const struct str PREFIX = {"owner-", 6};

struct owner {
	UT_hash_handle hh;
	size_t length;
	char name[]; /* of the list, ASCII in lower case */
};

struct exchange_owners {
	struct owner *names;
};

static void add(struct exchange_owners *owners, struct str name)
{
	struct owner *owner = memory_alloc_zero(1, sizeof *owner + name.length + 1);

	owner->length = name.length;
	memcpy(owner->name, name.data, name.length);
	str_lower(owner->name, name.length);
	if (exchange_owners_have(owners, str_slice(owner->name, name.length)))
		free(owner);
	else
		HASH_ADD(hh, owners->names, name, (unsigned)owner->length, owner);
}

/* Of the logical line LINE. */
static void take_line(struct exchange_owners *owners, struct str line)
{
	ptrdiff_t colon = exchange_find_bare(line, ":");
	struct str name;

	if (colon < 0)
		return;
	name = str_trim(str_slice(line.data, (size_t)colon));
	if (name.length > PREFIX.length &&
	    str_equal_nocase(str_slice(name.data, PREFIX.length), PREFIX))
		add(owners, str_skip(name, PREFIX.length));
}

int exchange_owners_read(struct exchange_reader *reader, struct exchange_owners **owners_out)
{
	struct exchange_lines lines = {.descriptor = reader->lines.descriptor};
	struct exchange_owners *owners = memory_alloc_zero(1, sizeof *owners);
	struct str line;
	int result;

	while ((result = exchange_lines_next_logical(&lines, &line)) != 0) {
		if (result > 0)
			take_line(owners, line);
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

bool exchange_owners_have(const struct exchange_owners *owners, struct str name)
{
	char lower[DIRECTORY_KEY_MAX];
	struct owner *found = NULL;

	if (name.length >= sizeof lower)
		return false;
	memcpy(lower, name.data, name.length);
	str_lower(lower, name.length);
	HASH_FIND(hh, owners->names, lower, (unsigned)name.length, found);
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
