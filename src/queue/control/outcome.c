// SPDX-License-Identifier: ISC
/* The state of deliveries: records appended after attempts, and the rewritten file. */
#include "base/panic.h"
#include "queue/control/checksum.h"
#include "queue/control/control.h"
#include "queue/control/record.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

void record_write_time(struct buffer *out, const char *before, int64_t time_us)
{
	char text[TIMESTAMP_SIZE];

	timestamp_format_seconds(time_us, text);
	buffer_append_string(out, before);
	buffer_append_string(out, text);
}

bool record_status_is_valid(struct str status)
{
	return record_word_is_optional(status) && str_find(status, '=') < 0;
}

static bool is_writable(const struct queue_delivery *delivery)
{
	return delivery->number > 0 && record_status_is_valid(delivery->status) &&
	       record_word_is_optional(delivery->trigger) && queue_text_is_clean(delivery->text);
}

/* "[trigger=NAME] STATUS [TEXT]", after what is in OUT. */
static void write_words(struct buffer *out, const struct queue_delivery *delivery)
{
	if (delivery->outcome == QUEUE_WAIT)
		record_write_word(out, " trigger=", delivery->trigger);
	buffer_append_byte(out, ' ');
	buffer_append_str(out, delivery->status.length > 0 ? delivery->status : STR("-"));
	record_write_word(out, " ", delivery->text);
	buffer_append_byte(out, '\n');
}

/* From how many attempts on a record says how many there were. */
enum { COUNTS_NONE = 0, COUNTS_ALL = 1, COUNTS_EARLIER = 2 };

/* Whether the record says how many wait records there were: it is written without them; or it waits
 * without an attempt, which has no status. */
static bool has_count(const struct queue_delivery *delivery, unsigned from)
{
	if (delivery->attempts > 0)
		return from != COUNTS_NONE && delivery->attempts >= from;
	return delivery->outcome == QUEUE_WAIT && delivery->status.length == 0;
}

static void write_mark(struct buffer *out, const char *name, const struct queue_delivery *delivery)
{
	buffer_append_string(out, name);
	buffer_append_number(out, delivery->number);
	buffer_append_byte(out, '\n');
}

/* SAID: the number of the record with its status and text; 0: it has its own. */
static void write_outcome_record(struct buffer *out, const struct queue_delivery *delivery,
				 uint32_t said, unsigned count_from)
{
	static const char *const names[] = {
		[QUEUE_DONE] = "done: ", [QUEUE_WAIT] = "wait: ", [QUEUE_FAIL] = "fail: "};

	if (delivery->outcome == QUEUE_DONE && delivery->is_quiet)
		write_mark(out, "quiet: ", delivery);
	if (delivery->outcome == QUEUE_DONE && delivery->is_announced)
		write_mark(out, "relayed: ", delivery);
	buffer_append_string(out, names[delivery->outcome]);
	buffer_append_number(out, delivery->number);
	record_write_time(out, " ", delivery->changed_us);
	if (delivery->outcome == QUEUE_WAIT)
		record_write_time(out, " until=", delivery->until_us);
	if (has_count(delivery, count_from)) {
		buffer_append_string(out, " tried=");
		buffer_append_number(out, delivery->attempts);
	}
	if (said == 0) {
		write_words(out, delivery);
		return;
	}
	buffer_append_string(out, " said=");
	buffer_append_number(out, said);
	buffer_append_byte(out, '\n');
}

int queue_control_write_outcome(struct buffer *out, const struct queue_delivery *delivery)
{
	if (delivery->outcome == QUEUE_PENDING)
		return 0;
	if (!is_writable(delivery))
		return -EINVAL;
	write_outcome_record(out, delivery, 0, COUNTS_NONE);
	return 0;
}

/* --- what several outcomes share --- */

struct speaker {
	const struct queue_delivery *delivery;
	uint32_t said;
	size_t position;
};

static int compare_str(struct str a, struct str b)
{
	if (a.length != b.length)
		return a.length < b.length ? -1 : 1;
	return a.data == b.data || a.length == 0 ? 0 : memcmp(a.data, b.data, a.length);
}

static struct str trigger_of_delivery(const struct queue_delivery *delivery)
{
	return delivery->outcome == QUEUE_WAIT ? delivery->trigger : STR("");
}

static int compare_words(const struct queue_delivery *a, const struct queue_delivery *b)
{
	int result = compare_str(a->text, b->text);

	if (result == 0)
		result = compare_str(a->status, b->status);
	return result != 0 ? result : compare_str(trigger_of_delivery(a), trigger_of_delivery(b));
}

static int compare_speakers(const void *a, const void *b)
{
	const struct speaker *first = a;
	const struct speaker *second = b;
	int result = compare_words(first->delivery, second->delivery);

	return result != 0 ? result
			   : (first->position > second->position) -
				     (first->position < second->position);
}

static int compare_positions(const void *a, const void *b)
{
	const struct speaker *first = a;
	const struct speaker *second = b;

	return (first->position > second->position) - (first->position < second->position);
}

