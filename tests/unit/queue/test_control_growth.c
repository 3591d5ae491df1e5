// SPDX-License-Identifier: ISC
/* How long control files get: what several recipients have in common, writing anew, the largest
 * message, and a week of attempts. */
#include "base/panic.h"
#include "os/file/file.h"
#include "queue/client/protocol.h"
#include "queue/control/checksum.h"
#include "queue/control/control.h"
#include "queue/message.h"
#include "queue/update.h"
#include "queue_scene.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	DELIVERIES_MOST = 100000, /* as the manager's DELIVERIES_MAX */
	TEXT_MOST = 479,
	TRIGGER_MOST = 200,
	ADDRESS_MOST = 320,
};

/* LENGTH bytes that no other INDEX gets. */
static struct str long_text(struct arena *arena, size_t index, size_t length, const char *end)
{
	char *text = arena_alloc(arena, length + 1);
	size_t end_length = strlen(end);

	memset(text, 'x', length);
	text[snprintf(text, length, "%zu", index)] = '-';
	memcpy(text + length - end_length, end, end_length);
	return str_slice(text, length);
}

/* A message at S5 whose deliveries are all pending. */
static struct queue_control *new_control(size_t recipients, size_t address_length)
{
	struct mail_envelope *envelope = mail_envelope_new();
	struct queue_control *control;
	struct buffer text = {0};

	envelope->id = (struct mail_id){457, SECOND_US};
	for (size_t i = 0; i < recipients; i++)
		mail_envelope_add(envelope, long_text(envelope->arena, i, address_length, "@c"));
	assert_int_equal(queue_control_write_envelope(&text, envelope), 0);
	queue_checksum_add_head(&text, buffer_view(&text), 0);
	assert_int_equal(queue_control_parse(buffer_view(&text), &control, NULL), 0);
	buffer_clear(&text);
	mail_envelope_free(envelope);
	envelope = control->envelope;
	control->deliveries =
		arena_alloc(envelope->arena, recipients * sizeof *control->deliveries);
	for (size_t i = 0; i < recipients; i++)
		control->deliveries[i] =
			(struct queue_delivery){.number = (uint32_t)i + 1,
						.recipient = (uint32_t)i + 1,
						.route = QUEUE_ROUTE_REMOTE,
						.address = envelope->recipients[i].address};
	control->delivery_count = recipients;
	control->is_mapped = true;
	control->directory_version = 42;
	return control;
}

static void set_waiting(struct queue_delivery *delivery, struct str text, struct str trigger)
{
	delivery->outcome = QUEUE_WAIT;
	delivery->attempts++;
	delivery->changed_us = 5 * SECOND_US;
	delivery->until_us = (9 + (int64_t)delivery->number) * SECOND_US;
	delivery->trigger = trigger;
	delivery->status = STR("4.4.1");
	delivery->text = text;
}

static void expect_same(const struct queue_control *a, const struct queue_control *b)
{
	assert_int_equal(a->delivery_count, b->delivery_count);
	assert_int_equal(a->directory_version, b->directory_version);
	for (size_t i = 0; i < a->delivery_count; i++) {
		const struct queue_delivery *one = &a->deliveries[i];
		const struct queue_delivery *other = &b->deliveries[i];

		assert_int_equal(one->number, other->number);
		assert_int_equal(one->outcome, other->outcome);
		assert_int_equal(one->attempts, other->attempts);
		assert_int_equal(one->changed_us, other->changed_us);
		assert_int_equal(one->until_us, other->until_us);
		assert_int_equal(one->delayed_us, other->delayed_us);
		assert_int_equal(one->is_quiet, other->is_quiet);
		assert_int_equal(one->is_announced, other->is_announced);
		assert_int_equal(one->is_requeued, other->is_requeued);
		assert_true(str_equal(one->trigger, other->trigger));
		assert_true(str_equal(one->status, other->status));
		assert_true(str_equal(one->text, other->text));
		assert_true(str_equal(one->address, other->address));
	}
}

static struct queue_control *parse(const struct buffer *text)
{
	struct queue_control *control = NULL;

	assert_int_equal(queue_control_parse(buffer_view(text), &control, NULL), 0);
	assert_true(control->is_mapped);
	return control;
}

