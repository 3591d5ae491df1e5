// SPDX-License-Identifier: ISC
/* The engine of a node that hands packages over: each frame in each state, and what is malformed.
 */
#include "node/client.h"
#include "said.h"
#include <string.h>

static struct scene {
	struct node_client client;
	struct buffer told;
} scene;

static void on_kept(void *context, struct str package, struct str numbers)
{
	buffer_append_format(context, "kept " STR_FORMAT " [" STR_FORMAT "];",
			     STR_ARGUMENTS(package), STR_ARGUMENTS(numbers));
}

static void on_ready(void *context)
{
	buffer_append_string(context, "ready;");
}

static void on_took(void *context, struct str package)
{
	buffer_append_format(context, "took " STR_FORMAT ";", STR_ARGUMENTS(package));
}

static void on_later(void *context, struct str package, struct str status, struct str text)
{
	buffer_append_format(context, "later " STR_FORMAT " " STR_FORMAT " " STR_FORMAT ";",
			     STR_ARGUMENTS(package), STR_ARGUMENTS(status), STR_ARGUMENTS(text));
}

static void on_status(void *context, struct str text)
{
	buffer_append_format(context, "status " STR_FORMAT ";", STR_ARGUMENTS(text));
}

static const struct node_client_handler handler = {on_kept, on_ready, on_took, on_later, on_status};

static void clear_scene(void)
{
	node_client_clear(&scene.client);
	buffer_clear(&scene.told);
}

/* A client of a1, to which b2 has said WORDS; it has said nothing yet that was looked at. */
static void begin_scene(const char *words)
{
	struct buffer input CLEANUP(buffer_clear) = {0};

	clear_scene();
	node_client_begin(&scene.client, &handler, &scene.told, "a1", "b2",
			  &(struct queue_handed_serial){1, 7, 3});
	said_append(&input, words);
	assert_true(node_client_read(&scene.client, buffer_view(&input)));
	buffer_reset(&scene.told);
	buffer_reset(&scene.client.out);
}

static bool hear(const char *words)
{
	struct buffer input CLEANUP(buffer_clear) = {0};

	said_append(&input, words);
	return node_client_read(&scene.client, buffer_view(&input));
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

#define GREETED "hello 1 b2;"
#define READY   GREETED "ready;"

static const struct {
	const char *before; /* what was said: its state */
	const char *words;
	const char *told;
	const char *answer;
	enum node_client_state state; /* after it */
	const char *reason;           /* ENDED */
} cases[] = {
	{"", "hello 1 b2", "", "hello 1 a1 1 7 3;", NODE_CLIENT_GREETED, NULL},
	{"", "hello 1 b2 more words", "", "hello 1 a1 1 7 3;", NODE_CLIENT_GREETED, NULL},
	{"", "hello 1", "", "bye it speaks another version of the protocol;", NODE_CLIENT_ENDED,
	 "it speaks another version of the protocol"},
	{"", "hello 2 b2", "", "bye it speaks another version of the protocol;", NODE_CLIENT_ENDED,
	 "it speaks another version of the protocol"},
	{"", "hello 1 b3", "", "bye it says that it is another node;", NODE_CLIENT_ENDED,
	 "it says that it is another node"},
	{"", "bye", "", "", NODE_CLIENT_ENDED, "it says: "},
	{"", "novel 1 2", "", "", NODE_CLIENT_BEGUN, NULL},
	{GREETED, "kept 1-1 - 2-5.3 3-5,9", "kept 1-1 [];kept 2-5.3 [3-5,9];", "",
	 NODE_CLIENT_GREETED, NULL},
	{GREETED, "kept", "", "", NODE_CLIENT_GREETED, NULL},
	{GREETED, "kept 1-1", "", "bye a package without its numbers;", NODE_CLIENT_ENDED,
	 "a package without its numbers"},
	{GREETED, "kept 1-1 - 01-1 -", "kept 1-1 [];", "bye it has what is no package's name;",
	 NODE_CLIENT_ENDED, "it has what is no package's name"},
	{GREETED, "ready", "ready;", "", NODE_CLIENT_READY, NULL},
	{GREETED, "old 1 8 2", "", "", NODE_CLIENT_ENDED,
	 "it has seen a later start of this node: 1 8 2"},
	{GREETED, "old 1 8 2 9", "", "", NODE_CLIENT_ENDED,
	 "it has seen a later start of this node: 1 8 2"},
	{GREETED, "old", "", "", NODE_CLIENT_ENDED, "it has seen a later start of this node"},
	{GREETED, "ping", "", "", NODE_CLIENT_GREETED, NULL},
	{READY, "ping", "", "", NODE_CLIENT_READY, NULL},
	{READY, "pong", "", "", NODE_CLIENT_READY, NULL},
	{READY, "took 1-1 more", "took 1-1;", "", NODE_CLIENT_READY, NULL},
	{READY, "took", "", "bye it has taken nothing;", NODE_CLIENT_ENDED, "it has taken nothing"},
	{READY, "later 1-1 4.3.1 full more", "later 1-1 4.3.1 full;", "", NODE_CLIENT_READY, NULL},
	{READY, "later 1-1 4.3.1", "", "bye it refuses without a reason;", NODE_CLIENT_ENDED,
	 "it refuses without a reason"},
	{READY, "status {}", "", "bye it answers what was not asked;", NODE_CLIENT_ENDED,
	 "it answers what was not asked"},
	{READY, "bye draining", "", "", NODE_CLIENT_ENDED, "it says: draining"},
	{READY, "took 1-1;bye x;took 2-1", "took 1-1;", "", NODE_CLIENT_ENDED, "it says: x"},
	{READY, "took 1\t-1", "", "bye a control character;", NODE_CLIENT_ENDED,
	 "a control character"},
	{READY, "novel a\nb", "", "bye a control character;", NODE_CLIENT_ENDED,
	 "a control character"},
};

static void each_frame_is_answered(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		begin_scene(cases[i].before);
		assert_int_equal(hear(cases[i].words), cases[i].state != NODE_CLIENT_ENDED);
		assert_string_equal(told(), cases[i].told);
		assert_string_equal(said_take(&scene.client.out), cases[i].answer);
		assert_int_equal(scene.client.state, cases[i].state);
		if (cases[i].reason != NULL)
			assert_string_equal(buffer_data(&scene.client.reason), cases[i].reason);
	}
	clear_scene();
}

