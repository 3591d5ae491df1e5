// SPDX-License-Identifier: ISC
/*
 * tests/fuzz/fuzz_control.c - the control file's reader. An envelope that it
 * accepts can be written, and reads back as the same text. A file written anew says what
 * the old one did.
 */
#include "base/panic.h"
#include "base/timestamp.h"
#include "queue/control/control.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_envelope(const struct queue_control *control, struct buffer *out)
{
	if (queue_control_write_envelope(out, control->envelope) < 0)
		panic("an envelope that was read cannot be written");
}

static bool is_same(const struct queue_delivery *a, const struct queue_delivery *b)
{
	return a->number == b->number && a->recipient == b->recipient && a->route == b->route &&
	       str_equal(a->address, b->address) && a->outcome == b->outcome &&
	       a->attempts == b->attempts &&
	       a->changed_us / SECOND_US == b->changed_us / SECOND_US &&
	       a->until_us / SECOND_US == b->until_us / SECOND_US &&
	       a->delayed_us / SECOND_US == b->delayed_us / SECOND_US &&
	       (a->outcome != QUEUE_DONE ||
		(a->is_quiet == b->is_quiet && a->is_announced == b->is_announced)) &&
	       str_equal(a->trigger, b->trigger) && str_equal(a->status, b->status) &&
	       str_equal(a->text, b->text);
}

static void write_anew(struct queue_control *control)
{
	struct queue_control *again;
	struct buffer whole = {0};

	control->must_be_whole = true;
	if (!queue_control_outgrown(control, 0, &whole))
		panic("a control file that was read cannot be written anew");
	if (queue_control_parse(buffer_view(&whole), &again, NULL) < 0 || !again->is_mapped)
		panic("a control file that was written anew cannot be read");
	if (control->delivery_count != again->delivery_count)
		panic("deliveries are lost when it is written anew");
	for (size_t i = 0; i < control->delivery_count; i++)
		if (!is_same(&control->deliveries[i], &again->deliveries[i]))
			panic("a delivery changes when it is written anew");
	queue_control_free(again);
	buffer_clear(&whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct queue_control *control;
	struct queue_control *again;
	struct buffer first = {0};
	struct buffer second = {0};

	if (queue_control_parse(str_slice((const char *)data, size), &control, NULL) < 0)
		return 0;
	(void)queue_control_is_finished(control);
	if (control->is_mapped)
		write_anew(control);
	write_envelope(control, &first);
	if (queue_control_parse(buffer_view(&first), &again, NULL) < 0)
		panic("an envelope that was written cannot be read");
	write_envelope(again, &second);
	if (!str_equal(buffer_view(&first), buffer_view(&second)))
		panic("an envelope changes when it is read and written");
	queue_control_free(control);
	queue_control_free(again);
	buffer_clear(&first);
	buffer_clear(&second);
	return 0;
}
