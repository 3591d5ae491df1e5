// SPDX-License-Identifier: ISC
/* Finds copies in a Maildir by their names. */
#include "base/panic.h"
#include "mailstore/internal_maildir.h"
#include <stdlib.h>

struct search {
	struct str mark;
	struct arena *arena;
	struct name {
		char *text;
		uint64_t seconds;
	} * names;
	size_t count;
};

struct str mailstore_maildir_base(const char *name)
{
	struct str whole = str_from(name);
	ptrdiff_t end = str_find(whole, ':');

	return end < 0 ? whole : str_slice(name, (size_t)end);
}

/* The value of the field "I" in BASE; empty: none. */
static struct str mark_of(struct str base)
{
	struct str field;

	(void)str_split(&base, ',', &field);
	while (str_split(&base, ',', &field))
		if (str_starts_with(field, STR("I=")))
			return str_skip(field, 2);
	return (struct str){0};
}

static void add(struct search *search, struct str base)
{
	struct str seconds = base;
	struct name *name;
	ptrdiff_t end = str_find(base, '.');

	for (size_t i = 0; i < search->count; i++)
		if (str_equal(str_from(search->names[i].text), base))
			return; /* it was moved from new/ to cur/ between the two listings */
	search->names = memory_resize(search->names, (search->count + 1) * sizeof *name);
	name = &search->names[search->count++];
	name->text = arena_copy(search->arena, base);
	name->seconds = UINT64_MAX;
	if (end >= 0)
		seconds.length = (size_t)end;
	(void)str_to_u64(seconds, &name->seconds);
}

static int look_at(void *context, const char *box, const char *name)
{
	struct search *search = context;
	struct str base = mailstore_maildir_base(name);

	(void)box;
	if (str_equal(mark_of(base), search->mark))
		add(search, base);
	return 0;
}

static int compare_names(const void *a, const void *b)
{
	const struct name *left = a;
	const struct name *right = b;

	if (left->seconds != right->seconds)
		return left->seconds < right->seconds ? -1 : 1;
	return strcmp(left->text, right->text);
}

int mailstore_maildir_search(const char *folder, const struct mailstore_place *place,
			     struct arena *arena, struct mailstore_found **found_out,
			     size_t *count_out)
{
	char mark[MAILSTORE_MARK_SIZE];
	struct search search = {.arena = arena};
	int result;

	mailstore_mark(place, mark);
	search.mark = str_from(mark);
	result = mailstore_maildir_list(folder, look_at, &search);
	if (result == 0) {
		if (search.count > 0)
			qsort(search.names, search.count, sizeof *search.names, compare_names);
		*found_out = arena_alloc(arena, search.count * sizeof **found_out);
		for (size_t i = 0; i < search.count; i++)
			(*found_out)[i].copy = search.names[i].text;
		*count_out = search.count;
	}
	free(search.names);
	return result;
}
