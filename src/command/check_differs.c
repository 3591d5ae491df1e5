// SPDX-License-Identifier: ISC
#include "command/check_differs.h"
#include "base/arena.h"
#include "base/table.h"
#include <string.h>

enum { PLACES_MAX = 100 }; /* whose lines are searched for */

/* A setting, or a section, in which case its value is empty. */
struct printed {
	const char *name;    /* "listen smtp.address", "listen smtp" */
	const char *key;     /* the same, or of the second such section "listen smtp.address 2" */
	const char *section; /* the section's key; "": none */
	struct str value;
	bool is_section;
	struct printed *next; /* in the order of the text */
	UT_hash_handle hh;
};

/* Sections of one name, as those that listen, are told apart by their order. */
struct printed_section {
	struct str head;
	unsigned number; /* from 1 on */
};

struct printed_config {
	struct printed *all;
	struct printed *first;
	struct printed **end;
	struct arena *arena;
};

struct comparison {
	struct str text;
	void (*each)(void *context, const struct config_problem *problem);
	void *context;
	struct arena *arena;
	size_t count;
};

static const char *join_printed_name(struct arena *arena, struct str section, struct str name)
{
	struct buffer out CLEANUP(buffer_clear) = {0};

	for (size_t i = 0; i < section.length; i++)
		if (section.data[i] != '"') /* listen "smtp": listen smtp */
			buffer_append_byte(&out, section.data[i]);
	if (section.length > 0 && name.length > 0)
		buffer_append_byte(&out, '.');
	buffer_append_str(&out, name);
	return arena_copy(arena, buffer_view(&out));
}

static const struct printed *find_printed(const struct printed_config *printed, const char *key)
{
	struct printed *found;

	HASH_FIND(hh, printed->all, key, strlen(key), found);
	return found;
}

/* Of the section with that NUMBER among those of the same name. */
static const char *key_of_printed(struct arena *arena, const char *name, unsigned number)
{
	struct buffer key CLEANUP(buffer_clear) = {0};

	if (number == 1)
		return name;
	buffer_append_format(&key, "%s %u", name, number);
	return arena_copy(arena, buffer_view(&key));
}

static void add_printed(struct printed_config *printed, struct printed_section section,
			struct str name, struct str value)
{
	struct arena *arena = printed->arena;
	struct printed *entry = arena_alloc(arena, sizeof *entry);

	*entry = (struct printed){
		.name = join_printed_name(arena, section.head, name),
		.section = join_printed_name(arena, section.head, STR("")),
		.value = value,
		.is_section = name.length == 0,
	};
	entry->key = key_of_printed(arena, entry->name, section.number);
	if (section.head.length > 0)
		entry->section = key_of_printed(arena, entry->section, section.number);
	*printed->end = entry;
	printed->end = &entry->next;
	HASH_ADD_KEYPTR(hh, printed->all, entry->key, strlen(entry->key), entry);
}

static void begin_printed_section(struct printed_config *printed, struct printed_section *section,
				  struct str head)
{
	const char *name = join_printed_name(printed->arena, head, STR(""));

	*section = (struct printed_section){head, 1};
	while (find_printed(printed, key_of_printed(printed->arena, name, section->number)) != NULL)
		section->number++;
	add_printed(printed, *section, STR(""), STR(""));
}

/* Takes TEXT apart, as config_print() lays it out: a line for each setting. */
static void take_printed(struct printed_config *printed, struct str text)
{
	struct printed_section section = {STR(""), 1};
	struct str line;

	while (text.length > 0 && str_split(&text, '\n', &line)) {
		struct str name;
		bool is_head = line.length > 2 && line.data[0] != '\t' && line.data[0] != '#' &&
			       str_find(line, '=') < 0 && line.data[line.length - 1] == '{';

		if (is_head)
			begin_printed_section(printed, &section,
					      str_slice(line.data, line.length - 2));
		if (str_equal(line, STR("}")))
			section = (struct printed_section){STR(""), 1};
		if (line.length > 0 && line.data[0] == '\t')
			line = str_skip(line, 1);
		if (!is_head && line.length > 0 && line.data[0] != '#' && str_find(line, '=') > 0 &&
		    str_split(&line, '=', &name))
			add_printed(printed, section, str_slice(name.data, name.length - 1),
				    line.length > 0 ? str_skip(line, 1) : line);
	}
}

static void print_config_apart(const struct config *config, struct buffer *text,
			       struct printed_config *out)
{
	out->arena = arena_new();
	out->end = &out->first;
	config_print_public(config, text);
	take_printed(out, buffer_view(text));
}

static void clear_printed(struct printed_config *printed)
{
	HASH_CLEAR(hh, printed->all);
	arena_free(printed->arena);
}

/* A section has no place of its own, but its settings have. */
static const char *name_with_place(const struct printed *entry)
{
	return entry->is_section && entry->next != NULL ? entry->next->name : entry->name;
}

static void report_difference(struct comparison *comparison, const struct printed *entry,
			      const char *message, struct str value)
{
	struct buffer words CLEANUP(buffer_clear) = {0};
	struct arena *arena = comparison->arena;
	struct config_problem problem = {.setting = entry->name, .found = "", .allowed = ""};
	struct config_position position = {.line = 0};

	if (comparison->count++ < PLACES_MAX)
		position = config_setting_position(comparison->text, name_with_place(entry));
	buffer_append_string(&words, message);
	buffer_append_str(&words, value);
	problem.file = arena_copy(arena, position.file);
	problem.line = position.line;
	problem.message = arena_copy(arena, buffer_view(&words));
	comparison->each(comparison->context, &problem);
}

static void compare_new(struct comparison *comparison, const struct printed_config *new,
			const struct printed_config *old)
{
	for (const struct printed *entry = new->first; entry != NULL; entry = entry->next) {
		const struct printed *before = find_printed(old, entry->key);
		bool is_of_new_section = !entry->is_section && *entry->section != '\0' &&
					 find_printed(old, entry->section) == NULL;

		if (is_of_new_section) /* which is reported itself */
			continue;
		if (before == NULL)
			report_difference(comparison, entry, "is not in force yet", STR(""));
		else if (!str_equal(before->value, entry->value))
			report_difference(comparison, entry, "is not in force yet; in force is ",
					  before->value);
	}
}

static void compare_old(struct comparison *comparison, const struct printed_config *new,
			const struct printed_config *old)
{
	for (const struct printed *entry = old->first; entry != NULL; entry = entry->next)
		if (find_printed(new, entry->key) == NULL &&
		    (entry->is_section || *entry->section == '\0' ||
		     find_printed(new, entry->section) != NULL))
			report_difference(comparison, entry,
					  entry->is_section ? "is in force still"
							    : "is in force still: ",
					  entry->value);
}

size_t check_differs(const struct config *config, struct str text, const struct config *running,
		     void (*each)(void *context, const struct config_problem *problem),
		     void *context)
{
	struct printed_config new = {0};
	struct printed_config old = {0};
	struct buffer new_text CLEANUP(buffer_clear) = {0};
	struct buffer old_text CLEANUP(buffer_clear) = {0};
	struct comparison comparison = {
		.text = text, .each = each, .context = context, .arena = arena_new()};

	print_config_apart(config, &new_text, &new);
	print_config_apart(running, &old_text, &old);
	compare_new(&comparison, &new, &old);
	compare_old(&comparison, &new, &old);
	clear_printed(&new);
	clear_printed(&old);
	arena_free(comparison.arena);
	return comparison.count;
}