/* Whatever follows the end is not read. */
static void nothing_is_read_after_the_end(void **state)
{
	(void)state;
	begin_scene(READY);
	assert_false(hear("bye x"));
	assert_false(hear("took 1-1"));
	assert_string_equal(told(), "");
	assert_string_equal(said_take(&scene.client.out), "");
	assert_string_equal(buffer_data(&scene.client.reason), "it says: x");
	clear_scene();
}

static const char *const verbs[] = {"hello 1 b2", "kept 1-1 -",        "ready",    "old 1 8 2",
				    "took 1-1",   "later 1-1 4.3.1 x", "status {}"};

/* In which states each of VERBS may come: BEGUN, GREETED, READY. */
static const bool may_come[][COUNT_OF(verbs)] = {
	{true, false, false, false, false, false, false},
	{false, true, true, true, false, false, false},
	{false, false, false, false, true, true, true},
};

static void frames_at_a_wrong_time_end_the_connection(void **state)
{
	static const char *const befores[] = {"", GREETED, READY};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(befores); i++)
		for (size_t j = 0; j < COUNT_OF(verbs); j++) {
			if (may_come[i][j])
				continue;
			begin_scene(befores[i]);
			assert_false(hear(verbs[j]));
			assert_string_equal(told(), "");
			assert_string_equal(said_take(&scene.client.out),
					    "bye it says something at a wrong time;");
			assert_int_equal(scene.client.state, NODE_CLIENT_ENDED);
		}
	clear_scene();
}

/* Also "take", which the other side alone says: no text follows it. */
static void what_is_malformed_ends_the_connection(void **state)
{
	static const char *const inputs[] = {"x", "5:ready,", "0:,", "99999999:"};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(inputs); i++) {
		begin_scene(READY);
		assert_false(node_client_read(&scene.client, str_from(inputs[i])));
		assert_string_equal(said_take(&scene.client.out), "bye what it says is malformed;");
	}
	begin_scene(READY);
	assert_true(hear("take 1-1;took 2-2"));
	assert_string_equal(told(), "took 2-2;");
	clear_scene();
}

