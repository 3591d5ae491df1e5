// SPDX-License-Identifier: ISC
/*
 * tests/fuzz/fuzz_trailer.c - the envelope after a message's data.
 *
 * The first byte: whether the rest is a file as it is found, or a length of data and the
 * text that is written after it, which must read back as it was.
 */
#include "base/panic.h"
#include "input.h"
#include "queue/control/trailer.h"
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void set_file(int file, struct str content)
{
	if (ftruncate(file, 0) < 0 ||
	    pwrite(file, content.data, content.length, 0) != (ssize_t)content.length)
		panic("the file cannot be written");
}

static void check_found(int file, struct str content)
{
	struct buffer text = {0};
	uint64_t offset = 0;

	set_file(file, content);
	if (queue_trailer_read(file, &text, &offset) == 0) {
		if (offset > content.length || text.length > content.length - offset)
			panic("a trailer that is longer than its file");
		check_equal(buffer_view(&text), str_slice(content.data + offset, text.length),
			    "text and file");
	} else if (text.length > 0) {
		panic("a text without a trailer");
	}
	buffer_clear(&text);
}

static void check_written(int file, uint64_t offset, struct str text)
{
	struct buffer again = {0};
	uint64_t found = 0;
	uint64_t end;

	set_file(file, STR(""));
	if (queue_trailer_write(file, offset, text, &end) < 0 || ftruncate(file, (off_t)end) < 0)
		panic("a trailer cannot be written");
	if (queue_trailer_read(file, &again, &found) < 0 || found != offset)
		panic("a trailer that was written cannot be read");
	check_equal(buffer_view(&again), text, "trailers");
	buffer_clear(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int file = -1;
	struct input input = {str_slice((const char *)data, size)};

	if (file < 0)
		file = memfd_create("trailer", MFD_CLOEXEC);
	if (input_byte(&input) & 1) {
		uint64_t offset = input_u32(&input) >> 8;

		check_written(file, offset, input.rest);
	} else {
		check_found(file, input.rest);
	}
	return 0;
}
