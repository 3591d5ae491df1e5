// SPDX-License-Identifier: ISC
#include "refusals.h"
#include <string.h>

void refusals_note(struct buffer *reported, const struct smtp_refusal *refusal)
{
	buffer_append_format(reported, "%u", refusal->code);
	if (refusal->status != NULL)
		buffer_append_format(reported, " %s", refusal->status);
	buffer_append_format(reported, " %s\n", refusal->text);
}

/* A byte that is no letter of ASCII is '?' in what is said. */
static bool ends_with(struct str reported, struct str said)
{
	if (reported.length < said.length)
		return false;
	reported = str_skip(reported, reported.length - said.length);
	for (size_t i = 0; i < said.length; i++)
		if (reported.data[i] != said.data[i] && said.data[i] != '?')
			return false;
	return true;
}

static bool has_report(const struct buffer *reported, struct str said, bool is_whole)
{
	struct str rest = buffer_view(reported);
	struct str one;

	while (rest.length > 0 && str_split(&rest, '\n', &one))
		if (ends_with(one, said) && (!is_whole || one.length == said.length))
			return true;
	return false;
}

bool refusals_have_replies(const struct buffer *reported, struct str output)
{
	struct str line;

	while (output.length > 0 && str_split(&output, '\n', &line)) {
		if (line.length > 0 && line.data[line.length - 1] == '\r')
			line.length--;
		if (line.length > 3 && line.data[0] == '5' && line.data[3] == ' ' &&
		    !has_report(reported, line, true))
			return false;
	}
	return true;
}

/* "DText (#5.1.1)" */
static bool has_answer(const struct buffer *reported, struct str answer)
{
	ptrdiff_t status = str_find_last(answer, '(');

	return status >= 2 &&
	       has_report(reported, str_slice(answer.data + 1, (size_t)status - 2), false);
}

bool refusals_have_answers(const struct buffer *reported, struct str output)
{
	struct str length;
	uint64_t bytes;

	while (output.length > 0) {
		if (!str_split(&output, ':', &length) || !str_to_u64(length, &bytes) ||
		    bytes >= output.length)
			return false;
		if (bytes > 0 && output.data[0] == 'D' &&
		    !has_answer(reported, str_slice(output.data, (size_t)bytes)))
			return false;
		output = str_skip(output, (size_t)bytes + 1);
	}
	return true;
}
