// SPDX-License-Identifier: ISC
/* An envelope with any of what it may have is read as it was written, and says nothing else. */
#include "base/arena.h"
#include "base/timestamp.h"
#include "chance.h"
#include "queue/control/control.h"
#include "test.h"
#include <errno.h>
#include <string.h>

enum { ENVELOPES = 1000, RECIPIENTS_MAX = 4 };

static struct mail_envelope *any_envelope(void)
{
	static const char *const senders[] = {"a@b.test", "", "#@[]", "list-@b.test-@[]"};
	struct mail_envelope *envelope = mail_envelope_new();
	size_t recipients = 1 + chance(RECIPIENTS_MAX);

	envelope->id = (struct mail_id){1 + chance(1000), 1 + (int64_t)chance(1000000)};
	envelope->stage = (enum mail_stage)chance(MAIL_STAGE_COUNT);
	envelope->ret = (enum mail_ret)chance(3);
	envelope->require_tls = chance(2) == 0;
	envelope->binary = chance(2) == 0;
	envelope->utf8 = chance(2) == 0;
	envelope->sender = str_from(senders[chance(COUNT_OF(senders))]);
	envelope->envid = chance(2) == 0 ? STR("") : STR("id+3D");
	envelope->received = chance(2) == 0 ? STR("") : STR("smtp 192.0.2.7:1 helo=x");
	envelope->trigger = chance(3) == 0 ? STR("noon") : STR("");
	envelope->size = chance(100000);
	envelope->priority = (int)chance(19) - 9;
	envelope->release_us = chance(2) == 0 ? 0 : SECOND_US * (1 + (int64_t)chance(1000000));
	envelope->deadline.mode = (enum mail_deadline_mode)chance(3);
	if (envelope->deadline.mode != MAIL_DEADLINE_NONE) {
		envelope->deadline.is_traced = chance(2) == 0;
		envelope->deadline.is_told = chance(2) == 0;
		envelope->deadline.at_us = SECOND_US * (1 + (int64_t)chance(1000000));
	}
	if (chance(2) == 0) { /* another node handed it over */
		envelope->handed = chance(2) == 0 ? STR("a1/457-63f1a2b3c4d5e")
						  : STR("a1/457-63f1a2b3c4d5e.3");
		envelope->origin = STR("mx-0.b.test/1-2");
		envelope->via = 1 + (uint32_t)chance(25);
	}
	for (size_t i = 0; i < recipients; i++) {
		struct mail_recipient *to = mail_envelope_add(envelope, STR("c@d.test"));

		to->notify = chance(2) == 0 ? 0 : (unsigned)chance(8);
		if (chance(4) == 0)
			to->notify = MAIL_NOTIFY_NEVER;
		to->original = chance(2) == 0 ? STR("") : STR("rfc822;x+2By");
	}
	return envelope;
}

static void expect_same(const struct mail_envelope *wanted, const struct mail_envelope *got)
{
	assert_int_equal(got->id.number, wanted->id.number);
	assert_int_equal(got->id.born_us, wanted->id.born_us);
	assert_int_equal(got->ret, wanted->ret);
	assert_int_equal(got->require_tls, wanted->require_tls);
	assert_int_equal(got->binary, wanted->binary);
	assert_int_equal(got->utf8, wanted->utf8);
	assert_true(str_equal(got->sender, wanted->sender));
	assert_true(str_equal(got->envid, wanted->envid));
	assert_true(str_equal(got->received, wanted->received));
	assert_true(str_equal(got->trigger, wanted->trigger));
	assert_true(str_equal(got->handed, wanted->handed));
	assert_true(str_equal(got->origin, wanted->origin));
	assert_int_equal(got->via, wanted->via);
	assert_int_equal(got->size, wanted->size);
	assert_int_equal(got->priority, wanted->priority);
	assert_int_equal(got->release_us, wanted->release_us);
	assert_int_equal(got->deadline.mode, wanted->deadline.mode);
	assert_int_equal(got->deadline.is_traced, wanted->deadline.is_traced);
	assert_int_equal(got->deadline.is_told, wanted->deadline.is_told);
	assert_int_equal(got->deadline.at_us, wanted->deadline.at_us);
	assert_int_equal(got->recipient_count, wanted->recipient_count);
	for (size_t i = 0; i < got->recipient_count; i++) {
		const struct mail_recipient *one = &got->recipients[i],
					    *of = &wanted->recipients[i];

		assert_int_equal(one->number, of->number);
		assert_int_equal(one->notify, of->notify);
		assert_true(str_equal(one->address, of->address));
		assert_true(str_equal(one->original, of->original));
	}
}

