// SPDX-License-Identifier: ISC
#include "base/text/json.h"
#include "mail/text/text.h"
#include "test.h"
#include "trace/story.h"
#include <errno.h>
#include <string.h>

static void assert_text(struct buffer *buffer, const char *expected)
{
	struct str found = buffer_view(buffer);

	if (!str_equal(found, str_from(expected)))
		fail_msg("found \"" STR_FORMAT "\", expected \"%s\"", STR_ARGUMENTS(found),
			 expected);
	buffer_clear(buffer);
}

static void test_json(void **state)
{
	struct buffer out = {0};

	(void)state;
	json_append_text(&out, STR("a\"b\\c\n\x01\x7f\xc3\xb6\xff\0"));
	assert_text(&out, "\"a\\\"b\\\\c\\n\\u0001\\u007f\xc3\xb6\xef\xbf\xbd\\u0000\"");
	/* what a terminal obeys, or shows as something else */
	json_append_text(&out, STR("\xc2\x9b\xe2\x80\xa8\xe2\x80\xae\xe2\x80\xac\xe2\x81\xa6\xe2"
				   "\x81\xa9\xe2\x81\xaa"));
	assert_text(&out, "\"\\u009b\\u2028\\u202e\\u202c\\u2066\\u2069\xe2\x81\xaa\"");
	mail_text_append(&out,
			 STR("\xc2\x9b\xc3\xb6\x9b\xff\xe2\x80\xa8\xe2\x80\xae\xe2\x80\xac\n"),
			 MAIL_TEXT_8BIT);
	assert_text(&out, "?\xc3\xb6?\xff?\?\?\?");
	mail_text_append_lines(&out, STR("a\xc2\x85\n\nb\r\n"));
	assert_text(&out, "a?\n\nb?\n");
	buffer_append_byte(&out, '{');
	json_field_text(&out, "a", STR("b"));
	json_field_number(&out, "c", 7);
	assert_text(&out, "{\"a\":\"b\",\"c\":7");
}

static void assert_line(const char *text, const char *key, const char *value)
{
	struct arena *arena = arena_new();
	struct log_line line;
	bool is_ours = log_line_parse(arena, str_from(text), &line);

	assert_int_equal(is_ours, key != NULL);
	if (key != NULL)
		assert_true(str_equal(log_line_get(&line, key), str_from(value)));
	arena_free(arena);
}

static void test_line(void **state)
{
	(void)state;
	assert_line("time=1 a=b", "a", "b");
	assert_line("time=1 a=\"b c\" d=e", "d", "e");
	assert_line("time=1 a=\"b \\\"\\\\\\n\\r\\t\\x41\" d=e", "a", "b \"\\\n\r\tA");
	assert_line("Nov 20 host stagepost[1]: time=1 a=b", "a", "b");
	assert_line("time=1 a= d=e", "a", "");
	assert_line("time=1", "a", "");
	assert_line("", NULL, NULL);
	assert_line("sometime=1", NULL, NULL);
	assert_line("time=1 word", NULL, NULL);
	assert_line("time=1 =x", NULL, NULL);
	assert_line("time=1 a=\"open", NULL, NULL);
	assert_line("time=1 a=\"open\\", NULL, NULL);
	assert_line("time=1 a=\"open\\x4", NULL, NULL);
}

static const char *const logs[] = {
	"time=2026-11-20T08:00:03.000000Z process=queue[2] event=message_queued id=9-b "
	"stage=submit",
	"time=2026-11-20T08:00:05.000000Z process=send[1] event=delivered id=9-b to=a@b.c "
	"by=maildir "
	"status=2.0.0 text=stored",
	"time=2026-11-20T08:00:04.000000Z process=send[1] event=bounced id=7-a bounce=9-b to=a@b.c",
	"time=2026-11-20T08:00:01.000000Z process=queue[2] event=message_queued id=7-a "
	"stage=arrive",
	"time=2026-11-20T08:00:02.000000Z process=queue[2] event=message_queued id=7-c "
	"stage=arrive",
	"time=2026-11-20T08:00:02.000000Z process=queue[2] event=message_queued id=77-a "
	"stage=arrive",
	"time=2026-11-20T08:00:07.000000Z process=list[3] event=list_expanded id=11-a list=l@b.c "
	"message=12-b from=o@b.c recipients=1000",
	"time=2026-11-20T08:00:08.000000Z process=queue[2] event=message_queued id=12-b "
	"stage=submit",
	"time=2026-11-20T08:01:00.000000Z process=smtpd[4] event=session_opened client=192.0.2.7 "
	"client_port=40000 session=4:5f",
	"time=2026-11-20T08:01:01.000000Z process=smtpd[4] event=message_accepted id=30-d "
	"client=192.0.2.7 client_port=40000 session=4:5f helo=h from=a@b.c recipients=1 size=5",
	"time=2026-11-20T08:01:02.000000Z process=smtpd[4] event=command_refused client=192.0.2.7 "
	"client_port=40001 session=4:60 code=550 text=no",
	"time=2026-11-20T08:01:03.000000Z process=send[1] event=message_done id=30-d",
	"other text id=7-a",
	"Nov 20 08:00:06 host stagepost[1]: {\"time\":\"2026-11-20T08:00:06.000000Z\","
	"\"level\":\"info\",\"process\":\"send[1]\",\"event\":\"message_done\",\"id\":\"7-c\"}",
};

