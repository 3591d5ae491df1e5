// SPDX-License-Identifier: ISC
/*
 * log/internal.h - what the files of this folder share.
 */
#ifndef LOG_INTERNAL_H
#define LOG_INTERNAL_H

#include "base/buffer.h"
#include "log/event.h"
#include "log/line.h"

/* Reads one flat JSON object of text and numbers, as log/event.h writes it. */
bool log_line_parse_json(struct arena *arena, struct str text, struct log_line *line_out);

/* event.c: adds LINE unchanged, without its newline, to our own lines; dropped, and counted as
 * lost, when there is no room. */
void log_append(enum log_level level, struct str line);

/* recent.c: whether a line with FIELDS is to be kept; keeps it. */
bool log_recent_is_kept(const struct log_field *fields);
void log_recent_add(struct str line);

/* row.c */
struct log_field_row {
	struct str name;
	struct str start; /* " NAME=" */
	const char *meaning;
	enum log_field_kind kind;
};

struct log_event_row {
	const char *name; /* upper case */
	const char *meaning;
	enum log_level level;
	const unsigned char *always, *sometimes; /* log_event_fields() */
};

extern const struct log_field_row log_field_rows[LOG_KEY_COUNT];
extern const struct log_event_row log_event_rows[EVENT_COUNT];

/* name.c */
enum log_level log_event_severity(enum log_name name);

/* The fields at the start of every line. */
struct log_stamp {
	const char *time; /* RFC 3339 */
	struct str process;
};

/* format.c: appends a line with its newline. */
void log_format_line(struct buffer *lines, enum log_format format, const struct log_stamp *stamp,
		     enum log_name name, const struct log_field *fields);
/* A value of logfmt, quoted if necessary. */
void log_format_value(struct buffer *line, struct str text);
/* Whether an unquoted VALUE is a number: a 64-bit integer without leading zeros, perhaps with
 * decimals. */
bool log_value_is_number(struct str value);

/* rate.c: whether one more line of NAME may be written now; otherwise it is counted as withheld. */
bool log_rate_passes(enum log_name name);
/* The number of lines withheld of the next event, *NAME_OUT, that is due to be reported, and
 * resets it; 0: none. IS_END: even if it was reported a short while ago. */
int64_t log_rate_withheld(bool is_end, enum log_name *name_out);

#endif
