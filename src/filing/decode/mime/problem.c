// SPDX-License-Identifier: ISC
/* What could not be decoded, in words. */
#include "base/buffer.h"
#include "filing/decode/mime/internal.h"

static const struct {
	unsigned problem;
	const char *words;
} problems[] = {
	{DECODE_PROBLEM_UNREADABLE, "the message cannot be read"},
	{DECODE_PROBLEM_MESSAGE, "this is no message"},
	{DECODE_PROBLEM_DELIMITERS, "too many lines that may delimit parts: the rest is ignored"},
	{DECODE_PROBLEM_BOUND, "the header has too much of something: the rest is ignored"},
	{DECODE_PROBLEM_PARTICIPANTS, "too many addresses: the rest is ignored"},
	{DECODE_PROBLEM_ADDRESS, "invalid addresses are ignored"},
	{DECODE_PROBLEM_PARTS, "too many parts: the rest is ignored"},
	{DECODE_PROBLEM_DEPTH, "parts are nested too deeply: the deepest are ignored"},
	{DECODE_PROBLEM_WORK, "messages are nested so deeply that sizes are unknown"},
	{DECODE_PROBLEM_STRUCTURE, "malformed boundaries of parts"},
	{DECODE_PROBLEM_HEADER, "malformed header"},
	{DECODE_PROBLEM_WORD, "malformed encoded words, or an unknown charset, in the header"},
	{DECODE_PROBLEM_TYPE, "malformed content type"},
	{DECODE_PROBLEM_ENCODING, "a content that cannot be decoded"},
	{DECODE_PROBLEM_DATE, "invalid date"},
};

struct str decode_problem_tell(struct arena *arena, unsigned bits)
{
	struct buffer out CLEANUP(buffer_clear) = {0};

	for (size_t i = 0; i < COUNT_OF(problems); i++) {
		if ((bits & problems[i].problem) == 0)
			continue;
		if (out.length > 0)
			buffer_append_string(&out, "; ");
		buffer_append_string(&out, problems[i].words);
	}
	return arena_copy_str(arena, buffer_view(&out));
}

unsigned decode_problem_of(GMimeParserWarning warning)
{
	switch (warning) {
	case GMIME_CRIT_NESTING_OVERFLOW:
		return DECODE_PROBLEM_DEPTH;
	case GMIME_WARN_MALFORMED_MULTIPART:
	case GMIME_CRIT_MULTIPART_WITHOUT_BOUNDARY:
	case GMIME_WARN_TRUNCATED_MESSAGE:
		return DECODE_PROBLEM_STRUCTURE;
	case GMIME_CRIT_INVALID_HEADER_NAME:
	case GMIME_WARN_MALFORMED_MESSAGE:
		return DECODE_PROBLEM_HEADER;
	case GMIME_WARN_INVALID_RFC2047_HEADER_VALUE:
		return DECODE_PROBLEM_WORD;
	case GMIME_WARN_INVALID_CONTENT_TYPE:
		return DECODE_PROBLEM_TYPE;
	case GMIME_WARN_INVALID_ADDRESS_LIST:
		return DECODE_PROBLEM_ADDRESS;
	default:
		return 0;
	}
}
