// SPDX-License-Identifier: ISC
/* Checksums of a configuration, by which nodes are compared: a change of a setting changes that of
 * its kind of section and no other, unless each machine has its own. */
#include "config/text.h"
#include "test.h"

#define BASE                                                                     \
	"hostname = a.test\nmaxsize = 1000000\nqueue = \"/q\"\nrun = \"/r\"\n"   \
	"listen smtp { address = \"127.0.0.1:25\" repair = no }\n"               \
	"service s { kind = maildir path = \"/m\" }\n"                           \
	"domain \"a.test\" { service = s }\ndomain \"b.test\" { service = s }\n" \
	"node { name = \"a\" listen = \"127.0.0.1:627\" certificate = \"/c\" "   \
	"key = \"/k\" authority = \"/n\" doubt = 10m }\n"                        \
	"directory { path = \"/d\" }\n"

enum { SECTIONS_MAX = 20 };

struct sums {
	char names[SECTIONS_MAX][32];
	uint32_t sums[SECTIONS_MAX];
	size_t count;
};

static void note_sum(void *context, const char *section, uint32_t checksum)
{
	struct sums *sums = context;

	assert_true(sums->count < SECTIONS_MAX && strlen(section) < sizeof sums->names[0]);
	strcpy(sums->names[sums->count], section);
	sums->sums[sums->count++] = checksum;
}

static struct sums sums_of(struct str text)
{
	struct config_problems problems = {.count = 0};
	struct sums sums = {.count = 0};
	struct config *config = NULL;

	assert_int_equal(config_parse("stagepost.conf", text, &config, &problems), 0);
	config_each_checksum(config, note_sum, &sums);
	config_problems_clear(&problems);
	config_free(config);
	return sums;
}

/* BASE with NEW in place of OLD. */
static struct sums sums_with(const char *old, const char *new)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	const char *place = strstr(BASE, old);

	assert_non_null(place);
	buffer_append(&text, BASE, (size_t)(place - BASE));
	buffer_append_string(&text, new);
	buffer_append_string(&text, place + strlen(old));
	return sums_of(buffer_view(&text));
}

static const struct {
	const char *old, *new, *section; /* NULL: none has another one */
} changes[] = {
	{"hostname = a.test", "hostname = b.test", NULL},
	{"\"/q\"", "\"/q2\"", NULL},
	{"\"/r\"", "\"/r2\"", NULL},
	{"name = \"a\"", "name = \"b\"", NULL},
	{"127.0.0.1:627", "127.0.0.2:627", NULL},
	{"\"/c\"", "\"/c2\"", NULL},
	{"\"/k\"", "\"/k2\"", NULL},
	{"127.0.0.1:25\"", "127.0.0.2:25\"", NULL},
	{"\"/d\"", "\"/d2\"", NULL},
	{"path = \"/d\"",
	 "backend = servers servers = \"127.0.0.1:7071\" certificate = \"/c\" "
	 "key = \"/k\" authority = \"/n\"",
	 NULL},
	{"maxsize", "# a comment\nmaxsize", NULL},
	{"1000000", "1000001", ""},
	{"maxsize", "uid_min = 5\nmaxsize", ""},
	{"repair = no", "repair = yes", "listen"},
	{"\"/m\"", "\"/m2\"", "service"},
	{"domain \"b.test\" { service = s }", "", "domain"},
	{"domain \"b.test\"", "domain \"c.test\"", "domain"},
	{"\"/n\"", "\"/n2\"", "node"},
	{"10m", "11m", "node"},
};

static void a_change_counts_in_its_section(void **state)
{
	const struct sums before = sums_of(STR(BASE));

	(void)state;
	assert_true(before.count > 5);
	for (size_t i = 0; i < COUNT_OF(changes); i++) {
		const struct sums after = sums_with(changes[i].old, changes[i].new);

		assert_int_equal(after.count, before.count);
		for (size_t j = 0; j < before.count; j++) {
			bool is_changed = changes[i].section != NULL &&
					  strcmp(before.names[j], changes[i].section) == 0;

			assert_string_equal(after.names[j], before.names[j]);
			if ((after.sums[j] != before.sums[j]) != is_changed)
				fail_msg("\"%s\" in place of \"%s\": section \"%s\"",
					 changes[i].new, changes[i].old, before.names[j]);
		}
	}
}

/* A password counts as one, whatever it is: nobody can try them by this. */
static void a_password_does_not_count(void **state)
{
	const struct sums with =
		sums_with("directory {", "record { backend = postgresql database = "
					 "\"password=one\" }\ndirectory {");
	const struct sums other =
		sums_with("directory {", "record { backend = postgresql database = "
					 "\"password=two\" }\ndirectory {");

	(void)state;
	assert_memory_equal(&with, &other, sizeof with);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_change_counts_in_its_section),
		cmocka_unit_test(a_password_does_not_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
