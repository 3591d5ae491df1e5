// SPDX-License-Identifier: ISC
/* Who may post to a list; the directory's client is this test's own. */
#include "directory/lookup/post.h"
#include "lookup_scene.h"
#include "mail/localpart.h"
#include "test.h"
#include <stdio.h>
#include <string.h>

enum { MEMBERS_MAX = 6000, TEXT_SIZE = 100 };

static struct {
	char members[MEMBERS_MAX][TEXT_SIZE]; /* "LIST MEMBER", in order */
	size_t count;
	const char *away; /* the table that has no answer */
	size_t pages;
} world;

/* --- what the directory says --- */

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
		   struct directory_answer_text *text, struct str *results)
{
	static char texts[DIRECTORY_LIST_MAX][TEXT_SIZE + 8];

	text->exists = true;
	if (world.away != NULL && strcmp(asked->table, world.away) == 0) {
		text->error = DIRECTORY_ERROR_LATER;
	} else if (strcmp(asked->table, "member") == 0) {
		text->exists = is_member(asked->key);
	} else if (strcmp(asked->table, "route") == 0) {
		write_route(asked->key, texts[0], sizeof *texts);
		text->result_count = 1;
	} else {
		assert_true(asked->is_list && strcmp(asked->table, "membership") == 0);
		text->result_count = write_page(asked->key, asked->after, texts);
	}
	for (size_t i = 0; i < text->result_count; i++)
		results[i] = str_from(texts[i]);
}

/* --- a fixture --- */

static struct directory_post_request request;

static int set_up(void **state)
{
	(void)state;
	memset(&world, 0, sizeof world);
	lookup_scene_open(answer);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	assert_null(request.post);
	lookup_scene_close();
	return 0;
}

static void add(const char *list, const char *member)
{
	snprintf(world.members[world.count++], TEXT_SIZE, "%s@a.test %s", list, member);
}

static void judged(void *context, const struct mail_verdict *verdict, bool is_away)
{
	assert_ptr_equal(context, &lookup_scene);
	assert_string_equal(lookup_scene.outcome, "");
	snprintf(lookup_scene.outcome, sizeof lookup_scene.outcome, "%s%s", verdict->status,
		 is_away ? " away" : "");
}

static void ask_for(const char *list, enum directory_post post, const char *sender)
{
	struct directory_target target = {.kind = DIRECTORY_TARGET_LIST,
					  .address = str_from(list),
					  .owner = STR("owner@a.test"),
					  .post = post};

	lookup_scene.outcome[0] = '\0';
	directory_post_ask(lookup_scene.directory, &target, str_from(sender), judged, &lookup_scene,
			   &request);
}

static const char *judge(enum directory_post post, const char *sender)
{
	ask_for("list@a.test", post, sender);
	lookup_scene_tell_all();
	return lookup_scene.outcome;
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
		lookup_scene.is_late = late > 0;
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
	static const char *const tables[] = {"member", "route", "membership"};

	(void)state;
	add("list", "ann@a.test");
	add("inner", "x@b.test");
	for (size_t i = 0; i < COUNT_OF(tables); i++) {
		world.away = tables[i];
		assert_string_equal(judge(DIRECTORY_POST_MEMBERS, "x@b.test"), "4.4.3 away");
		assert_string_equal(judge(DIRECTORY_POST_OWNERS, "x@b.test"), "5.7.2");
	}
	lookup_scene.config.directory.backend = CONFIG_BACKEND_NONE;
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
	lookup_scene.is_late = true;
	for (unsigned steps = 0; steps < 4; steps++) {
		lookup_scene.late_count = 0;
		ask_for("list@a.test", DIRECTORY_POST_MEMBERS, "x@b.test");
		for (unsigned i = 0; i < steps; i++)
			lookup_scene_tell(i);
		assert_non_null(request.post);
		directory_post_cancel(&request);
		directory_post_cancel(&request);
		lookup_scene_expect_cancelled(steps);
		assert_string_equal(lookup_scene.outcome, "");
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
