// SPDX-License-Identifier: ISC
/* Problems in a configuration: collected, sorted by file and line, and printed. */
#include "base/panic.h"
#include "config/internal.h"
#include <stdlib.h>
#include <string.h>

enum { FOUND_MAX = 200 };

/* A copy as one printable line, shortened if it is too long. */
static const char *copy_visible(struct arena *arena, struct str text)
{
	bool is_cut = text.length > FOUND_MAX;
	size_t length = is_cut ? FOUND_MAX : text.length;
	char *copy = arena_alloc(arena, length + sizeof "...");

	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)text.data[i];

		copy[i] = c < 0x20 || c == 0x7f ? '?' : text.data[i];
	}
	if (is_cut)
		memcpy(copy + length, "...", sizeof "...");
	return copy;
}

/* Without the password of a route, if it is one. */
static const char *copy_harmless(struct arena *arena, struct str text)
{
	size_t length = config_route_length(text);
	struct buffer shown = {0};
	const char *copy;

	if (length == text.length)
		return copy_visible(arena, text);
	buffer_append(&shown, text.data, length);
	buffer_append_string(&shown, CONFIG_HIDDEN);
	copy = copy_visible(arena, buffer_view(&shown));
	buffer_clear(&shown);
	return copy;
}

bool config_problems_are_full(const struct config_problems *problems)
{
	return problems->count >= CONFIG_PROBLEMS_MAX;
}

void config_problem_add(struct config_problems *problems, unsigned line, const char *setting,
			struct str found, const char *message, const char *allowed)
{
	struct config_problem *problem;

	if (config_problems_are_full(problems))
		return;
	if (problems->arena == NULL)
		problems->arena = arena_new();
	problem = arena_alloc(problems->arena, sizeof *problem);
	problem->file =
		problems->file != NULL ? arena_copy(problems->arena, str_from(problems->file)) : "";
	problem->line = line;
	problem->setting = copy_visible(problems->arena, str_from(setting != NULL ? setting : ""));
	problem->found = copy_harmless(problems->arena, found);
	problem->message = arena_copy(problems->arena, str_from(message));
	problem->allowed = arena_copy(problems->arena, str_from(allowed != NULL ? allowed : ""));
	/* in reverse order, until they are sorted */
	problem->next = problems->first;
	problems->first = problem;
	problems->count++;
}

void config_problem_append_line(const struct config_problems *problems, unsigned line,
				struct buffer *out)
{
	struct config_position position = config_lines_find(problems->lines, line);

	buffer_append_format(out, "line %u", position.line);
	if (position.file.length > 0)
		buffer_append_format(out, " of " STR_FORMAT, STR_ARGUMENTS(position.file));
}

void config_problem_add_repeated(struct config_problems *problems, unsigned line,
				 const char *setting, struct str found, unsigned first_line)
{
	struct buffer message = {0};

	buffer_append_string(&message, "given twice: first in ");
	config_problem_append_line(problems, first_line, &message);
	buffer_append_byte(&message, '\0');
	config_problem_add(problems, line, setting, found, buffer_data(&message), NULL);
	buffer_clear(&message);
}

static void find_files(struct config_problems *problems)
{
	for (struct config_problem *p = problems->first; p != NULL; p = p->next) {
		struct config_position position = config_lines_find(problems->lines, p->line);

		p->line = position.line;
		if (position.file.length > 0)
			p->file = arena_copy(problems->arena, position.file);
	}
}

struct problem_place {
	struct config_problem *problem;
	size_t order;
};

static int compare_problem_lines(const void *a, const void *b)
{
	const struct problem_place *one = a;
	const struct problem_place *other = b;

	if (one->problem->line != other->problem->line)
		return one->problem->line < other->problem->line ? -1 : 1;
	return one->order > other->order ? -1 : 1;
}

void config_problems_sort(struct config_problems *problems)
{
	struct problem_place *places = memory_alloc_zero(problems->count, sizeof *places);
	struct config_problem **next = &problems->first;
	size_t count = 0;

	for (struct config_problem *p = problems->first; p != NULL; p = p->next) {
		places[count].problem = p;
		places[count].order = count;
		count++;
	}
	qsort(places, count, sizeof *places, compare_problem_lines);
	for (size_t i = 0; i < count; i++) {
		*next = places[i].problem;
		next = &places[i].problem->next;
	}
	*next = NULL;
	free(places);
	find_files(problems);
	if (config_problems_are_full(problems)) {
		struct config_problem *last = arena_alloc(problems->arena, sizeof *last);

		*last = (struct config_problem){.file = "",
						.setting = "",
						.found = "",
						.message = "there are more problems than these",
						.allowed = ""};
		*next = last;
		problems->count++;
	}
}

const char *config_problem_name(struct config_problems *problems, enum config_section section,
				const char *title, const char *setting)
{
	struct buffer name = {0};
	const char *copy;

	if (config_problems_are_full(problems))
		return "";
	if (problems->arena == NULL)
		problems->arena = arena_new();
	if (section != CONFIG_SECTION_ROOT) {
		buffer_append_string(&name, config_section_info(section)->name);
		if (*config_section_info(section)->title != '\0') {
			buffer_append_byte(&name, ' ');
			buffer_append_string(&name, title);
		}
		if (setting != NULL)
			buffer_append_byte(&name, '.');
	}
	if (setting != NULL)
		buffer_append_string(&name, setting);
	copy = copy_visible(problems->arena, buffer_view(&name));
	buffer_clear(&name);
	return copy;
}

void config_problems_clear(struct config_problems *problems)
{
	arena_free(problems->arena);
	*problems = (struct config_problems){0};
}

void config_problems_print(const struct config_problems *problems, const char *file,
			   struct buffer *out)
{
	for (const struct config_problem *p = problems->first; p != NULL; p = p->next) {
		buffer_append_string(out, *p->file != '\0' ? p->file : file);
		if (p->line > 0)
			buffer_append_format(out, ":%u", p->line);
		if (*p->setting != '\0')
			buffer_append_format(out, ": %s", p->setting);
		buffer_append_format(out, ": %s", p->message);
		if (*p->found != '\0')
			buffer_append_format(out, ": found \"%s\"", p->found);
		if (*p->allowed != '\0')
			buffer_append_format(out, "; allowed: %s", p->allowed);
		buffer_append_byte(out, '\n');
	}
}

void config_problem_report(const struct config_tree_section *section, const char *setting,
			   const char *message, const char *allowed,
			   struct config_problems *problems)
{
	const struct config_tree_use *use = config_tree_use(section, setting);

	config_problem_add(problems, use->line > 0 ? use->line : section->line,
			   config_problem_name(problems, section->kind, section->title, setting),
			   STR(""), message, allowed);
}

void config_problem_report_section(const struct config_tree_section *section, const char *message,
				   const char *allowed, struct config_problems *problems)
{
	config_problem_add(problems, section->line,
			   config_problem_name(problems, section->kind, section->title, NULL),
			   STR(""), message, allowed);
}
