// SPDX-License-Identifier: ISC
#include "log/event.h"
#include "base/buffer.h"
#include "base/json.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include "log/internal.h"
#include "log/pass.h"
#include "log/sink.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	GATHER_MAX = 32 * 1024,    /* lines up to here are written together */
	PENDING_MAX = 1024 * 1024, /* and up to here kept while nobody reads them */
	VALUE_MAX = 1000,          /* longer values are cut */
	NAME_SIZE = 32,
};

static const struct {
	const char *name; /* upper case */
	const char *meaning;
	enum log_level level;
} events[EVENT_COUNT] = {
#define EVENT(name, level, meaning) {#name, meaning, LOG_##level##_LEVEL},
#include "log/events.def"
#undef EVENT
};

static const char *const levels[] = {"debug", "info", "warning", "error"};

static struct {
	struct buffer lines;
	struct buffer process; /* "smtpd[4711]" */
	enum log_level lowest;
	enum log_format format;
	enum log_target target;
	bool is_journal; /* standard error is the journal's */
	bool is_open;
	uint64_t lost; /* lines */
} logger = {.lowest = LOG_INFO_LEVEL};

static bool is_plain(struct str text)
{
	for (size_t i = 0; i < text.length; i++) {
		unsigned char c = (unsigned char)text.data[i];

		if (c <= ' ' || c >= 0x7f || c == '"' || c == '=' || c == '\\')
			return false;
	}
	return text.length > 0;
}

static void append_escaped(struct buffer *line, char byte)
{
	static const char digits[] = "0123456789abcdef";
	unsigned char c = (unsigned char)byte;

	switch (byte) {
	case '"':
	case '\\':
		buffer_append_byte(line, '\\');
		buffer_append_byte(line, byte);
		return;
	case '\n':
		buffer_append_string(line, "\\n");
		return;
	case '\r':
		buffer_append_string(line, "\\r");
		return;
	case '\t':
		buffer_append_string(line, "\\t");
		return;
	default:
		break;
	}
	if (c >= ' ' && c < 0x7f) {
		buffer_append_byte(line, byte);
		return;
	}
	buffer_append_string(line, "\\x");
	buffer_append_byte(line, digits[c >> 4]);
	buffer_append_byte(line, digits[c & 15]);
}

static void append_value(struct buffer *line, struct str text)
{
	bool is_cut = text.length > VALUE_MAX;

	if (is_cut)
		text.length = VALUE_MAX;
	if (!is_cut && is_plain(text) && !log_value_is_number(text)) {
		buffer_append_str(line, text);
		return;
	}
	buffer_append_byte(line, '"');
	for (size_t i = 0; i < text.length; i++)
		append_escaped(line, text.data[i]);
	buffer_append_string(line, is_cut ? "...\"" : "\"");
}

static void append_number(struct buffer *line, int64_t number)
{
	uint64_t size = (uint64_t)number;

	if (number < 0) {
		buffer_append_byte(line, '-');
		size = -size;
	}
	buffer_append_number(line, size);
}

static void append_field(struct buffer *line, const struct log_field *field)
{
	char id[MAIL_ID_SIZE];

	buffer_append_byte(line, ' ');
	buffer_append_string(line, field->key);
	buffer_append_byte(line, '=');
	switch (field->type) {
	case LOG_FIELD_STR:
		append_value(line, field->text);
		break;
	case LOG_FIELD_NUMBER:
		append_number(line, field->number);
		break;
	case LOG_FIELD_ID:
		mail_id_format(field->id, id);
		buffer_append_string(line, id);
		break;
	case LOG_FIELD_END:
		break;
	}
}

static void append_json_field(struct buffer *line, const struct log_field *field)
{
	char id[MAIL_ID_SIZE];

	json_field(line, field->key);
	switch (field->type) {
	case LOG_FIELD_STR:
		json_append_text(line, field->text);
		break;
	case LOG_FIELD_NUMBER:
		append_number(line, field->number);
		break;
	case LOG_FIELD_ID:
		mail_id_format(field->id, id);
		json_append_text(line, str_from(id));
		break;
	case LOG_FIELD_END:
		break;
	}
}

static void append_json_line(struct buffer *lines, const char *time_text, enum log_name name,
			     const struct log_field *fields)
{
	buffer_append_byte(lines, '{');
	json_field_text(lines, "time", str_from(time_text));
	json_field_text(lines, "level", str_from(levels[events[name].level]));
	json_field_text(lines, "process", buffer_view(&logger.process));
	json_field_text(lines, "event", str_from(log_event_name(name)));
	for (; fields->type != LOG_FIELD_END; fields++)
		append_json_field(lines, fields);
	buffer_append_string(lines, "}\n");
}

static void append_logfmt_line(struct buffer *lines, const char *time_text, enum log_name name,
			       const struct log_field *fields)
{
	buffer_append_string(lines, "time=");
	buffer_append_string(lines, time_text);
	buffer_append_string(lines, " level=");
	buffer_append_string(lines, levels[events[name].level]);
	buffer_append_string(lines, " process=");
	buffer_append_str(lines, buffer_view(&logger.process));
	buffer_append_string(lines, " event=");
	buffer_append_string(lines, log_event_name(name));
	for (; fields->type != LOG_FIELD_END; fields++)
		append_field(lines, fields);
	buffer_append_byte(lines, '\n');
}

