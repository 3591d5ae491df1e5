// SPDX-License-Identifier: ISC
/*
 * Maps lines of the text to lines of files.
 *
 * Included text is between marks, lines that give the file and line number of the next line:
 * "#\f12 /etc/stagepost.conf". To the parser these are comments, so the text can be passed on to
 * other processes as it is.
 */
#include "config/internal.h"
#include <string.h>

enum { MARKS_MAX = 2 * CONFIG_FILES_MAX + 2 }; /* before and after each file */

struct mark { /* a mark's line, and the file and line it gives */
	unsigned line;
	struct config_position position;
};

struct config_lines {
	struct mark *marks; /* sorted by line */
	size_t count;
};

/* "12 FILE" */
static struct config_position place_of_mark(struct str mark)
{
	ptrdiff_t space = str_find(mark, ' ');
	uint64_t line = 0;

	if (space < 0 || !str_to_u64(str_slice(mark.data, (size_t)space), &line))
		return (struct config_position){.line = 1};
	return (struct config_position){str_skip(mark, (size_t)space + 1), (unsigned)line};
}

const struct config_lines *config_lines_of(struct str text, struct arena *arena)
{
	struct config_lines *lines = arena_alloc(arena, sizeof *lines);
	unsigned line = 1;
	struct str row;

	if (memmem(text.data, text.length, CONFIG_LINES_MARK, sizeof CONFIG_LINES_MARK - 1) == NULL)
		return NULL;
	lines->marks = arena_alloc(arena, MARKS_MAX * sizeof *lines->marks);
	while (lines->count < MARKS_MAX && str_split(&text, '\n', &row)) {
		line++;
		if (str_starts_with(row, STR(CONFIG_LINES_MARK)))
			lines->marks[lines->count++] = (struct mark){
				line, place_of_mark(str_skip(row, sizeof CONFIG_LINES_MARK - 1))};
	}
	return lines;
}

struct config_position config_lines_find(const struct config_lines *lines, unsigned line)
{
	const struct mark *mark = NULL;
	size_t below = 0;
	size_t above = lines != NULL ? lines->count : 0;

	while (below < above) {
		size_t middle = (below + above) / 2;

		if (lines->marks[middle].line <= line) {
			mark = &lines->marks[middle];
			below = middle + 1;
		} else {
			above = middle;
		}
	}
	if (mark == NULL || line == 0)
		return (struct config_position){.line = line};
	return (struct config_position){mark->position.file,
					mark->position.line + line - mark->line};
}

static bool is_configuration_file(const struct config *config, struct str file)
{
	for (size_t i = 0; i < config->included_count; i++)
		if (str_equal(str_from(config->included[i]), file))
			return true;
	return str_equal(str_from(config->file), file);
}

void config_list_included(const struct config_lines *lines, struct config *config)
{
	if (lines == NULL)
		return;
	config->included = arena_alloc(config->arena, lines->count * sizeof *config->included);
	for (size_t i = 0; i < lines->count; i++)
		if (!is_configuration_file(config, lines->marks[i].position.file))
			config->included[config->included_count++] =
				arena_copy(config->arena, lines->marks[i].position.file);
}