/* The same of records as they are written, before they get their checksums. */
static struct queue_control *parse_records(const struct buffer *text)
{
	struct queue_control *control;
	struct buffer whole = {0};
	struct str end = STR("\nend:\n");
	const char *found = memmem(buffer_view(text).data, text->length, end.data, end.length);
	size_t head =
		(size_t)(found - buffer_view(text).data) + end.length + QUEUE_CHECKSUM_HEAD_SIZE;

	buffer_append_str(&whole, buffer_view(text));
	queue_checksum_add_records(&whole, head, SECOND_US);
	control = parse(&whole);
	buffer_clear(&whole);
	return control;
}

/* The file from its beginning: envelope, map. */
static void begin_text(struct buffer *text, const struct queue_control *control)
{
	buffer_append_str(text, control->head);
	assert_int_equal(queue_control_write_map(text, control->deliveries, control->delivery_count,
						 control->directory_version),
			 0);
}

static size_t count_of(const struct buffer *text, const char *word)
{
	struct str rest = buffer_view(text);
	size_t count = 0;
	const char *found;

	while ((found = memmem(rest.data, rest.length, word, strlen(word))) != NULL) {
		rest = str_skip(rest, (size_t)(found - rest.data) + strlen(word));
		count++;
	}
	return count;
}

static void what_many_say_is_written_once(void **state)
{
	struct queue_control *control = new_control(40000, 20);
	struct queue_control *again;
	struct buffer text = {0};
	size_t before;

	(void)state;
	begin_text(&text, control);
	before = text.length;
	for (size_t i = 0; i < control->delivery_count; i++)
		set_waiting(&control->deliveries[i],
			    i == 7 ? STR("busy") : STR("450 come back later, all of you"),
			    i == 8 ? STR("host.b") : STR("host.a"));
	assert_int_equal(
		queue_control_write_outcomes(&text, control, NULL, control->delivery_count, false), 0);
	assert_int_equal(count_of(&text, "come back later"), 2); /* and that of the other host */
	assert_int_equal(count_of(&text, "busy"), 1);
	assert_true(text.length - before < control->delivery_count * 72);
	again = parse_records(&text);
	expect_same(control, again);
	assert_int_equal(again->said, control->said);
	queue_control_free(again);
	queue_control_free(control);
	buffer_clear(&text);
}

/* Each state, each way of sharing, read back and written anew and read back. */
static void what_is_written_anew_says_the_same(void **state)
{
	struct queue_control *control = new_control(8, 20);
	struct queue_control *again;
	struct buffer text = {0};
	struct buffer whole = {0};
	static const uint32_t some[] = {1, 2, 4, 5};
	size_t length;

	(void)state;
	begin_text(&text, control);
	for (unsigned round = 0; round < 3; round++) {
		for (size_t i = 0; i < 6; i++)
			set_waiting(&control->deliveries[i], STR("not now"), STR(""));
		assert_int_equal(queue_control_write_outcomes(&text, control, NULL, 6, false), 0);
	}
	control->deliveries[1].outcome = QUEUE_DONE;
	control->deliveries[1].is_quiet = true;
	control->deliveries[1].is_announced = true;
	control->deliveries[2].outcome = QUEUE_FAIL;
	control->deliveries[4].trigger = STR("host.x");
	control->deliveries[4].attempts++;
	control->deliveries[5].attempts++;
	control->deliveries[1].until_us = control->deliveries[2].until_us = 0;
	control->deliveries[1].status = control->deliveries[2].status = STR("");
	assert_int_equal(queue_control_write_outcomes(&text, control, some, 4, false), 0);
	control->deliveries[5].is_requeued = true;
	assert_int_equal(queue_control_write_requeued(&text, &control->deliveries[5]), 0);
	control->deliveries[3].delayed_us = 77 * SECOND_US;
	assert_int_equal(queue_control_write_delayed(&text, &control->deliveries[3]), 0);
	again = parse_records(&text);
	expect_same(control, again);
	assert_false(queue_control_outgrown(again, 0, &whole));
	assert_int_equal(whole.length, 0);
	again->must_be_whole = true;
	assert_true(queue_control_outgrown(again, 0, &whole));
	length = whole.length;
	assert_true(length < text.length);
	assert_true(str_starts_with(buffer_view(&whole), control->head));
	queue_control_free(again);
	again = parse(&whole);
	expect_same(control, again);
	set_waiting(&control->deliveries[0], STR("not now"), STR("")); /* and counts on */
	assert_int_equal(queue_control_write_outcomes(&whole, control, NULL, 1, false), 0);
	queue_checksum_add_records(&whole, length, SECOND_US);
	queue_control_free(again);
	again = parse(&whole);
	assert_int_equal(again->deliveries[0].attempts, 4);
	queue_control_free(again);
	queue_control_free(control);
	buffer_clear(&text);
	buffer_clear(&whole);
}