static void any_envelope_is_read_as_it_was_written(void **state)
{
	(void)state;
	for (unsigned i = 0; i < ENVELOPES; i++) {
		struct mail_envelope *envelope = any_envelope();
		struct buffer text CLEANUP(buffer_clear) = {0};
		struct buffer again CLEANUP(buffer_clear) = {0};
		struct queue_control *control;

		assert_int_equal(queue_control_write_envelope(&text, envelope), 0);
		if (queue_control_parse(buffer_view(&text), &control, NULL) < 0)
			fail_msg(STR_FORMAT, STR_ARGUMENTS(buffer_view(&text)));
		expect_same(envelope, control->envelope);
		assert_int_equal(queue_control_write_envelope(&again, control->envelope), 0);
		assert_true(str_equal(buffer_view(&again), buffer_view(&text)));
		queue_control_free(control);
		mail_envelope_free(envelope);
	}
}

/* One that has nothing says nothing of it. */
static void what_is_not_there_has_no_word(void **state)
{
	static const char *const words[] = {
		"binarymime", "smtputf8", "requiretls", "ret=",     "envid=", "trigger", "notify",
		"orcpt",      "priority", "release",    "deadline", "handed", "origin",  "via"};
	struct mail_envelope *envelope = mail_envelope_new();
	struct buffer text CLEANUP(buffer_clear) = {0};

	(void)state;
	envelope->id = (struct mail_id){1, 2};
	mail_envelope_add(envelope, STR("c@d.test"));
	assert_int_equal(queue_control_write_envelope(&text, envelope), 0);
	for (size_t i = 0; i < COUNT_OF(words); i++)
		if (memmem(buffer_data(&text), text.length, words[i], strlen(words[i])) != NULL)
			fail_msg("%s in\n" STR_FORMAT, words[i], STR_ARGUMENTS(buffer_view(&text)));
	mail_envelope_free(envelope);
}

/* All three records of a package, in form, or none; from whatever place in the head. */
static void what_nodes_say_is_whole_or_an_error(void **state)
{
	static const struct {
		const char *records;
		int result;
	} cases[] = {
		{"handed: a1/1-2\norigin: a0/3-4\nvia: 20\n", 0},
		{"via: 1\nhanded: a1/1-2.5\norigin: a0/3-4\n", 0},
		{"", 0},
		{"handed: a1/1-2\norigin: a0/3-4\n", -EBADMSG},
		{"handed: a1/1-2\nvia: 1\n", -EBADMSG},
		{"origin: a0/3-4\nvia: 1\n", -EBADMSG},
		{"handed: a1/1-2\norigin: a0/3-4\nvia: 0\n", -EBADMSG},
		{"handed: a1/1-2\norigin: a0/3-4\nvia: 1 2\n", -EBADMSG},
		{"handed: a1/1-2\nhanded: a1/1-2\norigin: a0/3-4\nvia: 1\n", -EBADMSG},
		{"handed: A1/1-2\norigin: a0/3-4\nvia: 1\n", -EBADMSG},
		{"handed: ../1-2\norigin: a0/3-4\nvia: 1\n", -EBADMSG},
		{"handed: a1/../1-2\norigin: a0/3-4\nvia: 1\n", -EBADMSG},
		{"handed: a1/01-2\norigin: a0/3-4\nvia: 1\n", -EBADMSG},
		{"handed: a1/1-2.0\norigin: a0/3-4\nvia: 1\n", -EBADMSG},
		{"handed: a1\norigin: a0/3-4\nvia: 1\n", -EBADMSG},
		{"handed: a1/1-2\norigin: 3-4\nvia: 1\n", -EBADMSG},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct buffer text CLEANUP(buffer_clear) = {0};
		struct queue_control *control = NULL;

		buffer_append_format(
			&text,
			"stagepost 2\nid: 1-f4240\nstage: arrive\n"
			"born: 1970-01-01T00:00:01.000000Z\nfrom: <a@b.test>\n%ssize: 1\n"
			"to: 1 <c@d.test>\nend:\n",
			cases[i].records);
		if (queue_control_parse(buffer_view(&text), &control, NULL) != cases[i].result)
			fail_msg("%s", cases[i].records);
		queue_control_free(control);
	}
}

static void what_nodes_say_is_not_written_by_halves(void **state)
{
	struct mail_envelope *envelope = mail_envelope_new();
	struct buffer text CLEANUP(buffer_clear) = {0};

	(void)state;
	envelope->id = (struct mail_id){1, 2};
	mail_envelope_add(envelope, STR("c@d.test"));
	envelope->via = 1;
	assert_int_equal(queue_control_write_envelope(&text, envelope), -EINVAL);
	envelope->handed = STR("a1/1-2");
	assert_int_equal(queue_control_write_envelope(&text, envelope), -EINVAL);
	envelope->origin = STR("a1/1-2");
	envelope->via = 0;
	assert_int_equal(queue_control_write_envelope(&text, envelope), -EINVAL);
	envelope->via = 1;
	assert_int_equal(queue_control_write_envelope(&text, envelope), 0);
	mail_envelope_free(envelope);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_nodes_say_is_whole_or_an_error),
		cmocka_unit_test(what_nodes_say_is_not_written_by_halves),
		cmocka_unit_test(any_envelope_is_read_as_it_was_written),
		cmocka_unit_test(what_is_not_there_has_no_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
