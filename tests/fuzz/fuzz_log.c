// SPDX-License-Identifier: ISC
/*
 * tests/fuzz/fuzz_log.c - values from outside on their way through the log.
 *
 * The first byte chooses the format; then three texts. One line is written whatever is in
 * them, of printable ASCII or (JSON) UTF-8, and reads back as they were.
 *
 * In the place of standard error stands this file.
 */
#include "base/panic.h"
#include "base/text/utf8.h"
#include "input.h"
#include "log/event.h"
#include "log/line.h"
#include "log/sink.h"
#include "os/stream/error.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { VALUE_MAX = 1000 };

static struct buffer written;

void os_error_stream_open(void)
{
}

uint64_t log_sink_write(struct buffer *lines, int wait_ms)
{
	(void)wait_ms;
	buffer_append_str(&written, buffer_view(lines));
	buffer_reset(lines);
	return 0;
}

bool os_error_stream_is_journal(void)
{
	return false;
}

int log_sink_priority(enum log_level level)
{
	return (int)level;
}

bool log_sink_syslog(enum log_level level, struct str line)
{
	(void)level;
	(void)line;
	return true;
}

static void check_line(struct str line, bool is_json)
{
	for (size_t i = 0; i + 1 < line.length; i++) {
		unsigned char c = (unsigned char)line.data[i];

		if (c < ' ' || c == 0x7f || (c > 0x7f && !is_json))
			panic("byte %u in a line of the log", c);
	}
	if (line.length == 0 || line.data[line.length - 1] != '\n')
		panic("a line without its end");
}

/* A value as a reader gets it: cut, and of JSON with U+FFFD where it is not UTF-8. */
static void append_expected(struct buffer *out, struct str value, bool is_json)
{
	if (!is_json) {
		bool is_cut = value.length > VALUE_MAX;

		buffer_append(out, value.data, is_cut ? VALUE_MAX : value.length);
		buffer_append_string(out, is_cut ? "..." : "");
		return;
	}
	for (size_t length; value.length > 0; value = str_skip(value, length > 0 ? length : 1)) {
		length = utf8_length(value);
		buffer_append_str(out,
				  length > 0 ? str_slice(value.data, length) : STR("\xef\xbf\xbd"));
	}
}

static void check_value(const struct log_line *line, const char *key, struct str value,
			bool is_json)
{
	struct buffer expected = {0};

	if (value.length == 0)
		return;
	append_expected(&expected, value, is_json);
	check_equal(log_line_get(line, key), buffer_view(&expected), key);
	buffer_clear(&expected);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = {str_slice((const char *)data, size)};
	bool is_json = input_byte(&input) & 1;
	struct str to = input_text(&input);
	struct str text = input_text(&input);
	struct str by = input.rest;
	struct arena *arena = arena_new();
	struct log_line line;

	buffer_reset(&written);
	log_configure(is_json ? LOG_FORMAT_JSON : LOG_FORMAT_LOGFMT, LOG_TARGET_STDERR);
	log_event(EVENT_FAILED, log_id((struct mail_id){457, 1}), log_str(to, to),
		  log_str(text, text), log_number(size, -1),
		  log_seconds(delay, (int64_t)to.length * 1000), log_str(by, by));
	log_flush();
	check_line(buffer_view(&written), is_json);
	if (!log_line_parse(arena, str_slice(buffer_data(&written), written.length - 1), &line) ||
	    line.count != 7u + (to.length > 0) + (text.length > 0) + (by.length > 0))
		panic("a line that was written cannot be read:\n" STR_FORMAT,
		      STR_ARGUMENTS(buffer_view(&written)));
	check_value(&line, "to", to, is_json);
	check_value(&line, "text", text, is_json);
	check_value(&line, "by", by, is_json);
	check_equal(log_line_get(&line, "size"), STR("-1"), "numbers");
	arena_free(arena);
	return 0;
}
