// SPDX-License-Identifier: ISC
/* Which lines of a control file that cannot be read are damage, and which a power failure has left.
 */
#include "queue/control/checksum.h"
#include "queue/control/control.h"
#include "test.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t BORN_US = 1795163591482913;

enum { RECIPIENTS = 110, PAGE = 512 };

#define MAP  "map: 1 local mailbox <a@x.test>\nmapped: directory=7 count=1\n"
#define DONE "done: 1 2026-11-20T08:33:11Z 2.0.0 stored\n"
#define WAIT "wait: 1 2026-11-20T08:33:11Z until=2026-11-20T08:43:11Z 4.2.2 full\n"

/* A message to COUNT recipients. */
static void add_head(struct buffer *text, unsigned count)
{
	struct mail_envelope *envelope = mail_envelope_new();

	envelope->id = (struct mail_id){457, BORN_US};
	envelope->stage = MAIL_STAGE_ARRIVE;
	envelope->sender = STR("s@s.test");
	for (unsigned i = 0; i < count; i++)
		mail_envelope_add(envelope, STR("a@x.test"));
	assert_int_equal(queue_control_write_envelope(text, envelope), 0);
	queue_checksum_add_head(text, buffer_view(text), 0);
	mail_envelope_free(envelope);
}

static void add_records(struct buffer *text, const char *records)
{
	size_t begin = text->length;

	buffer_append_string(text, records);
	queue_checksum_add_records(text, begin, BORN_US);
}

static struct queue_control *parse(struct str text)
{
	struct queue_control *control = NULL;

	assert_int_equal(queue_control_parse(text, &control, NULL), 0);
	return control;
}

static unsigned damage_of(struct str text)
{
	struct queue_control *control = parse(text);
	unsigned damaged = control->damaged;

	queue_control_free(control);
	return damaged;
}

/* --- one append of many records --- */

/* The file of a message with RECIPIENTS, all of which are to be mapped again: *APPEND_OUT is where
 * that order begins. */
static void make_order(struct buffer *text, size_t *append_out)
{
	size_t head;
	size_t begin;

	add_head(text, RECIPIENTS);
	head = text->length;
	for (unsigned i = 1; i <= RECIPIENTS; i++)
		buffer_append_format(text, "map: %u local mailbox <a@x.test>\n", i);
	buffer_append_format(text, "mapped: directory=7 count=%u\n" WAIT, RECIPIENTS);
	queue_checksum_add_records(text, head, BORN_US);
	queue_control_write_synced(text, text->length - head, BORN_US);
	*append_out = text->length;
	queue_control_write_synced(text, text->length - head, BORN_US);
	begin = text->length;
	for (unsigned i = 1; i <= RECIPIENTS; i++)
		buffer_append_format(text, "requeue: %u\n", i);
	queue_checksum_add_records(text, begin, BORN_US);
}

/* The bytes of TEXT from FROM to TO are a hole. */
static struct str with_hole(struct buffer *copy, struct str text, size_t from, size_t to)
{
	buffer_reset(copy);
	buffer_append_str(copy, text);
	if (to > text.length)
		to = text.length;
	memset(buffer_data(copy) + from, 0, to - from);
	return buffer_view(copy);
}

/* A power failure while it is synced has left a hole anywhere in it, and has cut its end or not. */
static void a_hole_in_what_was_not_synced_is_no_damage(void **state)
{
	struct buffer text = {0};
	struct buffer copy = {0};
	size_t append;

	(void)state;
	make_order(&text, &append);
	assert_true(text.length - append > 3 * PAGE);
	for (size_t from = append; from < text.length;
	     from += from % PAGE == 0 ? 16 : PAGE - from % PAGE) {
		for (size_t cut = 0; cut < 40; cut++) {
			struct str whole = str_slice(buffer_data(&text), text.length - cut);
			struct str holed = with_hole(&copy, whole, from, from / PAGE * PAGE + PAGE);
			struct queue_control *control = parse(holed);

			assert_int_equal(control->damaged, 0);
			assert_int_equal(control->difference_count, 0);
			assert_int_equal(control->delivery_count, RECIPIENTS);
			if (from < whole.length && cut == 0)
				assert_true(control->must_be_whole ||
					    holed.data[holed.length - 1] == '\0');
			queue_control_free(control);
		}
	}
	/* from its beginning on, up to each byte */
	for (size_t to = append + 1; to < text.length; to++)
		assert_int_equal(damage_of(with_hole(&copy, buffer_view(&text), append, to)), 0);
	buffer_clear(&text);
	buffer_clear(&copy);
}

