// SPDX-License-Identifier: ISC
#include "log/recent.h"
#include "log/internal.h"
#include <string.h>

static struct {
	bool is_kept;
	struct buffer older, newer; /* lines; each up to half of the bound */
} recent;

void log_recent_keep(bool is_kept)
{
	recent.is_kept = is_kept;
	if (is_kept)
		return;
	buffer_clear(&recent.older);
	buffer_clear(&recent.newer);
}

bool log_recent_is_kept(const struct log_field *fields)
{
	for (; recent.is_kept && fields->kind != LOG_END; fields++)
		if (fields->kind == LOG_ID)
			return true;
	return false;
}

void log_recent_add(struct str line)
{
	if (line.length > LOG_RECENT_MAX / 2)
		return;
	if (recent.newer.length + line.length > LOG_RECENT_MAX / 2) {
		struct buffer emptied = recent.older;

		recent.older = recent.newer;
		buffer_reset(&emptied);
		recent.newer = emptied;
	}
	buffer_append_str(&recent.newer, line);
}

static void each_line_with(struct str lines, struct str part,
			   void (*each)(void *context, struct str line), void *context)
{
	const char *end = lines.data + lines.length;
	const char *from = lines.data;
	const char *found;

	while (from < end &&
	       (found = memmem(from, (size_t)(end - from), part.data, part.length)) != NULL) {
		const char *start = memrchr(from, '\n', (size_t)(found - from));
		const char *stop = memchr(found, '\n', (size_t)(end - found));

		start = start != NULL ? start + 1 : from;
		if (stop == NULL)
			stop = end;
		each(context, str_slice(start, (size_t)(stop - start)));
		from = stop < end ? stop + 1 : end;
	}
}

void log_recent_each(struct str part, void (*each)(void *context, struct str line), void *context)
{
	each_line_with(buffer_view(&recent.older), part, each, context);
	each_line_with(buffer_view(&recent.newer), part, each, context);
}
