// SPDX-License-Identifier: ISC
/* The engine of a node that takes packages: each frame in each state, and what is malformed. */
#include "node/server.h"
#include "said.h"
#include <string.h>

static struct scene {
	struct node_server server;
	struct buffer told;
	const char *refusal; /* "take", "data", "end": there the handler ends the connection */
} scene;

static bool goes_on(const char *call)
{
	if (scene.refusal == NULL || strcmp(scene.refusal, call) != 0)
		return true;
	node_server_end(&scene.server, "no");
	return false;
}

static void on_hello(void *context, const struct queue_handed_serial *serial)
{
	buffer_append_format(context, "hello %llu %llu %llu;", (unsigned long long)serial->epoch,
			     (unsigned long long)serial->run,
			     (unsigned long long)serial->connection);
}

static bool on_take(void *context, struct str package, struct str text, uint64_t size)
{
	buffer_append_format(context, "take " STR_FORMAT " " STR_FORMAT " %llu;",
			     STR_ARGUMENTS(package), STR_ARGUMENTS(text), (unsigned long long)size);
	return goes_on("take");
}

static bool on_data(void *context, struct str part)
{
	buffer_append_str(context, part);
	return goes_on("data");
}

static bool on_end(void *context)
{
	buffer_append_byte(context, '.');
	return goes_on("end");
}

static void on_settled(void *context, struct str package, bool is_twice)
{
	buffer_append_format(context, "%s " STR_FORMAT ";", is_twice ? "drop" : "settled",
			     STR_ARGUMENTS(package));
}

static void on_status(void *context, struct str message)
{
	buffer_append_format(context, "status [" STR_FORMAT "];", STR_ARGUMENTS(message));
}

static const struct node_server_handler handler = {on_hello, on_take,    on_data,
						   on_end,   on_settled, on_status};

static void clear_scene(void)
{
	node_server_clear(&scene.server);
	buffer_clear(&scene.told);
	scene.refusal = NULL;
}

static bool hear(const char *words)
{
	struct buffer input CLEANUP(buffer_clear) = {0};

	said_append(&input, words);
	return node_server_read(&scene.server, buffer_view(&input));
}

/* Package 1-1 with a text and ten bytes of data. */
#define PACKAGE "13:4:take,3:1-1,,4:text,10:0123456789,"

static bool hear_package(void)
{
	return node_server_read(&scene.server, STR(PACKAGE));
}

static const char *told(void)
{
	static char text[1000];

	assert_true(scene.told.length < sizeof text);
	if (scene.told.length > 0)
		memcpy(text, buffer_data(&scene.told), scene.told.length);
	text[scene.told.length] = '\0';
	buffer_reset(&scene.told);
	return text;
}

static void begin_scene(enum node_server_state state)
{
	clear_scene();
	node_server_begin(&scene.server, &handler, &scene.told, "b2", "a1");
	assert_string_equal(said_take(&scene.server.out), "hello 1 b2 status;");
	if (state == NODE_SERVER_BEGUN)
		return;
	assert_true(hear("hello 1 a1 1 7 3"));
	assert_string_equal(told(), "hello 1 7 3;");
	if (state == NODE_SERVER_GREETING)
		return;
	node_server_ready(&scene.server);
	assert_string_equal(said_take(&scene.server.out), "ready;");
}

