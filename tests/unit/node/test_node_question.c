// SPDX-License-Identifier: ISC
/* All nodes are asked for their status: whom, how many at a time, and what is told of each. */
#include "question_scene.h"
#include <stdio.h>

static int begin_question_scene(void **state)
{
	(void)state;
	fake_begin(1);
	sender = (struct node_sender){.loop = NULL};
	is_table_known = true;
	table_count = 3;
	connects = own_questions = 0;
	unreachable = NULL;
	for (size_t i = 0; i < NODES_MAX; i++) {
		snprintf(names[i], sizeof names[i], "n%zu", i);
		table[i].name = names[i];
	}
	return 0;
}

static int end_question_scene(void **state)
{
	struct node_peer *peer;
	struct node_peer *next;

	(void)state;
	node_question_free(sender.question);
	DL_FOREACH_SAFE2 (sender.peers, peer, next, next) {
		buffer_clear(&peer->trouble);
		free(peer);
	}
	buffer_clear(&told);
	return 0;
}

static void begin_question(void)
{
	struct buffer body CLEANUP(buffer_clear) = {0};

	pack_u64(&body, 5);
	pack_str(&body, STR("1-2"));
	assert_true(node_question_hear(&sender, buffer_view(&body)));
	end_turn();
}

static void answer_own(uint32_t question, const char *text)
{
	struct buffer body CLEANUP(buffer_clear) = {0};

	pack_u32(&body, question);
	pack_str(&body, str_from(text));
	assert_true(node_question_hear_own(&sender, buffer_view(&body)));
}

/* The node says that it is ready. */
static struct node_peer *ready(const char *name)
{
	struct node_peer *peer = node_peer_find(&sender, str_from(name));

	assert_non_null(peer);
	peer->client.state = NODE_CLIENT_READY;
	node_question_say(peer);
	return peer;
}

static void answer(struct node_peer *peer, const char *text)
{
	assert_true(peer->client.is_asked);
	peer->client.is_asked = false;
	node_question_answered(peer, str_from(text));
}

static const char *told_so_far(void)
{
	static char text[4096];

	end_turn();
	assert_true(told.length < sizeof text);
	if (told.length > 0)
		memcpy(text, buffer_data(&told), told.length);
	text[told.length] = '\0';
	buffer_reset(&told);
	return text;
}

static void each_node_is_told(void **state)
{
	struct node_peer *peer;

	(void)state;
	begin_question();
	assert_int_equal(own_questions, 1);
	assert_int_equal(connects, 2);
	assert_string_equal(told_so_far(), "");
	answer_own(4, "{}"); /* of an earlier question */
	answer_own(5, "{}");
	assert_string_equal(told_so_far(), "n0+own {};");
	answer(ready("n1"), "fine");
	assert_string_equal(told_so_far(), "n1+fine;");
	peer = ready("n2");
	node_question_say(peer); /* not twice */
	answer(peer, "well");
	assert_string_equal(told_so_far(), "n2+well;.;");
	assert_null(sender.question);
	node_question_answered(peer, STR("late"));
	node_question_failed(peer);
	answer_own(5, "{}");
	assert_string_equal(told_so_far(), "");
}

static void why_there_is_no_answer_is_told(void **state)
{
	static const char *const late[] = {
		"n0-its process \"send\" does not answer;",
		"n3-it is connected, and has not answered in time;",
		"n4-it cannot be reached in time: it has not said yet what it has;",
		"n5-it is connected, and takes a package, or has not answered an earlier question;",
	};
	const char *reasons;
	struct node_peer *peer;

	(void)state;
	unreachable = "n1";
	table_count = 6;
	begin_question();
	assert_string_equal(told_so_far(), "n1-refused;");
	peer = node_peer_find(&sender, STR("n2"));
	peer->client.answers_status = false;
	ready("n2");
	assert_string_equal(told_so_far(),
			    "n2-it is of an older version, which does not answer for its status;");
	ready("n3"); /* and says nothing more */
	peer = node_peer_find(&sender, STR("n4"));
	set_trouble(peer, "it has not said yet what it has");
	peer = node_peer_find(&sender, STR("n5"));
	peer->client.is_asked = true; /* by an earlier question */
	ready("n5");
	advance(NODE_ANSWER_PATIENCE_US - 1);
	assert_string_equal(told_so_far(), "");
	advance(1);
	reasons = told_so_far();
	for (size_t i = 0; i < COUNT_OF(late); i++)
		assert_non_null(strstr(reasons, late[i]));
}

/* It may be asked again as soon as it has answered. */
static void an_answer_to_an_earlier_question_is_not_taken_for_this(void **state)
{
	struct node_peer *peer;

	(void)state;
	table_count = 2;
	begin_question();
	answer_own(5, "{}");
	peer = node_peer_find(&sender, STR("n1"));
	peer->client.is_asked = true;
	ready("n1");
	answer(peer, "old");
	assert_string_equal(told_so_far(), "n0+own {};");
	answer(peer, "new");
	assert_string_equal(told_so_far(), "n1+new;.;");
}

static void a_connection_that_is_lost_is_told(void **state)
{
	(void)state;
	table_count = 2;
	begin_question();
	answer_own(5, "{}");
	set_trouble(ready("n1"), "the connection was closed");
	node_question_failed(node_peer_find(&sender, STR("n1")));
	assert_string_equal(told_so_far(), "n0+own {};n1-the connection was closed;.;");
}

static void so_many_are_asked_at_a_time(void **state)
{
	(void)state;
	table_count = NODES_MAX;
	begin_question();
	assert_int_equal(connects + own_questions, NODE_QUESTIONS_MAX);
	answer(ready("n1"), "");
	end_turn();
	assert_int_equal(connects + own_questions, NODE_QUESTIONS_MAX + 1);
	advance(NODE_ANSWER_PATIENCE_US);
	assert_int_equal(connects + own_questions, NODES_MAX);
	assert_non_null(sender.question);
}

static void without_a_table_that_is_said(void **state)
{
	(void)state;
	is_table_known = false;
	table_count = 0;
	begin_question();
	answer_own(5, "{}");
	assert_string_equal(told_so_far(),
			    "n0+own {};.the directory has not said yet which nodes there are;");
}

/* "send" asks again before all are told: it has forgotten the question before. */
static void a_new_question_takes_the_place_of_the_last(void **state)
{
	(void)state;
	begin_question();
	begin_question();
	assert_int_equal(own_questions, 2);
	answer_own(5, "{}");
	answer(ready("n1"), "");
	answer(ready("n2"), "");
	assert_string_equal(told_so_far(), "n0+own {};n1+;n2+;.;");
	assert_false(node_question_hear(&sender, STR("x")));
	assert_false(node_question_hear_own(&sender, STR("x")));
}

int main(void)
{
#define SCENE(name) cmocka_unit_test_setup_teardown(name, begin_question_scene, end_question_scene)
	const struct CMUnitTest tests[] = {
		SCENE(each_node_is_told),
		SCENE(why_there_is_no_answer_is_told),
		SCENE(an_answer_to_an_earlier_question_is_not_taken_for_this),
		SCENE(a_connection_that_is_lost_is_told),
		SCENE(so_many_are_asked_at_a_time),
		SCENE(without_a_table_that_is_said),
		SCENE(a_new_question_takes_the_place_of_the_last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
