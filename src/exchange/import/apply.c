// SPDX-License-Identifier: ISC
/* Gets each record of a file from the server, and puts it if it differs: many at a time. */
#include "base/arena.h"
#include "base/panic.h"
#include "directory/record/key.h"
#include "exchange/import/internal.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct apply;

/* A record being processed. */
struct slot {
	struct apply *apply;
	struct slot *next; /* in the list of free ones */
	struct arena *arena;
	struct directory_record record;
	const char *file;
	unsigned line;
	bool exists; /* on the server, but differs */
	struct directory_question question;
};

struct apply {
	struct exchange_import *import;
	struct exchange_reader *reader;
	struct slot slots[IMPORT_WINDOW];
	struct slot *free;
	size_t under_way;
	uint64_t done;
	int error;       /* ends the import */
	bool at_end;     /* of the file */
	bool must_drain; /* a list is pending; its source must be known before its members */
	bool is_in_pump;
};

static void pump(struct apply *apply);

static void release(struct slot *slot)
{
	struct apply *apply = slot->apply;

	slot->next = apply->free;
	apply->free = slot;
	apply->under_way--;
	import_progress(apply->import, "done", ++apply->done);
	pump(apply);
}

static void tell(struct slot *slot, enum exchange_event event)
{
	import_tell(slot->apply->import, event, slot->file, slot->line, &slot->record.key, STR(""));
}

static void tell_text(struct slot *slot, enum exchange_event event, struct str text)
{
	import_tell(slot->apply->import, event, slot->file, slot->line, NULL, text);
}

/* If the error is about this record, reports it and continues; otherwise ends the import. */
static void fail(struct slot *slot, const struct directory_answer_text *answer)
{
	struct apply *apply = slot->apply;
	struct exchange_server *server = apply->import->server;

	if (answer->error == DIRECTORY_ERROR_BAD) {
		tell_text(slot, EXCHANGE_REFUSED, str_from(answer->error_text));
	} else {
		(void)exchange_server_has_failed(server, answer);
		apply->error = exchange_server_errno(server);
	}
	release(slot);
}

static void on_put(void *context, const struct directory_answer_text *answer)
{
	struct slot *slot = context;

	if (answer->error != DIRECTORY_ERROR_NONE) {
		fail(slot, answer);
		return;
	}
	tell(slot, slot->exists ? EXCHANGE_CHANGED : EXCHANGE_ADDED);
	release(slot);
}

static void put(struct slot *slot)
{
	const struct directory_record *record = &slot->record;
	struct str *fields = arena_alloc(slot->arena, (record->field_count + 1) * sizeof *fields);

	for (size_t i = 0; i < record->field_count; i++) {
		const struct directory_field *field = &record->fields[i];
		size_t length = field->name.length + 1 + field->value.length;
		char *text = arena_alloc(slot->arena, length + 1);

		memcpy(text, field->name.data, field->name.length);
		text[field->name.length] = ' ';
		memcpy(text + field->name.length + 1, field->value.data, field->value.length);
		fields[i] = str_slice(text, length);
	}
	slot->question = (struct directory_question){.answered = on_put, .context = slot};
	directory_client_put(slot->apply->import->server->client,
			     directory_table_name(record->key.table), record->key.name, fields,
			     record->field_count, &slot->question);
}

static bool is_same(const struct directory_record *record,
		    const struct directory_answer_text *answer)
{
	if (record->field_count != answer->result_count)
		return false;
	for (size_t i = 0; i < record->field_count; i++) {
		struct directory_field there;

		exchange_fields(&answer->results[i], 1, &there);
		if (!str_equal(there.name, record->fields[i].name) ||
		    !str_equal(there.value, record->fields[i].value))
			return false;
	}
	return true;
}

/* The source of the existing record. */
static struct str source_of(const struct directory_answer_text *answer)
{
	for (size_t i = 0; i < answer->result_count; i++) {
		struct directory_field field;

		exchange_fields(&answer->results[i], 1, &field);
		if (str_equal(field.name, STR("source")))
			return field.value;
	}
	return STR("");
}

static bool is_list(const struct directory_record *record)
{
	return record->key.table == DIRECTORY_ADDRESS &&
	       str_equal(directory_record_field(record, "kind"), STR("list"));
}

/* Whether the existing record has another source, and is kept. */
static bool is_foreign(struct slot *slot, const struct directory_answer_text *answer)
{
	const char *source = slot->apply->import->settings->source;

	return source != NULL && answer->exists && slot->record.key.table == DIRECTORY_ADDRESS &&
	       !str_equal(source_of(answer), str_from(source));
}

