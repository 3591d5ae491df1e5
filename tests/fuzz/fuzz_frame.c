// SPDX-License-Identifier: ISC
/*
 * tests/fuzz/fuzz_frame.c - what a client or server of the directory sends. Frames that are
 * taken are written to the very bytes that they came from, and so are their words.
 */
#include "base/panic.h"
#include "directory/wire/frame.h"
#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_again(struct str whole, const struct str *words, size_t count)
{
	struct directory_frame frame;
	struct buffer verb = {0};
	struct buffer out = {0};

	buffer_append_str(&verb, words[0]);
	buffer_append_byte(&verb, '\0');
	directory_frame_begin(&frame, &out, buffer_data(&verb));
	for (size_t i = 1; i < count; i++)
		directory_frame_add(&frame, words[i]);
	directory_frame_end(&frame);
	/* a verb with a NUL is none that we write */
	if (str_find(words[0], '\0') < 0)
		check_equal(buffer_view(&out), whole, "frames");
	buffer_clear(&verb);
	buffer_clear(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct str words[DIRECTORY_WORDS_MAX];
	struct buffer input = {0};
	struct str content;
	size_t length;

	buffer_append(&input, data, size);
	while (directory_frame_take(&input, &content, &length) == 1) {
		int count = directory_frame_words(content, words, DIRECTORY_WORDS_MAX);

		if (length > input.length || content.length > DIRECTORY_FRAME_MAX)
			panic("a frame over its bound");
		if (count > 0)
			check_again(str_slice(buffer_data(&input), length), words, (size_t)count);
		buffer_consume(&input, length);
	}
	buffer_clear(&input);
	return 0;
}
