// SPDX-License-Identifier: ISC
/*
 * tests/fuzz/fuzz_trace.c - the story of a message out of any lines: each that is told is
 * one printable line for people, and one object of JSON that reads back.
 */
#include "base/panic.h"
#include "base/text/utf8.h"
#include "input.h"
#include "trace/story.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void tell(void *context, const struct log_line *line)
{
	struct buffer out = {0};

	++*(size_t *)context;
	trace_tell(line, true, &out);
	check_printable_lines(buffer_view(&out));
	if (memchr(buffer_data(&out), '\n', out.length) != buffer_data(&out) + out.length - 1)
		panic("a sentence of several lines");
	buffer_reset(&out);
	trace_tell_json(line, &out);
	for (struct str rest = buffer_view(&out); rest.length > 0;) {
		size_t length = utf8_length(rest);

		if (length == 0 || (unsigned char)rest.data[0] == 0x7f ||
		    ((unsigned char)rest.data[0] < ' ' && rest.length > 1))
			panic("JSON with a raw byte");
		rest = str_skip(rest, length);
	}
	buffer_clear(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct trace_story *story;
	size_t passes = 0;
	size_t told = 0;

	story = trace_story_new(size > 0 && data[0] & 1 ? STR("457") : STR("457-1"));
	do {
		struct str rest = {(const char *)data, size};
		struct str line;

		trace_story_begin(story);
		while (rest.length > 0) {
			(void)str_split(&rest, '\n', &line);
			if (trace_story_offer(story, line) < 0)
				panic("too long a story");
		}
		if (++passes > size + 2)
			panic("a story without an end");
	} while (!trace_story_is_whole(story));
	trace_story_each(story, tell, &told);
	trace_story_free(story);
	return 0;
}
