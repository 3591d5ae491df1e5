// SPDX-License-Identifier: ISC
/* What becomes of each recipient, and of what his sender is still to be told, when a queue is
 * adopted. */
#include "base/panic.h"
#include "os/file/file.h"
#include "queue/adopt.h"
#include "queue/trigger.h"
#include "queue_scene.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { SIZE_MAX_TEXT = 4096 };

static struct queue_store *there;
static struct queue_store *here;
static struct queue_intake *there_intake;
static struct queue_intake *here_intake;
static struct mail_deadline deadline; /* of what is put there */
static bool is_special;               /* what is put there: its sender asks for all that he may */

/* What was said of the adoption. */
static struct {
	unsigned asked, adopted, left, held;
	bool may_hold;    /* something waits there */
	char events[100]; /* that were taken over */
	unsigned reports; /* this many are due, of the first that are asked for */
	int error;        /* of all others */
} said;

static int set_up(void **state)
{
	if (queue_scene_set_up(state) < 0)
		return -1;
	there = queue_scene_open("there", QUEUE_SYNC_FILES);
	here = queue_scene_open("here", QUEUE_SYNC_FILES);
	there_intake = queue_scene_intake(there);
	here_intake = queue_scene_intake(here);
	memset(&said, 0, sizeof said);
	memset(&deadline, 0, sizeof deadline);
	is_special = false;
	return 0;
}

static int tear_down(void **state)
{
	queue_intake_close(there_intake);
	queue_intake_close(here_intake);
	queue_store_close(there);
	queue_store_close(here);
	return queue_scene_tear_down(state);
}

/* --- the adoption --- */

static void note_event(const char *what, struct str name)
{
	size_t length = strlen(said.events);

	assert_true(said.may_hold);
	snprintf(said.events + length, sizeof said.events - length, "%s " STR_FORMAT ";", what,
		 STR_ARGUMENTS(name));
}

static int on_wait(void *context, struct str name)
{
	(void)context;
	note_event("wait", name);
	return 0;
}

static int on_hold(void *context, struct mail_id id, struct str until)
{
	(void)context;
	assert_true(id.number > 0);
	said.held++;
	note_event("hold", until);
	return 0;
}

static int on_report(void *context, const struct queue_control *control, int data,
		     struct mail_envelope **envelope_out, struct buffer *content)
{
	(void)context;
	assert_true(data >= 0);
	assert_true(control->is_mapped);
	if (said.asked++ >= said.reports)
		return said.error;
	*envelope_out = mail_envelope_new();
	(*envelope_out)->id.born_us = 2 * SECOND_US;
	(*envelope_out)->stage = MAIL_STAGE_SUBMIT;
	(*envelope_out)->sender = STR("");
	mail_envelope_add(*envelope_out, control->envelope->sender);
	buffer_append_string(content, "done\r\n");
	return 1;
}

static void on_adopted(void *context, struct mail_id from, struct mail_id to)
{
	(void)context;
	assert_true(from.number > 0 && to.number > 0);
	said.adopted++;
}

static void on_left(void *context, const char *path, const char *why)
{
	(void)context;
	(void)path;
	(void)why;
	said.left++;
}

static int adopt(void)
{
	const struct queue_adopt options = {.wait = on_wait,
					    .hold = on_hold,
					    .report = on_report,
					    .adopted = on_adopted,
					    .left = on_left};

	return queue_adopt(there, here_intake, &options);
}

/* --- what there is then --- */

struct found {
	struct queue_store *store;
	const char *stage;
	char text[SIZE_MAX_TEXT];
	unsigned count;
	struct mail_deadline deadline;
	char wishes[100];
};

static void describe(struct found *found, const struct mail_envelope *envelope)
{
	size_t length = strlen(found->text);

	for (size_t i = 0; i < envelope->recipient_count; i++)
		length += (size_t)snprintf(found->text + length, sizeof found->text - length,
					   STR_FORMAT "/%u%s",
					   STR_ARGUMENTS(envelope->recipients[i].address),
					   envelope->recipients[i].notify,
					   i + 1 < envelope->recipient_count ? " " : ";");
	assert_true(length < sizeof found->text);
}

static void describe_wishes(struct found *found, const struct mail_envelope *envelope)
{
	snprintf(found->wishes, sizeof found->wishes, "%d%d%d ret=%d envid=" STR_FORMAT " %d %lld",
		 envelope->require_tls, envelope->binary, envelope->utf8, envelope->ret,
		 STR_ARGUMENTS(envelope->envid), envelope->priority,
		 (long long)envelope->release_us);
}

