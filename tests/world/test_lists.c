// SPDX-License-Identifier: ISC
/* Who must get a list's mail, and what the ledger says when somebody does not. */
#include "kernel.h"
#include "lists.h"
#include "mail.h"
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const int64_t SECOND = 1000000;

enum { CHECKS = 50 };

#define OPEN   "list0@" LISTS_DOMAIN
#define OWNER  "owner0+@hop.example"
#define KEEPER "keeper0@one.example"

static struct {
	struct machine *node;
	int status; /* of the next commands */
	bool is_done;
	char list[64]; /* of the last command */
	char member[64];
	bool is_present;
} scene;

/* Takes down what the last word of the command is about: "LIST MEMBER" or a statement. */
static int run_command(int argc, char **argv)
{
	const char *text = argv[argc - 1];

	scene.is_present = strcmp(argv[2], "put") == 0 || strncmp(text, "INSERT", 6) == 0;
	for (size_t i = 0; i < LISTS; i++)
		if (strstr(text, lists_name(i)) != NULL)
			snprintf(scene.list, sizeof scene.list, "%s", lists_name(i));
	for (size_t i = 0; lists_member(i) != NULL; i++)
		if (strstr(text, lists_member(i)) != NULL)
			snprintf(scene.member, sizeof scene.member, "%s", lists_member(i));
	return scene.status;
}

static void nothing(void *context)
{
	(void)context;
}

static void pass(int64_t us)
{
	kernel_at(kernel_now_us() + us, nothing, NULL);
	world_run(kernel_now_us() + us);
}

static int begin(void **state)
{
	static const struct world_program stagepost = {"stagepost", run_command, NULL};
	static const struct world_program sql = {"sql", run_command, NULL};

	(void)state;
	memset(&scene, 0, sizeof scene);
	world_begin(1, NULL);
	ledger_begin();
	world_add_program(&stagepost);
	world_add_program(&sql);
	scene.node = machine_new("one", 0x0a000001);
	lists_begin(1);
	lists_set_up();
	pass(1000 * SECOND);
	assert_true(lists_are_ready());
	return 0;
}

static int end(void **state)
{
	(void)state;
	world_end();
	ledger_end();
	lists_end();
	return 0;
}

static uint64_t promise(void)
{
	const uint64_t number = ledger_new();

	ledger_add(number, OPEN);
	ledger_promise(number);
	return number;
}

static void give(uint64_t number, const char *place)
{
	char *text;
	const size_t size = ledger_text(number, &text) - strlen(".\r\n");

	ledger_deliver(place, text, size);
	free(text);
}

static void report(uint64_t number, const char *member, const char *place)
{
	char text[256];
	const int size = snprintf(text, sizeof text,
				  "Final-Recipient: rfc822; somebody\n"
				  "Final-Recipient: rfc822; %s\n\nX-World: %llu\n\n",
				  member, (unsigned long long)number);

	ledger_deliver(place, strchr(text, '\n'), (size_t)size - strcspn(text, "\n"));
}

/* To all members of OPEN who must get it, but for LEFT_OUT. */
static void give_all_but(uint64_t number, const char *left_out)
{
	for (size_t i = 0; lists_member(i) != NULL; i++)
		if (lists_must_reach(OPEN, lists_member(i), kernel_now_us()) &&
		    strcmp(lists_member(i), left_out) != 0)
			give(number, lists_member(i));
}

/* Somebody who must, or may not, get the mail of OPEN, whose name begins with BEGIN. */
static const char *somebody(bool is_member, const char *beginning)
{
	for (size_t i = 0; lists_member(i) != NULL; i++)
		if (strncmp(lists_member(i), beginning, strlen(beginning)) == 0 &&
		    (is_member ? lists_must_reach(OPEN, lists_member(i), kernel_now_us())
			       : !lists_may_reach(OPEN, lists_member(i), kernel_now_us())))
			return lists_member(i);
	return NULL;
}