/* Two outcomes that share their words, and a hole in what they share: none was written. */
static void a_hole_in_what_is_shared(void **state)
{
	struct queue_control *control = new_control(2, 20);
	struct queue_control *again;
	struct buffer text = {0};
	size_t from;
	size_t to;

	(void)state;
	begin_text(&text, control);
	for (size_t i = 0; i < 2; i++)
		set_waiting(&control->deliveries[i], STR("the first"), STR("host.a"));
	assert_int_equal(queue_control_write_outcomes(&text, control, NULL, 2, false), 0);
	for (size_t i = 0; i < 2; i++)
		set_waiting(&control->deliveries[i], STR("the second"), STR("host.a"));
	assert_int_equal(queue_control_write_outcomes(&text, control, NULL, 2, false), 0);
	queue_checksum_add_records(&text, control->head.length, SECOND_US);
	from = (size_t)((const char *)memmem(buffer_data(&text), text.length, "said: 2", 7) -
			buffer_data(&text));
	to = from + (size_t)str_find(str_skip(buffer_view(&text), from), '\n');
	for (size_t i = from; i < to; i++) {
		char was = buffer_data(&text)[i];

		buffer_data(&text)[i] = '\0';
		again = parse(&text);
		for (size_t k = 0; k < 2; k++) {
			assert_true(str_equal(again->deliveries[k].text, STR("the first")));
			assert_int_equal(again->deliveries[k].attempts, 1);
		}
		queue_control_free(again);
		buffer_data(&text)[i] = was;
	}
	queue_control_free(control);
	buffer_clear(&text);
}

static void what_refers_to_nothing_was_not_written(void **state)
{
	static const char *const records[] = {
		"wait: 1 2026-11-20T08:33:14Z until=2026-11-20T08:40:01Z said=3\n",
		"said: 3 4.0.0 three\nsaid: 2 4.0.0 two\n"
		"wait: 1 2026-11-20T08:33:14Z until=2026-11-20T08:40:01Z said=2\n",
		"said: 3\nwait: 1 2026-11-20T08:33:14Z until=2026-11-20T08:40:01Z said=3\n",
		"said: 3 trigger= 4.0.0 x\n"
		"wait: 1 2026-11-20T08:33:14Z until=2026-11-20T08:40:01Z said=3\n",
		"said: 3 4.0.0 x\nwait: 1 2026-11-20T08:33:14Z until=2026-11-20T08:40:01Z said=3 "
		"x\n",
		"said: 0 4.0.0 x\nwait: 1 2026-11-20T08:33:14Z until=2026-11-20T08:40:01Z said=0\n",
		"done: 1 2026-11-20T08:33:14Z tried=0 2.0.0\n",
		"done: 1 2026-11-20T08:33:14Z tried=x 2.0.0\n",
		"wait: 1 2026-11-20T08:33:14Z tried=2 until=2026-11-20T08:40:01Z 4.0.0\n",
		"wait: 1 2026-11-20T08:33:14Z until=2026-11-20T08:40:01Z tried=0 4.0.0\n",
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(records); i++) {
		struct queue_control *control = new_control(2, 20);
		struct buffer text = {0};

		begin_text(&text, control);
		queue_control_free(control);
		buffer_append_string(&text, records[i]);
		control = parse_records(&text);
		if (control->deliveries[0].outcome != QUEUE_PENDING)
			fail_msg("case %zu", i);
		queue_control_free(control);
		buffer_clear(&text);
	}
}