static int on_message(void *context, uint64_t number)
{
	struct found *found = context;
	struct buffer data = {0};
	struct queue_control *control;
	enum mail_stage stage;

	assert_true(mail_stage_parse(str_from(found->stage), &stage));
	assert_int_equal(queue_update_load(found->store, &stage, number, &control, NULL), 0);
	assert_int_equal(queue_update_read_data(found->store, &stage, number,
						control->envelope->size, &data),
			 0);
	assert_true(str_equal(buffer_view(&data),
			      stage == MAIL_STAGE_SUBMIT ? STR("done\r\n") : STR("data\r\n")));
	assert_int_equal(control->envelope->id.born_us,
			 stage == MAIL_STAGE_SUBMIT ? 2 * SECOND_US : SECOND_US);
	if (found->count++ < 3)
		describe(found, control->envelope);
	found->deadline = control->envelope->deadline;
	describe_wishes(found, control->envelope);
	buffer_clear(&data);
	queue_control_free(control);
	return 0;
}

/* The messages that were made at STAGE: ADDRESS/NOTIFY of each recipient of the first. */
static struct found made(const char *stage)
{
	struct found found = {.store = here, .stage = stage};

	assert_int_equal(queue_store_each(here, QUEUE_TODO, stage, on_message, NULL, &found), 0);
	return found;
}

static unsigned left_there(void)
{
	static const char *const places[] = {"mess", "info", "bounce", "remote"};
	unsigned count = 0;

	for (size_t i = 0; i < COUNT_OF(places); i++)
		for (unsigned x = 0; x < QUEUE_SCENE_SPLIT; x++) {
			char path[32];

			snprintf(path, sizeof path, "%s/%u", places[i], x);
			count += (unsigned)queue_scene_names_in(there, path);
		}
	return count;
}

static void add_wishes(struct mail_envelope *envelope)
{
	envelope->require_tls = true;
	envelope->binary = true;
	envelope->utf8 = true;
	envelope->ret = MAIL_RET_FULL;
	envelope->envid = STR("QQ1");
	envelope->priority = -4;
	envelope->release_us = 5 * SECOND_US;
}

/* A message at S5 there, to a, b and so on, with NOTIFY[i] each (-1: no more) and what
 * CONTROL says of them. */
static uint64_t put(const int *notify, const char *control, const char *bounce)
{
	struct mail_envelope *envelope = queue_scene_envelope();
	struct buffer text = {0};
	unsigned count = 0;
	uint64_t number;

	for (; notify[count] >= 0; count++) {
		char address[] = "a@x.test";

		address[0] = (char)('a' + count);
		mail_envelope_add(envelope, str_from(address))->notify = (unsigned)notify[count];
		buffer_append_format(&text, "map: %u remote <%s>\n", count + 1, address);
	}
	envelope->deadline = deadline;
	if (is_special)
		add_wishes(envelope);
	buffer_append_format(&text, "mapped: directory=1 count=%u\n%s%c", count, control, 0);
	number = queue_scene_enqueue(there_intake, envelope, "data\r\n");
	queue_scene_preprocess(there, there_intake, number, buffer_data(&text), bounce);
	buffer_clear(&text);
	return number;
}

/* --- the tests --- */

#define NOW      "2026-11-20T08:33:11Z"
#define DONE_1   "done: 1 " NOW " 2.0.0 ok\n"
#define FAILED_2 "fail: 2 " NOW " 5.1.1 no\n"
#define WAITS_3  "wait: 3 " NOW " until=" NOW " 4.4.1 later\n"

static const int four[] = {MAIL_NOTIFY_SUCCESS, 0, MAIL_NOTIFY_DELAY, MAIL_NOTIFY_NEVER, -1};

static void who_is_not_done_is_adopted(void **state)
{
	(void)state;
	said.reports = 0;
	put(four, DONE_1 FAILED_2 WAITS_3, "");
	assert_int_equal(adopt(), 0);
	assert_int_equal(said.asked, 0);
	assert_int_equal(said.adopted, 1);
	assert_string_equal(made("arrive").text, "c@x.test/4 d@x.test/8;");
	assert_int_equal(made("submit").count, 0);
	assert_int_equal(left_there(), 0);
}

static void a_failure_that_was_not_reported_is_made_anew(void **state)
{
	(void)state;
	put(four, DONE_1 FAILED_2 WAITS_3, FAILED_2);
	assert_int_equal(adopt(), 0);
	assert_int_equal(said.asked, 1);
	assert_string_equal(made("arrive").text, "b@x.test/0 c@x.test/4 d@x.test/8;");
	assert_int_equal(made("submit").count, 0);
	assert_int_equal(left_there(), 0);
}

