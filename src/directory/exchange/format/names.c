// SPDX-License-Identifier: ISC
/* A set of names that is collected from the whole file before its first line is processed. */
#include "base/panic.h"
#include "base/table.h"
#include "directory/exchange/format/internal.h"
#include "os/stream/stream.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct name {
	UT_hash_handle hh;
	size_t length;
	char text[];
};

struct exchange_names {
	struct name *names;
};

struct exchange_names *exchange_names_new(void)
{
	return memory_alloc_zero(1, sizeof(struct exchange_names));
}

int exchange_names_read(struct exchange_reader *reader,
			void (*take_line)(struct exchange_reader *reader,
					  struct exchange_names *names, struct str line),
			struct exchange_names **names_out)
{
	struct exchange_lines lines = {.descriptor = reader->lines.descriptor};
	struct exchange_names *names = exchange_names_new();
	struct str line;
	int result;

	while ((result = exchange_lines_next_logical(&lines, &line)) != 0) {
		if (result < 0 && result != -EMSGSIZE)
			break;
		if (result > 0)
			take_line(reader, names, line);
		arena_reset(reader->arena);
	}
	exchange_lines_clear(&lines);
	if (result == 0)
		result = os_stream_rewind(reader->lines.descriptor);
	if (result < 0)
		exchange_names_free(names);
	else
		*names_out = names;
	return result;
}

void exchange_names_add(struct exchange_names *names, struct str text)
{
	struct name *name;

	if (exchange_names_have(names, text))
		return;
	name = memory_alloc_zero(1, sizeof *name + text.length + 1);
	name->length = text.length;
	memcpy(name->text, text.data, text.length);
	HASH_ADD(hh, names->names, text, (unsigned)name->length, name);
}

bool exchange_names_have(const struct exchange_names *names, struct str text)
{
	struct name *found = NULL;

	HASH_FIND(hh, names->names, text.data, (unsigned)text.length, found);
	return found != NULL;
}

void exchange_names_free(struct exchange_names *names)
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
