// SPDX-License-Identifier: ISC
#include "directory/bulk/writer.h"
#include "base/text/json.h"
#include "directory/bulk/format/internal.h"
#include <string.h>

enum { LINE_WIDTH = 76 };

/* --- json --- */

void bulk_json_append(const struct directory_record *record, struct buffer *out)
{
	buffer_append_byte(out, '{');
	json_field_text(out, "table", str_from(directory_table_name(record->key.table)));
	json_field_text(out, "key", record->key.name);
	for (size_t i = 0; i < record->field_count; i++) {
		struct str name = record->fields[i].name;
		bool is_many = directory_table_field_is_many(record->key.table, name);

		buffer_append_byte(out, ',');
		json_append_text(out, name);
		buffer_append_string(out, is_many ? ":[" : ":");
		json_append_text(out, record->fields[i].value);
		while (is_many && i + 1 < record->field_count &&
		       str_equal(record->fields[i + 1].name, name)) {
			buffer_append_byte(out, ',');
			json_append_text(out, record->fields[++i].value);
		}
		if (is_many)
			buffer_append_byte(out, ']');
	}
	buffer_append_byte(out, '}');
}

/* --- csv --- */

static bool is_in_earlier_table(enum directory_table table, const char *name)
{
	for (unsigned earlier = DIRECTORY_NO_TABLE + 1; earlier < table; earlier++) {
		const char *other;

		for (size_t i = 0; (other = directory_table_field(earlier, i, NULL)) != NULL; i++)
			if (strcmp(other, name) == 0)
				return true;
	}
	return false;
}

/* Calls EACH for the name of every field, without duplicates. */
static void each_column(void (*each)(void *context, const char *name), void *context)
{
	for (unsigned table = DIRECTORY_NO_TABLE + 1; table < DIRECTORY_TABLES; table++) {
		const char *name;

		for (size_t i = 0; (name = directory_table_field(table, i, NULL)) != NULL; i++)
			if (!is_in_earlier_table(table, name))
				each(context, name);
	}
}

static void append_column_name(void *context, const char *name)
{
	struct buffer *out = context;

	buffer_append_byte(out, ',');
	buffer_append_string(out, name);
}

void bulk_write_head(enum bulk_format format, struct buffer *out)
{
	if (format != BULK_CSV)
		return;
	buffer_append_string(out, "table,key");
	each_column(append_column_name, out);
	buffer_append_string(out, "\r\n");
}

/* Appends TEXT to a quoted cell. */
static void append_quoted_cell_text(struct buffer *out, struct str text)
{
	for (size_t i = 0; i < text.length; i++) {
		if (text.data[i] == '"')
			buffer_append_byte(out, '"');
		buffer_append_byte(out, text.data[i]);
	}
}

static void append_cell(struct buffer *out, struct str text)
{
	bool is_plain = true;

	for (size_t i = 0; i < text.length; i++)
		is_plain = is_plain && strchr("\",\r\n", text.data[i]) == NULL;
	if (is_plain) {
		buffer_append_str(out, text);
		return;
	}
	buffer_append_byte(out, '"');
	append_quoted_cell_text(out, text);
	buffer_append_byte(out, '"');
}

struct row {
	const struct directory_record *record;
	struct buffer *out;
};

static void append_column_values(void *context, const char *name)
{
	const struct row *row = context;
	struct str wanted = str_from(name);
	struct buffer values CLEANUP(buffer_clear) = {0};

	for (size_t i = 0; i < row->record->field_count; i++) {
		if (!str_equal(row->record->fields[i].name, wanted))
			continue;
		if (values.length > 0)
			buffer_append_byte(&values, '\n');
		buffer_append_str(&values, row->record->fields[i].value);
	}
	buffer_append_byte(row->out, ',');
	append_cell(row->out, buffer_view(&values));
}

static void append_csv_row(const struct directory_record *record, struct buffer *out)
{
	struct row row = {record, out};

	buffer_append_string(out, directory_table_name(record->key.table));
	buffer_append_byte(out, ',');
	append_cell(out, record->key.name);
	each_column(append_column_values, &row);
	buffer_append_string(out, "\r\n");
}

