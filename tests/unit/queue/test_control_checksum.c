// SPDX-License-Identifier: ISC
/* The checksums of format 2: what a disk has changed is seen, and what is unknown is tried. */
#include "queue/control/checksum.h"
#include "queue/control/control.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

static const int64_t BORN_US = 1795163591482913;

#define MAP                                                           \
	"map: 1 local mailbox <a@x.test>\nmap: 2 remote <b@y.test>\n" \
	"map: 2 remote 4 <c@z.test>\nmap: 3 none <d@x.test>\nmapped: directory=7 count=4\n"

/* A message to three recipients. */
static void add_head(struct buffer *text)
{
	struct mail_envelope *envelope = mail_envelope_new();

	envelope->id = (struct mail_id){457, BORN_US};
	envelope->stage = MAIL_STAGE_ARRIVE;
	envelope->sender = STR("s@s.test");
	envelope->size = 10;
	mail_envelope_add(envelope, STR("a@x.test"));
	mail_envelope_add(envelope, STR("b@x.test"));
	mail_envelope_add(envelope, STR("d@x.test"));
	assert_int_equal(queue_control_write_envelope(text, envelope), 0);
	queue_checksum_add_head(text, buffer_view(text), 0x12345678);
	mail_envelope_free(envelope);
}

static void add_records(struct buffer *text, const char *records)
{
	size_t begin = text->length;

	buffer_append_string(text, records);
	queue_checksum_add_records(text, begin, BORN_US);
}

static void make(struct buffer *text, const char *records)
{
	buffer_reset(text);
	add_head(text);
	add_records(text, records);
}

static struct queue_control *parse(const struct buffer *text)
{
	struct queue_control *control = NULL;

	assert_int_equal(queue_control_parse(buffer_view(text), &control, NULL), 0);
	return control;
}

/* "NUMBER>RECIPIENT:STATE" of each delivery; '?' for one that is to be mapped again. */
static const char *states(const struct queue_control *control)
{
	static char text[400];
	size_t length = 0;

	text[0] = '\0';
	for (size_t i = 0; i < control->delivery_count; i++) {
		const struct queue_delivery *delivery = &control->deliveries[i];

		length += (size_t)snprintf(text + length, sizeof text - length, "%u>%u:%c ",
					   delivery->number, delivery->recipient,
					   delivery->is_requeued ? '?' : "pdwf"[delivery->outcome]);
	}
	return text;
}

/* --- the envelope --- */

static void every_bit_of_the_envelope_is_watched(void **state)
{
	struct buffer text = {0};
	struct queue_control *control;

	(void)state;
	make(&text, "");
	control = parse(&text);
	assert_true(control->has_checksum);
	assert_int_equal(control->data_checksum, 0x12345678);
	assert_int_equal(control->head.length, text.length);
	queue_control_free(control);
	for (size_t i = 0; i < text.length; i++) {
		for (unsigned bit = 0; bit < 8; bit++) {
			char *byte = &buffer_data(&text)[i];
			int result;

			*byte = (char)(*byte ^ (char)(1U << bit));
			result = queue_control_parse(buffer_view(&text), &control, NULL);
			if (result == 0)
				fail_msg("bit %u of byte %zu", bit, i);
			assert_true(result == -EBADMSG || result == -ENODATA || result == -EPROTO);
			*byte = (char)(*byte ^ (char)(1U << bit));
		}
	}
	/* the format itself, made that without checksums */
	buffer_data(&text)[strlen("stagepost ")] = '1';
	assert_int_equal(queue_control_parse(buffer_view(&text), &control, NULL), -EBADMSG);
	buffer_clear(&text);
}

/* --- records --- */

static void a_record_of_another_message_is_none(void **state)
{
	struct buffer text = {0};
	struct buffer other = {0};
	struct queue_control *control;

	(void)state;
	make(&text, MAP);
	buffer_append_string(&other, "done: 1 2026-11-20T08:33:11Z 2.0.0 stored\n");
	queue_checksum_add_records(&other, 0, BORN_US + 1);
	buffer_append_str(&text, buffer_view(&other));
	add_records(&text, "fail: 2 2026-11-20T08:33:11Z 5.1.1 gone\n");
	control = parse(&text);
	assert_string_equal(states(control), "1>1:p 2>2:f 4>2:p 3>3:p ");
	assert_int_equal(control->damaged, 1);
	assert_true(control->must_be_whole);
	queue_control_free(control);
	buffer_clear(&text);
	buffer_clear(&other);
}

/* What each delivery is in when a byte of the records has changed: as with the record, or without
 * it; and the change of one that was synced is counted as damage. */
