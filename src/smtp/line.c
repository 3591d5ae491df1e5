// SPDX-License-Identifier: ISC
/* Command lines out of bytes, with the bound of RFC 5321 section 4.5.3. */
#include "smtp/internal.h"
#include <string.h>

enum { VERB_LENGTH = 4 }; /* what is kept of a line that is too long */

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
}

/* An LF alone ends a command line, too: nobody hides a second one in it by that, and
 * people and scripts type such lines. In a message it is another matter. */
bool smtp_line_take(struct smtp_server *s, const char *data, size_t length, size_t *taken_out)
{
	const char *feed = memchr(data, '\n', length);

	*taken_out = feed != NULL ? (size_t)(feed - data) + 1 : length;
	s->line_has_more = *taken_out < length;
	keep(s, data, *taken_out);
	if (feed == NULL)
		return false;
	if (s->line_is_long)
		return true;
	buffer_truncate(&s->line, s->line.length - 1);
	if (s->line.length > 0 && buffer_data(&s->line)[s->line.length - 1] == '\r')
		buffer_truncate(&s->line, s->line.length - 1);
	return true;
}