/* --- formats of other mail systems --- */

/* Appends ADDRESS so that no format misinterprets its first byte. */
static void append_unambiguous_address(struct buffer *out, struct str address)
{
	ptrdiff_t at = str_find_last(address, '@');

	if (at <= 0 || (strchr("|#/", address.data[0]) == NULL &&
			!str_starts_with(address, STR("\xef\xbb\xbf")))) {
		buffer_append_str(out, address);
		return;
	}
	buffer_append_byte(out, '"');
	buffer_append_str(out, str_slice(address.data, (size_t)at));
	buffer_append_byte(out, '"');
	buffer_append_str(out, str_skip(address, (size_t)at));
}

static void append_targets(const struct directory_record *record, struct buffer *out)
{
	bool is_first = true;

	for (size_t i = 0; i < record->field_count; i++) {
		if (!str_equal(record->fields[i].name, STR("target")))
			continue;
		bulk_write_member(record->fields[i].value, is_first, out);
		is_first = false;
	}
}

static bool is_record_of_kind(const struct directory_record *record, const char *kind)
{
	return str_equal(directory_record_field(record, "kind"), str_from(kind));
}

static bool is_forwarded(const struct directory_record *record)
{
	return record->key.table == DIRECTORY_ADDRESS &&
	       (is_record_of_kind(record, "forward") || is_record_of_kind(record, "alias"));
}

/* The local part of an address at DOMAIN; empty if it is in another domain. */
static struct str local_at(struct str address, const char *domain)
{
	ptrdiff_t at = str_find_last(address, '@');

	if (at <= 0 || domain == NULL ||
	    !str_equal_nocase(str_skip(address, (size_t)at + 1), str_from(domain)))
		return STR("");
	return str_slice(address.data, (size_t)at);
}

/* Whether the list's owner is owner-NAME, as in aliases. */
static bool has_usual_owner(const struct directory_record *record)
{
	struct buffer owner CLEANUP(buffer_clear) = {0};

	return bulk_owner_address(record->key.name, &owner) == 0 &&
	       str_equal(buffer_view(&owner), directory_record_field(record, "owner"));
}

static bool is_list_closed_to_posts(const struct directory_record *record)
{
	struct str post = directory_record_field(record, "post");

	return post.length > 0 && !str_equal(post, STR("anyone"));
}

static const char *write_alias(const struct directory_record *record,
			       const struct bulk_settings *settings, struct buffer *out)
{
	struct str local = local_at(record->key.name, settings->domain);
	struct buffer name CLEANUP(buffer_clear) = {0};

	if (record->key.table != DIRECTORY_ADDRESS)
		return "is no address";
	if (local.length == 0)
		return "is of another domain";
	if (is_record_of_kind(record, "list") && !has_usual_owner(record))
		return "is a list whose owner is not owner-NAME";
	if (str_equal(directory_record_field(record, "verp"), STR("yes")))
		return "is a list with VERP";
	if (is_list_closed_to_posts(record))
		return "is a list to which not everybody may post";
	if (!is_forwarded(record) && !is_record_of_kind(record, "list"))
		return "is no forward, alias or list";
	append_unambiguous_address(&name, record->key.name);
	buffer_truncate(&name, name.length - strlen(settings->domain) - 1);
	buffer_append_str(out, buffer_view(&name));
	buffer_append_byte(out, ':');
	if (is_forwarded(record)) {
		append_targets(record, out);
		buffer_append_byte(out, '\n');
	}
	return NULL;
}

/* Whether the service is the one that reading adds by default. */
static bool has_usual_service(const struct directory_record *record,
			      const struct bulk_settings *settings)
{
	const char *usual = settings->service != NULL ? settings->service : "";

	return str_equal(directory_record_field(record, "service"), str_from(usual));
}

