// SPDX-License-Identifier: ISC
/* Names that are nearly right, against a plain measure of how near they are; classes of hosts, each
 * before each other one; and which files a record has. */
#include "config/schema/schema.h"
#include "config_outcome.h"
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- names --- */

/* Letters that must be put in, left out or exchanged (Levenshtein), as it is defined. */
static size_t plain_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
	static size_t known[40][40];

	for (size_t i = 0; i <= a_length; i++)
		for (size_t k = 0; k <= b_length; k++) {
			size_t least = i == 0 ? k : k == 0 ? i : i + k;

			if (i > 0 && k > 0) {
				size_t exchanged = known[i - 1][k - 1] + (a[i - 1] != b[k - 1]);

				least = known[i - 1][k] + 1;
				least = known[i][k - 1] + 1 < least ? known[i][k - 1] + 1 : least;
				least = exchanged < least ? exchanged : least;
			}
			known[i][k] = least;
		}
	return known[a_length][b_length];
}

struct nearest {
	const char *name; /* that is meant */
	size_t distance;
	const char *best; /* NULL: nothing is near */
};

static void consider(struct nearest *nearest, const char *candidate)
{
	size_t length = strlen(nearest->name);
	size_t distance = plain_distance(nearest->name, length, candidate, strlen(candidate));

	if (distance >= nearest->distance || distance > 1 + length / 5)
		return;
	nearest->distance = distance;
	nearest->best = candidate;
}

static bool is_any_name(const char *name)
{
	for (unsigned i = CONFIG_SECTION_ROOT; i < CONFIG_SECTION_COUNT; i++)
		if (config_setting_find((enum config_section)i, str_from(name)) != NULL)
			return true;
	return config_section_find(str_from(name)) != CONFIG_SECTION_COUNT;
}

/* Outside of all sections. */
static void check_name(const char *name)
{
	struct config_rows rows = {.section = CONFIG_SECTION_ROOT};
	struct nearest nearest = {name, 1000, NULL};
	const struct config_setting *row;
	char text[200], expected[200];
	struct buffer out;

	if (is_any_name(name))
		return;
	while ((row = config_rows_next(&rows)) != NULL)
		consider(&nearest, row->name);
	for (unsigned i = CONFIG_SECTION_LISTEN; i < CONFIG_SECTION_COUNT; i++)
		consider(&nearest, config_section_info((enum config_section)i)->name);
	snprintf(text, sizeof text, HOST "%s = x", name);
	if (nearest.best != NULL)
		snprintf(expected, sizeof expected,
			 "t:2: %s: unknown setting: did you mean \"%s\"?\n", name, nearest.best);
	else
		snprintf(expected, sizeof expected,
			 "t:2: %s: unknown setting; allowed: see stagepost.conf(5)\n", name);
	out = outcome_of(str_from(text));
	buffer_append_byte(&out, '\0');
	assert_string_equal(buffer_data(&out), expected);
	buffer_clear(&out);
}

/* Each name with a letter less, two less, another one, or one more; also such that are too long. */
static void what_is_meant_is_the_nearest(void **state)
{
	struct config_rows rows = {.section = CONFIG_SECTION_ROOT};
	const struct config_setting *row;
	size_t count = 0;

	(void)state;
	while ((row = config_rows_next(&rows)) != NULL) {
		size_t length = strlen(row->name);
		char near[60];

		for (size_t at = count++ % 3; at < length; at += 3) {
			snprintf(near, sizeof near, "%.*s%s", (int)at, row->name,
				 row->name + at + 1);
			check_name(near);
			if (at + 2 < length) {
				snprintf(near, sizeof near, "%.*s%s", (int)at, row->name,
					 row->name + at + 2);
				check_name(near);
			}
			snprintf(near, sizeof near, "%.*sx%s", (int)at, row->name, row->name + at);
			check_name(near);
			snprintf(near, sizeof near, "%.*sx%s", (int)at, row->name,
				 row->name + at + 1);
			check_name(near);
		}
	}
	check_name("abcdefghijklmnopqrstuvwxyzabcdef");
	assert_true(count > 50);
}

