// SPDX-License-Identifier: ISC
/* Who a process of a node is, and what it may, against the table of rights; and the page of it. */
#include "rights_scene.h"
#include "test.h"
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE_MAX = 1 << 20 };

/* The page shows the table as the program has it. */
static void test_page(void **state)
{
	static char page[PAGE_MAX];
	struct buffer table = {0};
	FILE *file = fopen(getenv("SECURITY_PAGE"), "re");
	const char *begin;

	(void)state;
	assert_non_null(file);
	page[fread(page, 1, sizeof page - 1, file)] = '\0';
	fclose(file);
	rights_append_table(&table);
	begin = strstr(page, "| process | user |");
	if (begin == NULL || strncmp(begin, buffer_data(&table), table.length) != 0 ||
	    strncmp(begin + table.length, "<!-- end -->", 12) != 0) {
		fprintf(stderr, "doc/security.md should have:\n" STR_FORMAT,
			STR_ARGUMENTS(buffer_view(&table)));
		fail();
	}
	buffer_clear(&table);
}

static void set_real_user(struct os_inspect_status *status)
{
	status->users[0] = 7;
}
static void set_saved_user(struct os_inspect_status *status)
{
	status->users[2] = 0;
}
static void set_file_user(struct os_inspect_status *status)
{
	status->users[3] = 0;
}
static void set_group(struct os_inspect_status *status)
{
	status->groups[1] = 7;
}

static void set_other(struct os_inspect_status *status)
{
	status->others[0] = 0;
	status->other_count = 1;
}

static void set_many(struct os_inspect_status *status)
{
	for (size_t i = 0; i < OS_INSPECT_GROUPS_MAX; i++)
		status->others[i] = RIGHTS_SCENE_USER;
	status->other_count = OS_INSPECT_GROUPS_MAX + 1;
}

static void set_ambient(struct os_inspect_status *status)
{
	status->capabilities[OS_INSPECT_AMBIENT] = 1;
}

static void set_effective(struct os_inspect_status *status)
{
	status->capabilities[OS_INSPECT_EFFECTIVE] = UINT64_C(1) << CAP_KILL;
}

static void set_inheritable(struct os_inspect_status *status)
{
	status->capabilities[OS_INSPECT_INHERITABLE] = 1;
}

static void set_gain(struct os_inspect_status *status)
{
	status->may_not_gain = false;
}
static void set_mode(struct os_inspect_status *status)
{
	status->seccomp = 0;
}
static void set_filters(struct os_inspect_status *status)
{
	status->filters = 0;
}
static void set_nothing(struct os_inspect_status *status)
{
	(void)status;
}

/* Of a container that gave all of it one: it has none of its own. */
static void set_shared(struct os_inspect_status *status)
{
	status->filters = 3;
}

static void test_status(void **state)
{
	static const struct {
		void (*set)(struct os_inspect_status *status);
		unsigned supervisor_filters;
		const char *found;
	} cases[] = {
		{set_nothing, 0, ""},
		{set_real_user, 0, "real user 7"},
		{set_saved_user, 0, "saved user 0"},
		{set_file_user, 0, "file user 0"},
		{set_group, 0, "effective group 7"},
		{set_other, 0, "supplementary group 0"},
		{set_many, 0, "65 groups"},
		{set_ambient, 0, "ambient capabilities 1"},
		{set_effective, 0, "effective capabilities 20"},
		{set_inheritable, 0, "inheritable capabilities 1"},
		{set_gain, 0, "it may gain rights"},
		{set_mode, 0, "no filter of its own, seccomp mode 0"},
		{set_filters, 0, ""}, /* an old kernel */
		{set_shared, 2, ""},
		{set_shared, 3, "no filter of its own, seccomp mode 2"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct rights_scene scene;

		rights_scene_make(&scene, "smtpd");
		scene.processes[0].status.filters = cases[i].supervisor_filters;
		cases[i].set(&scene.processes[1].status);
		rights_scene_expect(&scene, cases[i].found);
	}
}

/* Root's: those of the row, and no others. */
static void test_roots_capabilities(void **state)
{
	static const struct {
		const char *program;
		unsigned number;
		const char *found;
	} cases[] = {{"local", CAP_SETUID, ""},
		     {"local", CAP_KILL, "permitted capabilities 20"},
		     {"launch", CAP_KILL, ""},
		     {"launch", CAP_DAC_OVERRIDE, "permitted capabilities 2"},
		     {"policy", CAP_DAC_OVERRIDE, ""},
		     {"pipe", CAP_KILL, "permitted capabilities 20"},
		     {"smtpd", CAP_SETUID, "permitted capabilities 80"}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct rights_scene scene;

		rights_scene_make(&scene, cases[i].program);
		scene.processes[0].status = scene.processes[1].status = rights_scene_status(0);
		scene.processes[0].status.filters = 0;
		scene.processes[1].status.capabilities[OS_INSPECT_PERMITTED] = UINT64_C(1)
									       << cases[i].number;
		rights_scene_expect(&scene, cases[i].found);
	}
}

/* What is seen by one of two looks was a moment's. */
static void test_moments(void **state)
{
	struct rights_findings findings[2];
	struct rights_check check = {.node = NULL};
	const struct node_process process = {.pid = 5, .program = "send"};

	(void)state;
	check.process = &process;
	for (unsigned i = 0; i < 2; i++) {
		rights_findings_init(&findings[i]);
		check.findings = &findings[i];
		rights_report(&check, "nothing", "stays");
		rights_report(&check, "nothing", "comes %u", i);
	}
	for (unsigned i = 0; i < 2; i++) { /* each at the same descriptor */
		check.findings = &findings[i];
		check.socket = 100 + i;
		rights_report(&check, "nothing", "a socket");
	}
	rights_findings_keep(&findings[0], &findings[1]);
	assert_int_equal(findings[0].count, 1);
	assert_string_equal(findings[0].list[0].found, "stays");
	for (unsigned i = 0; i < 2; i++)
		rights_findings_clear(&findings[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_page),
		cmocka_unit_test(test_status),
		cmocka_unit_test(test_roots_capabilities),
		cmocka_unit_test(test_moments),
	};

	return cmocka_run_group_tests(tests, rights_scene_read_config, rights_scene_free_config);
}