static void keep_foreign(struct slot *slot, struct str source)
{
	struct exchange_import *import = slot->apply->import;
	struct buffer text CLEANUP(buffer_clear) = {0};

	buffer_append_str(&text, slot->record.key.name);
	buffer_append_format(&text, " is in the directory already, made by %s" STR_FORMAT,
			     source.length > 0 ? "" : "hand", STR_ARGUMENTS(source));
	if (is_list(&slot->record))
		(void)exchange_seen_add(import->foreign, &slot->record.key,
					(struct exchange_place){.line = 1});
	tell_text(slot, EXCHANGE_KEPT, buffer_view(&text));
	release(slot);
}

static void on_got(void *context, const struct directory_answer_text *answer)
{
	struct slot *slot = context;

	slot->exists = answer->exists;
	if (answer->error != DIRECTORY_ERROR_NONE) {
		fail(slot, answer);
	} else if (is_foreign(slot, answer)) {
		keep_foreign(slot, source_of(answer));
	} else if (answer->exists && is_same(&slot->record, answer)) {
		tell(slot, EXCHANGE_SAME);
		release(slot);
	} else if (slot->apply->import->settings->dry_run) {
		tell(slot, slot->exists ? EXCHANGE_CHANGED : EXCHANGE_ADDED);
		release(slot);
	} else {
		put(slot);
	}
}

/* Whether to put ENTRY: not if an earlier line has the same key, nor if it is a member of a list of
 * another source. */
static bool is_wanted(struct apply *apply, const struct exchange_entry *entry)
{
	const struct directory_key *key = &entry->record.key;
	struct directory_key list = {.table = DIRECTORY_ADDRESS};
	struct str member;

	if (key->table != DIRECTORY_MEMBER) {
		struct exchange_place place = exchange_seen_find(apply->import->seen, key);

		return place.file == apply->import->applied && place.line == entry->line;
	}
	directory_key_member(key->name, &list.name, &member);
	return exchange_seen_find(apply->import->foreign, &list).line == 0;
}

static void begin(struct apply *apply, const struct exchange_entry *entry)
{
	struct slot *slot = apply->free;

	apply->free = slot->next;
	apply->under_way++;
	if (slot->arena == NULL)
		slot->arena = arena_new();
	arena_reset(slot->arena);
	slot->apply = apply;
	slot->record = directory_record_copy(slot->arena, &entry->record);
	slot->file = arena_copy(slot->arena, str_from(entry->file));
	slot->line = entry->line;
	slot->question = (struct directory_question){.answered = on_got, .context = slot};
	apply->must_drain = apply->import->settings->source != NULL && is_list(&slot->record);
	directory_client_get(apply->import->server->client,
			     directory_table_name(slot->record.key.table), slot->record.key.name,
			     DIRECTORY_PATIENCE_US, &slot->question);
}

/* Processes the next record; problems were reported by the check. */
static void take(struct apply *apply)
{
	struct exchange_entry entry;
	int result = exchange_reader_next(apply->reader, &entry);

	if (result == 0)
		apply->at_end = true;
	else if (result < 0 && result != -EBADMSG)
		apply->error = result;
	else if (result > 0 && is_wanted(apply, &entry))
		begin(apply, &entry);
}

static void pump(struct apply *apply)
{
	if (apply->is_in_pump)
		return;
	apply->is_in_pump = true;
	while (!apply->at_end && apply->error == 0 && apply->free != NULL) {
		if (apply->must_drain && apply->under_way > 0)
			break;
		apply->must_drain = false;
		take(apply);
	}
	apply->is_in_pump = false;
	if (apply->under_way == 0)
		exchange_server_stop(apply->import->server);
}

int exchange_import_apply(struct exchange_import *import, struct exchange_reader *reader)
{
	struct apply *apply = memory_alloc_zero(1, sizeof *apply);
	int error;

	import->applied++;
	apply->import = import;
	apply->reader = reader;
	for (size_t i = 0; i < IMPORT_WINDOW; i++) {
		apply->slots[i].next = apply->free;
		apply->free = &apply->slots[i];
	}
	pump(apply);
	while (apply->under_way > 0)
		os_loop_run(import->server->loop);
	error = apply->error;
	for (size_t i = 0; i < IMPORT_WINDOW; i++)
		arena_free(apply->slots[i].arena);
	free(apply);
	return error;
}