/* The same once it was synced: the next append says so, whatever is left of what follows. */
static void a_hole_in_what_was_synced_is_damage(void **state)
{
	struct buffer text = {0};
	struct buffer copy = {0};
	size_t append;
	size_t synced;
	size_t head;

	(void)state;
	make_order(&text, &append);
	synced = text.length;
	head = queue_control_envelope_length(buffer_view(&text)) + QUEUE_CHECKSUM_HEAD_SIZE;
	queue_control_write_synced(&text, text.length - head, BORN_US);
	add_records(&text, DONE);
	for (size_t at = append; at + PAGE < synced; at++)
		assert_int_equal(damage_of(with_hole(&copy, buffer_view(&text), at, at + PAGE)), 1);
	for (size_t at = append; at + 1 < synced; at++)
		assert_int_equal(damage_of(with_hole(&copy, buffer_view(&text), at, at + 1)), 1);
	/* with the newline before it the record that says so is gone */
	for (size_t at = synced - 1; at < text.length; at++)
		assert_int_equal(damage_of(with_hole(&copy, buffer_view(&text), at, at + 1)), 0);
	buffer_clear(&text);
	buffer_clear(&copy);
}

/* --- what is durable --- */

struct part {
	const char *records; /* NULL: the end */
	/* a synced record after them: it says how many of the parts were durable; -1: none */
	int mark;
};

/* Damages the record BEGIN of the file that PARTS make; what is counted. */
static unsigned damage_in(const struct part *parts, const char *begin, bool is_queued)
{
	struct buffer text = {0};
	struct queue_control *control = NULL;
	size_t ends[8] = {0};
	size_t head;
	unsigned damaged;
	char *found;

	add_head(&text, 1);
	head = text.length;
	for (size_t i = 0; parts[i].records != NULL; i++) {
		add_records(&text, parts[i].records);
		ends[i + 1] = text.length - head;
		if (parts[i].mark >= 0)
			queue_control_write_synced(&text, ends[parts[i].mark], BORN_US);
	}
	found = memmem(buffer_data(&text), text.length, begin, strlen(begin));
	assert_non_null(found);
	*found = (char)(*found ^ 1);
	if (is_queued)
		assert_int_equal(queue_control_parse_queued(buffer_view(&text), &control, NULL), 0);
	else
		control = parse(buffer_view(&text));
	assert_true(control->must_be_whole);
	assert_int_equal(control->difference_count, control->damaged);
	damaged = control->damaged;
	queue_control_free(control);
	buffer_clear(&text);
	return damaged;
}