static const char *write_domain(const struct directory_record *record,
				const struct bulk_settings *settings, struct buffer *out)
{
	struct str name = record->key.name;

	if (is_record_of_kind(record, "alias")) {
		buffer_append_format(out, "@" STR_FORMAT "\t@" STR_FORMAT "\n", STR_ARGUMENTS(name),
				     STR_ARGUMENTS(directory_record_field(record, "target")));
		return NULL;
	}
	if (!is_record_of_kind(record, "local"))
		return "is a domain to relay to";
	if (str_find(name, '.') < 0)
		return "has no dot and would be taken for a user";
	if (!has_usual_service(record, settings))
		return "has another service than --service";
	buffer_append_format(out, STR_FORMAT "\tlocal\n", STR_ARGUMENTS(name));
	return NULL;
}

static const char *write_virtual(const struct directory_record *record,
				 const struct bulk_settings *settings, struct buffer *out)
{
	if (record->key.table == DIRECTORY_DOMAIN)
		return write_domain(record, settings, out);
	if (!is_forwarded(record))
		return "is no forward, alias or domain";
	append_unambiguous_address(out, record->key.name);
	buffer_append_byte(out, '\t');
	append_targets(record, out);
	buffer_append_byte(out, '\n');
	return NULL;
}

/* "ann@a.example a.example/ann/" */
static const char *write_mailbox(const struct directory_record *record,
				 const struct bulk_settings *settings, struct buffer *out)
{
	ptrdiff_t at = str_find_last(record->key.name, '@');

	if (record->key.table != DIRECTORY_ADDRESS || !is_record_of_kind(record, "mailbox"))
		return "is no mailbox";
	if (directory_record_field(record, "user").length > 0 ||
	    directory_record_field(record, "mailbox").length > 0 ||
	    directory_record_field(record, "quota").length > 0)
		return "has a user, a quota or another mailbox";
	if (!has_usual_service(record, settings))
		return "has another service than --service";
	append_unambiguous_address(out, record->key.name);
	buffer_append_byte(out, '\t');
	buffer_append_str(out, str_skip(record->key.name, (size_t)at + 1));
	buffer_append_byte(out, '/');
	buffer_append_str(out, str_slice(record->key.name.data, (size_t)at));
	buffer_append_string(out, "/\n");
	return NULL;
}

/* Maps and aliases cannot express that an address is disabled: it would get mail. */
static bool can_say(enum bulk_format format, const struct directory_record *record)
{
	return format == BULK_JSON || format == BULK_CSV ||
	       directory_record_state(record) == DIRECTORY_ACTIVE;
}

const char *bulk_write(enum bulk_format format, const struct directory_record *record,
		       const struct bulk_settings *settings, struct buffer *out)
{
	if (!can_say(format, record))
		return "is not active";
	switch (format) {
	case BULK_JSON:
		bulk_json_append(record, out);
		buffer_append_byte(out, '\n');
		return NULL;
	case BULK_CSV:
		append_csv_row(record, out);
		return NULL;
	case BULK_ALIASES:
		return write_alias(record, settings, out);
	case BULK_POSTFIX:
		return write_virtual(record, settings, out);
	case BULK_MAILBOXES:
		return write_mailbox(record, settings, out);
	case BULK_FORMATS:
		break;
	}
	return "has no form";
}

bool bulk_write_is_list(enum bulk_format format, const struct directory_record *record)
{
	return format == BULK_ALIASES && record->key.table == DIRECTORY_ADDRESS &&
	       is_record_of_kind(record, "list");
}

bool bulk_write_is_forward(const struct directory_record *record)
{
	return is_forwarded(record) && directory_record_state(record) == DIRECTORY_ACTIVE;
}

/* Breaks the line after the comma if the address would make it too long. */
void bulk_write_member(struct str member, bool is_first, struct buffer *out)
{
	struct str text = buffer_view(out);
	ptrdiff_t newline = str_find_last(text, '\n');
	size_t width = text.length - (size_t)(newline + 1);

	if (!is_first && width + member.length > LINE_WIDTH)
		buffer_append_string(out, ",\n\t");
	else if (!is_first)
		buffer_append_string(out, ", ");
	else if (text.length > 0 && text.data[text.length - 1] == ':')
		buffer_append_byte(out, ' ');
	append_unambiguous_address(out, member);
}

void bulk_write_list_end(struct buffer *out)
{
	buffer_append_byte(out, '\n');
}