static void what_is_sent_are_these_bytes(void **state)
{
	(void)state;
	begin_scene(READY);
	node_client_begin_take(&scene.client, "12-3f.4", STR("text"), 5);
	buffer_append_string(&scene.client.out, "12345");
	node_client_end_take(&scene.client);
	assert_true(str_equal(buffer_view(&scene.client.out),
			      STR("17:4:take,7:12-3f.4,,4:text,5:12345,")));
	buffer_reset(&scene.client.out);
	node_client_settle(&scene.client, "12-3f.4", false);
	node_client_settle(&scene.client, "12-3f", true);
	node_client_ping(&scene.client);
	assert_string_equal(said_take(&scene.client.out), "settled 12-3f.4;drop 12-3f;ping;");
	clear_scene();
}

/* A receiver of an older version does not say that it answers. */
static void who_answers_for_its_status_says_so(void **state)
{
	(void)state;
	begin_scene("hello 1 b2");
	assert_false(scene.client.answers_status);
	begin_scene("hello 1 b2 status");
	assert_true(scene.client.answers_status);
	begin_scene("hello 1 b2 novel status more");
	assert_true(scene.client.answers_status);
	clear_scene();
}

static void a_status_is_asked_for_once_at_a_time(void **state)
{
	(void)state;
	begin_scene(READY);
	node_client_ask_status(&scene.client, STR(""));
	assert_string_equal(said_take(&scene.client.out), "status;");
	assert_true(hear("took 1-1;status {\"x\":1} more"));
	assert_string_equal(told(), "took 1-1;status {\"x\":1};");
	node_client_ask_status(&scene.client, STR("a1/12-3f"));
	assert_string_equal(said_take(&scene.client.out), "status a1/12-3f;");
	assert_true(hear("status {}"));
	assert_string_equal(told(), "status {};");
	assert_false(hear("status {}"));
	assert_string_equal(said_take(&scene.client.out), "bye it answers what was not asked;");
	clear_scene();
}

static void a_status_has_a_bound(void **state)
{
	struct buffer words CLEANUP(buffer_clear) = {0};

	(void)state;
	begin_scene(READY);
	node_client_ask_status(&scene.client, STR(""));
	assert_false(hear("status"));
	assert_string_equal(said_take(&scene.client.out),
			    "status;bye its status is missing, or too long;");
	for (size_t length = NODE_STATUS_MAX; length <= NODE_STATUS_MAX + 1; length++) {
		begin_scene(READY);
		node_client_ask_status(&scene.client, STR(""));
		buffer_reset(&words);
		buffer_append_string(&words, "status ");
		memset(buffer_reserve(&words, length + 1), 'x', length);
		buffer_commit(&words, length);
		buffer_append_byte(&words, '\0');
		assert_int_equal(hear(buffer_data(&words)), length == NODE_STATUS_MAX);
		buffer_reset(&scene.told);
	}
	clear_scene();
}

/* Each byte alone comes to what all at once come to. */
static void pieces_come_to_the_same(void **state)
{
	struct buffer input CLEANUP(buffer_clear) = {0};

	(void)state;
	said_append(&input,
		    GREETED "kept 1-1 - 2-5.3 3-5,9;ping;ready;took 1-1;later 2-2 4.1.1 x;");
	for (size_t cut = 0; cut <= input.length; cut++) {
		begin_scene("");
		assert_true(node_client_read(&scene.client, str_slice(buffer_data(&input), cut)));
		assert_true(node_client_read(&scene.client, str_skip(buffer_view(&input), cut)));
		assert_string_equal(told(), "kept 1-1 [];kept 2-5.3 [3-5,9];ready;took 1-1;"
					    "later 2-2 4.1.1 x;");
		assert_string_equal(said_take(&scene.client.out), "hello 1 a1 1 7 3;");
	}
	clear_scene();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_frame_is_answered),
		cmocka_unit_test(nothing_is_read_after_the_end),
		cmocka_unit_test(frames_at_a_wrong_time_end_the_connection),
		cmocka_unit_test(what_is_malformed_ends_the_connection),
		cmocka_unit_test(what_is_sent_are_these_bytes),
		cmocka_unit_test(who_answers_for_its_status_says_so),
		cmocka_unit_test(a_status_is_asked_for_once_at_a_time),
		cmocka_unit_test(a_status_has_a_bound),
		cmocka_unit_test(pieces_come_to_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