static const struct {
	enum node_server_state before;
	const char *words;
	const char *told;
	const char *answer;
	enum node_server_state state; /* after it */
} cases[] = {
	{NODE_SERVER_BEGUN, "hello 1 a1 1 7 3 more", "hello 1 7 3;", "", NODE_SERVER_GREETING},
	{NODE_SERVER_BEGUN, "hello 1 a1 18446744073709551615 1 1",
	 "hello 18446744073709551615 1 1;", "", NODE_SERVER_GREETING},
	{NODE_SERVER_BEGUN, "hello 1 a1 1 7", "", "bye you speak another version of the protocol;",
	 NODE_SERVER_ENDED},
	{NODE_SERVER_BEGUN, "hello 2 a1 1 7 3", "",
	 "bye you speak another version of the protocol;", NODE_SERVER_ENDED},
	{NODE_SERVER_BEGUN, "hello 1 a2 1 7 3", "", "bye you say that you are another node;",
	 NODE_SERVER_ENDED},
	{NODE_SERVER_BEGUN, "hello 1 a1 0 7 3", "", "bye malformed numbers in hello;",
	 NODE_SERVER_ENDED},
	{NODE_SERVER_BEGUN, "hello 1 a1 1 0 3", "", "bye malformed numbers in hello;",
	 NODE_SERVER_ENDED},
	{NODE_SERVER_BEGUN, "hello 1 a1 1 7 0", "", "bye malformed numbers in hello;",
	 NODE_SERVER_ENDED},
	{NODE_SERVER_BEGUN, "hello 1 a1 1 7 x", "", "bye malformed numbers in hello;",
	 NODE_SERVER_ENDED},
	{NODE_SERVER_BEGUN, "hello 1 a1 18446744073709551616 7 3", "",
	 "bye malformed numbers in hello;", NODE_SERVER_ENDED},
	{NODE_SERVER_BEGUN, "bye x", "", "", NODE_SERVER_ENDED},
	{NODE_SERVER_BEGUN, "novel x", "", "", NODE_SERVER_BEGUN},
	{NODE_SERVER_GREETING, "settled 1-1 2-5.3;drop 3-1", "settled 1-1;settled 2-5.3;drop 3-1;",
	 "", NODE_SERVER_GREETING},
	{NODE_SERVER_GREETING, "ping", "", "pong;", NODE_SERVER_GREETING},
	{NODE_SERVER_READY, "ping", "", "pong;", NODE_SERVER_READY},
	{NODE_SERVER_READY, "status", "status [];", "", NODE_SERVER_READY},
	{NODE_SERVER_READY, "status a1/1-1 more", "status [a1/1-1];", "", NODE_SERVER_READY},
	{NODE_SERVER_READY, "status;settled 1-1;status", "status [];settled 1-1;",
	 "bye you ask before the last answer;", NODE_SERVER_ENDED},
	{NODE_SERVER_READY, "settled", "", "", NODE_SERVER_READY},
	{NODE_SERVER_READY, "settled 1-1 x 2-2", "settled 1-1;",
	 "bye what is no package's name is settled;", NODE_SERVER_ENDED},
	{NODE_SERVER_READY, "drop 1-1.0", "", "bye what is no package's name is settled;",
	 NODE_SERVER_ENDED},
	{NODE_SERVER_READY, "take", "", "bye a package without a name;", NODE_SERVER_ENDED},
	{NODE_SERVER_READY, "take ../1-1", "", "bye a package without a name;", NODE_SERVER_ENDED},
	{NODE_SERVER_READY, "bye x;settled 1-1", "", "", NODE_SERVER_ENDED},
	{NODE_SERVER_READY, "settled 1\t-1", "", "bye a control character;", NODE_SERVER_ENDED},
	{NODE_SERVER_READY, "novel a\nb", "", "bye a control character;", NODE_SERVER_ENDED},
};

static void each_frame_is_answered(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		begin_scene(cases[i].before);
		assert_int_equal(hear(cases[i].words), cases[i].state != NODE_SERVER_ENDED);
		assert_string_equal(told(), cases[i].told);
		assert_string_equal(said_take(&scene.server.out), cases[i].answer);
		assert_int_equal(scene.server.state, cases[i].state);
	}
	clear_scene();
}

static void frames_at_a_wrong_time_end_the_connection(void **state)
{
	static const char *const verbs[] = {"hello 1 a1 1 7 4", "take 1-1", "settled 1-1",
					    "drop 1-1",         "ping",     "status"};
	static const bool may_come[][COUNT_OF(verbs)] = {
		[NODE_SERVER_BEGUN] = {true, false, false, false, false, false},
		[NODE_SERVER_GREETING] = {false, false, true, true, true, false},
		[NODE_SERVER_READY] = {false, true, true, true, true, true},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(may_come); i++)
		for (size_t j = 0; j < COUNT_OF(verbs); j++) {
			if (may_come[i][j])
				continue;
			begin_scene((enum node_server_state)i);
			assert_false(hear(verbs[j]));
			assert_string_equal(told(), "");
			assert_string_equal(said_take(&scene.server.out),
					    "bye you say something at a wrong time;");
			assert_false(hear("settled 1-1"));
			assert_string_equal(told(), "");
			assert_string_equal(said_take(&scene.server.out), "");
		}
	clear_scene();
}