static void tell(void *context, const struct log_line *line)
{
	trace_tell(line, true, context);
}

static void assert_story(const char *id, const char *expected)
{
	struct trace_story *story = trace_story_new(str_from(id));
	struct buffer out = {0};

	assert_non_null(story);
	do {
		trace_story_begin(story);
		for (size_t i = 0; i < COUNT_OF(logs); i++)
			assert_int_equal(trace_story_offer(story, str_from(logs[i])), 0);
	} while (!trace_story_is_whole(story));
	trace_story_each(story, tell, &out);
	assert_text(&out, expected);
	trace_story_free(story);
}

static void test_story(void **state)
{
	(void)state;
	assert_story("7-a", "2026-11-20T08:00:01.000000Z 7-a queue[2]: queued at arrive\n"
			    "2026-11-20T08:00:03.000000Z 9-b queue[2]: queued at submit\n"
			    "2026-11-20T08:00:04.000000Z 7-a send[1]: bounced to <a@b.c> as 9-b\n"
			    "2026-11-20T08:00:05.000000Z 9-b send[1]: delivered to <a@b.c> by "
			    "maildir: 2.0.0 stored\n");
	assert_story("7-c", "2026-11-20T08:00:02.000000Z 7-c queue[2]: queued at arrive\n"
			    "2026-11-20T08:00:06.000000Z 7-c send[1]: done: all recipients are "
			    "dealt with\n");
	assert_story("77", "2026-11-20T08:00:02.000000Z 77-a queue[2]: queued at arrive\n");
	assert_story("9-b", "2026-11-20T08:00:03.000000Z 9-b queue[2]: queued at submit\n"
			    "2026-11-20T08:00:04.000000Z 7-a send[1]: bounced to <a@b.c> as 9-b\n"
			    "2026-11-20T08:00:05.000000Z 9-b send[1]: delivered to <a@b.c> by "
			    "maildir: 2.0.0 stored\n");
	assert_story("11-a", "2026-11-20T08:00:07.000000Z 11-a list[3]: sent on to 1000 members of "
			     "<l@b.c> from <o@b.c> as 12-b\n"
			     "2026-11-20T08:00:08.000000Z 12-b queue[2]: queued at submit\n");
	assert_story("12-b", "2026-11-20T08:00:07.000000Z 11-a list[3]: sent on to 1000 members of "
			     "<l@b.c> from <o@b.c> as 12-b\n"
			     "2026-11-20T08:00:08.000000Z 12-b queue[2]: queued at submit\n");
	assert_story("4:5f", "2026-11-20T08:01:00.000000Z smtpd[4]: 192.0.2.7 has connected, from "
			     "port 40000\n"
			     "2026-11-20T08:01:01.000000Z 30-d smtpd[4]: accepted from 192.0.2.7 "
			     "(h): from <a@b.c>, 1 recipients, 5 bytes, session 4:5f\n"
			     "2026-11-20T08:01:03.000000Z 30-d send[1]: done: all recipients are "
			     "dealt with\n");
	assert_story("4:60",
		     "2026-11-20T08:01:02.000000Z smtpd[4]: refused for 192.0.2.7: 550 no\n");
	assert_story("5:5f", "");
	assert_story("8", "");
	assert_null(trace_story_new(STR("x")));
	assert_null(trace_story_new(STR("7-")));
	assert_null(trace_story_new(STR("4:")));
	assert_null(trace_story_new(STR(":5f")));
	assert_null(trace_story_new(STR("4:5g")));
}

