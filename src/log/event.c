// SPDX-License-Identifier: ISC
#include "log/event.h"
#include "base/buffer.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include "log/internal.h"
#include "log/pass.h"
#include "log/recent.h"
#include "log/sink.h"
#include "os/clock.h"
#include "os/process/process.h"
#include "os/stream/error.h"
#include <stdlib.h>
#include <string.h>

enum {
	GATHER_MAX = 32 * 1024,    /* below this, lines are collected and written together */
	PENDING_MAX = 1024 * 1024, /* at most this much is kept while nobody reads */
};

static struct {
	struct buffer lines;
	struct buffer process; /* "smtpd[4711]" */
	enum log_level lowest;
	enum log_format format;
	enum log_target target;
	bool is_journal; /* standard error is the journal's */
	bool is_open;
	uint64_t lost;      /* lines */
	uint64_t announced; /* the first of LINES tells of so many more that were lost */
} logger = {.lowest = LOG_INFO_LEVEL};

/* Where log_recent_format() writes. */
static struct {
	struct buffer *out;
	int64_t time_us;
} formatted;

static void append_event_line(struct buffer *lines, enum log_name name,
			      const struct log_field *fields)
{
	static struct timestamp_cache cache;
	struct log_stamp stamp = {.process = buffer_view(&logger.process)};

	stamp.time = timestamp_format_cached(os_clock_wall_us(), &cache);
	if (logger.is_journal)
		buffer_append_format(lines, "<%d>", log_sink_priority(log_event_severity(name)));
	log_format_line(lines, logger.format, &stamp, name, fields);
}

static void append_loss(struct buffer *out)
{
	LOG_ROW(EVENT_LOG_LOST);
	const struct log_field fields[] = {log_number(lines, (int64_t)logger.lost), {LOG_END}};

	append_event_line(out, EVENT_LOG_LOST, fields);
}

static void write_to_syslog(enum log_name name, const struct log_field *fields)
{
	struct buffer line = {0};

	if (logger.lost > 0) {
		append_loss(&line);
		if (log_sink_syslog(log_event_severity(EVENT_LOG_LOST), buffer_view(&line)))
			logger.lost = 0;
		buffer_reset(&line);
	}
	append_event_line(&line, name, fields);
	if (!log_sink_syslog(log_event_severity(name), buffer_view(&line)))
		logger.lost++;
	buffer_clear(&line);
}

static uint64_t count_log_lines(void)
{
	uint64_t count = 0;

	for (size_t i = 0; i < logger.lines.length; i++)
		count += buffer_data(&logger.lines)[i] == '\n';
	return count;
}

/* With a line that tells what was lost, that must not be forgotten. */
static void write_log_lines(int wait_ms)
{
	size_t before = logger.lines.length;
	uint64_t all = logger.announced > 0 ? count_log_lines() : 0;
	uint64_t dropped = log_sink_write(&logger.lines, wait_ms);

	logger.lost += dropped;
	if (dropped > 0 && dropped == all)
		logger.lost += logger.announced;
	if (logger.lines.length < before)
		logger.announced = 0;
}

static void flush_log_lines(int wait_ms)
{
	write_log_lines(wait_ms);
	/* as soon as there is room */
	if (logger.lines.length == 0 && logger.lost > 0) {
		append_loss(&logger.lines);
		logger.announced = logger.lost - 1; /* it counts itself if it is dropped */
		logger.lost = 0;
		write_log_lines(wait_ms);
	}
}

/* Logs how many lines were withheld; IS_END: even if that was logged a short while ago. */
static void tell_withheld(bool is_end)
{
	enum log_name name;
	int64_t count;

	while ((count = log_rate_withheld(is_end, &name)) > 0)
		log_event(EVENT_LOG_WITHHELD, log_string(of, log_event_name(name)),
			  log_number(lines, count));
}

static void flush_at_exit(void)
{
	tell_withheld(true);
	flush_log_lines(1000);
	buffer_clear(&logger.lines);
	buffer_clear(&logger.process);
	logger.is_open = false;
}

static void log_process_end(const char *what, int error)
{
	log_event(EVENT_PROCESS_ERROR, log_string(reason, what), log_error(error));
}

void log_open(const char *process, enum log_level lowest)
{
	static bool is_registered;

	buffer_reset(&logger.process);
	log_format_value(&logger.process, str_from(process));
	buffer_append_byte(&logger.process, '[');
	buffer_append_number(&logger.process, (uint64_t)os_process_id());
	buffer_append_byte(&logger.process, ']');
	logger.lowest = lowest;
	logger.is_open = true;
	os_error_stream_open();
	logger.is_journal = logger.target == LOG_TARGET_STDERR && os_error_stream_is_journal();
	if (!is_registered)
		atexit(flush_at_exit);
	cannot_begin_by(log_process_end);
	is_registered = true;
}

void log_configure(enum log_format format, enum log_target target)
{
	log_flush();
	logger.format = format;
	logger.target = target;
	logger.is_journal = target == LOG_TARGET_STDERR && os_error_stream_is_journal();
}

/* As logfmt, with its newline. */
static void append_line_of_time(struct buffer *lines, int64_t time_us, enum log_name name,
				const struct log_field *fields)
{
	char time[TIMESTAMP_SIZE];
	const struct log_stamp stamp = {.time = time, .process = buffer_view(&logger.process)};

	timestamp_format(time_us, time);
	log_format_line(lines, LOG_FORMAT_LOGFMT, &stamp, name, fields);
}

void log_recent_begin(struct buffer *out, int64_t time_us)
{
	formatted.out = out;
	formatted.time_us = time_us;
}

void log_recent_format(enum log_name name, const struct log_field *fields)
{
	append_line_of_time(formatted.out, formatted.time_us, name, fields);
	buffer_truncate(formatted.out, formatted.out->length - 1);
}

void log_recent_write(enum log_name name, const struct log_field *fields)
{
	struct buffer line CLEANUP(buffer_clear) = {0};

	if (!log_recent_is_kept(fields))
		return;
	append_line_of_time(&line, os_clock_wall_us(), name, fields);
	log_recent_add(buffer_view(&line));
}

void log_write(enum log_name name, const struct log_field *fields)
{
	log_recent_write(name, fields);
	if (log_event_severity(name) < logger.lowest)
		return;
	if (!logger.is_open)
		log_open("stagepost", logger.lowest);
	if (logger.target == LOG_TARGET_SYSLOG) {
		write_to_syslog(name, fields);
		return;
	}
	if (logger.lines.length >= PENDING_MAX) {
		flush_log_lines(0);
		if (logger.lines.length >= PENDING_MAX) {
			logger.lost++;
			return;
		}
	}
	append_event_line(&logger.lines, name, fields);
	if (log_event_severity(name) >= LOG_WARNING_LEVEL || logger.lines.length > GATHER_MAX)
		flush_log_lines(0);
}

void log_write_rated(enum log_name name, const struct log_field *fields)
{
	if (log_rate_passes(name))
		log_write(name, fields);
	else
		tell_withheld(false);
}

bool log_pass_has_room(void)
{
	if (logger.lines.length >= PENDING_MAX / 2)
		flush_log_lines(0);
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

bool log_flush(void)
{
	tell_withheld(false);
	if (logger.lines.length > 0)
		flush_log_lines(0);
	return logger.lines.length > 0;
}
