// SPDX-License-Identifier: ISC
/* The SQLite store in a process that is killed, again and again. */
#include "sqlite_scene.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 12, NAMES_MAX = 100000 };

/* In the child: changes, two records each, as fast as it goes; each that was answered is
 * written to REPORT. */
static void change_until_killed(const char *path, unsigned first, int report)
{
	struct sqlite_scene scene = {.loop = os_loop_new()};
	char one[40];
	char two[40];

	snprintf(scene.path, sizeof scene.path, "%s", path);
	scene_restart(&scene);
	for (unsigned i = first; i < NAMES_MAX; i++) {
		size_t answers = scene.answers;

		snprintf(one, sizeof one, "user a%u", i);
		snprintf(two, sizeof two, "user b%u", i);
		scene_put_both(&scene, one, two);
		scene_turn(&scene);
		buffer_reset(&scene.heard);
		if (scene.answers != answers + 1 || write(report, &i, sizeof i) != sizeof i)
			break;
	}
	_exit(1);
}

/* The number behind the last change that was answered. */
static unsigned kill_at_random(const char *path, unsigned first)
{
	int report[2];
	unsigned next = first;
	unsigned number;
	int status;
	pid_t child;

	assert_int_equal(pipe(report), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		close(report[0]);
		change_until_killed(path, first, report[1]);
	}
	close(report[1]);
	/* so many answers, and then in the middle of something */
	for (unsigned count = 1 + (unsigned)random() % 20; count > 0; count--)
		if (read(report[0], &number, sizeof number) == sizeof number)
			next = number + 1;
	usleep((useconds_t)random() % 3000);
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	while (read(report[0], &number, sizeof number) == sizeof number)
		next = number + 1;
	close(report[0]);
	return next;
}

static void kill_9_loses_nothing_that_was_answered(void **state)
{
	struct sqlite_scene scene;
	unsigned next = 0;
	char sql[200];

	(void)state;
	scene_open(&scene);
	scene.store->operations->free(scene.store);
	srandom((unsigned)getpid());
	for (unsigned round = 0; round < ROUNDS; round++) {
		next = kill_at_random(scene.path, next);
		snprintf(sql, sizeof sql,
			 "SELECT count(*) FROM \"user\" WHERE substr(name, 2) + 0 < %u", next);
		assert_int_equal(scene_count(&scene, sql), 2 * next);
		/* both of a call or none; one more may have been made than was answered */
		assert_int_equal(scene_count(&scene, "SELECT count(*) FROM \"user\" AS x WHERE NOT "
						     "EXISTS (SELECT 1 FROM \"user\" AS y WHERE "
						     "y.name = CASE substr(x.name, 1, 1) WHEN 'a' "
						     "THEN 'b' ELSE 'a' END || substr(x.name, 2))"),
				 0);
		assert_int_equal(
			scene_count(&scene,
				    "SELECT (SELECT version FROM meta) - (SELECT max("
				    "version) FROM change) + (SELECT count(*) FROM change) - "
				    "(SELECT max(version) FROM change)"),
			0);
	}
	assert_true(next > ROUNDS);
	scene_restart(&scene);
	scene_close(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kill_9_loses_nothing_that_was_answered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
