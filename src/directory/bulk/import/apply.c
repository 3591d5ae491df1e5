// SPDX-License-Identifier: ISC
/* Gets each record of a file from the server, and puts it if it differs: many at a time. */
#include "base/arena.h"
#include "base/panic.h"
#include "directory/bulk/import/compare.h"
#include "directory/bulk/import/internal.h"
#include "directory/record/key.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ATTEMPTS_MAX = 100 }; /* of a record that others change all the time */

struct apply;

/* A record being processed. */
struct slot {
	struct apply *apply;
	struct slot *next; /* in the list of free ones */
	struct arena *arena;
	struct bulk_entry entry;
	bool exists;                     /* on the server: */
	struct directory_record there;   /* as it was read there, at */
	uint64_t version;                /* of the data */
	struct directory_record becomes; /* in place of it */
	unsigned attempts;
	struct directory_question question;
};

struct apply {
	struct bulk_import *import;
	struct bulk_reader *reader;
	struct slot slots[IMPORT_WINDOW];
	struct slot *free;
	size_t under_way;
	uint64_t done;
	int error;       /* ends the import */
	bool at_end;     /* of the file */
	bool must_drain; /* a list is pending; its source must be known before its members */
	bool is_in_pump;
};

static void process_import_entries(struct apply *apply);

static void release_import_slot(struct slot *slot)
{
	struct apply *apply = slot->apply;

	slot->next = apply->free;
	apply->free = slot;
	apply->under_way--;
	import_progress(apply->import, "done", ++apply->done);
	process_import_entries(apply);
}

static void tell_import_event(struct slot *slot, enum bulk_event event)
{
	import_tell(slot->apply->import,
		    &(struct bulk_report){.event = event,
					  .file = slot->entry.file,
					  .line = slot->entry.line,
					  .key = &slot->entry.record.key,
					  .was = slot->exists ? &slot->there : NULL,
					  .becomes = &slot->becomes});
}

static void tell_import_event_text(struct slot *slot, enum bulk_event event, struct str text)
{
	import_tell(slot->apply->import, &(struct bulk_report){.event = event,
							       .file = slot->entry.file,
							       .line = slot->entry.line,
							       .text = text});
}

/* Says why the record is not put, and continues with others. */
static void refuse_imported_record(struct slot *slot, const char *why)
{
	struct buffer text CLEANUP(buffer_clear) = {0};

	buffer_append_format(&text, "%s " STR_FORMAT ": %s",
			     directory_table_name(slot->entry.record.key.table),
			     STR_ARGUMENTS(slot->entry.record.key.name), why);
	tell_import_event_text(slot, BULK_REFUSED, buffer_view(&text));
	release_import_slot(slot);
}

/* If the error is about this record, reports it and continues; otherwise ends the import. */
static void fail_imported_record(struct slot *slot, const struct directory_answer_text *answer)
{
	struct apply *apply = slot->apply;
	struct bulk_server *server = apply->import->server;

	if (answer->error == DIRECTORY_ERROR_BAD) {
		refuse_imported_record(slot, answer->error_text);
		return;
	}
	(void)bulk_server_has_failed(server, answer);
	apply->error = bulk_server_errno(server);
	release_import_slot(slot);
}

static void get_existing_record(struct slot *slot);

static void on_imported_record_put(void *context, const struct directory_answer_text *answer)
{
	struct slot *slot = context;

	if (answer->error == DIRECTORY_ERROR_CHANGED && ++slot->attempts < ATTEMPTS_MAX) {
		get_existing_record(slot);
	} else if (answer->error == DIRECTORY_ERROR_CHANGED) {
		refuse_imported_record(slot,
				       "is changed by others all the time, and was left as it is");
	} else if (answer->error != DIRECTORY_ERROR_NONE) {
		fail_imported_record(slot, answer);
	} else {
		tell_import_event(slot, slot->exists ? BULK_CHANGED : BULK_ADDED);
		release_import_slot(slot);
	}
}

/* Puts what it becomes: unless it replaces, only if others have not changed it meanwhile. */
static void put_imported_record(struct slot *slot)
{
	const struct directory_record *record = &slot->becomes;
	struct directory_client *client = slot->apply->import->server->client;
	const char *table = directory_table_name(record->key.table);
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
	slot->question =
		(struct directory_question){.answered = on_imported_record_put, .context = slot};
	if (slot->apply->import->settings->mode == BULK_REPLACE)
		directory_client_put(client, table, record->key.name, fields, record->field_count,
				     &slot->question);
	else
		directory_client_edit(client, table, record->key.name, slot->version, fields,
				      record->field_count, &slot->question);
}

static bool is_record_of_list(const struct directory_record *record)
{
	return record->key.table == DIRECTORY_ADDRESS &&
	       str_equal(directory_record_field(record, "kind"), STR("list"));
}

/* Whether the existing record has another source, and is kept. */
static bool is_foreign_record(const struct slot *slot)
{
	const char *source = slot->apply->import->settings->source;

	return source != NULL && slot->exists && slot->there.key.table == DIRECTORY_ADDRESS &&
	       !str_equal(directory_record_field(&slot->there, "source"), str_from(source));
}

/* Of a list that is not changed; nor are those of a list that cannot be read: it may be another
 * source's. */
static void keep_members_of_list(struct slot *slot)
{
	if (is_record_of_list(&slot->entry.record))
		(void)bulk_seen_add(slot->apply->import->foreign, &slot->entry.record.key,
				    (struct bulk_position){.line = 1});
}

