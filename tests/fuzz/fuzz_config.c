// SPDX-License-Identifier: ISC
/*
 * tests/fuzz/fuzz_config.c - a configuration from anybody: it is refused with
 * problems, or accepted and then printed so that it parses to the same.
 */
#include "base/panic.h"
#include "config/text.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_problems(const struct config_problems *problems)
{
	struct buffer out = {0};
	unsigned line = 0;
	size_t lines = 0;
	size_t count = 0;

	if (problems->count == 0)
		panic("refused without a problem");
	config_problems_print(problems, "f", &out);
	for (size_t i = 0; i < out.length; i++)
		lines += buffer_data(&out)[i] == '\n';
	for (const struct config_problem *p = problems->first; p != NULL; p = p->next) {
		if (p->line < line && p->next != NULL)
			panic("problems out of order");
		line = p->line;
		count++;
	}
	if (lines != problems->count || count != problems->count)
		panic("%zu problems in %zu lines", problems->count, lines);
	buffer_clear(&out);
}

static void check_print(const struct config *config)
{
	struct config_problems problems;
	struct config *again = NULL;
	struct buffer once = {0};
	struct buffer twice = {0};

	config_print(config, &once);
	if (config_parse("f", buffer_view(&once), &again, &problems) != 0)
		panic("what is printed is refused: line %u %s %s", problems.first->line,
		      problems.first->setting, problems.first->message);
	config_print(again, &twice);
	if (!str_equal(buffer_view(&once), buffer_view(&twice)))
		panic("what is printed parses to something else");
	buffer_clear(&once);
	buffer_clear(&twice);
	config_problems_clear(&problems);
	config_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct config_problems problems;
	struct config *config = NULL;

	if (config_parse("f", str_slice((const char *)data, size), &config, &problems) == 0)
		check_print(config);
	else
		check_problems(&problems);
	config_problems_clear(&problems);
	config_free(config);
	return 0;
}
