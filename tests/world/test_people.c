// SPDX-License-Identifier: ISC
/* What addresses may mean after commands that were answered, and after one that was not; and whose
 * password is right. */
#include "changes.h"
#include "description.h"
#include "kernel.h"
#include "login.h"
#include "logins.h"
#include "mail.h"
#include "people.h"
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const int64_t SECOND = 1000000;
static const int64_t UNANSWERED = 300 * INT64_C(1000000); /* as people.c has it */

enum { UNANSWERED_STATUS = 3 };

/* What the commands have said of a user. */
struct told {
	bool is_accepted;
	bool was_changed; /* at all */
	int64_t changed_us;
};

static struct {
	struct told users[PEOPLE_USERS];
	int unanswered;   /* the user of the command that was not answered; -1: none yet */
	bool is_accepted; /* what that would have made */
	int64_t unanswered_us;
	bool may_fail;
} told;

static const char *user_name(int user)
{
	static char name[40];

	snprintf(name, sizeof name, "user%d@" PEOPLE_DOMAIN, user);
	return name;
}

/* The user that ARGUMENTS are about; -1: none. */
static int user_of(const char *text)
{
	const char *place = strstr(text, "user");

	while (place != NULL && strchr("0123456789", place[strlen("user")]) == NULL)
		place = strstr(place + 1, "user"); /* a table's name */
	return place != NULL ? atoi(place + strlen("user")) : -1;
}

static void note(const char *about, bool is_accepted)
{
	int user = user_of(about);

	if (user >= 0)
		told.users[user] = (struct told){is_accepted, true, kernel_now_us()};
}

static void print(const char *text)
{
	struct description *description = table_find(2);

	assert_true(description->kind->write(description, text, strlen(text)) > 0);
}

static int run_stagepost(int argc, char **argv)
{
	bool is_put = argc > 3 && strcmp(argv[2], "put") == 0;
	bool is_accepted = is_put && argc > 4 && strcmp(argv[4], "kind=refused") != 0;

	if (told.may_fail && told.unanswered < 0 && user_of(argv[3]) >= 0) {
		told.unanswered = user_of(argv[3]);
		told.is_accepted = is_accepted;
		told.unanswered_us = kernel_now_us();
		print("stagepost directory put: the directory does not answer\n");
		return UNANSWERED_STATUS;
	}
	note(argv[3], is_accepted);
	return 0;
}

static int run_sql(int argc, char **argv)
{
	if (argc == 3)
		note(argv[2],
		     strstr(argv[2], "'mailbox'") != NULL || strstr(argv[2], "'forward'") != NULL);
	return 0;
}

static int begin(void **state)
{
	static const struct world_program stagepost = {"stagepost", run_stagepost, NULL};
	static const struct world_program sql = {"sql", run_sql, NULL};

	(void)state;
	memset(&told, 0, sizeof told);
	told.unanswered = -1;
	world_begin(1, NULL);
	world_add_program(&stagepost);
	world_add_program(&sql);
	people_add_node(machine_new("one", 0x0a000001));
	people_start(SECOND / 2, INT64_MAX);
	return 0;
}

static int end(void **state)
{
	(void)state;
	world_end();
	people_end();
	return 0;
}

static void pass(int64_t us)
{
	world_run(kernel_now_us() + us);
}

/* Whether what was told of USER is long enough ago to be true everywhere, and is all that may be
 * true. */
static bool is_settled(int user)
{
	return told.users[user].was_changed &&
	       told.users[user].changed_us + 2 * SECOND < kernel_now_us();
}

static void expect(int user, bool is_accepted, bool is_refused)
{
	assert_int_equal(people_may_accept(user_name(user), kernel_now_us()), is_accepted);
	assert_int_equal(people_may_refuse(user_name(user), kernel_now_us()), is_refused);
}

static void what_was_confirmed_is_true(void **state)
{
	unsigned checks = 0;

	(void)state;
	for (int turn = 0; turn < 1000; turn++) {
		pass(SECOND);
		for (int user = 0; user < PEOPLE_USERS; user++)
			if (is_settled(user)) {
				expect(user, told.users[user].is_accepted,
				       !told.users[user].is_accepted);
				checks++;
			}
	}
	assert_true(checks > 1000);
}

/* Whether what was told of USER rules out the command that was not answered. */
static bool is_late(int user, int64_t *after_us)
{
	*after_us = told.users[user].changed_us - told.unanswered_us;
	return is_settled(user) && told.users[user].is_accepted != told.is_accepted &&
	       *after_us > 0;
}

/* The directory stood still: what it was asked for comes after a change that was confirmed
 * meanwhile, but not for ever. */
