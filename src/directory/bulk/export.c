// SPDX-License-Identifier: ISC
#include "directory/bulk/export.h"
#include "directory/bulk/format/internal.h"
#include "directory/bulk/writer.h"
#include "directory/record/key.h"

struct export
{
	struct bulk_server *server;
	const struct bulk_export_settings *settings;
	struct buffer text;
	struct bulk_names *owners; /* aliases: forwards that are called owner-NAME */
};

static int flush_export_text(struct export *export)
{
	int error = export->settings->write(export->settings->context, buffer_view(&export->text));

	buffer_reset(&export->text);
	return error;
}

/* --- lists of aliases, which are those with an owner-NAME --- */

/* Notes the forwards with PREFIX. */
static int note_owners(struct export *export, struct str prefix)
{
	struct bulk_pages *pages = bulk_pages_new(export->server, DIRECTORY_ADDRESS, prefix);
	const struct directory_record *records;
	size_t count;
	int result;

	while ((result = bulk_pages_next(pages, &records, &count)) > 0)
		for (size_t i = 0; i < count; i++)
			if (bulk_write_is_forward(&records[i]))
				bulk_names_add(export->owners, records[i].key.name);
	bulk_pages_free(pages);
	return result;
}

static int find_owners(struct export *export)
{
	int result = note_owners(export, STR("owner-"));

	return result == 0 ? note_owners(export, STR("\"owner-")) : result;
}

/* Whether the aliases have the owner-NAME of ADDRESS, which makes it a list. */
static bool has_owner(const struct export *export, struct str address)
{
	struct buffer owner CLEANUP(buffer_clear) = {0};

	return bulk_owner_address(address, &owner) == 0 &&
	       bulk_names_have(export->owners, buffer_view(&owner)) &&
	       !has_owner(export, buffer_view(&owner)); /* else that is a list, and left out */
}

/* Why RECORD would be read as what it is not; NULL: it would not. */
static const char *find_confusion(const struct export *export,
				  const struct directory_record *record)
{
	struct str local = record->key.name;
	bool is_list = bulk_write_is_list(BULK_ALIASES, record);
	bool has_one = has_owner(export, record->key.name);

	if (is_list &&
	    (str_starts_with(local, STR("owner-")) || str_starts_with(local, STR("\"owner-"))))
		return "is a list that is called owner-NAME";
	if (is_list && !has_one)
		return "is a list whose owner has no alias";
	if (!is_list && has_one)
		return "is no list, and has an owner-NAME";
	return NULL;
}

/* Writes the members after the name of a list in aliases. */
static int write_members(struct export *export, struct str list)
{
	struct buffer prefix CLEANUP(buffer_clear) = {0};
	const struct directory_record *records;
	struct bulk_pages *pages;
	bool is_first = true;
	size_t count;
	int result;

	buffer_append_str(&prefix, list);
	buffer_append_byte(&prefix, ' ');
	pages = bulk_pages_new(export->server, DIRECTORY_MEMBER, buffer_view(&prefix));
	while ((result = bulk_pages_next(pages, &records, &count)) > 0) {
		for (size_t i = 0; i < count; i++) {
			struct str name;
			struct str member;

			directory_key_member(records[i].key.name, &name, &member);
			bulk_write_member(member, is_first, &export->text);
			is_first = false;
		}
	}
	bulk_pages_free(pages);
	bulk_write_list_end(&export->text);
	return result;
}

/* Whether the format is meant for such records, so that one it cannot express must be reported. */
static bool is_record_for_format(const struct bulk_export_settings *settings,
				 const struct directory_record *record)
{
	const char *domain = settings->record->domain;
	struct str key = record->key.name;
	bool is_mailbox = record->key.table == DIRECTORY_ADDRESS &&
			  str_equal(directory_record_field(record, "kind"), STR("mailbox"));

	switch (settings->format) {
	case BULK_ALIASES:
		return !is_mailbox && domain != NULL &&
		       str_equal_nocase(str_skip(key, (size_t)str_find_last(key, '@') + 1),
					str_from(domain));
	case BULK_POSTFIX:
		return !is_mailbox;
	case BULK_MAILBOXES:
		return is_mailbox;
	case BULK_JSON:
	case BULK_CSV:
	case BULK_FORMATS:
		break;
	}
	return true;
}

static int write_exported_record(struct export *export, const struct directory_record *record)
{
	const struct bulk_export_settings *settings = export->settings;
	const char *why = NULL;

	if (!is_record_for_format(settings, record))
		return 0;
	if (settings->format == BULK_ALIASES)
		why = find_confusion(export, record);
	if (why == NULL)
		why = bulk_write(settings->format, record, settings->record, &export->text);
	if (why != NULL)
		settings->left_out(settings->context, &record->key, why);
	else if (bulk_write_is_list(settings->format, record))
		return write_members(export, record->key.name);
	return 0;
}

static void on_malformed_exported_record(void *context, enum directory_table table,
					 const struct directory_malformed *malformed)
{
	const struct bulk_export_settings *settings = context;
	struct directory_key key = {table, malformed->key};
	struct buffer why CLEANUP(buffer_clear) = {0};

	buffer_append_format(&why, "is malformed: " STR_FORMAT, STR_ARGUMENTS(malformed->reason));
	buffer_append_byte(&why, '\0');
	settings->left_out((void *)settings->context, &key, buffer_data(&why));
}

static int export_table(struct export *export, enum directory_table table)
{
	struct bulk_pages *pages = bulk_pages_new(export->server, table, STR(""));
	const struct directory_record *records;
	size_t count;
	int result;

	bulk_pages_hear_malformed(pages, on_malformed_exported_record, (void *)export->settings);
	while ((result = bulk_pages_next(pages, &records, &count)) > 0) {
		for (size_t i = 0; result >= 0 && i < count; i++)
			result = write_exported_record(export, &records[i]);
		if (result >= 0)
			result = flush_export_text(export);
		if (result < 0)
			break;
	}
	bulk_pages_free(pages);
	return result;
}

/* Whether the format is meant for TABLE. */
static bool has_table(const struct bulk_export_settings *settings, enum directory_table table)
{
	if (settings->table != DIRECTORY_NO_TABLE && settings->table != table)
		return false;
	switch (settings->format) {
	case BULK_ALIASES:
	case BULK_MAILBOXES:
		return table == DIRECTORY_ADDRESS;
	case BULK_POSTFIX:
		return table == DIRECTORY_ADDRESS || table == DIRECTORY_DOMAIN;
	case BULK_JSON:
	case BULK_CSV:
	case BULK_FORMATS:
		break;
	}
	return true;
}

int bulk_export(struct bulk_server *server, const struct bulk_export_settings *settings)
{
	struct export export = {.server = server, .settings = settings, .owners = bulk_names_new()};
	int error = settings->format == BULK_ALIASES ? find_owners(&export) : 0;

	bulk_write_head(settings->format, &export.text);
	if (error == 0)
		error = flush_export_text(&export);
	for (unsigned table = DIRECTORY_NO_TABLE + 1; error == 0 && table < DIRECTORY_TABLES;
	     table++)
		if (has_table(settings, table))
			error = export_table(&export, table);
	buffer_clear(&export.text);
	bulk_names_free(export.owners);
	return error;
}
