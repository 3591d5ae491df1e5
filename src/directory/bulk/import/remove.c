// SPDX-License-Identifier: ISC
/* Removes the records that the file does not have: page by page, many at a time. */
#include "base/arena.h"
#include "base/panic.h"
#include "directory/bulk/import/internal.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct removal {
	struct bulk_import *import;
	bool dry_run;
	size_t under_way;
	int error;
	struct arena *lists; /* addresses of lists of the source */
	struct str *list_names;
	size_t list_count;
	size_t list_capacity;
};

/* A key being removed, until the answer. */
struct going {
	struct removal *removal;
	struct directory_key key;
	struct directory_question question;
};

static void tell_record_removed(struct bulk_import *import, const struct directory_key *key)
{
	import_tell(import, &(struct bulk_report){.event = BULK_REMOVED, .file = "", .key = key});
}

static void on_record_removed(void *context, const struct directory_answer_text *answer)
{
	struct going *going = context;
	struct removal *removal = going->removal;

	removal->under_way--;
	if (bulk_server_has_failed(removal->import->server, answer))
		removal->error = bulk_server_errno(removal->import->server);
	else
		tell_record_removed(removal->import, &going->key);
	if (removal->under_way == 0)
		bulk_server_stop(removal->import->server);
}

/* KEY is of a page, which lives until all of these are removed. */
static void remove_key(struct removal *removal, struct arena *arena,
		       const struct directory_key *key)
{
	struct going *going;

	if (removal->dry_run) {
		tell_record_removed(removal->import, key);
		return;
	}
	going = arena_alloc(arena, sizeof *going);
	going->removal = removal;
	going->key = *key;
	going->question =
		(struct directory_question){.answered = on_record_removed, .context = going};
	removal->under_way++;
	directory_client_remove(removal->import->server->client, directory_table_name(key->table),
				key->name, &going->question);
	while (removal->under_way >= IMPORT_WINDOW)
		os_loop_run(removal->import->server->loop);
}

/* Whether this import may remove RECORD. */
static bool may_remove_record(struct removal *removal, const struct directory_record *record)
{
	const char *source = removal->import->settings->source;

	if (source == NULL || record->key.table == DIRECTORY_MEMBER)
		return true;
	if (!str_equal(directory_record_field(record, "source"), str_from(source)))
		return false;
	if (str_equal(directory_record_field(record, "kind"), STR("list"))) {
		removal->list_names =
			memory_grow(removal->list_names, removal->list_count,
				    &removal->list_capacity, sizeof *removal->list_names);
		removal->list_names[removal->list_count++] =
			arena_copy_str(removal->lists, record->key.name);
	}
	return true;
}

/* Removes all of TABLE with PREFIX that is ours and was not in a file. */
static int remove_from(struct removal *removal, enum directory_table table, struct str prefix)
{
	struct bulk_pages *pages = bulk_pages_new(removal->import->server, table, prefix);
	struct arena *arena = arena_new();
	const struct directory_record *records;
	size_t count;
	int result;

	while (removal->error == 0 && (result = bulk_pages_next(pages, &records, &count)) != 0) {
		if (result < 0) {
			removal->error = result;
			break;
		}
		for (size_t i = 0; i < count && removal->error == 0; i++)
			if (may_remove_record(removal, &records[i]) &&
			    bulk_seen_find(removal->import->seen, &records[i].key).line == 0)
				remove_key(removal, arena, &records[i].key);
		while (removal->under_way > 0)
			os_loop_run(removal->import->server->loop);
		arena_reset(arena);
	}
	arena_free(arena);
	bulk_pages_free(pages);
	return removal->error;
}

/* From each table of which the file has records; members before lists, addresses before
 * domains. */
static int remove_tables(struct removal *removal)
{
	static const enum directory_table order[] = {DIRECTORY_MEMBER, DIRECTORY_ADDRESS,
						     DIRECTORY_DOMAIN, DIRECTORY_USER,
						     DIRECTORY_SERVER, DIRECTORY_NODE};
	int error = 0;

	for (size_t i = 0; error == 0 && i < COUNT_OF(order); i++)
		if (bulk_seen_count(removal->import->seen, order[i]) > 0)
			error = remove_from(removal, order[i], STR(""));
	return error;
}

static int remove_source(struct removal *removal)
{
	int error = remove_from(removal, DIRECTORY_ADDRESS, STR(""));

	for (size_t i = 0; error == 0 && i < removal->list_count; i++) {
		struct buffer prefix CLEANUP(buffer_clear) = {0};

		buffer_append_str(&prefix, removal->list_names[i]);
		buffer_append_byte(&prefix, ' ');
		error = remove_from(removal, DIRECTORY_MEMBER, buffer_view(&prefix));
	}
	return error;
}

int bulk_import_remove(struct bulk_import *import, bool dry_run)
{
	struct removal removal = {.import = import, .dry_run = dry_run, .lists = arena_new()};
	int error = import->settings->source != NULL ? remove_source(&removal)
						     : remove_tables(&removal);

	free(removal.list_names);
	arena_free(removal.lists);
	return error;
}
