// SPDX-License-Identifier: ISC
#include "base/panic.h"
#include "directory/exchange/import/internal.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct exchange_import *exchange_import_new(struct exchange_server *server,
					    const struct exchange_import_settings *settings)
{
	struct exchange_import *import = memory_alloc_zero(1, sizeof *import);

	import->server = server;
	import->settings = settings;
	import->seen = exchange_seen_new();
	import->foreign = exchange_seen_new();
	return import;
}

void exchange_import_free(struct exchange_import *import)
{
	exchange_seen_free(import->seen);
	exchange_seen_free(import->foreign);
	free(import);
}

void import_tell(struct exchange_import *import, const struct exchange_report *report)
{
	import->counts[report->event]++;
	import->settings->tell(import->settings->context, report);
}

void import_progress(struct exchange_import *import, const char *what, uint64_t count)
{
	if (import->settings->progress != NULL && count % IMPORT_TELL_EVERY == 0)
		import->settings->progress(import->settings->context, what, count);
}

uint64_t exchange_import_count(const struct exchange_import *import, enum exchange_event event)
{
	return import->counts[event];
}

uint64_t exchange_import_records(const struct exchange_import *import)
{
	return import->records;
}

void exchange_import_forget(struct exchange_import *import, enum exchange_event event)
{
	import->counts[event] = 0;
}

static void tell_bad_entry(struct exchange_import *import, const struct exchange_entry *entry,
			   struct str text)
{
	import_tell(import, &(struct exchange_report){.event = EXCHANGE_BAD,
						      .file = entry->file,
						      .line = entry->line,
						      .text = text});
}

/* A repeated key is ignored; a repeated member is the same member. */
static void check_entry(struct exchange_import *import, const struct exchange_entry *entry)
{
	const struct exchange_place here = {.file = import->checked, .line = entry->line};
	struct exchange_place first = exchange_seen_add(import->seen, &entry->record.key, here);
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
static void check_problem(struct exchange_import *import, const struct exchange_entry *entry)
{
	const struct exchange_place here = {.file = import->checked, .line = entry->line};

	if (entry->record.key.table != DIRECTORY_NO_TABLE)
		(void)exchange_seen_add(import->seen, &entry->record.key, here);
	tell_bad_entry(import, entry, entry->problem);
}

int exchange_import_check(struct exchange_import *import, struct exchange_reader *reader)
{
	struct exchange_entry entry;
	int result;

	import->checked++;
	while ((result = exchange_reader_next(reader, &entry)) != 0) {
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