static struct ledger_sums sums(void)
{
	struct ledger_sums result;

	ledger_sum(&result);
	return result;
}

static void done(bool is_good)
{
	assert_int_equal(is_good, scene.status == 0);
	scene.is_done = true;
}

static void change(void)
{
	scene.is_done = false;
	lists_change(scene.node, scene.node, done);
	pass(10 * SECOND);
	assert_true(scene.is_done);
}

/* Changes until there is such a member. */
static const char *find(bool is_member, const char *beginning)
{
	const char *found = somebody(is_member, beginning);

	for (int i = 0; found == NULL && i < 1000; i++) {
		change();
		found = somebody(is_member, beginning);
	}
	assert_non_null(found);
	return found;
}

static void who_has_nothing_is_missed(void **state)
{
	const char *member = find(true, "member");
	const uint64_t number = promise();

	(void)state;
	give_all_but(number, KEEPER);
	assert_false(ledger_is_done());
	assert_int_equal(sums().lost, 1); /* the list: nobody knows yet that it is expanded */
	give(number, KEEPER);
	assert_true(ledger_is_done());
	assert_int_equal(sums().lost, 0);
	give_all_but(promise(), member);
	assert_false(ledger_is_done());
	assert_int_equal(sums().lost, 1);
	assert_int_equal(sums().changed, 0);
}

static void a_stranger_is_noticed(void **state)
{
	const char *stranger = find(false, "member");
	const uint64_t number = promise();

	(void)state;
	give_all_but(number, "");
	assert_int_equal(sums().changed, 0);
	give(number, stranger);
	assert_int_equal(sums().changed, 1);
}

static void who_gets_it_twice_is_noticed(void **state)
{
	const char *member = find(true, "member");
	const uint64_t number = promise();

	(void)state;
	give_all_but(number, "");
	assert_int_equal(sums().twice, 0);
	give(number, member);
	assert_int_equal(sums().twice, 1);
	assert_int_equal(sums().unexcused, 1);
	ledger_excuse_recipient(number, OPEN);
	assert_int_equal(sums().unexcused, 0);
}

static void only_the_owner_is_told(void **state)
{
	const char *refused = find(true, HOP_REFUSED);

	(void)state;
	report(promise(), refused, OWNER);
	assert_int_equal(sums().changed, 0);
	report(promise(), refused, CLIENT_SENDER);
	assert_int_equal(sums().changed, 1);
	report(promise(), find(true, "member"), OWNER); /* whom nobody refuses */
	assert_int_equal(sums().changed, 2);
	report(promise(), OPEN, CLIENT_SENDER); /* where anyone may post */
	assert_int_equal(sums().changed, 3);
}

/* What was confirmed is true, what failed may be. */
static void members_come_and_go(void **state)
{
	unsigned checks = 0;

	(void)state;
	for (int i = 0; i < 500; i++) {
		scene.status = kernel_one_in(5) ? 2 : 0;
		scene.member[0] = '\0';
		change();
		if (scene.member[0] == '\0' || strcmp(scene.list, "list3@" LISTS_DOMAIN) != 0)
			continue;
		/* no other list is in that one; one who is put in again was there before */
		if (scene.status == 0 || !scene.is_present)
			assert_int_equal(
				lists_must_reach(scene.list, scene.member, kernel_now_us()),
				scene.is_present);
		if (scene.status == 0 || scene.is_present)
			assert_int_equal(lists_may_reach(scene.list, scene.member, kernel_now_us()),
					 scene.is_present);
		checks++;
	}
	assert_true(checks > CHECKS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(who_has_nothing_is_missed, begin, end),
		cmocka_unit_test_setup_teardown(a_stranger_is_noticed, begin, end),
		cmocka_unit_test_setup_teardown(who_gets_it_twice_is_noticed, begin, end),
		cmocka_unit_test_setup_teardown(only_the_owner_is_told, begin, end),
		cmocka_unit_test_setup_teardown(members_come_and_go, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