/* A message goes from edge over core, in two parts, to box; a node beside has others. */
static const struct {
	const char *node, *line;
} nodes[] = {
	{"box",
	 "time=2026-11-20T08:00:04.000000Z process=noded[1] event=node_took id=30-a node=core "
	 "package=20-a.1 recipients=1 size=5"},
	{"box", "time=2026-11-20T08:00:05.000000Z process=send[1] event=message_done id=30-a"},
	{"",
	 "Nov  20 08:00:06 other stagepost[1]: time=2026-11-20T08:00:06.000000Z process=noded[1] "
	 "event=node_took id=31-a node=core package=20-a.2 recipients=1 size=5"},
	{"edge", "time=2026-11-20T08:00:01.000000Z process=queue[1] event=message_queued id=10-a "
		 "stage=arrive"},
	{"core", "time=2026-11-20T08:00:03.000000Z process=send[1] event=message_done id=20-a"},
	{"core", "time=2026-11-20T08:00:02.000000Z process=noded[1] event=node_took id=20-a "
		 "node=edge package=10-a recipients=2 size=5"},
	{"core", "time=2026-11-20T08:00:02.500000Z process=noded[1] event=node_took id=21-a "
		 "node=edge package=11-a recipients=2 size=5"},
	{"core", "time=2026-11-20T08:00:01.500000Z process=noded[1] event=node_refused node=edge "
		 "package=10-a status=4.3.1 text=full"},
};

static void tell_of_nodes(const char *id, struct buffer *out)
{
	struct trace_story *story = trace_story_new(str_from(id));

	assert_non_null(story);
	do {
		trace_story_begin(story);
		for (size_t i = 0; i < COUNT_OF(nodes); i++) {
			trace_story_from(story, str_from(nodes[i].node));
			assert_int_equal(trace_story_offer(story, str_from(nodes[i].line)), 0);
		}
	} while (!trace_story_is_whole(story));
	trace_story_each(story, tell, out);
	trace_story_free(story);
}

static void test_nodes(void **state)
{
	static const char *const ids[] = {"10-a", "20-a", "30-a", "31-a"};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(ids); i++) {
		struct buffer out = {0};

		tell_of_nodes(ids[i], &out);
		assert_text(
			&out,
			"2026-11-20T08:00:01.000000Z edge 10-a queue[1]: queued at arrive\n"
			"2026-11-20T08:00:01.500000Z core noded[1]: not taken from node edge, "
			"where "
			"it is 10-a: 4.3.1 full\n"
			"2026-11-20T08:00:02.000000Z core 20-a noded[1]: handed over by node edge, "
			"where it is 10-a: 2 recipients, 5 bytes\n"
			"2026-11-20T08:00:03.000000Z core 20-a send[1]: done: all recipients are "
			"dealt with\n"
			"2026-11-20T08:00:04.000000Z box 30-a noded[1]: handed over by node core, "
			"where it is 20-a.1: 1 recipients, 5 bytes\n"
			"2026-11-20T08:00:05.000000Z box 30-a send[1]: done: all recipients are "
			"dealt with\n"
			"2026-11-20T08:00:06.000000Z other 31-a noded[1]: handed over by node "
			"core, "
			"where it is 20-a.2: 1 recipients, 5 bytes\n");
	}
}

static void assert_told(const char *text, const char *expected)
{
	struct arena *arena = arena_new();
	struct buffer out = {0};
	struct log_line line;

	assert_true(log_line_parse(arena, str_from(text), &line));
	trace_tell(&line, false, &out);
	assert_text(&out, expected);
	arena_free(arena);
}