static void append_line(struct buffer *lines, enum log_name name, const struct log_field *fields)
{
	static struct timestamp_cache cache;
	const char *time_text;
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	time_text = timestamp_format_cached(now.tv_sec * SECOND_US + now.tv_nsec / 1000, &cache);
	if (logger.is_journal)
		buffer_append_format(lines, "<%d>", log_sink_priority(events[name].level));
	if (logger.format == LOG_FORMAT_JSON)
		append_json_line(lines, time_text, name, fields);
	else
		append_logfmt_line(lines, time_text, name, fields);
}

static void write_to_syslog(enum log_name name, const struct log_field *fields)
{
	const struct log_field loss[] = {log_number("lines", (int64_t)logger.lost),
					 {LOG_FIELD_END}};
	struct buffer line = {0};

	if (logger.lost > 0) {
		append_line(&line, EVENT_LOG_LOST, loss);
		if (log_sink_syslog(events[EVENT_LOG_LOST].level, buffer_view(&line)))
			logger.lost = 0;
		buffer_reset(&line);
	}
	append_line(&line, name, fields);
	if (!log_sink_syslog(events[name].level, buffer_view(&line)))
		logger.lost++;
	buffer_clear(&line);
}

/* Says how much was lost as soon as there is room for it. */
static void note_loss(void)
{
	const struct log_field fields[] = {log_number("lines", (int64_t)logger.lost),
					   {LOG_FIELD_END}};

	logger.lost = 0;
	append_line(&logger.lines, EVENT_LOG_LOST, fields);
}

static void flush(int wait_ms)
{
	logger.lost += log_sink_write(&logger.lines, wait_ms);
	if (logger.lines.length == 0 && logger.lost > 0) {
		note_loss();
		logger.lost += log_sink_write(&logger.lines, wait_ms);
	}
}

static void flush_at_exit(void)
{
	log_rate_tell(true);
	flush(1000);
	buffer_clear(&logger.lines);
	buffer_clear(&logger.process);
	logger.is_open = false;
}

static void tell_end(const char *what, int error)
{
	log_event(EVENT_PROCESS_ERROR, log_string("reason", what), log_error(error));
}

void log_open(const char *process, enum log_level lowest)
{
	static bool is_registered;

	buffer_reset(&logger.process);
	append_value(&logger.process, str_from(process));
	buffer_append_byte(&logger.process, '[');
	buffer_append_number(&logger.process, (uint64_t)getpid());
	buffer_append_byte(&logger.process, ']');
	logger.lowest = lowest;
	logger.is_open = true;
	log_sink_open();
	logger.is_journal = logger.target == LOG_TARGET_STDERR && log_sink_is_journal();
	if (!is_registered)
		atexit(flush_at_exit);
	cannot_begin_by(tell_end);
	is_registered = true;
}

void log_configure(enum log_format format, enum log_target target)
{
	log_flush();
	logger.format = format;
	logger.target = target;
	logger.is_journal = target == LOG_TARGET_STDERR && log_sink_is_journal();
}

void log_write(enum log_name name, const struct log_field *fields)
{
	if (events[name].level < logger.lowest)
		return;
	if (!logger.is_open)
		log_open("stagepost", logger.lowest);
	if (logger.target == LOG_TARGET_SYSLOG) {
		write_to_syslog(name, fields);
		return;
	}
	if (logger.lines.length >= PENDING_MAX) {
		flush(0);
		if (logger.lines.length >= PENDING_MAX) {
			logger.lost++;
			return;
		}
	}
	append_line(&logger.lines, name, fields);
	if (events[name].level >= LOG_WARNING_LEVEL || logger.lines.length > GATHER_MAX)
		flush(0);
}

bool log_pass_has_room(void)
{
	if (logger.lines.length >= PENDING_MAX / 2)
		flush(0);
	return logger.lines.length < PENDING_MAX / 2;
}

void log_append(enum log_level level, struct str line)
{
	if (logger.lines.length >= PENDING_MAX) {
		logger.lost++;
		return;
	}
	if (logger.is_journal)
		buffer_append_format(&logger.lines, "<%d>", log_sink_priority(level));
	buffer_append_str(&logger.lines, line);
	buffer_append_byte(&logger.lines, '\n');
}

void log_flush(void)
{
	log_rate_tell(false);
	if (logger.lines.length > 0)
		flush(0);
}

struct log_field log_error(int negative_errno)
{
	const char *text = strerrordesc_np(-negative_errno);

	return log_string("error", text != NULL ? text : "unknown error");
}

const char *log_event_name(enum log_name name)
{
	static char names[EVENT_COUNT][NAME_SIZE]; /* lower case; made when first asked for */

	if (names[name][0] == '\0') {
		size_t length = strlen(events[name].name);

		memcpy(names[name], events[name].name, length < NAME_SIZE ? length : NAME_SIZE - 1);
		str_lower(names[name], NAME_SIZE);
	}
	return names[name];
}

const char *log_event_meaning(enum log_name name)
{
	return events[name].meaning;
}

const char *log_event_level(enum log_name name)
{
	return levels[events[name].level];
}

bool log_level_parse(struct str name, enum log_level *level_out)
{
	for (unsigned i = 0; i < COUNT_OF(levels); i++) {
		if (str_equal(name, str_from(levels[i]))) {
			*level_out = (enum log_level)i;
			return true;
		}
	}
	return false;
}
