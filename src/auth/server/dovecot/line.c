// SPDX-License-Identifier: ISC
#include "auth/server/dovecot/line.h"
#include "base/text/base64.h"
#include <string.h>

static bool unescape_dovecot_word(struct str text, struct buffer *out)
{
	static const char escaped[] = "01trn";
	static const char meant[] = "\0\1\t\r\n";

	for (size_t i = 0; i < text.length; i++) {
		const char *at;

		if (text.data[i] != '\1') {
			buffer_append_byte(out, text.data[i]);
			continue;
		}
		if (++i == text.length || text.data[i] == '\0')
			return false;
		at = strchr(escaped, text.data[i]);
		if (at == NULL)
			return false;
		buffer_append_byte(out, meant[at - escaped]);
	}
	return true;
}

void dovecot_line_append(struct buffer *out, const char *name, struct str value)
{
	buffer_append_format(out, "\t%s=", name);
	for (size_t i = 0; i < value.length; i++) {
		char c = value.data[i];
		const char *escape = c == '\0'   ? "\0010"
				     : c == '\1' ? "\0011"
				     : c == '\t' ? "\001t"
				     : c == '\r' ? "\001r"
				     : c == '\n' ? "\001n"
						 : NULL;

		if (escape != NULL)
			buffer_append_string(out, escape);
		else
			buffer_append_byte(out, c);
	}
}

static bool to_u32(struct str text, uint32_t *out)
{
	uint64_t number;

	if (!str_to_u64(text, &number) || number > UINT32_MAX)
		return false;
	*out = (uint32_t)number;
	return true;
}

static void parse_mechanism(struct str rest, struct dovecot_line *line)
{
	struct str word;

	while (str_split(&rest, '\t', &word)) {
		line->is_plaintext |= str_equal(word, STR("plaintext"));
		line->is_unusable |=
			str_equal(word, STR("anonymous")) || str_equal(word, STR("private"));
	}
}

/* NAME, or NAME=VALUE. */
static bool is_dovecot_parameter(struct str word, struct str name)
{
	return str_starts_with(word, name) &&
	       (word.length == name.length || word.data[name.length] == '=');
}

static bool parse_parameter(struct str word, struct dovecot_line *line)
{
	if (str_starts_with(word, STR("user="))) {
		buffer_reset(&line->user);
		return unescape_dovecot_word(str_skip(word, 5), &line->user);
	}
	if (str_starts_with(word, STR("resp="))) {
		buffer_reset(&line->message);
		return base64_decode(str_skip(word, 5), &line->message);
	}
	line->is_barred |= is_dovecot_parameter(word, STR("nologin"));
	line->is_elsewhere |= is_dovecot_parameter(word, STR("proxy")) ||
			      is_dovecot_parameter(word, STR("proxy_maybe")) ||
			      str_starts_with(word, STR("host="));
	/* "code" is of later versions */
	line->is_temporary |=
		str_equal(word, STR("temp")) || str_equal(word, STR("code=temp_fail"));
	return true;
}

/* What follows the request's number. */
static bool parse_reply(struct str rest, struct dovecot_line *line)
{
	struct str word;

	if (line->command == DOVECOT_CONT)
		return rest.data != NULL && base64_decode(rest, &line->message);
	while (str_split(&rest, '\t', &word))
		if (!parse_parameter(word, line))
			return false;
	return line->command != DOVECOT_OK || line->user.length > 0;
}

bool dovecot_line_parse(struct str text, struct dovecot_line *line)
{
	static const struct {
		const char *name;
		enum dovecot_command command;
	} commands[] = {{"VERSION", DOVECOT_VERSION}, {"MECH", DOVECOT_MECH},
			{"DONE", DOVECOT_DONE},       {"OK", DOVECOT_OK},
			{"CONT", DOVECOT_CONT},       {"FAIL", DOVECOT_FAIL}};
	struct str rest = text;
	struct str word = STR("");

	*line = (struct dovecot_line){.message = {.is_secret = true}};
	(void)str_split(&rest, '\t', &word);
	for (size_t i = 0; i < COUNT_OF(commands); i++)
		if (str_equal(word, str_from(commands[i].name)))
			line->command = commands[i].command;
	if (line->command == DOVECOT_OTHER || line->command == DOVECOT_DONE)
		return true;
	if (!str_split(&rest, '\t', &word))
		return false;
	if (line->command == DOVECOT_VERSION)
		return to_u32(word, &line->major) && to_u32(rest, &line->minor);
	if (line->command == DOVECOT_MECH) {
		line->mechanism = word;
		parse_mechanism(rest, line);
		return word.length > 0;
	}
	return to_u32(word, &line->id) && parse_reply(rest, line);
}

void dovecot_line_clear(struct dovecot_line *line)
{
	buffer_clear(&line->message);
	buffer_clear(&line->user);
}