static void keep_foreign(struct slot *slot)
{
	struct str source = directory_record_field(&slot->there, "source");
	struct buffer text CLEANUP(buffer_clear) = {0};

	buffer_append_str(&text, slot->there.key.name);
	buffer_append_format(&text, " is in the directory already, made by %s" STR_FORMAT,
			     source.length > 0 ? "" : "hand", STR_ARGUMENTS(source));
	keep_members_of_list(slot);
	tell_import_event_text(slot, BULK_KEPT, buffer_view(&text));
	release_import_slot(slot);
}

/* The record as it is on the server now, in the slot's arena. */
static void take_there(struct slot *slot, const struct directory_answer_text *answer)
{
	struct directory_field *fields = memory_alloc((answer->result_count + 1) * sizeof *fields);
	const struct directory_record there = {slot->entry.record.key, fields,
					       answer->exists ? answer->result_count : 0};

	bulk_fields(answer->results, there.field_count, fields);
	slot->there = directory_record_copy(slot->arena, &there);
	slot->exists = answer->exists;
	slot->version = answer->version;
	free(fields);
}

/* Whether what is there is as the file says. Sets what it becomes otherwise. */
static bool is_as_wanted(struct slot *slot)
{
	slot->becomes = slot->entry.record;
	if (!slot->exists)
		return false;
	if (slot->apply->import->settings->mode == BULK_REPLACE)
		return bulk_record_is_same(&slot->entry.record, &slot->there);
	slot->becomes = bulk_record_merge(&slot->there, &slot->entry.record, slot->arena);
	return bulk_entry_is_met(&slot->entry, &slot->there);
}

/* Of what is not as the file says. */
static void change_imported_record(struct slot *slot)
{
	const struct bulk_import_settings *settings = slot->apply->import->settings;
	const char *reason;

	if (slot->exists && settings->mode == BULK_ADD) {
		tell_import_event(slot, BULK_DIFFERS);
		release_import_slot(slot);
	} else if (directory_record_check(&slot->becomes, slot->arena, &slot->becomes, &reason) <
		   0) {
		refuse_imported_record(slot, reason);
	} else if (settings->dry_run) {
		tell_import_event(slot, slot->exists ? BULK_CHANGED : BULK_ADDED);
		release_import_slot(slot);
	} else {
		put_imported_record(slot);
	}
}

static void on_existing_record_read(void *context, const struct directory_answer_text *answer)
{
	struct slot *slot = context;

	if (answer->error != DIRECTORY_ERROR_NONE) {
		if (slot->apply->import->settings->source != NULL)
			keep_members_of_list(slot);
		fail_imported_record(slot, answer);
		return;
	}
	take_there(slot, answer);
	if (is_foreign_record(slot)) {
		keep_foreign(slot);
	} else if (is_as_wanted(slot)) {
		tell_import_event(slot, BULK_SAME);
		release_import_slot(slot);
	} else {
		change_imported_record(slot);
	}
}

static void get_existing_record(struct slot *slot)
{
	const struct directory_key *key = &slot->entry.record.key;

	slot->question =
		(struct directory_question){.answered = on_existing_record_read, .context = slot};
	directory_client_get(slot->apply->import->server->client, directory_table_name(key->table),
			     key->name, DIRECTORY_PATIENCE_US, &slot->question);
}

/* Whether to put ENTRY: not if an earlier line has the same key, nor if it is a member of a list of
 * another source. */
static bool is_entry_to_import(struct apply *apply, const struct bulk_entry *entry)
{
	const struct directory_key *key = &entry->record.key;
	struct directory_key list = {.table = DIRECTORY_ADDRESS};
	struct str member;

	if (key->table != DIRECTORY_MEMBER) {
		struct bulk_position position = bulk_seen_find(apply->import->seen, key);

		return position.file == apply->import->applied && position.line == entry->line;
	}
	directory_key_member(key->name, &list.name, &member);
	return bulk_seen_find(apply->import->foreign, &list).line == 0;
}

static void begin_import_of_entry(struct apply *apply, const struct bulk_entry *entry)
{
	struct slot *slot = apply->free;

	apply->free = slot->next;
	apply->under_way++;
	if (slot->arena == NULL)
		slot->arena = arena_new();
	arena_reset(slot->arena);
	slot->apply = apply;
	slot->entry = *entry;
	slot->entry.record = directory_record_copy(slot->arena, &entry->record);
	slot->entry.file = arena_copy(slot->arena, str_from(entry->file));
	slot->attempts = 0;
	apply->must_drain =
		apply->import->settings->source != NULL && is_record_of_list(&slot->entry.record);
	get_existing_record(slot);
}

/* Processes the next record; problems were reported by the check. */
static void take_next_entry(struct apply *apply)
{
	struct bulk_entry entry;
	int result = bulk_reader_next(apply->reader, &entry);

	if (result == 0)
		apply->at_end = true;
	else if (result < 0 && result != -EBADMSG)
		apply->error = result;
	else if (result > 0 && is_entry_to_import(apply, &entry))
		begin_import_of_entry(apply, &entry);
}

static void process_import_entries(struct apply *apply)
{
	if (apply->is_in_pump)
		return;
	apply->is_in_pump = true;
	while (!apply->at_end && apply->error == 0 && apply->free != NULL) {
		if (apply->must_drain && apply->under_way > 0)
			break;
		apply->must_drain = false;
		take_next_entry(apply);
	}
	apply->is_in_pump = false;
	if (apply->under_way == 0)
		bulk_server_stop(apply->import->server);
}

int bulk_import_apply(struct bulk_import *import, struct bulk_reader *reader)
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
	process_import_entries(apply);
	while (apply->under_way > 0)
		os_loop_run(import->server->loop);
	error = apply->error;
	for (size_t i = 0; i < IMPORT_WINDOW; i++)
		arena_free(apply->slots[i].arena);
	free(apply);
	return error;
}
