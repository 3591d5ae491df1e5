// SPDX-License-Identifier: ISC
/* tests/unit/config/config_outcome.h - what comes of the text of a configuration. */
#ifndef TESTS_UNIT_CONFIG_OUTCOME_H
#define TESTS_UNIT_CONFIG_OUTCOME_H

#include "config/text.h"
#include "test.h"

#define HOST "hostname = mx.example.org\n"
#define BOX  "service box { kind = maildir path = /m/%d/%u }\n"

struct refusal {
	const char *text;
	const char *problems; /* each "t:LINE: ...\n" */
};

/* What is in TEXT, which has to be right. */
static inline struct config *config_of(const char *text)
{
	struct config_problems problems;
	struct config *config = NULL;
	struct buffer out = {0};

	if (config_parse("t", str_from(text), &config, &problems) != 0) {
		config_problems_print(&problems, "t", &out);
		fail_msg(STR_FORMAT, STR_ARGUMENTS(buffer_view(&out)));
	}
	config_problems_clear(&problems);
	return config;
}

/* What is in FILE; or -errno. */
static inline int load_config(const char *file, struct config **config_out,
			      struct config_problems *problems)
{
	struct buffer text = {0};
	int error = config_read(file, &text, problems);

	if (error == 0)
		error = config_parse(file, buffer_view(&text), config_out, problems);
	buffer_clear(&text);
	return error;
}

/* What config_print() says of TEXT when it is right, otherwise its problems. */
static inline struct buffer outcome_of(struct str text)
{
	struct config_problems problems;
	struct config *config = NULL;
	struct buffer out = {0};

	if (config_parse("t", text, &config, &problems) == 0)
		config_print(config, &out);
	else
		config_problems_print(&problems, "t", &out);
	assert_int_equal(config == NULL, problems.count > 0);
	config_problems_clear(&problems);
	config_free(config);
	return out;
}

static inline void check_refusals(const struct refusal *cases, size_t count)
{
	size_t failed = 0;

	for (size_t i = 0; i < count; i++) {
		struct buffer out = outcome_of(str_from(cases[i].text));

		if (!str_equal(buffer_view(&out), str_from(cases[i].problems))) {
			print_error("%s\n--- wanted\n%s--- found\n" STR_FORMAT "\n", cases[i].text,
				    cases[i].problems, STR_ARGUMENTS(buffer_view(&out)));
			failed++;
		}
		buffer_clear(&out);
	}
	assert_int_equal(failed, 0);
}

#endif