static void what_was_not_answered_may_come_late(void **state)
{
	unsigned late = 0;
	unsigned ruled = 0;

	(void)state;
	told.may_fail = true;
	while (late < 100 || ruled < 20) {
		int user = told.unanswered;
		int64_t after_us;

		assert_true(kernel_now_us() < 50000 * SECOND);
		pass(SECOND);
		if (user < 0 || !is_late(user, &after_us))
			continue;
		if (after_us < UNANSWERED) {
			expect(user, true, true);
			late++;
		} else if (after_us > UNANSWERED + SECOND) {
			expect(user, told.users[user].is_accepted, !told.users[user].is_accepted);
			ruled++;
			told.unanswered = -1; /* the next one */
		}
	}
}

/* --- passwords --- */

static struct {
	size_t user;
	size_t word; /* LOGINS_WORDS: none of his */
	bool is_done;
} given;

/* directory put --table user NAME password=HASH send_as=... --replace [state=disabled] */
static int run_user_command(int argc, char **argv)
{
	bool is_password = argc == 9 && strcmp(argv[2], "put") == 0;

	given.user = (size_t)(argv[5][strlen("login")] - '0');
	given.word = !is_password ? LOGINS_WORDS : strstr(argv[6], "$JV8Y") != NULL ? 0 : 1;
	return 0;
}

static void given_done(bool is_good)
{
	assert_true(is_good);
	given.is_done = true;
}

static int begin_logins(void **state)
{
	static const struct world_program stagepost = {"stagepost", run_user_command, NULL};

	(void)state;
	world_begin(1, NULL);
	changes_begin();
	world_add_program(&stagepost);
	logins_begin();
	return 0;
}

static int end_logins(void **state)
{
	(void)state;
	world_end();
	logins_end();
	return 0;
}

static void nothing(void *context)
{
	(void)context;
}

/* Who has a password is accepted with that one only, and nobody is without a change. */
static void one_password_is_right(void **state)
{
	struct machine *node = machine_new("one", 0x0a000001);
	unsigned accepted = 0;

	(void)state;
	assert_false(logins_may_accept(0, 0, kernel_now_us()));
	for (int turn = 0; turn < 100; turn++) {
		given.is_done = false;
		logins_change(node, given_done);
		kernel_at(kernel_now_us() + 10 * SECOND, nothing, NULL);
		pass(10 * SECOND);
		assert_true(given.is_done);
		for (size_t word = 0; word < LOGINS_WORDS; word++) {
			assert_int_equal(logins_may_accept(given.user, word, kernel_now_us()),
					 word == given.word);
			assert_int_equal(logins_may_refuse(given.user, word, kernel_now_us()),
					 word != given.word);
		}
		accepted += given.word < LOGINS_WORDS;
	}
	assert_in_range(accepted, 20, 80);
}

static uint64_t complaints(void)
{
	struct ledger_sums sums;

	ledger_sum(&sums);
	return sums.changed;
}

/* He is asked for at each MAIL, and his session ends, but not in the midst of a message. */
static void a_session_lasts_as_long_as_its_user(void **state)
{
	struct machine *node = machine_new("one", 0x0a000001);
	struct login here = {0, LOGINS_WORDS - 1}; /* nobody's password: he is gone */

	(void)state;
	ledger_begin();
	pass(10 * SECOND);
	login_check_mail(&here, 421, kernel_now_us());
	login_check_pause(&here, false);
	login_check_text(&here, 250);
	assert_int_equal(complaints(), 0);
	login_check_mail(&here, 250, kernel_now_us());
	assert_int_equal(complaints(), 1);
	login_check_pause(&here, true);
	assert_int_equal(complaints(), 2);
	login_check_text(&here, 421);
	assert_int_equal(complaints(), 3);
	do {
		given.is_done = false;
		logins_change(node, given_done);
		kernel_at(kernel_now_us() + 10 * SECOND, nothing, NULL);
		pass(10 * SECOND);
	} while (given.word >= LOGINS_WORDS);
	here = (struct login){given.user, given.word};
	login_check_mail(&here, 250, kernel_now_us());
	login_check_pause(&here, true);
	login_check_text(&here, 421);
	assert_int_equal(complaints(), 3);
	ledger_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_was_confirmed_is_true, begin, end),
		cmocka_unit_test_setup_teardown(what_was_not_answered_may_come_late, begin, end),
		cmocka_unit_test_setup_teardown(one_password_is_right, begin_logins, end_logins),
		cmocka_unit_test_setup_teardown(a_session_lasts_as_long_as_its_user, begin_logins,
						end_logins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
