// SPDX-License-Identifier: ISC
/* aliases(5) of sendmail and Postfix. */
#include "directory/bulk/format/internal.h"
#include "directory/record/key.h"
#include <errno.h>
#include <string.h>

static const char LIST_TEXT[] = "an alias with more is a list: give it an owner-NAME";

/* The next member of the list being read; 0 after the last. */
static int next_member(struct bulk_reader *reader, struct bulk_entry *entry)
{
	struct buffer key CLEANUP(buffer_clear) = {0};
	struct bulk_value value = {0};
	struct str list;
	const char *problem;
	int result = bulk_values_next(reader->members, entry, &value);

	if (result <= 0)
		return result;
	problem = bulk_address(reader, bulk_values_name(reader->members), &list);
	if (problem != NULL)
		return bulk_problem(reader, entry, "the list's name %s", problem);
	if (value.kind == BULK_VALUE_SELF)
		return bulk_problem(reader, entry,
				    "a list is no member of itself: give the mailbox an address of "
				    "its own");
	buffer_append_str(&key, list);
	buffer_append_byte(&key, ' ');
	buffer_append_str(&key, value.text);
	return bulk_finish(reader, entry, DIRECTORY_MEMBER,
			   arena_copy_str(reader->arena, buffer_view(&key)));
}

static int add_alias_target(struct bulk_reader *reader, struct bulk_entry *entry,
			    struct str address, const struct bulk_value *value)
{
	struct str target = value->kind == BULK_VALUE_SELF ? address : value->text;

	if (bulk_add_field(reader, "target", target) == 0)
		return 0;
	return bulk_problem(reader, entry, "more than %d addresses; %s", DIRECTORY_FIELDS_MAX - 2,
			    LIST_TEXT);
}

/* Collects all values of a forward in one record. */
static int take_alias_forward(struct bulk_reader *reader, struct bulk_entry *entry,
			      struct str address, struct bulk_values *values)
{
	struct bulk_value value = {0};
	int result;

	if (bulk_add_field(reader, "kind", STR("forward")) < 0)
		return -E2BIG;
	while ((result = bulk_values_next(values, entry, &value)) > 0) {
		result = add_alias_target(reader, entry, address, &value);
		if (result < 0)
			return result;
	}
	if (result < 0)
		return result;
	entry->file = reader->file;
	entry->line = reader->lines.line;
	if (reader->field_count == 1)
		return bulk_problem(reader, entry, "the alias has no target");
	return bulk_finish(reader, entry, DIRECTORY_ADDRESS, address);
}

/* The record of the list itself; its members follow. */
static int take_alias_list(struct bulk_reader *reader, struct bulk_entry *entry, struct str list)
{
	struct buffer owner CLEANUP(buffer_clear) = {0};

	if (bulk_owner_address(list, &owner) < 0)
		return bulk_problem(reader, entry, "the name of its owner is too long");
	if (bulk_add_field(reader, "kind", STR("list")) < 0 ||
	    bulk_add_field(reader, "owner", arena_copy_str(reader->arena, buffer_view(&owner))) < 0)
		return -E2BIG;
	return bulk_finish(reader, entry, DIRECTORY_ADDRESS, list);
}

/* Whether the alias ADDRESS is a list; then its address as a key. */
static bool is_alias_of_list(struct bulk_reader *reader, struct str address, struct str *list_out)
{
	struct buffer key CLEANUP(buffer_clear) = {0};

	if (directory_key_address(address, &key) < 0 ||
	    !bulk_names_have(reader->names, buffer_view(&key)))
		return false;
	*list_out = arena_copy_str(reader->arena, buffer_view(&key));
	return true;
}

static int take_alias_line(struct bulk_reader *reader, struct bulk_entry *entry, struct str line)
{
	ptrdiff_t colon = bulk_find_bare(line, ":");
	struct bulk_values *values;
	struct str name;
	struct str address;
	struct str list;
	const char *problem;
	int result;

	if (line.data[0] == ' ' || line.data[0] == '\t')
		return bulk_problem(reader, entry, "the line continues nothing");
	if (colon <= 0)
		return bulk_problem(reader, entry, "no \"name: address, address\"");
	name = str_trim(str_slice(line.data, (size_t)colon));
	problem = bulk_address(reader, name, &address);
	if (problem != NULL)
		return bulk_problem(reader, entry, "\"%.*s\" %s",
				    name.length < 100 ? (int)name.length : 100, name.data, problem);
	bulk_set_key(reader, entry, DIRECTORY_ADDRESS, address);
	values = bulk_values_new(reader, name, str_skip(line, (size_t)colon + 1));
	if (is_alias_of_list(reader, address, &list)) {
		reader->members = values;
		return take_alias_list(reader, entry, list);
	}
	result = take_alias_forward(reader, entry, address, values);
	bulk_values_free(values);
	return result;
}

int bulk_aliases_next(struct bulk_reader *reader, struct bulk_entry *entry)
{
	struct str line;
	int result;

	if (reader->members != NULL) {
		result = next_member(reader, entry);
		if (result != 0)
			return result;
		bulk_values_free(reader->members);
		reader->members = NULL;
	}
	result = bulk_lines_next_logical(&reader->lines, &line);
	entry->line = reader->lines.line;
	if (result <= 0)
		return bulk_line_problem(reader, entry, result);
	return take_alias_line(reader, entry, line);
}
