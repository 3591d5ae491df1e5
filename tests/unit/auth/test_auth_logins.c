// SPDX-License-Identifier: ISC
/* Who has authenticated is followed: when the directory is asked about whom, and who is told what.
 * A directory that answers when the test wants it. */
#include "auth/login.h"
#include "auth/server/internal.h"
#include "ipc/channel.h"
#include "ipc/pack.h"
#include "test.h"
#include <stdio.h>
#include <string.h>

enum { USERS = 100, TURNS_MAX = 1000 };

/* What the directory was asked, in order, and has not answered. */
static struct directory_question *questions[USERS];
static char names[USERS][AUTH_USER_MAX + 1];
static size_t question_count;
static void (*changed)(void *context, uint64_t version, struct str table, struct str key);
static bool is_waiting; /* the timer runs */
static unsigned turns;  /* how often that was asked since the test did something */
static uint32_t told_tag[USERS];
static uint32_t told[USERS];
static size_t told_count;
static unsigned doubts;      /* how often all logins were in doubt */
static struct os_task *task; /* for the end of the turn; NULL: none */
static bool is_up;           /* the directory */

static struct auth_server server;
static struct auth_asker asker;

void directory_client_get(struct directory_client *client, const char *table, struct str key,
			  int64_t patience_us, struct directory_question *question)
{
	(void)client;
	(void)patience_us;
	assert_string_equal(table, "user");
	assert_null(question->private);
	assert_true(question_count < USERS);
	snprintf(names[question_count], sizeof names[0], "%.*s", (int)key.length, key.data);
	questions[question_count++] = question;
	question->private = (struct directory_question_private *)question;
}

static void forget_question(size_t i)
{
	questions[i]->private = NULL;
	question_count--;
	memmove(questions + i, questions + i + 1, (question_count - i) * sizeof *questions);
	memmove(names + i, names + i + 1, (question_count - i) * sizeof *names);
}

void directory_question_cancel(struct directory_client *client, struct directory_question *question)
{
	(void)client;
	for (size_t i = 0; i < question_count; i++)
		if (questions[i] == question) {
			forget_question(i);
			return;
		}
	fail_msg("a question is cancelled that is not open");
}

void directory_client_watch(struct directory_client *client,
			    void (*watch)(void *context, uint64_t version, struct str table,
					  struct str key),
			    void *context)
{
	(void)client;
	assert_ptr_equal(context, &server);
	changed = watch;
}

bool directory_client_is_up(const struct directory_client *client)
{
	(void)client;
	return is_up;
}

void auth_keys_ask(struct auth_server *of)
{
	assert_ptr_equal(of, &server);
}

/* The hash stands for itself. */
void auth_inventor_stamp(const struct auth_inventor *inventor, struct str hash, struct buffer *out)
{
	(void)inventor;
	buffer_append_str(out, hash);
}

void ipc_channel_send(struct ipc_channel *channel, uint16_t type, uint32_t tag, struct str body,
		      const int *descriptors, size_t count)
{
	struct unpack unpack = {body, false};

	(void)channel;
	(void)descriptors;
	assert_int_equal(count, 0);
	if (type == AUTH_DOUBT) {
		assert_int_equal(tag, 0);
		assert_int_equal(body.length, 0);
		doubts++;
		return;
	}
	assert_int_equal(type, AUTH_LOGIN);
	assert_true(told_count < USERS);
	told_tag[told_count] = tag;
	told[told_count++] = unpack_u32(&unpack);
	assert_true(unpack_is_whole(&unpack));
}

struct os_timer *os_timer_new(struct os_loop *loop, void (*call)(void *context), void *context)
{
	(void)loop;
	(void)call;
	(void)context;
	return NULL;
}

void os_timer_free(struct os_timer *timer)
{
	(void)timer;
}

void os_timer_start(struct os_timer *timer, int64_t delay_us)
{
	(void)timer;
	(void)delay_us;
	is_waiting = true;
}

/* Asked before each look: who looks in a circle comes here without end. */
bool os_timer_is_running(const struct os_timer *timer)
{
	(void)timer;
	if (++turns > TURNS_MAX)
		fail_msg("who is due is looked at in a circle");
	return is_waiting;
}

void ipc_server_each(struct ipc_server *ipc,
		     void (*call)(void *client, struct ipc_channel *channel))
{
	(void)ipc;
	call(&asker, NULL);
}

void os_loop_defer(struct os_loop *loop, struct os_task *deferred)
{
	(void)loop;
	task = deferred;
}

void os_task_cancel(struct os_loop *loop, struct os_task *deferred)
{
	(void)loop;
	if (task == deferred)
		task = NULL;
}

