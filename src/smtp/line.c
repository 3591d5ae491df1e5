// SPDX-License-Identifier: ISC
#include "smtp/internal.h"
#include <string.h>

enum { VERB_LENGTH = 4 }; /* what is kept of a line that is too long */

/* Only CRLF ends a line: the LF whose CR came just before it, perhaps with the
 * previous bytes. NULL when there is none. */
static const char *find_line_feed(const struct smtp_server *s, const char *data, size_t length)
{
	const char *end = data + length;
	const char *feed = data;

	while ((feed = memchr(feed, '\n', (size_t)(end - feed))) != NULL) {
		if (feed == data ? s->line_has_cr : feed[-1] == '\r')
			return feed;
		feed++;
	}
	return NULL;
}

static void keep(struct smtp_server *s, const char *data, size_t length)
{
	bool was_long = s->line_is_long;

	s->line_is_long = was_long || s->line.length + length > s->service->limits.line;
	if (!s->line_is_long)
		buffer_append(&s->line, data, length);
	else if (!was_long && s->line.length < VERB_LENGTH)
		buffer_append(&s->line, data, length < VERB_LENGTH ? length : VERB_LENGTH);
	if (s->line_is_long && s->line.length > VERB_LENGTH)
		buffer_truncate(&s->line, VERB_LENGTH);
	s->line_has_cr = data[length - 1] == '\r';
}

bool smtp_line_take(struct smtp_server *s, const char *data, size_t length, size_t *taken_out)
{
	const char *feed = find_line_feed(s, data, length);

	*taken_out = feed != NULL ? (size_t)(feed - data) + 1 : length;
	keep(s, data, *taken_out);
	if (feed == NULL)
		return false;
	if (!s->line_is_long)
		buffer_truncate(&s->line, s->line.length - 2);
	return true;
}