static void a_package_comes_with_its_data(void **state)
{
	struct str input = STR(PACKAGE PACKAGE "7:4:ping,,");

	(void)state;
	for (size_t cut = 0; cut <= input.length; cut++) {
		begin_scene(NODE_SERVER_READY);
		assert_true(node_server_read(&scene.server, str_slice(input.data, cut)));
		assert_true(node_server_read(&scene.server, str_skip(input, cut)));
		assert_string_equal(told(), "take 1-1 text 10;0123456789.take 1-1 text "
					    "10;0123456789.");
		assert_string_equal(said_take(&scene.server.out), "pong;");
		assert_int_equal(scene.server.in_flight, 2);
	}
	clear_scene();
}

static void what_is_said_is_this(void **state)
{
	(void)state;
	begin_scene(NODE_SERVER_GREETING);
	node_server_kept(&scene.server, STR("1-1"), STR(""));
	node_server_kept(&scene.server, STR("2-5.3"), STR("3-5,9"));
	node_server_ready(&scene.server);
	assert_string_equal(said_take(&scene.server.out), "kept 1-1 -;kept 2-5.3 3-5,9;ready;");
	assert_true(hear_package() && hear_package());
	node_server_took(&scene.server, "1-1");
	node_server_later(&scene.server, "1-1", "4.3.1", "it is full");
	assert_string_equal(said_take(&scene.server.out), "took 1-1;later 1-1 4.3.1 it is full;");
	assert_int_equal(scene.server.in_flight, 0);
	node_server_end(&scene.server, "why");
	node_server_end(&scene.server, "again");
	assert_string_equal(said_take(&scene.server.out), "bye why;");
	assert_string_equal(buffer_data(&scene.server.reason), "why");
	begin_scene(NODE_SERVER_GREETING);
	node_server_old(&scene.server, &(struct queue_handed_serial){1, 8, 2});
	assert_string_equal(said_take(&scene.server.out), "old 1 8 2;");
	assert_false(hear("settled 1-1"));
	clear_scene();
}

static void each_question_is_answered_before_the_next(void **state)
{
	(void)state;
	begin_scene(NODE_SERVER_READY);
	for (unsigned i = 0; i < 2; i++) {
		assert_true(hear("status"));
		assert_true(hear_package());
		node_server_status(&scene.server, STR("{}"));
		assert_string_equal(said_take(&scene.server.out), "status {};");
	}
	clear_scene();
}

static void packages_without_an_answer_have_a_limit(void **state)
{
	(void)state;
	begin_scene(NODE_SERVER_READY);
	for (unsigned i = 0; i < NODE_PACKAGES_IN_FLIGHT; i++)
		assert_true(hear_package());
	node_server_took(&scene.server, "1-1");
	assert_true(hear_package());
	assert_string_equal(said_take(&scene.server.out), "took 1-1;");
	assert_false(hear_package());
	assert_string_equal(said_take(&scene.server.out),
			    "bye too many packages that are not answered;");
	clear_scene();
}

static void the_handler_may_end_the_connection(void **state)
{
	static const struct {
		const char *refusal;
		const char *told;
	} refusals[] = {
		{"take", "take 1-1 text 10;"},
		{"data", "take 1-1 text 10;0123456789"},
		{"end", "take 1-1 text 10;0123456789."},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(refusals); i++) {
		begin_scene(NODE_SERVER_READY);
		scene.refusal = refusals[i].refusal;
		assert_false(node_server_read(&scene.server, STR(PACKAGE PACKAGE)));
		assert_string_equal(told(), refusals[i].told);
		assert_string_equal(said_take(&scene.server.out), "bye no;");
	}
	clear_scene();
}

static void what_is_malformed_ends_the_connection(void **state)
{
	static const char *const inputs[] = {"x",
					     "5:ready,",
					     "0:,",
					     "99999999:",
					     "13:4:take,3:1-1,,04:text,0:,",
					     "13:4:take,3:1-1,,4:text,0:x"};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(inputs); i++) {
		begin_scene(NODE_SERVER_READY);
		assert_false(node_server_read(&scene.server, str_from(inputs[i])));
		assert_string_equal(said_take(&scene.server.out), "bye what you say is malformed;");
	}
	clear_scene();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_frame_is_answered),
		cmocka_unit_test(frames_at_a_wrong_time_end_the_connection),
		cmocka_unit_test(a_package_comes_with_its_data),
		cmocka_unit_test(what_is_said_is_this),
		cmocka_unit_test(each_question_is_answered_before_the_next),
		cmocka_unit_test(packages_without_an_answer_have_a_limit),
		cmocka_unit_test(the_handler_may_end_the_connection),
		cmocka_unit_test(what_is_malformed_ends_the_connection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
