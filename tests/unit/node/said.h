// SPDX-License-Identifier: ISC
/* tests/unit/node/said.h - frames of the protocol between nodes, as text: "took 1-1;". */
#ifndef TESTS_UNIT_NODE_SAID_H
#define TESTS_UNIT_NODE_SAID_H

#include "base/buffer.h"
#include "directory/wire/frame.h"
#include "test.h"

/* The words of TEXT, "hello 1 other;ready;", as frames at the end of OUT; "_" is an empty word. */
static inline void said_append(struct buffer *out, const char *text)
{
	struct str rest = str_from(text);
	struct str line;

	while (str_split(&rest, ';', &line)) {
		struct directory_frame frame;
		struct str word;
		bool is_first = true;

		if (line.length == 0)
			continue;
		while (str_split(&line, ' ', &word)) {
			char verb[50];

			if (!is_first) {
				directory_frame_add(&frame,
						    str_equal(word, STR("_")) ? STR("") : word);
				continue;
			}
			assert_true(word.length < sizeof verb);
			memcpy(verb, word.data, word.length);
			verb[word.length] = '\0';
			directory_frame_begin(&frame, out, verb);
			is_first = false;
		}
		directory_frame_end(&frame);
	}
}

/* Takes the frames of OUT, which must be whole: "VERB WORD ...;" each. Until the next call. */
static inline const char *said_take(struct buffer *out)
{
	static struct buffer text;
	struct str content;
	size_t length;

	buffer_clear(&text);
	while (directory_frame_take(out, &content, &length) > 0) {
		struct str words[DIRECTORY_WORDS_MAX];
		int count = directory_frame_words(content, words, DIRECTORY_WORDS_MAX);

		for (int i = 0; i < count; i++)
			buffer_append_format(&text, "%s" STR_FORMAT, i > 0 ? " " : "",
					     STR_ARGUMENTS(words[i]));
		buffer_append_byte(&text, ';');
		buffer_consume(out, length);
	}
	assert_int_equal(out->length, 0);
	buffer_append_byte(&text, '\0');
	return buffer_data(&text);
}

#endif