static void a_success_that_was_not_reported_is_reported(void **state)
{
	(void)state;
	said.reports = 1;
	put(four, DONE_1 WAITS_3, DONE_1);
	assert_int_equal(adopt(), 0);
	assert_int_equal(said.adopted, 1);
	assert_string_equal(made("arrive").text, "b@x.test/0 c@x.test/4 d@x.test/8;");
	assert_string_equal(made("submit").text, "a@example.org/0;");
	assert_int_equal(left_there(), 0);
	assert_int_equal(adopt(), 0);
	assert_int_equal(made("submit").count, 1);
}

static void nothing_but_a_report_may_be_left(void **state)
{
	static const int one[] = {MAIL_NOTIFY_SUCCESS, -1};

	(void)state;
	said.reports = 1;
	put(one, DONE_1, DONE_1);
	put(one, DONE_1, "");
	assert_int_equal(adopt(), 0);
	assert_int_equal(said.asked, 1);
	assert_int_equal(said.adopted, 1);
	assert_int_equal(made("arrive").count, 0);
	assert_int_equal(made("submit").count, 1);
	assert_int_equal(left_there(), 0);
}

static void what_cannot_be_reported_stays(void **state)
{
	unsigned before;

	(void)state;
	for (int i = 0; i < 3; i++)
		put(four, DONE_1, DONE_1);
	before = left_there();
	said.reports = 2;
	said.error = -EIO;
	assert_int_equal(adopt(), -EIO);
	assert_int_equal(said.adopted, 0);
	assert_int_equal(made("arrive").count + made("submit").count, 0);
	assert_int_equal(left_there(), before);
	said.asked = 0;
	said.reports = 3;
	assert_int_equal(adopt(), 0);
	assert_int_equal(made("arrive").count, 3);
	assert_int_equal(made("submit").count, 3);
	assert_int_equal(left_there(), 0);
}

static void hold_there(uint64_t number, const char *until)
{
	char name[MAIL_ID_SIZE + 8] = "hold.";

	mail_id_format((struct mail_id){number, SECOND_US}, name + strlen(name));
	assert_int_equal(
		queue_trigger_set_until(there, str_from(name), 0, STR("held"), str_from(until)), 0);
}

/* Its release there will never be seen here, but then it is released here. */
static void what_waits_for_an_event_waits_on(void **state)
{
	static const struct {
		const char *trigger; /* of the envelope */
		const char *until;   /* of a hold; NULL: it is not held */
		const char *events;
	} cases[] = {
		{"", NULL, ""},
		{"", "", "hold ;"},
		{"", "the.sun", "wait the.sun;hold the.sun;"},
		{"the.sun", NULL, "wait the.sun;"},
		{"the.sun", "", "wait the.sun;hold ;"},
		/* that has happened */
		{"", "the.moon", ""},
		{"the.moon", NULL, ""},
	};

	(void)state;
	said.may_hold = true;
	assert_int_equal(queue_trigger_set(there, STR("the.sun"), 0, STR("")), 0);
	for (unsigned i = 0; i < COUNT_OF(cases); i++) {
		struct mail_envelope *envelope = queue_scene_envelope_to_one();
		uint64_t number;

		envelope->trigger = str_from(cases[i].trigger);
		number = queue_scene_enqueue(there_intake, envelope, "data\r\n");
		if (cases[i].until != NULL)
			hold_there(number, cases[i].until);
		said.events[0] = '\0';
		assert_int_equal(adopt(), 0);
		assert_int_equal(said.adopted, i + 1);
		assert_string_equal(said.events, cases[i].events);
	}
}

/* As on a disk that fails: what may be held is not adopted as mail that is not. */
static void whose_hold_cannot_be_seen_stays(void **state)
{
	int directory = queue_store_directory(there);

	(void)state;
	hold_there(put(four, WAITS_3, ""), "");
	assert_int_equal(os_file_rename(directory, "trigger", "trigger.away"), 0);
	assert_int_equal(os_file_link(directory, "format", "trigger"), 0);
	said.may_hold = true;
	assert_int_equal(adopt(), -ENOTDIR);
	assert_int_equal(said.adopted, 0);
	assert_int_equal(made("arrive").count, 0);
	assert_int_equal(os_file_unlink(directory, "trigger"), 0);
	assert_int_equal(os_file_rename(directory, "trigger.away", "trigger"), 0);
	assert_int_equal(adopt(), 0);
	assert_int_equal(said.adopted, 1);
	assert_int_equal(said.held, 1);
	assert_int_equal(left_there(), 0);
}