/* The doubts that were said until the end of this turn. */
static unsigned end_turn(void)
{
	struct os_task *due = task;
	unsigned before = doubts;

	task = NULL;
	if (due != NULL)
		due->call(due->context);
	return doubts - before;
}

static int set_up(void **state)
{
	(void)state;
	is_up = true;
	question_count = 0;
	told_count = 0;
	turns = 0;
	is_waiting = false;
	server = (struct auth_server){.directory = (struct directory_client *)&server};
	asker = (struct auth_asker){.server = &server};
	auth_logins_open(&server);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	auth_logins_lose(&asker);
	auth_logins_close(&server);
	assert_null(server.followed);
	assert_null(task);
	assert_int_equal(question_count, 0);
	assert_int_equal(server.looks, 0);
	return 0;
}

static void follow(uint32_t tag, const char *name, const char *stamp)
{
	struct buffer body CLEANUP(buffer_clear) = {0};

	pack_str(&body, str_from(name));
	pack_str(&body, str_from(stamp));
	assert_true(auth_logins_follow(&asker, tag, buffer_view(&body)));
}

static void change(const char *name)
{
	changed(&server, 1, name != NULL ? STR("user") : STR(""),
		name != NULL ? str_from(name) : STR(""));
}

/* The first open question, about NAME. PASSWORD: of the user's record, which is active; NULL: it
 * is not there. */
static void answer(const char *name, enum directory_error error, const char *password)
{
	struct buffer field CLEANUP(buffer_clear) = {0};
	struct directory_question *question = questions[0];
	struct str results[2] = {STR("state active")};
	struct directory_answer_text text = {
		.error = error, .exists = password != NULL, .results = results, .result_count = 2};

	assert_true(question_count > 0);
	assert_string_equal(names[0], name);
	buffer_append_format(&field, "password %s", password != NULL ? password : "");
	results[1] = buffer_view(&field);
	forget_question(0);
	question->answered(question->context, &text);
}

static void expect_told(size_t count, uint32_t tag, enum auth_login_state state)
{
	assert_int_equal(told_count, count);
	assert_int_equal(told_tag[count - 1], tag);
	assert_int_equal(told[count - 1], state);
}

/* While a record is being looked at it may change: the answer may be of before, so the record is
 * looked at once more, when the answer has come and not before. */
static void a_record_that_changes_while_it_is_looked_at(void **state)
{
	(void)state;
	follow(7, "ann", "Hold");
	assert_int_equal(question_count, 1);
	change("ann");
	change("ann");
	change(NULL);
	assert_int_equal(question_count, 1);
	answer("ann", DIRECTORY_ERROR_NONE, "old");
	expect_told(1, 7, AUTH_LOGIN_VALID);
	assert_int_equal(question_count, 1);
	answer("ann", DIRECTORY_ERROR_NONE, "new");
	expect_told(2, 7, AUTH_LOGIN_ENDED);
	assert_int_equal(question_count, 0);
}

/* Who asks meanwhile gets the answer that is on its way: what changes after it is said. */
static void who_asks_while_it_is_looked_at(void **state)
{
	(void)state;
	follow(1, "ann", "A");
	follow(2, "ann", "A");
	assert_int_equal(question_count, 1);
	answer("ann", DIRECTORY_ERROR_NONE, "any");
	assert_int_equal(told_count, 2);
	assert_int_equal(question_count, 0);
	assert_int_equal(end_turn(), 0);
}

/* What was said to be valid is so until a change of a user who is followed, or of all: whatever was
 * looked at before it, and whatever is answered to it while the next look is to come. */
static void what_was_said_holds_until_a_change(void **state)
{
	(void)state;
	follow(1, "ann", "A");
	answer("ann", DIRECTORY_ERROR_NONE, "any");
	change("bob");
	assert_int_equal(end_turn(), 0);
	change("ann");
	change("ann");
	assert_int_equal(end_turn(), 1);
	change(NULL);
	assert_int_equal(end_turn(), 1);
	follow(1, "ann", "A");
	answer("ann", DIRECTORY_ERROR_NONE, "any");
	expect_told(2, 1, AUTH_LOGIN_VALID);
	assert_int_equal(end_turn(), 1); /* it is of before the second change */
	answer("ann", DIRECTORY_ERROR_NONE, "any");
	assert_int_equal(end_turn(), 0);
	assert_int_equal(told_count, 2);
}

/* While no directory says what changes, nothing that it has said holds. */
static void nothing_holds_without_a_directory(void **state)
{
	(void)state;
	follow(1, "ann", "A");
	answer("ann", DIRECTORY_ERROR_NONE, "any");
	is_up = false;
	auth_logins_hear_directory(&server, false);
	assert_int_equal(end_turn(), 1);
	for (unsigned i = 0; i < 2; i++) {
		follow(1, "ann", "A");
		answer("ann", DIRECTORY_ERROR_NONE, "any"); /* from a cache */
		expect_told(i + 2, 1, AUTH_LOGIN_VALID);
		assert_int_equal(end_turn(), 1);
	}
	is_up = true;
	auth_logins_hear_directory(&server, true);
	follow(1, "ann", "A");
	answer("ann", DIRECTORY_ERROR_NONE, "any");
	assert_int_equal(end_turn(), 0);
}

