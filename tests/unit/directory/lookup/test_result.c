// SPDX-License-Identifier: ISC
/* What is made of an answer: whether its recipient takes mail from a sender, what a client is told,
 * and whose mailboxes it is about. */
#include "config/text.h"
#include "directory/lookup/lookup.h"
#include "test.h"
#include <string.h>

static struct config *config;

static int make_config(void **state)
{
	static const char text[] =
		"hostname = mx.test\n"
		"service plain { kind = pipe command = { \"/bin/p\", \"%a\" } user = nobody }\n"
		"service from { kind = pipe command = { \"/bin/p\", \"-x\", \"%s\" } user = nobody "
		"}\n"
		"service safe { kind = pipe command = { \"/bin/p\", \"--from=%s\" } user = nobody "
		"}\n"
		"service box { kind = maildir path = /m/%u user = nobody }\n"
		"service home { kind = maildir path = /h/%u user = \"%u\" }\n";
	struct config_problems problems;

	(void)state;
	assert_int_equal(config_parse("t", str_from(text), &config, &problems), 0);
	config_problems_clear(&problems);
	return 0;
}

static int free_config(void **state)
{
	(void)state;
	config_free(config);
	return 0;
}

static struct directory_target target_of(const char *text)
{
	const char *space = strchr(text, ' ');
	bool is_remote = strncmp(text, "remote", 6) == 0;
	bool is_none = strncmp(text, "none", 4) == 0;

	return (struct directory_target){.kind = is_none     ? DIRECTORY_TARGET_NONE
						 : is_remote ? DIRECTORY_TARGET_REMOTE
							     : DIRECTORY_TARGET_LOCAL,
					 .service = str_slice(text, (size_t)(space - text)),
					 .address = str_from(space + 1)};
}

static struct directory_result result_of(const char *const texts[3],
					 struct directory_target targets[3])
{
	struct directory_result result = {.answer = DIRECTORY_FOUND, .targets = targets};

	while (result.target_count < 3 && texts[result.target_count] != NULL) {
		targets[result.target_count] = target_of(texts[result.target_count]);
		result.target_count++;
	}
	return result;
}

/* What an argument of a program would be must not be taken for an option. */
static void senders_for_programs(void **state)
{
	static const struct {
		const char *targets[3];
		const char *sender;
		bool is_taken;
	} cases[] = {
		{{"plain a@b"}, "-x@c", true},
		{{"from a@b"}, "x@c", true},
		{{"from a@b"}, "", true},
		{{"from a@b"}, "-x@c", false},
		{{"from a@b"}, "x\n@c", false},
		{{"safe a@b"}, "-x@c", true},
		{{"safe a@b"}, "x\x7f@c", false},
		{{"box a@b"}, "-x@c", true},
		{{"gone a@b"}, "-x@c", true},
		{{"remote a@b"}, "-x@c", true},
		{{"from \"a"}, "-x@c", true}, /* no local part: RCPT refuses that */
		{{"box a@b", "from a@b"}, "-x@c", false},
		{{"from a@b", "box a@b"}, "-x@c", false},
		{{"plain -a@b"}, "x@c", false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct directory_target targets[3];
		struct directory_result result = result_of(cases[i].targets, targets);
		struct mail_verdict verdict;

		mail_verdict_set(&verdict, "2.1.5", "ok");
		directory_judge_sender(&result, config, str_from(cases[i].sender), &verdict);
		if (strcmp(verdict.status, cases[i].is_taken ? "2.1.5" : "5.1.7") != 0)
			fail_msg("%zu: %s", i, verdict.status);
	}
}

/* A failure of our own is told in other words, and the words are for the log. */
static void recipients_are_judged(void **state)
{
	static const struct {
		enum directory_answer answer;
		bool may_relay;
		const char *status, *text;      /* of the answer */
		const char *told_status, *told; /* the client */
		bool is_hidden;
	} cases[] = {
		{DIRECTORY_FOUND, false, "2.1.5", "ok", "2.1.5", "ok", false},
		{DIRECTORY_NOT_LOCAL, true, "2.1.5", "ok", "2.1.5", "ok", false},
		{DIRECTORY_NOT_LOCAL, false, "2.1.5", "ok", "5.7.1", "Relaying denied", false},
		{DIRECTORY_REFUSED, false, "5.1.1", "no", "5.1.1", "no", false},
		{DIRECTORY_UNKNOWN, false, "4.4.3", "server s", "4.4.3",
		 "This address cannot be looked up now", true},
		{DIRECTORY_REFUSED, true, "4.3.5", "service s", "4.3.5",
		 "Mail for this address cannot be taken now", true},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct directory_result result = {.answer = cases[i].answer};
		struct mail_verdict verdict;
		const char *hidden;

		mail_verdict_set(&result.verdict, cases[i].status, "%s", cases[i].text);
		hidden = directory_judge_recipient(&result, cases[i].may_relay, &verdict);
		assert_string_equal(verdict.status, cases[i].told_status);
		assert_string_equal(verdict.text, cases[i].told);
		assert_int_equal(hidden != NULL, cases[i].is_hidden);
		if (hidden != NULL)
			assert_string_equal(hidden, cases[i].text);
	}
}

static void owners_of_mailboxes(void **state)
{
	static const struct {
		enum directory_answer answer;
		const char *targets[3];
		const char *address;
		const char *names; /* each with a '|'; NULL: it is not about users */
	} cases[] = {
		{DIRECTORY_FOUND, {"home ann@b"}, "ann@b", "ann|"},
		{DIRECTORY_FOUND, {"home Ann+x@b", "home bob@b"}, "x@b", "ann|bob|"},
		{DIRECTORY_FOUND, {"none x@b", "home bob@b"}, "x@b", "bob|"},
		{DIRECTORY_FOUND, {"home ../x@b", "home \"a@b"}, "x@b", ""},
		{DIRECTORY_FOUND, {"home ann@b", "box ann@b"}, "x@b", NULL},
		{DIRECTORY_FOUND, {"home ann@b", "remote ann@b"}, "x@b", NULL},
		{DIRECTORY_FOUND, {"home ann@b", "gone ann@b"}, "x@b", NULL},
		{DIRECTORY_FOUND, {"home postmaster@b"}, "x@b", NULL},
		{DIRECTORY_FOUND, {"home ann@b"}, "Postmaster@b", NULL},
		{DIRECTORY_REFUSED, {"home ann@b"}, "ann@b", NULL},
		{DIRECTORY_FOUND, {NULL}, "ann@b", ""},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct directory_target targets[3];
		struct directory_result result = result_of(cases[i].targets, targets);
		struct buffer names CLEANUP(buffer_clear) = {0};
		bool is_owned;

		result.answer = cases[i].answer;
		is_owned = directory_result_owners(&result, config, str_from(cases[i].address),
						   &names);
		if (is_owned != (cases[i].names != NULL))
			fail_msg("%zu: %d", i, is_owned);
		for (size_t k = 0; k < names.length; k++)
			if (buffer_data(&names)[k] == '\0')
				buffer_data(&names)[k] = '|';
		if (is_owned && !str_equal(buffer_view(&names), str_from(cases[i].names)))
			fail_msg("%zu: " STR_FORMAT, i, STR_ARGUMENTS(buffer_view(&names)));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(senders_for_programs),
		cmocka_unit_test(recipients_are_judged),
		cmocka_unit_test(owners_of_mailboxes),
	};

	return cmocka_run_group_tests(tests, make_config, free_config);
}
