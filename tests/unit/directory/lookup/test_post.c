// SPDX-License-Identifier: ISC
/* Who may post to a list; the directory's client is this test's own. */
#include "base/panic.h"
#include "directory/lookup/post.h"
#include "mail/localpart.h"
#include "test.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MEMBERS_MAX = 6000, LATE_MAX = 2000, TEXT_SIZE = 100 };

struct directory_client {
	int unused;
};

struct directory_question_private {
	struct directory_question *question; /* NULL: cancelled */
	char verb;                           /* m: a member, r: a route, l: a page */
	char key[TEXT_SIZE];
	char after[TEXT_SIZE];
};

static struct {
	char members[MEMBERS_MAX][TEXT_SIZE]; /* "LIST MEMBER", in order */
	size_t count;
	char away; /* the verb that has no answer */
	bool is_late;
	struct directory_question_private late[LATE_MAX];
	size_t late_count;
	size_t pages;
	char outcome[TEXT_SIZE];
} world;

/* --- the directory's client --- */

struct directory_client *directory_client_new(struct os_loop *loop, const char *const *servers,
					      size_t server_count,
					      const struct directory_dialer *dialer,
					      const struct directory_client_handler *handler,
					      void *context)
{
	(void)loop, (void)servers, (void)server_count, (void)dialer, (void)handler, (void)context;
	return memory_alloc_zero(1, sizeof(struct directory_client));
}

void directory_client_free(struct directory_client *client)
{
	free(client);
}

void directory_client_when_greeted(struct directory_client *client, void (*call)(void *context),
				   void *context)
{
	(void)client, (void)call, (void)context;
}

static bool is_list(const char *address)
{
	size_t length = strlen(address);

	for (size_t i = 0; i < world.count; i++)
		if (strncmp(world.members[i], address, length) == 0 &&
		    world.members[i][length] == ' ')
			return true;
	return false;
}

static void write_route(const char *address, char *out, size_t size)
{
	if (strcmp(address, "alias@a.test") == 0)
		address = "other@a.test";
	if (strcmp(address, "wrong@a.test") == 0)
		snprintf(out, size, "refuse 4.3.5 wrong@a.test Wrong");
	else if (is_list(address))
		snprintf(out, size, "list %s owner owner@a.test post owners", address);
	else if (strstr(address, "@a.test") == NULL)
		snprintf(out, size, "elsewhere");
	else
		snprintf(out, size, "local maildir %s", address);
}

/* Lists of a member, "MEMBER LIST", up to a thousand that follow AFTER. */
static size_t write_page(const char *prefix, const char *after, char (*out)[TEXT_SIZE + 8])
{
	size_t count = 0;

	world.pages++;
	for (size_t i = 0; i < world.count && count < DIRECTORY_LIST_MAX; i++) {
		const char *member = strchr(world.members[i], ' ') + 1;
		char key[2 * TEXT_SIZE];

		snprintf(key, sizeof key, "%s %.*s", member, (int)(member - world.members[i] - 1),
			 world.members[i]);
		if (strncmp(key, prefix, strlen(prefix)) == 0 && strcmp(key, after) > 0)
			snprintf(out[count++], sizeof *out, "= %s", key);
	}
	return count;
}

static bool is_member(const char *key)
{
	for (size_t i = 0; i < world.count; i++)
		if (strcmp(world.members[i], key) == 0)
			return true;
	return false;
}

static void answer(const struct directory_question_private *asked,
		   struct directory_question *question)
{
	static char texts[DIRECTORY_LIST_MAX][TEXT_SIZE + 8];
	static struct str results[DIRECTORY_LIST_MAX];
	struct directory_answer_text text = {.exists = true, .results = results};

	if (asked->verb == world.away) {
		text.error = DIRECTORY_ERROR_LATER;
	} else if (asked->verb == 'm') {
		text.exists = is_member(asked->key);
	} else if (asked->verb == 'r') {
		write_route(asked->key, texts[0], sizeof *texts);
		text.result_count = 1;
	} else {
		text.result_count = write_page(asked->key, asked->after, texts);
	}
	for (size_t i = 0; i < text.result_count; i++)
		results[i] = str_from(texts[i]);
	question->private = NULL;
	question->answered(question->context, &text);
}

static void ask(char verb, struct str key, struct str after, struct directory_question *question)
{
	struct directory_question_private now = {.question = question, .verb = verb};

	snprintf(now.key, sizeof now.key, STR_FORMAT, STR_ARGUMENTS(key));
	snprintf(now.after, sizeof now.after, STR_FORMAT, STR_ARGUMENTS(after));
	if (!world.is_late) {
		answer(&now, question);
		return;
	}
	assert_true(world.late_count < LATE_MAX);
	world.late[world.late_count] = now;
	question->private = &world.late[world.late_count++];
}

