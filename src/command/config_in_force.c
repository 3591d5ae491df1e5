// SPDX-License-Identifier: ISC
/* The configuration for commands that work with a node: while its file is being edited, the last
 * good one. */
#include "command/command.h"
#include "supervisor/talk/good_config.h"
#include <stdio.h>

/* Only the first problem, as there is no harm yet. */
static void append_fault(const struct config_problems *problems, const char *file,
			 const struct config *used, struct buffer *out)
{
	struct buffer all CLEANUP(buffer_clear) = {0};
	struct str rest;
	struct str line;

	config_problems_print(problems, file, &all);
	rest = buffer_view(&all);
	(void)str_split(&rest, '\n', &line);
	buffer_append_str(out, line);
	if (problems->count > 1)
		buffer_append_format(out, " (and %zu more)", problems->count - 1);
	buffer_append_format(out, "; the last good configuration is used, %s\n", used->file);
}

/* TEXT: what could be read of FILE. NULL: there is none that is in force. */
static struct config *find_good_config(const char *file, struct str text)
{
	struct arena *arena = arena_new();
	struct config *config = NULL;
	int error = good_config_read(config_guess_run(text, arena), file, &config);

	arena_free(arena);
	return error < 0 ? NULL : config;
}

struct config *command_config_in_force(const char *file, struct command_config_fault *fault)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct config_problems problems = {0};
	struct config *config = NULL;
	int error = config_read(file, &text, &problems);

	if (error == 0)
		error = config_parse(file, buffer_view(&text), &config, &problems);
	if (error < 0) {
		config = find_good_config(file, buffer_view(&text));
		fault->is_closed = problems.closed == problems.count;
		if (config != NULL)
			append_fault(&problems, file, config, &fault->text);
		else
			config_problems_print(&problems, file, &fault->text);
	}
	config_problems_clear(&problems);
	return config;
}

struct config *command_config(const char *file)
{
	struct command_config_fault fault = {.is_closed = false};
	struct config *config = command_config_in_force(file, &fault);

	fprintf(stderr, STR_FORMAT, STR_ARGUMENTS(buffer_view(&fault.text)));
	buffer_clear(&fault.text);
	return config;
}
