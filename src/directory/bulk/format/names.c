// SPDX-License-Identifier: ISC
/* A set of names that is collected from the whole file before its first line is processed. */
#include "base/panic.h"
#include "base/table.h"
#include "directory/bulk/format/internal.h"
#include "os/stream/stream.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct name {
	UT_hash_handle hh;
	size_t length;
	char text[];
};

struct bulk_names {
	struct name *names;
};

struct bulk_names *bulk_names_new(void)
{
	return memory_alloc_zero(1, sizeof(struct bulk_names));
}

int bulk_names_read(struct bulk_reader *reader,
		    void (*take_line)(struct bulk_reader *reader, struct bulk_names *names,
				      struct str line),
		    struct bulk_names **names_out)
{
	struct bulk_lines lines = {.descriptor = reader->lines.descriptor};
	struct bulk_names *names = bulk_names_new();
	struct str line;
	int result;

	while ((result = bulk_lines_next_logical(&lines, &line)) != 0) {
		if (result < 0 && result != -EMSGSIZE)
			break;
		if (result > 0)
			take_line(reader, names, line);
		arena_reset(reader->arena);
	}
	bulk_lines_clear(&lines);
	if (result == 0)
		result = os_stream_rewind(reader->lines.descriptor);
	if (result < 0)
		bulk_names_free(names);
	else
		*names_out = names;
	return result;
}

void bulk_names_add(struct bulk_names *names, struct str text)
{
	struct name *name;

	if (bulk_names_have(names, text))
		return;
	name = memory_alloc_zero(1, sizeof *name + text.length + 1);
	name->length = text.length;
	memcpy(name->text, text.data, text.length);
	HASH_ADD(hh, names->names, text, (unsigned)name->length, name);
}

bool bulk_names_have(const struct bulk_names *names, struct str text)
{
	struct name *found = NULL;

	HASH_FIND(hh, names->names, text.data, (unsigned)text.length, found);
	return found != NULL;
}

void bulk_names_free(struct bulk_names *names)
{
	struct name *one;
	struct name *next;

	if (names == NULL)
		return;
	HASH_ITER (hh, names->names, one, next) {
		HASH_DEL(names->names, one);
		free(one);
	}
	free(names);
}
