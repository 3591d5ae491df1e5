// SPDX-License-Identifier: ISC
/* Splits bytes into command lines, with the limit of RFC 5321 section 4.5.3. */
#include "smtp/server/internal.h"
#include <string.h>

enum { VERB_LENGTH = 4 }; /* kept of a line that is too long */

/* Whether the line that begins with s->line, and goes on with DATA, has the verb AUTH. */
static bool is_auth(const struct smtp_server *s, const char *data, size_t length)
{
	const struct str verb = STR("AUTH ");
	char start[sizeof "AUTH "];
	size_t count = s->line.length < verb.length ? s->line.length : verb.length;

	if (count + length < verb.length)
		return false;
	if (count > 0)
		memcpy(start, buffer_data(&s->line), count);
	memcpy(start + count, data, verb.length - count);
	return str_equal_nocase(str_slice(start, verb.length), verb);
}

/* Tokens may be longer than other commands. */
static size_t longest(const struct smtp_server *s, const char *data, size_t length)
{
	bool is_long = s->service->auth != SMTP_AUTH_NONE &&
		       (smtp_auth_is_under_way(s) || is_auth(s, data, length));

	return is_long ? SMTP_AUTH_LINE_MAX : s->service->limits.line;
}

static void keep(struct smtp_server *s, const char *data, size_t length)
{
	bool was_long = s->line_is_long;

	s->line_is_long = was_long || s->line.length + length > longest(s, data, length);
	if (!s->line_is_long)
		buffer_append(&s->line, data, length);
	else if (!was_long && s->line.length < VERB_LENGTH)
		buffer_append(&s->line, data, length < VERB_LENGTH ? length : VERB_LENGTH);
	if (s->line_is_long && s->line.length > VERB_LENGTH)
		buffer_truncate(&s->line, VERB_LENGTH);
}

/* A bare LF ends a command line too: that cannot hide a second command, and people and scripts
 * type such lines. In a message this would be dangerous. */
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