static void a_synced_record_says_what_was_durable(void **state)
{
	static const struct {
		struct part parts[6];
		const char *record;
		unsigned damaged;
		unsigned queued; /* of a message at S4 */
	} cases[] = {
		/* the records with which it goes to S5, and nothing more */
		{{{MAP WAIT, 1}}, "wait: 1", 1, 0},
		{{{MAP DONE, 1}}, "done: 1", 1, 0},
		{{{MAP DONE, 1}}, "map: 1", 1, 1},
		{{{MAP DONE, 1}}, "synced: ", 0, 0},
		/* what was appended without a sync, and what was then synced with it */
		{{{MAP, 1}, {WAIT, -1}, {"", 1}, {DONE, -1}}, "wait: 1", 0, 0},
		{{{MAP, 1}, {WAIT, -1}, {"", 1}, {DONE, -1}}, "map: 1", 1, 1},
		{{{MAP, 1}, {WAIT, -1}, {"", 1}, {DONE, 4}, {"requeue: 1\n", -1}}, "wait: 1", 1, 0},
		{{{MAP, 1}, {WAIT, -1}, {"", 1}, {DONE, 4}, {"requeue: 1\n", -1}}, "done: 1", 1, 0},
		{{{MAP, 1}, {WAIT, -1}, {"", 1}, {DONE, 4}, {"requeue: 1\n", -1}}, "requeue", 0, 0},
		/* the one before says less */
		{{{MAP, 1}, {DONE, 1}, {WAIT, -1}}, "done: 1", 0, 0},
		{{{MAP, 1}, {DONE, 0}, {WAIT, -1}}, "map: 1", 1, 1},
		/* an earlier writer's, who also completed a step to S5 that was interrupted */
		{{{MAP DONE, -1}, {MAP, -1}}, "done: 1", 1, 0},
		{{{MAP WAIT, -1}}, "wait: 1", 0, 0},
		{{{MAP WAIT "requeue: 1\n", -1}}, "wait: 1", 1, 0},
		{{{MAP DONE WAIT, -1}}, "done: 1", 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		unsigned damaged = damage_in(cases[i].parts, cases[i].record, false);
		unsigned queued = damage_in(cases[i].parts, cases[i].record, true);

		if (damaged != cases[i].damaged || queued != cases[i].queued)
			fail_msg("case %zu: %u, at S4 %u", i, damaged, queued);
	}
}

/* A number that cannot be, or that is no number. */
static void a_synced_record_that_cannot_be_says_nothing(void **state)
{
	static const char *const marks[] = {"synced: 200\n", "synced: x\n", "synced: -1\n",
					    "synced:\n", "synced: 99999999999999999999999\n"};
	struct buffer text = {0};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(marks); i++) {
		struct queue_control *control;
		size_t head;

		buffer_reset(&text);
		add_head(&text, 1);
		head = text.length;
		add_records(&text, MAP);
		buffer_append(&text, "\0\0\n", 3);
		assert_true(text.length - head < 200);
		add_records(&text, marks[i]);
		add_records(&text, WAIT);
		control = parse(buffer_view(&text));
		assert_false(control->has_mark);
		queue_control_free(control);
		/* beside one that can */
		queue_control_write_synced(&text, 0, BORN_US);
		control = parse(buffer_view(&text));
		assert_true(control->has_mark);
		assert_int_equal(control->damaged, 0);
		queue_control_free(control);
	}
	buffer_clear(&text);
}

/* What the file proves is what the next append may say. */
static void what_was_durable_is_read(void **state)
{
	struct buffer text = {0};
	struct queue_control *control;
	size_t head;
	size_t map;

	(void)state;
	add_head(&text, 1);
	head = text.length;
	control = parse(buffer_view(&text));
	assert_int_equal(control->synced, 0);
	queue_control_free(control);
	add_records(&text, MAP);
	map = text.length - head - strlen("mapped: directory=7 count=1 #00000000\n");
	control = parse(buffer_view(&text));
	assert_false(control->has_mark);
	assert_int_equal(control->synced, map); /* at S5 all that is before the end of the map */
	queue_control_free(control);
	add_records(&text, DONE);
	queue_control_write_synced(&text, text.length - head, BORN_US);
	map = text.length - head - strlen("synced: 100 #00000000\n");
	control = parse(buffer_view(&text));
	assert_true(control->has_mark);
	assert_int_equal(control->synced, map);
	queue_control_free(control);
	queue_control_write_synced(&text, 10, BORN_US); /* by whoever knew less */
	control = parse(buffer_view(&text));
	assert_int_equal(control->synced, map);
	assert_int_equal(damage_of(buffer_view(&text)), 0);
	assert_false(control->must_be_whole);
	queue_control_free(control);
	buffer_clear(&text);
}

/* The longest is that of the longest file. */
static void no_synced_record_is_longer_than_is_counted(void **state)
{
	struct buffer text = {0};

	(void)state;
	queue_control_write_synced(&text, QUEUE_CONTROL_MAX, BORN_US);
	assert_int_equal(text.length, QUEUE_SYNCED_MAX);
	buffer_reset(&text);
	queue_control_write_synced(&text, 99999999, BORN_US);
	assert_int_equal(text.length, QUEUE_SYNCED_MAX - 1);
	buffer_clear(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_hole_in_what_was_not_synced_is_no_damage),
		cmocka_unit_test(a_hole_in_what_was_synced_is_damage),
		cmocka_unit_test(a_synced_record_says_what_was_durable),
		cmocka_unit_test(a_synced_record_that_cannot_be_says_nothing),
		cmocka_unit_test(what_was_durable_is_read),
		cmocka_unit_test(no_synced_record_is_longer_than_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