/* Others are looked at while it waits, and after a directory that does not answer. */
static void others_do_not_wait_for_it(void **state)
{
	(void)state;
	follow(1, "ann", "A");
	follow(2, "bob", "A");
	answer("ann", DIRECTORY_ERROR_NONE, "any");
	change(NULL); /* bob is still looked at */
	assert_int_equal(question_count, 2);
	answer("bob", DIRECTORY_ERROR_LATER, NULL);
	expect_told(2, 2, AUTH_LOGIN_UNKNOWN);
	assert_true(is_waiting);
	assert_int_equal(question_count, 1);
	answer("ann", DIRECTORY_ERROR_NONE, NULL);
	expect_told(3, 1, AUTH_LOGIN_ENDED);
	is_waiting = false;
	change("ann");
	assert_int_equal(question_count, 2);
}

/* When all may have changed, the directory gets so many questions at once. */
static void so_many_are_looked_at_at_once(void **state)
{
	char name[16];
	size_t most = 0;

	(void)state;
	for (uint32_t i = 0; i < USERS; i++) {
		snprintf(name, sizeof name, "u%u", (unsigned)i);
		follow(i, name, "A");
		answer(name, DIRECTORY_ERROR_NONE, "any");
	}
	told_count = 0;
	change(NULL);
	most = question_count;
	assert_in_range(most, 1, USERS - 1);
	for (uint32_t i = 0; i < USERS; i++) {
		assert_true(question_count <= most);
		snprintf(name, sizeof name, "%s", names[0]);
		answer(name, DIRECTORY_ERROR_NONE, "any");
	}
	assert_int_equal(question_count, 0);
}

/* Whether it is followed, by a name and a stamp of so many bytes. */
static bool is_followed(uint32_t tag, size_t name_length, size_t stamp_length)
{
	static const struct directory_answer_text none = {.error = DIRECTORY_ERROR_NONE};
	struct buffer body CLEANUP(buffer_clear) = {0};
	char text[AUTH_USER_MAX + AUTH_STAMP_MAX];
	struct directory_question *question = NULL;
	bool is_taken;

	memset(text, 'x', sizeof text);
	pack_str(&body, str_slice(text, name_length));
	pack_str(&body, str_slice(text, stamp_length));
	is_taken = auth_logins_follow(&asker, tag, buffer_view(&body));
	if (question_count > 0) {
		question = questions[0];
		forget_question(0);
		question->answered(question->context, &none);
	}
	return is_taken;
}

static void texts_are_as_long_as_they_may_be(void **state)
{
	static const struct {
		size_t name, stamp;
		bool is_taken;
	} cases[] = {{1, 1, true},
		     {0, 1, false},
		     {1, 0, false},
		     {AUTH_USER_MAX, AUTH_STAMP_MAX, true},
		     {AUTH_USER_MAX + 1, 1, false},
		     {1, AUTH_STAMP_MAX + 1, false}};

	(void)state;
	for (uint32_t i = 0; i < COUNT_OF(cases); i++)
		assert_int_equal(is_followed(i, cases[i].name, cases[i].stamp), cases[i].is_taken);
}

/* Of a million the test has one: the table is made to say that it has the others. */
static void so_many_logins_are_followed(void **state)
{
	unsigned others;

	(void)state;
	assert_true(is_followed(1, 1, 1));
	others = AUTH_LOGINS_MAX - 2;
	asker.followers->hh.tbl->num_items += others;
	assert_true(is_followed(2, 2, 1));
	assert_false(is_followed(3, 3, 1));
	assert_true(is_followed(2, 2, 1)); /* it is one of them */
	auth_logins_unfollow(&asker, 2);
	assert_true(is_followed(3, 3, 1));
	asker.followers->hh.tbl->num_items -= others;
}

#define LOGINS_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LOGINS_TEST(a_record_that_changes_while_it_is_looked_at),
		LOGINS_TEST(who_asks_while_it_is_looked_at),
		LOGINS_TEST(what_was_said_holds_until_a_change),
		LOGINS_TEST(nothing_holds_without_a_directory),
		LOGINS_TEST(others_do_not_wait_for_it),
		LOGINS_TEST(so_many_are_looked_at_at_once),
		LOGINS_TEST(texts_are_as_long_as_they_may_be),
		LOGINS_TEST(so_many_logins_are_followed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
