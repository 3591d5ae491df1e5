// SPDX-License-Identifier: ISC
#include "directory/wire/frame.h"
#include "base/panic.h"
#include <errno.h>
#include <string.h>

/* "65536:" is the longest head of a frame; its room is reserved before the content. */
enum { HEAD_MAX = 6, LENGTH_DIGITS_MAX = 5 };

static const char *const error_names[] = {
	[DIRECTORY_ERROR_NONE] = "",           [DIRECTORY_ERROR_LATER] = "later",
	[DIRECTORY_ERROR_DENIED] = "denied",   [DIRECTORY_ERROR_BAD] = "bad",
	[DIRECTORY_ERROR_STORAGE] = "storage", [DIRECTORY_ERROR_CHANGED] = "changed",
};

const char *directory_error_name(enum directory_error error)
{
	return error_names[error];
}

enum directory_error directory_error_find(struct str name)
{
	for (unsigned i = DIRECTORY_ERROR_LATER; i < COUNT_OF(error_names); i++)
		if (str_equal(name, str_from(error_names[i])))
			return (enum directory_error)i;
	return DIRECTORY_ERROR_NONE;
}

/* Reads the head of a netstring: 1, with the content's *LENGTH_OUT and *START_OUT; 0: incomplete;
 * -EINVAL; -EMSGSIZE: over MAX. */
static int take_netstring_head(struct str text, size_t max, size_t *start_out, size_t *length_out)
{
	size_t length = 0;
	size_t i = 0;

	for (; i < text.length && text.data[i] >= '0' && text.data[i] <= '9'; i++) {
		if (i > 0 && text.data[0] == '0')
			return -EINVAL;
		if (i == LENGTH_DIGITS_MAX)
			return -EMSGSIZE;
		length = length * 10 + (size_t)(text.data[i] - '0');
	}
	if (length > max)
		return -EMSGSIZE;
	if (i == text.length)
		return 0;
	if (i == 0 || text.data[i] != ':')
		return -EINVAL;
	*start_out = i + 1;
	*length_out = length;
	return 1;
}

int directory_frame_take(const struct buffer *input, struct str *content_out, size_t *length_out)
{
	struct str text = buffer_view(input);
	size_t start;
	size_t length;
	int result = take_netstring_head(text, DIRECTORY_FRAME_MAX, &start, &length);

	if (result <= 0)
		return result;
	if (text.length < start + length + 1)
		return 0;
	if (text.data[start + length] != ',')
		return -EINVAL;
	*content_out = str_slice(text.data + start, length);
	*length_out = start + length + 1;
	return 1;
}

bool directory_frame_word(struct str *content, struct str *word_out)
{
	size_t start;
	size_t length;

	if (take_netstring_head(*content, DIRECTORY_FRAME_MAX, &start, &length) != 1 ||
	    content->length - start < length + 1 || content->data[start + length] != ',') {
		*content = STR("");
		return false;
	}
	*word_out = str_slice(content->data + start, length);
	*content = str_skip(*content, start + length + 1);
	return true;
}

int directory_frame_words(struct str content, struct str *words, size_t words_max)
{
	size_t count = 0;

	while (content.length > 0) {
		struct str word;

		if (!directory_frame_word(&content, &word))
			return -EINVAL;
		if (count == words_max)
			return -E2BIG;
		words[count++] = word;
	}
	return (int)count;
}

void directory_frame_begin(struct directory_frame *frame, struct buffer *out, const char *verb)
{
	frame->out = out;
	frame->start = out->length + HEAD_MAX;
	buffer_append(out, "      ", HEAD_MAX);
	directory_frame_add(frame, str_from(verb));
}

/* Writes NUMBER in decimal digits that end at END; returns their beginning. */
static char *format_number(uint64_t number, char *end)
{
	do {
		*--end = (char)('0' + number % 10);
		number /= 10;
	} while (number > 0);
	return end;
}

static void add_head(struct buffer *out, size_t length)
{
	char text[24];
	char *end = text + sizeof text;
	char *begin;

	*--end = ':';
	begin = format_number(length, end);
	buffer_append(out, begin, (size_t)(text + sizeof text - begin));
}

void directory_frame_add(struct directory_frame *frame, struct str word)
{
	add_head(frame->out, word.length);
	buffer_append_str(frame->out, word);
	buffer_append_byte(frame->out, ',');
}

void directory_frame_add_number(struct directory_frame *frame, uint64_t number)
{
	char text[20];
	char *begin = format_number(number, text + sizeof text);

	directory_frame_add(frame, str_slice(begin, (size_t)(text + sizeof text - begin)));
}

void directory_frame_add_result(struct directory_frame *frame, const char *word, struct str rest)
{
	size_t length = strlen(word);

	add_head(frame->out, length + 1 + rest.length);
	buffer_append(frame->out, word, length);
	buffer_append_byte(frame->out, ' ');
	buffer_append_str(frame->out, rest);
	buffer_append_byte(frame->out, ',');
}

void directory_frame_split_result(struct str result, struct str *word_out, struct str *rest_out)
{
	struct str word = STR("");

	(void)str_split(&result, ' ', &word);
	*word_out = word;
	*rest_out = result.data != NULL ? result : STR("");
}

static bool result_begins_with(struct str result, struct str begin, struct str *key_out)
{
	if (!str_starts_with(result, begin))
		return false;
	*key_out = str_skip(result, begin.length);
	return true;
}

bool directory_frame_begins_record(struct str result, struct str *key_out)
{
	return result_begins_with(result, STR(DIRECTORY_RECORD_BEGINS " "), key_out);
}

bool directory_frame_begins_malformed(struct str result, struct str *key_out)
{
	return result_begins_with(result, STR(DIRECTORY_MALFORMED_BEGINS " "), key_out);
}

size_t directory_frame_size(const struct directory_frame *frame)
{
	return frame->out->length - frame->start;
}

/* Puts the head right before the content and closes the gap that is left of its room. */
void directory_frame_end(struct directory_frame *frame)
{
	struct buffer *out = frame->out;
	size_t size = directory_frame_size(frame);
	char head[HEAD_MAX];
	char *begin = head + HEAD_MAX;
	size_t head_length;
	char *place;

	if (size > DIRECTORY_FRAME_MAX)
		panic("a frame of %zu bytes", size);
	*--begin = ':';
	begin = format_number(size, begin);
	head_length = (size_t)(head + HEAD_MAX - begin);
	buffer_append_byte(out, ',');
	place = buffer_data(out) + frame->start - HEAD_MAX;
	memcpy(place, begin, head_length);
	memmove(place + head_length, place + HEAD_MAX, size + 1);
	buffer_truncate(out, out->length - (HEAD_MAX - head_length));
}