/* --- classes --- */

static const char *const masks[] = {"10.0.0.0/8",   "10.0.0.0/9",    "10.128.0.0/9", "10.1.2.3",
				    "0.0.0.0/0",    "2001:db8::/32", "2001:db8::1",  "::/8",
				    "mx.d.example", "*.d.example",   "d.example",    "*.example",
				    "*.xd.example"};

/* The text's address and its bits; false: it is a name. */
static bool network_of(const char *mask, unsigned char bytes[16], unsigned *bits, int *family)
{
	char text[60];
	char *slash;

	snprintf(text, sizeof text, "%s", mask);
	slash = strchr(text, '/');
	if (slash != NULL)
		*slash++ = '\0';
	*family = strchr(text, ':') != NULL ? AF_INET6 : AF_INET;
	if (inet_pton(*family, text, bytes) != 1)
		return false;
	*bits = slash != NULL ? (unsigned)atoi(slash) : *family == AF_INET ? 32 : 128;
	return true;
}

/* Whether all hosts of ONE are of OTHER, as the mask says it. */
static bool is_covered(const char *other, const char *one)
{
	unsigned char bytes[2][16];
	unsigned bits[2];
	int families[2];
	bool is_network = network_of(one, bytes[0], &bits[0], &families[0]);
	const char *name = strncmp(one, "*.", 2) == 0 ? one + 2 : one;

	if (is_network != network_of(other, bytes[1], &bits[1], &families[1]))
		return false;
	if (!is_network) {
		size_t length = strlen(other) - 1, own = strlen(name);

		if (strncmp(other, "*.", 2) != 0)
			return strcmp(one, other) == 0;
		/* with the dot before it, or the name itself */
		return strcmp(name, other + 2) == 0 ||
		       (own > length && strcmp(name + own - length, other + 1) == 0);
	}
	if (families[0] != families[1] || bits[0] < bits[1])
		return false;
	for (unsigned i = 0; i < bits[1]; i++)
		if (((bytes[0][i / 8] ^ bytes[1][i / 8]) >> (7 - i % 8) & 1) != 0)
			return false;
	return true;
}

static void classes_that_never_apply(void **state)
{
	size_t covered = 0;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(masks); i++)
		for (size_t k = 0; k < COUNT_OF(masks); k++) {
			bool is_refused = is_covered(masks[i], masks[k]);
			char text[300];
			struct buffer out;

			snprintf(text, sizeof text,
				 HOST "class \"%s\" { queue = 1 refuse = 1 }\n"
				      "class \"%s\" { queue = 1 refuse = 1 }\n"
				      "class \"*\" { queue = 1 refuse = 1 }\n",
				 masks[i], masks[k]);
			out = outcome_of(str_from(text));
			if (str_starts_with(buffer_view(&out), STR("t:3: class ")) != is_refused ||
			    str_starts_with(buffer_view(&out), STR("hostname")) == is_refused)
				fail_msg("\"%s\" before \"%s\": %.200s", masks[i], masks[k],
					 buffer_data(&out));
			covered += is_refused;
			buffer_clear(&out);
		}
	assert_true(covered > COUNT_OF(masks) + 5);
}

/* --- files of a record --- */

static void files_of_a_record_have_an_end(void **state)
{
	const struct config_record record = {.password_file = "/p",
					     .authority = "/a",
					     .client_certificate = "/c",
					     .client_key = "/k"};
	static const char *const expected[][2] = {{"record.password_file", "/p"},
						  {"record.authority", "/a"},
						  {"record.client_certificate", "/c"},
						  {"record.client_key", "/k"}};

	(void)state;
	for (size_t i = 0; i < 10; i++) {
		struct config_file file = config_record_file(&record, i);

		if (i < COUNT_OF(expected)) {
			assert_string_equal(file.setting, expected[i][0]);
			assert_string_equal(file.path, expected[i][1]);
		} else {
			assert_null(file.setting);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_meant_is_the_nearest),
		cmocka_unit_test(classes_that_never_apply),
		cmocka_unit_test(files_of_a_record_have_an_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
