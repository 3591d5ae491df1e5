// SPDX-License-Identifier: ISC
/* What a configuration that is wrong says nevertheless. */
#include "config/internal.h"
#include "config/parse/token.h"

/* The value that LINE gives to the setting run; NULL: it sets something else. */
static const char *run_in_line(struct str line, struct arena *arena)
{
	struct config_problems problems = {0};
	struct config_reader reader = {.text = line, .line = 1, .problems = &problems};
	const char *run = NULL;

	config_reader_next(&reader);
	if (reader.token.kind == TOKEN_WORD &&
	    str_equal(config_token_text(&reader, &reader.token), STR("run"))) {
		config_reader_next(&reader);
		if (reader.token.kind == TOKEN_ASSIGN)
			config_reader_next(&reader);
		if (reader.token.kind == TOKEN_WORD || reader.token.kind == TOKEN_STRING)
			run = config_token_value(&reader, &reader.token, arena);
	}
	config_problems_clear(&problems);
	return run;
}

/* Line by line: what is wrong in one does not reach the others. */
const char *config_guess_run(struct str text, struct arena *arena)
{
	const char *run = config_setting_find(CONFIG_SECTION_ROOT, STR("run"))->initial;
	struct str line;

	while (str_split(&text, '\n', &line)) {
		const char *found = run_in_line(line, arena);

		if (found != NULL)
			run = found;
	}
	return run;
}
