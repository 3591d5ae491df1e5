// SPDX-License-Identifier: ISC
/* Texts as databases can have them. */
#include "base/text/utf8.h"
#include "filing/record/sql.h"

static const char REPLACEMENT[] = "\xef\xbf\xbd";

static size_t valid_length(struct str text)
{
	return text.length > 0 && text.data[0] == '\0' ? 0 : utf8_length(text);
}

/* The length of the valid text at the start of TEXT, of at most MAX bytes. */
static size_t valid_prefix(struct str text, size_t max)
{
	size_t done = 0;

	while (done < text.length) {
		size_t length = valid_length(str_skip(text, done));

		if (length == 0 || done + length > max)
			break;
		done += length;
	}
	return done;
}

bool record_text_is_valid(struct str text, size_t max)
{
	return valid_prefix(text, max) == text.length;
}

struct record_value record_text(struct str text, size_t max, struct arena *arena)
{
	struct record_value value = {.kind = RECORD_TEXT, .bytes = text};
	struct buffer clean CLEANUP(buffer_clear) = {0};

	if (record_text_is_valid(text, max))
		return value;
	for (size_t done = 0, length; done<text.length; done += length> 0 ? length : 1) {
		struct str rest = str_skip(text, done);
		struct str piece;

		length = valid_length(rest);
		piece = length > 0 ? str_slice(rest.data, length) : str_from(REPLACEMENT);
		if (buffer_view(&clean).length + piece.length > max)
			break;
		buffer_append_str(&clean, piece);
	}
	value.bytes = arena_copy_str(arena, buffer_view(&clean));
	return value;
}

void record_take_text(void *context, const struct record_value *values, size_t count)
{
	struct record_taken *taken = context;

	(void)count;
	taken->text = arena_copy_str(taken->arena, values[0].bytes);
}