/* Writes a said record for each text that more than one of SPEAKERS has. */
static void write_said(struct buffer *out, struct queue_control *control, struct speaker *speakers,
		       size_t count)
{
	size_t next;

	qsort(speakers, count, sizeof *speakers, compare_speakers);
	for (size_t i = 0; i < count; i = next) {
		for (next = i + 1; next < count; next++)
			if (compare_words(speakers[i].delivery, speakers[next].delivery) != 0)
				break;
		if (next == i + 1 || control->said == UINT32_MAX)
			continue;
		control->said++;
		for (size_t k = i; k < next; k++)
			speakers[k].said = control->said;
		buffer_append_string(out, "said: ");
		buffer_append_number(out, control->said);
		write_words(out, speakers[i].delivery);
	}
	qsort(speakers, count, sizeof *speakers, compare_positions);
}

static int write_outcome_records(struct buffer *out, struct queue_control *control,
				 const uint32_t *indexes, size_t count, unsigned count_from)
{
	struct speaker *speakers = memory_alloc((count + 1) * sizeof *speakers);
	size_t speaking = 0;
	int error = 0;

	for (size_t i = 0; i < count && error == 0; i++) {
		const struct queue_delivery *delivery =
			&control->deliveries[indexes != NULL ? indexes[i] : i];

		if (delivery->outcome == QUEUE_PENDING)
			continue;
		if (!is_writable(delivery))
			error = -EINVAL;
		speakers[speaking++] = (struct speaker){.delivery = delivery, .position = i};
	}
	if (error == 0) {
		write_said(out, control, speakers, speaking);
		for (size_t i = 0; i < speaking; i++)
			write_outcome_record(out, speakers[i].delivery, speakers[i].said,
					     count_from);
	}
	free(speakers);
	return error;
}

int queue_control_write_outcomes(struct buffer *out, struct queue_control *control,
				 const uint32_t *indexes, size_t count, bool are_first)
{
	return write_outcome_records(out, control, indexes, count,
				     are_first ? COUNTS_EARLIER : COUNTS_NONE);
}

int queue_control_write_delayed(struct buffer *out, const struct queue_delivery *delivery)
{
	if (delivery->number == 0 || delivery->delayed_us <= 0)
		return -EINVAL;
	buffer_append_string(out, "delayed: ");
	buffer_append_number(out, delivery->number);
	record_write_time(out, " ", delivery->delayed_us);
	buffer_append_byte(out, '\n');
	return 0;
}

int queue_control_write_requeued(struct buffer *out, const struct queue_delivery *delivery)
{
	if (delivery->number == 0)
		return -EINVAL;
	write_mark(out, "requeue: ", delivery);
	return 0;
}

/* --- for another node --- */

/* It waits after an attempt; not only until a time that its envelope says. */
static bool was_tried(const struct queue_delivery *delivery)
{
	return delivery->outcome == QUEUE_WAIT && delivery->attempts > 0;
}

int queue_control_write_tried(struct buffer *out, struct queue_control *control)
{
	uint32_t *tried = memory_alloc((control->delivery_count + 1) * sizeof *tried);
	size_t count = 0;
	int error;

	for (uint32_t i = 0; i < control->delivery_count; i++)
		if (was_tried(&control->deliveries[i]))
			tried[count++] = i;
	error = write_outcome_records(out, control, tried, count, COUNTS_ALL);
	for (size_t i = 0; error == 0 && i < control->delivery_count; i++)
		if (control->deliveries[i].delayed_us > 0)
			error = queue_control_write_delayed(out, &control->deliveries[i]);
	free(tried);
	return error;
}

/* --- the whole file --- */

/* The records of DELIVERY besides its outcome. */
static int write_marks(struct buffer *out, const struct queue_delivery *delivery)
{
	int error = delivery->delayed_us > 0 ? queue_control_write_delayed(out, delivery) : 0;

	return error == 0 && delivery->is_requeued ? queue_control_write_requeued(out, delivery)
						   : error;
}

static int write_whole_control(struct buffer *out, struct queue_control *control)
{
	size_t begin = out->length;
	int error;

	buffer_append_str(out, control->head);
	error = queue_control_write_map(out, control->deliveries, control->delivery_count,
					control->directory_version);
	if (error == 0)
		error = write_outcome_records(out, control, NULL, control->delivery_count,
					      COUNTS_ALL);
	for (size_t i = 0; error == 0 && i < control->delivery_count; i++)
		error = write_marks(out, &control->deliveries[i]);
	if (control->format == 1)
		return error;
	queue_control_end_whole(out, begin + control->head.length, control->envelope->id.born_us);
	return error;
}

/* Whether LENGTH is too much for a file whose content needs NEEDED. */
static bool is_too_long(uint64_t length, uint64_t needed)
{
	if (length > QUEUE_CONTROL_MAX)
		return true;
	return length > QUEUE_CONTROL_KEPT && length / 2 > needed;
}

bool queue_control_outgrown(struct queue_control *control, size_t more, struct buffer *whole)
{
	uint64_t length = control->size + strlen(QUEUE_CONTROL_CANCEL) + QUEUE_SYNCED_MAX + more;

	if (!control->must_be_whole && !is_too_long(length, control->needed))
		return false;
	if (write_whole_control(whole, control) == 0) {
		control->needed = whole->length;
		if (control->must_be_whole || is_too_long(length, control->needed))
			return true;
	}
	buffer_reset(whole);
	return false;
}
