// SPDX-License-Identifier: ISC
/* What "stagepost nodes" prints of what nodes say, also of what is no answer. */
#include "base/text/json.h"
#include "base/timestamp.h"
#include "command/nodes/nodes.h"
#include "test.h"

/* What is printed of ANSWERS: 't': the table; 'j': JSON; 'd': differences; 'D': these as JSON. In
 * ANSWERS "'" stands for a quote in the text that a node says. */
static const char *printed(const char *answers, char what)
{
	static char text[8192];
	struct buffer read CLEANUP(buffer_clear) = {0};
	struct buffer out CLEANUP(buffer_clear) = {0};
	struct nodes_picture picture;
	int64_t now_us;

	for (; *answers != '\0'; answers++)
		if (*answers == '\'')
			buffer_append_string(&read, "\\\"");
		else
			buffer_append_byte(&read, *answers);
	assert_true(timestamp_parse(STR("2026-12-01T10:00:00Z"), &now_us));
	assert_true(nodes_picture_read(buffer_view(&read), now_us, &picture));
	if (what == 't')
		nodes_print_table(&picture, now_us, &out);
	else if (what == 'j')
		nodes_print_json(&picture, &out);
	else
		nodes_print_differences(&picture, what == 'D', &out);
	nodes_picture_clear(&picture);
	assert_true(out.length < sizeof text);
	if (out.length > 0)
		memcpy(text, buffer_data(&out), out.length);
	text[out.length] = '\0';
	return text;
}

#define NODE(name, status) "{\"node\":\"" name "\",\"status\":\"" status "\"}"
#define AWAY(name, reason) "{\"node\":\"" name "\",\"reason\":\"" reason "\"}"

#define HEAD                                                                              \
	"node                     state     messages oldest taken/min delivered  handed " \
	"deferred failed\n"

static void a_row_is_a_node(void **state)
{
	(void)state;
	assert_string_equal(printed("[" AWAY("b2", "127.0.0.1: Connection refused") "," NODE(
					    "a1",
					    "{'record':{'state':'draining'},'queue':{'messages':"
					    "12345,"
					    "'oldest':'2026-11-28T09:00:00Z','last_minute':{'taken'"
					    ":1,"
					    "'delivered':2,'handed_over':3,'deferred':4,'failed':5}"
					    "}}") "," NODE("c3",
							   "{'problem':'it\\\\u001b[1m stands "
							   "still'}") "," NODE("d4",
									       "{'queue':{'"
									       "messages':0}}") "]",
				    't'),
			    HEAD "a1                       draining     12345     3d         1     "
				 "    2       "
				 "3        4      5\n"
				 "b2                       127.0.0.1: Connection refused\n"
				 "c3                       unlisted it?[1m stands still\n"
				 "d4                       unlisted         0      -         ?     "
				 "    ?       "
				 "?        ?      ?\n");
}

static void what_mail_waits_for_is_below(void **state)
{
	(void)state;
	assert_string_equal(
		printed("[" NODE("a1", "{'queue':{'messages':3,'places':[{'name':'arrive',"
				       "'messages':2},{'name':'remote','messages':1}],"
				       "'trigger_count':3,'triggers':[{'name':'nodes.box',"
				       "'messages':2}]}}") "]",
			't'),
		HEAD
		"a1                       unlisted         3      -         ?         ?       "
		"?        ?      ?\n"
		"a1                       has 2 arrive, 1 remote\n"
		"a1                       waits for nodes.box                        2 "
		"messages\n"
		"a1                       waits for 2 more: \"stagepost trigger list\" there\n");
}