void directory_client_get(struct directory_client *client, const char *table, struct str key,
			  int64_t patience_us, struct directory_question *question)
{
	assert_non_null(client);
	assert_true(patience_us > 0);
	ask(strcmp(table, "member") == 0 ? 'm' : 'r', key, STR(""), question);
}

void directory_client_list(struct directory_client *client, const char *table, struct str prefix,
			   struct str after, size_t limit, struct directory_question *question)
{
	assert_non_null(client);
	assert_string_equal(table, "membership");
	assert_int_equal(limit, DIRECTORY_LIST_MAX);
	ask('l', prefix, after, question);
}

void directory_question_cancel(struct directory_client *client, struct directory_question *question)
{
	assert_non_null(client);
	question->private->question = NULL;
	question->private = NULL;
}

/* --- a fixture --- */

static struct config config = {.hostname = "mx.test",
			       .recipient_delimiter = "+",
			       .directory = {.backend = CONFIG_BACKEND_SQLITE}};
static struct config_service services[] = {{.name = "maildir"}};
static struct os_loop *loop;
static struct directory *directory;
static struct directory_post_request request;

static int set_up(void **state)
{
	(void)state;
	memset(&world, 0, sizeof world);
	config.services = services;
	config.service_count = COUNT_OF(services);
	config.directory.backend = CONFIG_BACKEND_SQLITE;
	loop = os_loop_new();
	directory = directory_new(loop, &config, "/run/directory");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	assert_null(request.post);
	directory_free(directory);
	os_loop_free(loop);
	return 0;
}

static void add(const char *list, const char *member)
{
	snprintf(world.members[world.count++], TEXT_SIZE, "%s@a.test %s", list, member);
}

static void judged(void *context, const struct mail_verdict *verdict, bool is_away)
{
	assert_ptr_equal(context, &world);
	assert_string_equal(world.outcome, "");
	snprintf(world.outcome, sizeof world.outcome, "%s%s", verdict->status,
		 is_away ? " away" : "");
}

static void ask_for(const char *list, enum directory_post post, const char *sender)
{
	struct directory_target target = {.kind = DIRECTORY_TARGET_LIST,
					  .address = str_from(list),
					  .owner = STR("owner@a.test"),
					  .post = post};

	world.outcome[0] = '\0';
	directory_post_ask(directory, &target, str_from(sender), judged, &world, &request);
}

static const char *judge(enum directory_post post, const char *sender)
{
	ask_for("list@a.test", post, sender);
	for (size_t i = 0; i < world.late_count; i++)
		if (world.late[i].question != NULL)
			answer(&world.late[i], world.late[i].question);
	world.late_count = 0;
	return world.outcome;
}

/* --- tests --- */

static void a_list_says_who_may_post(void **state)
{
	static const struct {
		enum directory_post post;
		const char *sender;
		const char *status;
	} cases[] = {
		{DIRECTORY_POST_ANYONE, "stranger@b.test", "2.1.5"},
		{DIRECTORY_POST_ANYONE, "", "2.1.5"},
		{DIRECTORY_POST_OWNERS, "owner@a.test", "2.1.5"},
		{DIRECTORY_POST_OWNERS, "\"Owner\"@A.Test", "2.1.5"},
		{DIRECTORY_POST_OWNERS, "ann@a.test", "5.7.2"},
		{DIRECTORY_POST_OWNERS, "", "5.7.2"},
		{DIRECTORY_POST_MEMBERS, "owner@a.test", "2.1.5"},
		{DIRECTORY_POST_MEMBERS, "ann@a.test", "2.1.5"},
		{DIRECTORY_POST_MEMBERS, "Ann@A.TEST", "2.1.5"},
		{DIRECTORY_POST_MEMBERS, "ann+x@a.test", "5.7.2"},
		{DIRECTORY_POST_MEMBERS, "far@b.test", "2.1.5"},
		{DIRECTORY_POST_MEMBERS, "stranger@b.test", "5.7.2"},
		{DIRECTORY_POST_MEMBERS, "", "5.7.2"},
		{DIRECTORY_POST_MEMBERS, "#@[]", "5.7.2"},
		/* of lists among the members */
		{DIRECTORY_POST_MEMBERS, "deep@b.test", "2.1.5"},
		{DIRECTORY_POST_MEMBERS, "deepest@b.test", "2.1.5"},
		/* of what is no list, or only leads to one */
		{DIRECTORY_POST_MEMBERS, "wronged@b.test", "5.7.2"},
		{DIRECTORY_POST_MEMBERS, "aliased@b.test", "5.7.2"},
	};

	(void)state;
	add("deep", "deepest@b.test");
	add("deep", "list@a.test"); /* back again */
	add("inner", "deep@a.test");
	add("inner", "deep@b.test");
	add("list", "alias@a.test");
	add("list", "ann@a.test");
	add("list", "far@b.test");
	add("list", "inner@a.test");
	add("list", "wrong@a.test");
	add("other", "aliased@b.test");
	add("wrong", "wronged@b.test");
	for (unsigned late = 0; late < 2; late++) {
		world.is_late = late > 0;
		for (size_t i = 0; i < COUNT_OF(cases); i++)
			assert_string_equal(judge(cases[i].post, cases[i].sender), cases[i].status);
	}
}

