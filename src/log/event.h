// SPDX-License-Identifier: ISC
/*
 * log/event.h - one structured line for each thing that happens.
 *
 * Every event is defined in log/events.def with its level, the fields that its lines have and a
 * sentence on when it is written. A line is logfmt:
 *
 *   time=2026-11-20T08:33:11.482913Z level=info process=smtpd[4711]
 *   event=message_queued id=457-63f1a2b3c4d5e from=lisa@example.com size=18233
 *
 *   log_event(EVENT_MESSAGE_QUEUED, log_id(id), log_from(sender),
 *             log_number(size, (int64_t)size));
 *
 * Lines are collected in memory and written by log_flush(), which the event loop calls before it
 * waits, and at exit(); warnings and errors are written at once. While standard error is blocked,
 * up to 1 MiB of lines is kept, then lines are dropped and counted (log_lost): the log never blocks
 * the process, and a broken pipe does not end it.
 *
 * Only one thread of a process may log. Call log_flush() before fork(), or both processes write the
 * collected lines; after it, the child calls log_open().
 *
 * A value with a space, a quote, '=', '\', a control character or a non-ASCII byte is put in double
 * quotes, and so is text that looks like a number, escaped: \" \\ \n \r \t \xHH. Values of more
 * than 1000 bytes are cut and end in "...".
 */
#ifndef LOG_EVENT_H
#define LOG_EVENT_H

#include "log/field.h"

enum log_level { LOG_DEBUG_LEVEL, LOG_INFO_LEVEL, LOG_WARNING_LEVEL, LOG_ERROR_LEVEL };

enum log_name {
#define EVENT(name, ...) EVENT_##name,
#include "log/events.def"
#undef EVENT
	EVENT_COUNT,
};

/* log_event_by() is the rest of log_event(), with another function or macro for log_write(). */
#define log_event_by(write, name, ...) log_event_like(write, name, name, __VA_ARGS__)
/* EVENT is a value; its row has all fields of the event NAME. */
#define log_event_like(write, event, name, ...)                                                \
	do {                                                                                   \
		LOG_ROW(name);                                                                 \
		write(event, (const struct log_field[]){__VA_ARGS__ __VA_OPT__(, ){LOG_END}}); \
	} while (0)

#define log_event(name, ...) log_event_by(log_write, name, __VA_ARGS__)

void log_write(enum log_name name, const struct log_field *fields);

enum { LOG_RATE_BURST = 50 };

/* The same for events that outsiders can cause as often as they like: LOG_RATE_BURST lines of
 * NAME may come at once, and one more each second. The others are omitted and counted in a line
 * log_withheld, at most every ten seconds. */
#define log_event_rated(name, ...) log_event_by(log_write_rated, name, __VA_ARGS__)

void log_write_rated(enum log_name name, const struct log_field *fields);

enum log_format { LOG_FORMAT_LOGFMT, LOG_FORMAT_JSON };
enum log_target { LOG_TARGET_STDERR, LOG_TARGET_SYSLOG };

/* Names the process in every line and sets the lowest level that is written. Lines go to
 * standard error, as logfmt; if that is the journal (sd-daemon(3)), each begins with its
 * priority. */
void log_open(const char *process, enum log_level lowest);
/* Sets the format and target from now on: JSON is one object a line with the same keys (RFC
 * 8259); syslog gets the lines with facility mail, and those that it does not accept are
 * counted. */
void log_configure(enum log_format format, enum log_target target);
/* Writes what is collected. True: standard error took only a part, so call it again soon. */
bool log_flush(void);

const char *log_event_name(enum log_name name);
const char *log_event_meaning(enum log_name name);
/* The keys (enum log_key) that each line of NAME has, or that only some have; LOG_KEY_COUNT is
 * after the last one. */
const unsigned char *log_event_fields(enum log_name name, bool is_always);
/* "info" */
const char *log_event_level(enum log_name name);
const char *log_key_name(enum log_key key);
const char *log_key_meaning(enum log_key key);
enum log_field_kind log_key_kind(enum log_key key);
bool log_level_parse(struct str name, enum log_level *level_out);

#endif