static void ages_are_short(void **state)
{
	static const struct {
		const char *oldest, *age;
	} ages[] = {
		{"2026-12-01T10:00:05Z", "0s"},   {"2026-12-01T09:59:01Z", "59s"},
		{"2026-12-01T09:58:01Z", "119s"}, {"2026-12-01T09:58:00Z", "2m"},
		{"2026-12-01T08:00:00Z", "2h"},   {"2026-11-29T10:00:01Z", "47h"},
		{"2026-11-29T10:00:00Z", "2d"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(ages); i++) {
		struct buffer answers CLEANUP(buffer_clear) = {0};
		struct buffer age CLEANUP(buffer_clear) = {0};

		buffer_append_format(&answers, "[" NODE("a1", "{'queue':{'oldest':'%s'}}") "]%c",
				     ages[i].oldest, 0);
		buffer_append_format(&age, " %s %c", ages[i].age, 0);
		assert_non_null(strstr(printed(buffer_data(&answers), 't'), buffer_data(&age)));
	}
}

static void fields_that_are_unknown_are_shown_as_they_are(void **state)
{
	(void)state;
	assert_string_equal(
		printed("[" NODE("a1", "{'novel':[1,{'x':null}]}") "," AWAY("b2", "away") "]", 'j'),
		"{\"node\":\"a1\",\"status\":{\"novel\":[1,{\"x\":null}]}}\n"
		"{\"node\":\"b2\",\"reason\":\"away\"}\n");
}

static void what_is_no_answer_is_a_reason(void **state)
{
	static const char *const malformed[] = {"", "{}", "[{]"};

	(void)state;
	assert_string_equal(
		printed("[" NODE("a1", "{") "," NODE("b2", "[]") "," NODE("c3", "3") "]", 't'),
		HEAD "a1                       what it answers is malformed\n"
		     "b2                       what it answers is malformed\n"
		     "c3                       what it answers is malformed\n");
	assert_string_equal(printed("[]", 't'), HEAD);
	for (size_t i = 0; i < COUNT_OF(malformed); i++) {
		struct nodes_picture picture;

		assert_false(nodes_picture_read(str_from(malformed[i]), 0, &picture));
		nodes_picture_clear(&picture);
	}
}

#define STATUS(release, version, service, identity, number)             \
	"{'release':'" release "','configuration':{'version':'" version \
	"','sections':{'settings':'1','service':'" service              \
	"'}},'directory':{'identity':'" identity "','version':" number "}}"
#define SAME STATUS("1", "aa", "2", "D+x", "44")

static void differences_are_named(void **state)
{
	(void)state;
	assert_string_equal(printed("[" NODE("a", SAME) "," NODE("b", SAME) "]", 'd'), "");
	assert_string_equal(
		printed("[" NODE("z", SAME) "," NODE("y", SAME) "," NODE(
				"a", STATUS("0", "bb", "3", "D+y",
					    "41")) "," NODE("b", STATUS("1", "aa", "2", "E",
									"7")) "," AWAY("c",
										       "away") "]",
			'd'),
		"a: release 0, others 1\n"
		"a: configuration bb, others aa (in: service)\n"
		"b: directory E, others D\n"
		"a: directory version 41, others 44\n");
	assert_string_equal(
		printed("[" NODE("a", SAME) "," NODE(
				"b",
				"{'configuration':{'version':'bb','sections':{'rule':'1'}}}") "]",
			'D'),
		"{\"node\":\"b\",\"differs_in\":\"configuration\",\"value\":\"bb\",\"others\":"
		"\"aa\",\"sections\":\"rule settings service\"}\n");
}

#define CLOCKS                                                     \
	"[" NODE("a", "{'time':'2026-12-01T09:59:51Z'}") "," NODE( \
		"b",                                               \
		"{'time':'2026-12-01T09:59:50Z'}") "," NODE("c",   \
							    "{'time':'2026-12-01T10:01:00Z'}") "]"

static void clocks_that_are_apart_are_named(void **state)
{
	(void)state;
	assert_string_equal(printed(CLOCKS, 'd'), "b: its clock is 10 seconds slow\n"
						  "c: its clock is 60 seconds fast\n");
	assert_string_equal(printed(CLOCKS, 'D'),
			    "{\"node\":\"b\",\"differs_in\":\"clock\",\"seconds\":-10}\n"
			    "{\"node\":\"c\",\"differs_in\":\"clock\",\"seconds\":60}\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_row_is_a_node),
		cmocka_unit_test(what_mail_waits_for_is_below),
		cmocka_unit_test(ages_are_short),
		cmocka_unit_test(fields_that_are_unknown_are_shown_as_they_are),
		cmocka_unit_test(what_is_no_answer_is_a_reason),
		cmocka_unit_test(differences_are_named),
		cmocka_unit_test(clocks_that_are_apart_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