/* However many members there are. */
static void a_stranger_costs_one_page(void **state)
{
	char member[TEXT_SIZE];

	(void)state;
	add("inner", "deep@b.test");
	for (unsigned i = 0; i < 2500; i++) {
		snprintf(member, sizeof member, "m%04u@%c.test", i, i % 2 ? 'a' : 'b');
		add("list", member);
	}
	add("list", "z@b.test");
	assert_string_equal(judge(DIRECTORY_POST_MEMBERS, "z@b.test"), "2.1.5");
	assert_int_equal(world.pages, 0); /* one record is enough for a member */
	assert_string_equal(judge(DIRECTORY_POST_MEMBERS, "stranger@b.test"), "5.7.2");
	assert_int_equal(world.pages, 1);
	assert_string_equal(judge(DIRECTORY_POST_MEMBERS, "deep@b.test"), "5.7.2");
	assert_int_equal(world.pages, 3); /* and those of inner@a.test */
	snprintf(world.members[world.count - 1], TEXT_SIZE, "list@a.test zinner@a.test");
	snprintf(world.members[0], TEXT_SIZE, "zinner@a.test deep@b.test");
	assert_string_equal(judge(DIRECTORY_POST_MEMBERS, "deep@b.test"), "2.1.5");
}

/* Nobody is told that he is no member because nobody knows. */
static void without_an_answer_there_is_none(void **state)
{
	(void)state;
	add("list", "ann@a.test");
	add("inner", "x@b.test");
	for (const char *verb = "mrl"; *verb != '\0'; verb++) {
		world.away = *verb;
		assert_string_equal(judge(DIRECTORY_POST_MEMBERS, "x@b.test"), "4.4.3 away");
		assert_string_equal(judge(DIRECTORY_POST_OWNERS, "x@b.test"), "5.7.2");
	}
	config.directory.backend = CONFIG_BACKEND_NONE;
	assert_string_equal(judge(DIRECTORY_POST_MEMBERS, "x@b.test"), "4.3.5");
}

static void lists_have_a_bound(void **state)
{
	char text[TEXT_SIZE];

	(void)state;
	for (unsigned i = 0; i <= DIRECTORY_TARGETS_MAX; i++) {
		snprintf(text, sizeof text, "l%04u", i);
		add(text, "y@b.test");
	}
	assert_string_equal(judge(DIRECTORY_POST_MEMBERS, "y@b.test"), "4.4.6");
}

static void a_question_can_be_cancelled(void **state)
{
	(void)state;
	add("list", "ann@a.test");
	add("inner", "x@b.test");
	world.is_late = true;
	for (unsigned steps = 0; steps < 4; steps++) {
		world.late_count = 0;
		ask_for("list@a.test", DIRECTORY_POST_MEMBERS, "x@b.test");
		for (unsigned i = 0; i < steps; i++)
			answer(&world.late[i], world.late[i].question);
		assert_non_null(request.post);
		directory_post_cancel(&request);
		directory_post_cancel(&request);
		for (size_t i = steps; i < world.late_count; i++)
			assert_null(world.late[i].question);
		assert_string_equal(world.outcome, "");
	}
}

static void only_a_list_alone_is_closed(void **state)
{
	struct directory_target targets[] = {
		{.kind = DIRECTORY_TARGET_LIST, .post = DIRECTORY_POST_MEMBERS},
		{.kind = DIRECTORY_TARGET_LOCAL}};
	struct directory_result result = {
		.answer = DIRECTORY_FOUND, .targets = targets, .target_count = 1};

	(void)state;
	assert_ptr_equal(directory_result_closed_list(&result), targets);
	result.target_count = 2;
	assert_null(directory_result_closed_list(&result));
	result.target_count = 1;
	targets[0].post = DIRECTORY_POST_ANYONE;
	assert_null(directory_result_closed_list(&result));
	targets[0] = (struct directory_target){.kind = DIRECTORY_TARGET_LOCAL,
					       .post = DIRECTORY_POST_OWNERS};
	assert_null(directory_result_closed_list(&result));
	result = (struct directory_result){.answer = DIRECTORY_REFUSED};
	assert_null(directory_result_closed_list(&result));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_list_says_who_may_post, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_stranger_costs_one_page, set_up, tear_down),
		cmocka_unit_test_setup_teardown(without_an_answer_there_is_none, set_up, tear_down),
		cmocka_unit_test_setup_teardown(lists_have_a_bound, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_question_can_be_cancelled, set_up, tear_down),
		cmocka_unit_test(only_a_list_alone_is_closed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