/* As many deliveries as a message may have, each with all that one may have, none alike. */
static void the_largest_message_can_be_read(void **state)
{
	struct queue_control *control = new_control(DELIVERIES_MOST, 100);
	struct arena *arena = control->envelope->arena;
	struct queue_control *again;
	struct buffer whole = {0};
	uint64_t waits;

	(void)state;
	assert_true(control->head.length <= QUEUE_ENVELOPE_MAX);
	for (size_t i = 0; i < control->delivery_count; i++) {
		struct queue_delivery *delivery = &control->deliveries[i];

		delivery->number = UINT32_MAX - DELIVERIES_MOST + (uint32_t)i;
		delivery->route = QUEUE_ROUTE_LOCAL;
		delivery->service = STR("abcdefghijklmnopqrstuvwxyz012345");
		delivery->address = long_text(arena, i, ADDRESS_MOST, "@c");
		delivery->attempts = UINT32_MAX - 1;
		set_waiting(delivery, long_text(arena, i, TEXT_MOST, ""),
			    long_text(arena, i, TRIGGER_MOST, ""));
		delivery->status = STR("4.123.123");
		delivery->delayed_us = 7 * SECOND_US;
	}
	assert_int_equal(
		queue_control_write_outcomes(&whole, control, NULL, control->delivery_count, false), 0);
	waits = whole.length;
	assert_true(waits <= UINT64_C(75) << 20);
	buffer_reset(&whole);
	control->must_be_whole = true;
	assert_true(queue_control_outgrown(control, 0, &whole));
	/* with the largest envelope, and as many recipients that were refused */
	assert_true(whole.length - control->head.length + QUEUE_ENVELOPE_MAX + QUEUE_ENVELOPE_MAX +
			    DELIVERIES_MOST * 80 <=
		    UINT64_C(160) << 20);
	assert_true(whole.length + waits <= QUEUE_CONTROL_MAX);
	again = parse(&whole);
	assert_int_equal(again->delivery_count, DELIVERIES_MOST);
	queue_control_free(again);
	/* it is not let grow beyond what is read */
	control->must_be_whole = false;
	control->size = QUEUE_CONTROL_MAX - waits;
	assert_true(queue_control_outgrown(control, waits, &whole));
	queue_control_free(control);
	buffer_clear(&whole);
}

/* --- a week --- */

enum {
	RECIPIENTS = 4000,
	AT_ONCE = 100, /* of one transaction */
	ATTEMPTS = 39, /* 20 n seconds to the square, up to seven days */
	KEPT_MOST = 8 << 20,
};

struct week {
	struct queue_store *store;
	struct queue_intake *intake;
	struct queue_control *control;
	uint64_t number;
	uint64_t largest;
	unsigned anew;
};

static void open_week(struct week *week)
{
	struct queue_message *message = NULL;
	struct buffer data = {0};
	struct buffer text = {0};
	int result = -1;

	*week = (struct week){0};
	week->store = queue_scene_open("queue", QUEUE_SYNC_FILES);
	week->intake = queue_scene_intake(week->store);
	assert_int_equal(queue_message_new(week->intake, &message), 0);
	week->number = queue_message_number(message);
	week->control = new_control(RECIPIENTS, 60);
	week->control->envelope->id.number = week->number;
	assert_int_equal(queue_control_write_envelope(&text, week->control->envelope), 0);
	assert_int_equal(queue_message_write(message, MAIL_STAGE_SUBMIT, &data, &text), 0);
	week->control->head = arena_copy_str(week->control->envelope->arena, buffer_view(&text));
	buffer_clear(&data);
	queue_message_commit_group(week->intake, &message, 1, &result);
	assert_int_equal(result, 0);
	buffer_clear(&text);
}

static void commit(struct week *week, struct queue_update *update)
{
	struct os_file_info info;
	char name[QUEUE_PATH_SIZE];

	update->number = week->number;
	update->born_us = week->control->envelope->id.born_us;
	queue_update_commit_group(week->store, &update, 1);
	assert_int_equal(update->result, 0);
	queue_update_account(week->control, update);
	queue_store_path(week->store, QUEUE_INFO, NULL, week->number, name);
	assert_int_equal(os_file_info_at(queue_store_directory(week->store), name, &info), 0);
	assert_true(info.size <= week->control->size);
	if (info.size > week->largest)
		week->largest = info.size;
}

