// SPDX-License-Identifier: ISC
#include "base/panic.h"
#include "directory/bulk/import/internal.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct bulk_import *bulk_import_new(struct bulk_server *server,
				    const struct bulk_import_settings *settings)
{
	struct bulk_import *import = memory_alloc_zero(1, sizeof *import);

	import->server = server;
	import->settings = settings;
	import->seen = bulk_seen_new();
	import->foreign = bulk_seen_new();
	return import;
}

void bulk_import_free(struct bulk_import *import)
{
	bulk_seen_free(import->seen);
	bulk_seen_free(import->foreign);
	free(import);
}

void import_tell(struct bulk_import *import, const struct bulk_report *report)
{
	import->counts[report->event]++;
	import->settings->tell(import->settings->context, report);
}

void import_progress(struct bulk_import *import, const char *what, uint64_t count)
{
	if (import->settings->progress != NULL && count % IMPORT_TELL_EVERY == 0)
		import->settings->progress(import->settings->context, what, count);
}

uint64_t bulk_import_count(const struct bulk_import *import, enum bulk_event event)
{
	return import->counts[event];
}

uint64_t bulk_import_records(const struct bulk_import *import)
{
	return import->records;
}

void bulk_import_forget(struct bulk_import *import, enum bulk_event event)
{
	import->counts[event] = 0;
}

static void tell_bad_entry(struct bulk_import *import, const struct bulk_entry *entry,
			   struct str text)
{
	import_tell(import, &(struct bulk_report){.event = BULK_BAD,
						  .file = entry->file,
						  .line = entry->line,
						  .text = text});
}

/* A repeated key is ignored; a repeated member is the same member. */
static void check_entry(struct bulk_import *import, const struct bulk_entry *entry)
{
	const struct bulk_position here = {.file = import->checked, .line = entry->line};
	struct bulk_position first = bulk_seen_add(import->seen, &entry->record.key, here);
	char text[64];

	if (first.line == 0 || entry->record.key.table == DIRECTORY_MEMBER) {
		import->records++;
		return;
	}
	snprintf(text, sizeof text, "the same key is in line %u%s", first.line,
		 first.file == here.file ? "" : " of a file before");
	tell_bad_entry(import, entry, str_from(text));
}

/* The record of a malformed line is not removed. */
static void check_problem(struct bulk_import *import, const struct bulk_entry *entry)
{
	const struct bulk_position here = {.file = import->checked, .line = entry->line};

	if (entry->record.key.table != DIRECTORY_NO_TABLE)
		(void)bulk_seen_add(import->seen, &entry->record.key, here);
	tell_bad_entry(import, entry, entry->problem);
}

int bulk_import_check(struct bulk_import *import, struct bulk_reader *reader)
{
	struct bulk_entry entry;
	int result;

	import->checked++;
	while ((result = bulk_reader_next(reader, &entry)) != 0) {
		if (result > 0)
			check_entry(import, &entry);
		else if (result == -EBADMSG)
			check_problem(import, &entry);
		else
			return result;
		import_progress(import, "checked", import->records);
	}
	return 0;
}