static void test_where_it_came_from(void **state)
{
	(void)state;
	assert_told("time=T process=p event=message_accepted id=7-a client=192.0.2.7 helo=h "
		    "from=a@b.c recipients=2 size=9",
		    "T p: accepted from 192.0.2.7 (h): from <a@b.c>, 2 recipients, 9 bytes\n");
	assert_told("time=T process=p event=message_accepted id=7-a client=192.0.2.7 helo=h "
		    "from=a@b.c recipients=2 size=9 message_id=<1@b.c>",
		    "T p: accepted from 192.0.2.7 (h): from <a@b.c>, 2 recipients, 9 bytes, "
		    "Message-ID <1@b.c>\n");
	assert_told(
		"time=T process=p event=delivered id=7-a to=m@b.c by=remote status=2.0.0 "
		"text=taken tls=TLSv1.3 cipher=TLS_AES_256_GCM_SHA384 policy=dane "
		"delay=0.250 verified=dane-ee",
		"T p: delivered to <m@b.c> by remote: 2.0.0 taken, 0.250 s after it was received "
		"(TLSv1.3, TLS_AES_256_GCM_SHA384, policy dane, verified: dane-ee)\n");
	assert_told("time=T process=p event=delivered id=7-a to=m@b.c by=maildir status=2.0.0 "
		    "text=stored until=- original=a@b.c",
		    "T p: delivered to <m@b.c> by maildir for <a@b.c>: 2.0.0 stored\n");
	assert_told("time=T process=p event=message_accepted id=7-a uid=1000 user=lisa "
		    "from=a@b.c recipients=2 size=9",
		    "T p: accepted from user lisa (uid 1000): from <a@b.c>, 2 recipients, 9 "
		    "bytes\n");
	assert_told("time=T process=p event=message_accepted id=7-a client=192.0.2.7 user=lisa "
		    "from=a@b.c recipients=1 size=9 tls=TLSv1.3 cipher=C session=4:5f",
		    "T p: accepted from 192.0.2.7, user lisa: from <a@b.c>, 1 recipients, 9 bytes, "
		    "session 4:5f (TLSv1.3, C)\n");
	assert_told("time=T process=p event=message_found id=7-a received=\"local uid=0\" "
		    "from=a@b.c recipients=2 size=9",
		    "T p: found in the queue, where it came by local uid=0: from <a@b.c>, 2 "
		    "recipients, 9 bytes\n");
}

static void test_tell(void **state)
{
	struct arena *arena = arena_new();
	struct buffer out = {0};
	struct log_line line;

	(void)state;
	assert_true(log_line_parse(
		arena, STR("time=T level=x process=p event=queue_error id=7-a text=\"a\\x1b[m\""),
		&line));
	trace_tell(&line, false, &out);
	assert_text(&out, "T p: queue error: text a?[m\n");
	assert_told("time=T process=p event=\"a\\x1b]0;x\\n_b\" id=7-a", "T p: a?]0;x? b\n");
	trace_tell_json(&line, &out);
	assert_text(&out,
		    "{\"time\":\"T\",\"level\":\"x\",\"process\":\"p\",\"event\":\"queue_error\","
		    "\"id\":\"7-a\",\"text\":\"a\\u001b[m\"}\n");
	arena_free(arena);
}

/* What was a number is one, what only looks like it is not, in either format. */
static void test_numbers(void **state)
{
	static const struct {
		const char *line;
		const char *expected;
	} cases[] = {
		{"time=T a=12 b=\"12\" c=-3 d=0",
		 "{\"time\":\"T\",\"a\":12,\"b\":\"12\",\"c\":-3,\"d\":0}\n"},
		{"time=T a=07 b=1.0.0 c=- d=2x",
		 "{\"time\":\"T\",\"a\":\"07\",\"b\":\"1.0.0\",\"c\":\"-\",\"d\":\"2x\"}\n"},
		{"time=T a=1.482 b=0.000 c=1. d=.5",
		 "{\"time\":\"T\",\"a\":1.482,\"b\":0.000,\"c\":\"1.\",\"d\":\".5\"}\n"},
		{"time=T a=18446744073709551615 b=18446744073709551616",
		 "{\"time\":\"T\",\"a\":18446744073709551615,\"b\":\"18446744073709551616\"}\n"},
		{"{\"time\":\"T\",\"a\":12,\"b\":\"12\",\"c\":true}",
		 "{\"time\":\"T\",\"a\":12,\"b\":\"12\",\"c\":\"true\"}\n"},
	};
	struct buffer out = {0};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct arena *arena = arena_new();
		struct log_line line;

		assert_true(log_line_parse(arena, str_from(cases[i].line), &line));
		trace_tell_json(&line, &out);
		assert_text(&out, cases[i].expected);
		arena_free(arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_line),
		cmocka_unit_test(test_story),
		cmocka_unit_test(test_nodes),
		cmocka_unit_test(test_where_it_came_from),
		cmocka_unit_test(test_tell),
		cmocka_unit_test(test_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
