// SPDX-License-Identifier: ISC
#include "log/pass.h"
#include "log/internal.h"
#include <string.h>

static const char *const keys[] = {"time", "level", "process", "event"};

static bool is_reserved(struct str key)
{
	for (size_t i = 0; i < COUNT_OF(keys); i++)
		if (str_equal(key, str_from(keys[i])))
			return true;
	return false;
}

static bool take_expected_text(struct str *rest, struct str text)
{
	if (!str_starts_with(*rest, text))
		return false;
	*rest = str_skip(*rest, text.length);
	return true;
}

/* Takes the bytes in ALLOWED at the beginning, at least one. */
static bool take_bytes(struct str *rest, const char *allowed, struct str *out)
{
	size_t length = 0;

	while (length < rest->length && strchr(allowed, rest->data[length]) != NULL &&
	       rest->data[length] != '\0')
		length++;
	*out = str_slice(rest->data, length);
	*rest = str_skip(*rest, length);
	return length > 0;
}

/* The text between the four values, as append_logfmt_line() and append_json_line() write it. */
struct frame {
	struct str before[COUNT_OF(keys)];
	struct str after;
};

static bool take_line_head(struct str *rest, const struct frame *frame, struct str process,
			   enum log_level *level_out)
{
	struct str value;

	return take_expected_text(rest, frame->before[0]) &&
	       take_bytes(rest, "0123456789-:.TZ", &value) &&
	       take_expected_text(rest, frame->before[1]) &&
	       take_bytes(rest, "debuginfowarngr", &value) && log_level_parse(value, level_out) &&
	       take_expected_text(rest, frame->before[2]) && take_expected_text(rest, process) &&
	       take_expected_text(rest, frame->before[3]) &&
	       take_bytes(rest, "abcdefghijklmnopqrstuvwxyz0123456789_", &value) &&
	       take_expected_text(rest, frame->after);
}

/* The length of a quoted text including its quotes; 0: it has no end. */
static size_t quoted_length(struct str text)
{
	for (size_t i = 1; i < text.length; i++) {
		if (text.data[i] == '\\')
			i++;
		else if (text.data[i] == '"')
			return i + 1;
	}
	return 0;
}

/* " KEY=VALUE"... */
static bool is_logfmt_rest(struct str rest)
{
	while (rest.length > 0) {
		ptrdiff_t equals = str_find(rest, '=');
		ptrdiff_t space;
		size_t length;

		if (rest.data[0] != ' ' || equals < 2 ||
		    is_reserved(str_slice(rest.data + 1, (size_t)equals - 1)))
			return false;
		rest = str_skip(rest, (size_t)equals + 1);
		if (rest.length > 0 && rest.data[0] == '"') {
			length = quoted_length(rest);
			if (length == 0)
				return false;
		} else {
			space = str_find(rest, ' ');
			length = space < 0 ? rest.length : (size_t)space;
		}
		rest = str_skip(rest, length);
	}
	return true;
}

/* 0: it is none that a line has. */
static size_t number_length(struct str text)
{
	struct str number;

	(void)take_bytes(&text, "-.0123456789", &number);
	return log_value_is_number(number) ? number.length : 0;
}

/* ,"KEY":VALUE...} No key may be escaped, because it could be any key. */
static bool is_json_rest(struct str rest)
{
	while (rest.length > 1) {
		struct str key;
		size_t length;

		if (!take_expected_text(&rest, STR(",")) || rest.length == 0 || rest.data[0] != '"')
			return false;
		length = quoted_length(rest);
		key = str_slice(rest.data + 1, length > 2 ? length - 2 : 0);
		if (key.length == 0 || str_find(key, '\\') >= 0 || is_reserved(key))
			return false;
		rest = str_skip(rest, length);
		if (!take_expected_text(&rest, STR(":")) || rest.length == 0)
			return false;
		length = rest.data[0] == '"' ? quoted_length(rest) : number_length(rest);
		if (length == 0 || length >= rest.length)
			return false;
		rest = str_skip(rest, length);
	}
	return str_equal(rest, STR("}"));
}

bool log_pass(struct str process, struct str line)
{
	static const struct frame logfmt = {
		{STR("time="), STR(" level="), STR(" process="), STR(" event=")}, STR("")};
	static const struct frame json = {{STR("{\"time\":\""), STR("\",\"level\":\""),
					   STR("\",\"process\":\""), STR("\",\"event\":\"")},
					  STR("\"")};
	struct str rest = line;
	enum log_level level;
	bool is_json = line.length > 0 && line.data[0] == '{';

	if (str_has_control(line) ||
	    !take_line_head(&rest, is_json ? &json : &logfmt, process, &level))
		return false;
	if (is_json ? !is_json_rest(rest) : !is_logfmt_rest(rest))
		return false;
	log_append(level, line);
	return true;
}