static void preprocess(struct week *week)
{
	struct queue_update update = {.is_queued = true,
				      .stage = MAIL_STAGE_SUBMIT,
				      .preprocess = true,
				      .link_remote = true};
	struct buffer text = {0};

	assert_int_equal(queue_control_write_map(&text, week->control->deliveries, RECIPIENTS, 42),
			 0);
	update.control = buffer_view(&text);
	commit(week, &update);
	assert_int_equal(week->control->size, week->control->head.length + update.length);
	assert_int_equal(queue_message_remove_todo(week->intake, MAIL_STAGE_SUBMIT, week->number),
			 0);
	buffer_clear(&text);
}

/* As the manager records what became of COUNT deliveries from FIRST on. */
static void record(struct week *week, uint32_t first, uint32_t count)
{
	struct queue_update update = {.link_remote = true, .may_be_lost = true};
	uint32_t indexes[AT_ONCE];
	struct buffer whole = {0};
	struct buffer text = {0};

	for (uint32_t i = 0; i < count; i++)
		indexes[i] = first + i;
	assert_int_equal(queue_control_write_outcomes(&text, week->control, indexes, count, false), 0);
	if (week->control->deliveries[first].outcome == QUEUE_FAIL) {
		update.bounce = buffer_view(&text);
		update.may_be_lost = false;
	}
	update.is_whole = queue_control_outgrown(week->control, text.length, &whole);
	update.may_be_lost &= !update.is_whole;
	update.control = buffer_view(update.is_whole ? &whole : &text);
	week->anew += update.is_whole;
	commit(week, &update);
	buffer_clear(&whole);
	buffer_clear(&text);
}

static void attempt(struct week *week, struct arena *arena, unsigned round)
{
	for (uint32_t i = 0; i < RECIPIENTS; i++) {
		struct queue_delivery *delivery = &week->control->deliveries[i];

		set_waiting(delivery, long_text(arena, i * ATTEMPTS + round, TEXT_MOST, ""),
			    STR("host.mx.example.org"));
		if (round + 1 == ATTEMPTS) {
			delivery->outcome = QUEUE_FAIL;
			delivery->trigger = STR("");
			delivery->until_us = 0;
			delivery->attempts--;
		}
		if (i % AT_ONCE == AT_ONCE - 1)
			record(week, i + 1 - AT_ONCE, AT_ONCE);
	}
}

static void a_week_of_long_replies(void **state)
{
	struct arena *arena = arena_new();
	struct queue_control *again;
	struct buffer bounce = {0};
	struct week week;

	(void)state;
	open_week(&week);
	preprocess(&week);
	for (unsigned round = 0; round < ATTEMPTS; round++) {
		attempt(&week, arena, round);
		if (round % 8 != 0 && round + 1 < ATTEMPTS)
			continue;
		assert_int_equal(queue_update_load(week.store, NULL, week.number, &again, NULL), 0);
		expect_same(week.control, again);
		queue_control_free(again);
	}
	assert_true(queue_control_is_finished(week.control));
	assert_true(week.largest <= KEPT_MOST);
	assert_true(week.anew > 0 && week.anew < ATTEMPTS * 2);
	assert_int_equal(queue_update_read_bounce(week.store, week.number, &bounce), 0);
	assert_int_equal(count_of(&bounce, "fail: "), RECIPIENTS);
	assert_int_equal(queue_update_finish(week.store, week.control->envelope->id, NULL, 0), 0);
	assert_int_equal(queue_message_remove_data(week.intake, week.number), 0);
	buffer_clear(&bounce);
	queue_control_free(week.control);
	queue_intake_close(week.intake);
	queue_store_close(week.store);
	arena_free(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_many_say_is_written_once),
		cmocka_unit_test(what_is_written_anew_says_the_same),
		cmocka_unit_test(a_hole_in_what_is_shared),
		cmocka_unit_test(what_refers_to_nothing_was_not_written),
		cmocka_unit_test(the_largest_message_can_be_read),
		cmocka_unit_test_setup_teardown(a_week_of_long_replies, queue_scene_set_up,
						queue_scene_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