static void every_byte_of_the_records_is_watched(void **state)
{
	static const char *const records =
		"wait: 1 2026-11-20T08:33:11Z until=2026-11-20T08:43:11Z 4.2.2 full\n"
		"done: 1 2026-11-20T08:33:12Z 2.0.0 stored\n"
		"fail: 2 2026-11-20T08:33:13Z 5.1.1 gone\n"
		"delayed: 4 2026-11-20T12:33:13Z\n"
		"done: 3 2026-11-20T12:34:13Z 2.0.0 stored\n";
	struct buffer text = {0};
	size_t first;

	(void)state;
	make(&text, MAP);
	first = text.length;
	add_records(&text, records);
	for (size_t i = first; i < text.length; i++) {
		struct str rest = str_skip(buffer_view(&text), i);
		size_t next = (size_t)str_find(rest, '\n') + 1;
		/* also the newline before the last line, without which that is longer */
		bool is_last = next == rest.length ||
			       (next == 1 &&
				str_find_last(str_slice(rest.data, rest.length - 1), '\n') == 0);
		char *byte = &buffer_data(&text)[i];
		struct queue_control *control;
		char was = *byte;

		for (unsigned change = 1; change < 256; change <<= 1) {
			*byte = (char)(was ^ (char)change);
			control = parse(&text);
			assert_int_equal(control->delivery_count, 4);
			for (size_t k = 0; k < 4; k++)
				assert_false(control->deliveries[k].is_requeued);
			/* a newline more or less: two or no lines that cannot be read */
			if (is_last)
				assert_int_equal(control->damaged, 0);
			else if (*byte ==
				 QUEUE_CONTROL_CANCEL[0]) /* perhaps the end of a cut line */
				assert_in_range(control->damaged, 0, 2);
			else
				assert_in_range(control->damaged, 1, 2);
			assert_true(control->deliveries[0].outcome != QUEUE_FAIL);
			assert_true(control->deliveries[1].outcome == QUEUE_FAIL ||
				    control->deliveries[1].outcome == QUEUE_PENDING);
			assert_true(control->deliveries[3].outcome == QUEUE_DONE ||
				    control->deliveries[3].outcome == QUEUE_PENDING);
			queue_control_free(control);
		}
		*byte = was;
	}
	buffer_clear(&text);
}

/* Records that only say when to try again are not synced: holes among them are a power failure's,
 * until a record stands behind them that was synced. */
static void what_was_not_synced_is_no_damage(void **state)
{
	static const struct {
		const char *behind;
		unsigned damaged;
	} cases[] = {
		{"", 0},
		{"wait: 1 2026-11-20T08:33:11Z until=2026-11-20T08:43:11Z 4.2.2 full\n", 0},
		{"said: 1 4.2.2 full\nwait: 1 2026-11-20T08:33:11Z until=2026-11-20T08:43:11Z "
		 "said=1\n",
		 0},
		{"requeue: 1\n", 1},
		{"wait: 1 2026-11-20T08:33:11Z until=2026-11-20T08:43:11Z 4.2.2 full\n"
		 "done: 2 2026-11-20T08:33:12Z 2.0.0 stored\n",
		 1},
	};
	struct buffer text = {0};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct queue_control *control;

		make(&text, MAP);
		buffer_append(&text, "\0\0\0\0\n", 5);
		add_records(&text, cases[i].behind);
		control = parse(&text);
		assert_int_equal(control->damaged, cases[i].damaged);
		assert_true(control->must_be_whole);
		queue_control_free(control);
	}
	/* nor is a line that was cut, and ended when that was seen */
	make(&text, MAP);
	buffer_append_string(&text, "done: 1 2026-11-2" QUEUE_CONTROL_CANCEL);
	add_records(&text, "requeue: 1\n");
	{
		struct queue_control *control = parse(&text);

		assert_int_equal(control->damaged, 0);
		assert_false(control->must_be_whole);
		queue_control_free(control);
	}
	buffer_clear(&text);
}

/* --- the map --- */

/* Damages the first line that begins with BEGIN. */
static void damage(struct buffer *text, const char *begin)
{
	char *found = memmem(buffer_data(text), text->length, begin, strlen(begin));

	assert_non_null(found);
	found[strlen(begin) - 1] ^= 1;
}