/* More than a group; every third has no recipient left. */
static void many_are_adopted(void **state)
{
	static const int one[] = {MAIL_NOTIFY_SUCCESS, -1};
	enum { COUNT = 75 };

	(void)state;
	for (int i = 0; i < COUNT; i++)
		put(i % 3 == 0 ? one : four, DONE_1, DONE_1);
	said.reports = COUNT;
	assert_int_equal(adopt(), 0);
	assert_int_equal(said.adopted, COUNT);
	assert_int_equal(made("arrive").count, COUNT - COUNT / 3);
	assert_int_equal(made("submit").count, COUNT);
	assert_int_equal(left_there(), 0);
}

static void a_delay_is_reported_once(void **state)
{
	static const int six[] = {0,
				  0,
				  MAIL_NOTIFY_DELAY,
				  MAIL_NOTIFY_DELAY,
				  MAIL_NOTIFY_DELAY | MAIL_NOTIFY_SUCCESS,
				  MAIL_NOTIFY_DELAY | MAIL_NOTIFY_FAILURE,
				  -1};

	(void)state;
	put(six, "delayed: 2 " NOW "\ndelayed: 4 " NOW "\ndelayed: 5 " NOW "\ndelayed: 6 " NOW "\n",
	    "");
	assert_int_equal(adopt(), 0);
	assert_string_equal(made("arrive").text,
			    "a@x.test/0 b@x.test/2 c@x.test/4 d@x.test/8 e@x.test/1 f@x.test/2;");
}

/* Nor is it reported, by us or by the next host, that the time of DELIVERBY has passed. */
static void a_deadline_that_has_passed_is_reported_once(void **state)
{
	static const int two[] = {0, 0, -1};
	static const struct {
		const char *control;
		bool is_told;
	} cases[] = {
		{"delayed: 2 2026-11-20T08:33:11Z\n", true},
		{"delayed: 2 2026-11-20T08:33:10Z\n", false}, /* of another delay, before */
		{"", false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct found found;

		deadline = (struct mail_deadline){.mode = MAIL_DEADLINE_NOTIFY};
		assert_true(timestamp_parse(STR(NOW), &deadline.at_us));
		put(two, cases[i].control, "");
		assert_int_equal(adopt(), 0);
		found = made("arrive");
		assert_int_equal(found.deadline.mode, MAIL_DEADLINE_NOTIFY);
		assert_int_equal(found.deadline.at_us, deadline.at_us);
		assert_int_equal(found.deadline.is_told, cases[i].is_told);
		assert_int_equal(tear_down(state), 0);
		assert_int_equal(set_up(state), 0);
	}
}

static void what_its_sender_asked_for_stays(void **state)
{
	static const int one[] = {0, -1};
	struct mail_envelope *envelope = mail_envelope_new();
	struct found expected = {0};

	(void)state;
	is_special = true;
	add_wishes(envelope);
	describe_wishes(&expected, envelope);
	put(one, "", "");
	assert_int_equal(adopt(), 0);
	assert_string_equal(made("arrive").wishes, expected.wishes);
	mail_envelope_free(envelope);
}

static void what_was_not_tried_is_adopted_as_it_is(void **state)
{
	(void)state;
	(void)queue_scene_enqueue(there_intake, NULL, "data\r\n");
	assert_int_equal(adopt(), 0);
	assert_int_equal(said.asked, 0);
	assert_string_equal(made("arrive").text, "b@example.net/0;");
	assert_int_equal(said.left, 0);
}

#define ADOPT_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ADOPT_TEST(who_is_not_done_is_adopted),
		ADOPT_TEST(a_failure_that_was_not_reported_is_made_anew),
		ADOPT_TEST(a_success_that_was_not_reported_is_reported),
		ADOPT_TEST(nothing_but_a_report_may_be_left),
		ADOPT_TEST(what_cannot_be_reported_stays),
		ADOPT_TEST(whose_hold_cannot_be_seen_stays),
		ADOPT_TEST(what_waits_for_an_event_waits_on),
		ADOPT_TEST(many_are_adopted),
		ADOPT_TEST(a_delay_is_reported_once),
		ADOPT_TEST(a_deadline_that_has_passed_is_reported_once),
		ADOPT_TEST(what_its_sender_asked_for_stays),
		ADOPT_TEST(what_was_not_tried_is_adopted_as_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
