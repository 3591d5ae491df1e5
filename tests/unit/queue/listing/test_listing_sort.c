// SPDX-License-Identifier: ISC
/* The order in which a queue is listed, and what is chosen by age and by reason. */
#include "queue/listing/listing.h"
#include "queue/update.h"
#include "test.h"
#include "unit/queue/queue_scene.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGES = 4 };

static const struct {
	const char *sender;
	const char *recipient;
	const char *data;
	const char *tried; /* the records of what was tried; NULL: nothing was */
} mail[MESSAGES] = {
	{"dora@b.example", "x@c.example", "a\r\n",
	 "wait: 1 2026-11-20T08:33:14Z until=2026-11-20T09:00:00Z 4.7.1 Greylisted, come "
	 "again\n"},
	{"Carl@a.example", "y@A.example", "aaaaaaa\r\n", NULL},
	{"anna@B.example", "x@b.example", "aaaa\r\n",
	 "wait: 1 2026-11-20T08:33:14Z until=2026-11-20T08:40:00Z 4.4.1 No answer\n"},
	{"", "z@d.example", "aaaaa\r\n",
	 "wait: 1 2026-11-20T08:33:14Z until=2026-11-20T08:50:00Z trigger=host.mx.example 4.4.1 no "
	 "answer\n"},
};

struct fixture {
	struct queue_store *store;
	struct queue_intake *intake;
	uint64_t numbers[MESSAGES];
	char seen[MESSAGES + 1];
	size_t count;
};

static void try_it(struct fixture *fixture, size_t i)
{
	char control[400];
	struct queue_update update = {
		.number = fixture->numbers[i],
		.is_queued = true,
		.stage = MAIL_STAGE_ARRIVE,
		.preprocess = true,
		.link_remote = true,
	};
	struct queue_update *one = &update;

	snprintf(control, sizeof control, "map: 1 remote <%s>\nmapped: directory=1 count=1\n%s",
		 mail[i].recipient, mail[i].tried);
	update.control = str_from(control);
	queue_update_commit_group(fixture->store, &one, 1);
	assert_int_equal(update.result, 0);
	assert_int_equal(
		queue_message_remove_todo(fixture->intake, MAIL_STAGE_ARRIVE, fixture->numbers[i]),
		0);
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof *fixture);

	assert_non_null(fixture);
	assert_int_equal(queue_scene_set_up(state), 0);
	fixture->store = queue_scene_open("queue", QUEUE_SYNC_FILES);
	fixture->intake = queue_scene_intake(fixture->store);
	for (size_t i = 0; i < MESSAGES; i++) {
		struct mail_envelope *envelope = queue_scene_envelope();

		envelope->sender = str_from(mail[i].sender);
		envelope->id.born_us += (int64_t)i * SECOND_US;
		mail_envelope_add(envelope, str_from(mail[i].recipient));
		fixture->numbers[i] = queue_scene_enqueue(fixture->intake, envelope, mail[i].data);
		if (mail[i].tried != NULL)
			try_it(fixture, i);
	}
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	queue_intake_close(fixture->intake);
	queue_store_close(fixture->store);
	free(fixture);
	return queue_scene_tear_down(state);
}

static int note(void *context, const struct listing_entry *entry)
{
	struct fixture *fixture = context;
	size_t i = 0;

	while (i < MESSAGES && fixture->numbers[i] != entry->number)
		i++;
	assert_true(i < MESSAGES && fixture->count < MESSAGES);
	fixture->seen[fixture->count++] = (char)('0' + i);
	return 0;
}

static void expect(struct fixture *fixture, const struct listing_filter *filter,
		   enum listing_order order, bool is_reversed, const char *wanted)
{
	memset(fixture->seen, 0, sizeof fixture->seen);
	fixture->count = 0;
	assert_int_equal(
		listing_each_sorted(fixture->store, filter, order, is_reversed, note, fixture), 0);
	assert_string_equal(fixture->seen, wanted);
}

static void messages_come_in_order(void **state)
{
	static const struct listing_filter all = {.born_before_us = 0};

	expect(*state, &all, LISTING_BY_AGE, false, "0123");
	expect(*state, &all, LISTING_BY_AGE, true, "3210");
	expect(*state, &all, LISTING_BY_SIZE, false, "1320");
	expect(*state, &all, LISTING_BY_SENDER, false, "3120");
	expect(*state, &all, LISTING_BY_DOMAIN, false, "1203");
	expect(*state, &all, LISTING_BY_NEXT, false, "1230");
}

static void the_filter_counts(void **state)
{
	struct mail_envelope *envelope = queue_scene_envelope();
	const struct listing_filter older = {.born_before_us =
						     envelope->id.born_us + 2 * SECOND_US};
	const struct listing_filter younger = {.born_after_us = envelope->id.born_us + SECOND_US};
	const struct listing_filter text = {.reason = STR("NO ANSWER")};
	const struct listing_filter status = {.reason = STR("4.7.1")};
	const struct listing_filter part = {.reason = STR("4.7")};
	const struct listing_filter nothing = {.reason = STR("gone")};

	expect(*state, &older, LISTING_BY_AGE, false, "01");
	expect(*state, &younger, LISTING_BY_AGE, false, "23");
	expect(*state, &text, LISTING_BY_AGE, false, "23");
	expect(*state, &status, LISTING_BY_AGE, false, "0");
	expect(*state, &part, LISTING_BY_AGE, false, "");
	expect(*state, &nothing, LISTING_BY_PLACE, false, "");
	mail_envelope_free(envelope);
}

/* Whoever has gone, or came with the same number, is not shown. */
static int remove_second(void *context, const struct listing_entry *entry)
{
	struct fixture *fixture = context;

	if (fixture->count == 0)
		assert_int_equal(queue_message_remove_todo(fixture->intake, MAIL_STAGE_ARRIVE,
							   fixture->numbers[1]),
				 0);
	return note(context, entry);
}

static void who_goes_meanwhile_is_not_shown(void **state)
{
	static const struct listing_filter all = {.born_before_us = 0};
	struct fixture *fixture = *state;

	assert_int_equal(listing_each_sorted(fixture->store, &all, LISTING_BY_AGE, false,
					     remove_second, fixture),
			 0);
	assert_string_equal(fixture->seen, "023");
}

#define SORT_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SORT_TEST(messages_come_in_order),
		SORT_TEST(the_filter_counts),
		SORT_TEST(who_goes_meanwhile_is_not_shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