static void who_has_lost_a_delivery_is_mapped_again(void **state)
{
	static const char *const outcomes = "done: 1 2026-11-20T08:33:11Z 2.0.0 stored\n"
					    "done: 4 2026-11-20T08:33:11Z 2.0.0 sent\n";
	static const struct {
		const char *damaged[3];
		const char *states;
	} cases[] = {
		{{NULL}, "1>1:d 2>2:p 4>2:d 3>3:p "},
		/* nobody else can have lost it */
		{{"map: 3 "}, "1>1:d 2>2:p 4>2:d 5>3:? "},
		{{"map: 1 "}, "5>1:? 2>2:p 4>2:d 3>3:p "},
		/* of recipient 2 one is left: anybody may have lost the other */
		{{"map: 2 remote 4"}, "1>1:d 5>1:? 2>2:p 6>2:? 3>3:p 7>3:? "},
		{{"map: 1 ", "map: 3 "}, "5>1:? 2>2:p 4>2:d 6>3:? "},
		/* how many there were is lost */
		{{"mapped: d"}, "1>1:d 5>1:? 2>2:p 4>2:d 6>2:? 3>3:p 7>3:? "},
		{{"mapped: d", "map: 3 "}, "1>1:d 5>1:? 2>2:p 4>2:d 6>2:? 7>3:? "},
		{{"done: 1"}, "1>1:p 2>2:p 4>2:d 3>3:p "},
	};
	struct buffer text = {0};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct queue_control *control;
		struct queue_control *again;
		struct buffer whole = {0};

		make(&text, MAP);
		add_records(&text, outcomes);
		for (size_t k = 0; k < 3 && cases[i].damaged[k] != NULL; k++)
			damage(&text, cases[i].damaged[k]);
		control = parse(&text);
		assert_true(control->is_mapped);
		assert_string_equal(states(control), cases[i].states);
		assert_int_equal(control->damaged > 0, cases[i].damaged[0] != NULL);
		assert_int_equal(control->must_be_whole, cases[i].damaged[0] != NULL);
		/* written anew it says the same, and nothing is damaged */
		control->must_be_whole = true;
		assert_true(queue_control_outgrown(control, 0, &whole));
		again = parse(&whole);
		assert_string_equal(states(again), cases[i].states);
		assert_int_equal(again->damaged, 0);
		assert_false(again->must_be_whole);
		queue_control_free(control);
		queue_control_free(again);
		buffer_clear(&whole);
	}
	buffer_clear(&text);
}

/* The whole map, by a block of zeros. */
static void without_a_map_everybody_is_mapped_again(void **state)
{
	struct queue_control *control;
	struct buffer text = {0};
	size_t head;

	(void)state;
	add_head(&text);
	head = text.length;
	add_records(&text, MAP "done: 1 2026-11-20T08:33:11Z 2.0.0 stored\n");
	memset(buffer_data(&text) + head, 0, text.length - head);
	control = parse(&text);
	assert_true(control->is_mapped);
	assert_string_equal(states(control), "1>1:? 2>2:? 3>3:? ");
	assert_true(control->damaged > 0 && control->must_be_whole);
	queue_control_free(control);
	buffer_clear(&text);
}

/* COUNT records that the disk has changed between the map and a good one: the first ones are kept,
 * each with its line and place, and all are counted. */
static void check_differences(size_t count, size_t kept)
{
	static const char record[] = "tried: 1 2026-11-20T08:33:11Z 4.0.0 later\n";
	struct buffer text = {0};
	struct queue_control *control;
	size_t first_at;
	size_t size;

	make(&text, MAP);
	first_at = text.length;
	for (size_t i = 0; i < count; i++) {
		size_t begin = text.length;

		add_records(&text, record);
		buffer_data(&text)[begin + 8] ^= 1;
	}
	size = count > 0 ? (text.length - first_at) / count : 0;
	add_records(&text, "fail: 2 2026-11-20T08:33:11Z 5.1.1 gone\n");
	control = parse(&text);
	assert_int_equal(control->damaged, count);
	assert_int_equal(control->difference_count, kept);
	for (size_t i = 0; i < kept; i++) {
		const struct queue_difference *one = &control->differences[i];

		assert_int_equal(one->part, QUEUE_PART_RECORD);
		assert_int_equal(one->at, first_at + i * size);
		assert_int_equal(one->length, size);
		assert_int_equal(one->line, control->differences[0].line + i);
		assert_true(one->has_expected && one->has_found);
		assert_int_not_equal(one->expected, one->found);
	}
	queue_control_free(control);
	buffer_clear(&text);
}

static void as_many_differences_as_may_be_are_kept(void **state)
{
	(void)state;
	for (size_t count = 0; count < 4; count++)
		check_differences(count, count);
	check_differences(QUEUE_DIFFERENCES_MAX, QUEUE_DIFFERENCES_MAX);
	check_differences(QUEUE_DIFFERENCES_MAX + 1, QUEUE_DIFFERENCES_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_bit_of_the_envelope_is_watched),
		cmocka_unit_test(a_record_of_another_message_is_none),
		cmocka_unit_test(every_byte_of_the_records_is_watched),
		cmocka_unit_test(as_many_differences_as_may_be_are_kept),
		cmocka_unit_test(what_was_not_synced_is_no_damage),
		cmocka_unit_test(who_has_lost_a_delivery_is_mapped_again),
		cmocka_unit_test(without_a_map_everybody_is_mapped_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
