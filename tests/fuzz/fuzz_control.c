// SPDX-License-Identifier: ISC
/*
 * tests/fuzz/fuzz_control.c - the control file's reader. An envelope that it
 * accepts can be written, and reads back as the same text.
 */
#include "base/panic.h"
#include "queue/control.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_envelope(const struct queue_control *control, struct buffer *out)
{
	if (queue_control_write_envelope(out, control->envelope) < 0)
		panic("an envelope that was read cannot be written");
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
