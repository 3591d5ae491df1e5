// SPDX-License-Identifier: ISC
#include "ldif.h"

enum { LINES_MAX = 64 };

static void add_line(struct arena *arena, struct entry *entry, struct str line)
{
	struct entry_attribute *attributes = (struct entry_attribute *)entry->attributes;
	struct entry_attribute *last =
		entry->attribute_count > 0 ? &attributes[entry->attribute_count - 1] : NULL;
	struct str value = line;
	struct str name;

	(void)str_split(&value, ':', &name);
	value = str_trim(value);
	if (last == NULL || !str_equal(last->name, name)) {
		last = &attributes[entry->attribute_count++];
		last->name = arena_copy_str(arena, name);
		last->values = arena_alloc(arena, LINES_MAX * sizeof(*last->values));
	}
	((struct str *)last->values)[last->value_count++] = arena_copy_str(arena, value);
}

struct entry ldif_parse(struct arena *arena, const char *text)
{
	struct str rest = str_from(text);
	struct entry entry = {.attributes =
				      arena_alloc(arena, LINES_MAX * sizeof(*entry.attributes))};
	struct str line;

	(void)str_split(&rest, '\n', &line);
	entry.dn = arena_copy_str(arena, line);
	while (rest.length > 0) {
		(void)str_split(&rest, '\n', &line);
		add_line(arena, &entry, line);
	}
	return entry;
}
