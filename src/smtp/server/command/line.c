// SPDX-License-Identifier: ISC
/* Splits bytes into command lines, with the limit of RFC 5321 section 4.5.3; and what a line may be
 * that is no command. */
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
static size_t length_max_of_line(const struct smtp_server *s, const char *data, size_t length)
{
	bool is_long = s->service->auth != SMTP_AUTH_NONE &&
		       (smtp_auth_is_under_way(s) || is_auth(s, data, length));

	return is_long ? SMTP_AUTH_LINE_MAX : s->service->limits.line;
}

static void keep_command_bytes(struct smtp_server *s, const char *data, size_t length)
{
	bool was_long = s->line_is_long;

	s->line_is_long = was_long || s->line.length + length > length_max_of_line(s, data, length);
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
	keep_command_bytes(s, data, *taken_out);
	if (feed == NULL)
		return false;
	if (s->line_is_long)
		return true;
	buffer_truncate(&s->line, s->line.length - 1);
	if (s->line.length > 0 && buffer_data(&s->line)[s->line.length - 1] == '\r')
		buffer_truncate(&s->line, s->line.length - 1);
	return true;
}

static bool begins_with_any_word(struct str line, const struct str *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (line.length >= words[i].length &&
		    str_equal_nocase(str_slice(line.data, words[i].length), words[i]))
			return true;
	return false;
}

bool smtp_line_has_credentials(struct str line)
{
	static const struct str words[] = {STR("AUTH"), STR("PROXY-AUTH"), STR("PASS"),
					   STR("LOGIN")};

	return begins_with_any_word(str_trim(line), words, COUNT_OF(words));
}

bool smtp_line_has_path(struct str line)
{
	static const struct str words[] = {STR("MAIL"), STR("RCPT")};

	return begins_with_any_word(line, words, COUNT_OF(words));
}

bool smtp_line_is_http(struct str line)
{
	static const struct str words[] = {STR("GET "),     STR("POST "),   STR("PUT "),
					   STR("HEAD "),    STR("DELETE "), STR("OPTIONS "),
					   STR("CONNECT "), STR("PRI * ")};

	return begins_with_any_word(line, words, COUNT_OF(words));
}

bool smtp_line_is_tls(struct str line)
{
	return str_starts_with(line, STR("\x16\x03"));
}

bool smtp_line_is_word(struct str name)
{
	enum { WORD_MAX = 10 };

	for (size_t i = 0; i < name.length; i++) {
		char c = name.data[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && c != '-')
			return false;
	}
	return name.length > 0 && name.length <= WORD_MAX;
}
