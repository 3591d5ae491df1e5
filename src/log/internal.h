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

/* event.c: a line as it is, without its newline, beside our own; dropped, and counted as lost, when
 * there is no room. */
void log_append(enum log_level level, struct str line);

/* name.c */
enum log_level log_event_severity(enum log_name name);

/* What every line begins with. */
struct log_stamp {
	const char *time; /* RFC 3339 */
	struct str process;
};

/* format.c: appends a line with its newline. */
void log_format_line(struct buffer *lines, enum log_format format, const struct log_stamp *stamp,
		     enum log_name name, const struct log_field *fields);
/* A value of logfmt, quoted where it must be. */
void log_format_value(struct buffer *line, struct str text);
/* Whether an unquoted VALUE is a number: a whole one of 64 bits, without zeros in front. */
bool log_value_is_number(struct str value);

/* rate.c: whether one more line of NAME may be written now; else it is counted as withheld. */
bool log_rate_passes(enum log_name name);
/* How many lines were withheld of the next event, NAME_OUT, for which it is time to say so, and
 * forgets them; 0: of none. IS_END: however short ago it was said. */
int64_t log_rate_withheld(bool is_end, enum log_name *name_out);

#endif
