// SPDX-License-Identifier: ISC
/*
 * log/recent.h - the last lines about messages that this process has logged, for who asks what it
 * knows of one. They are kept in memory, up to LOG_RECENT_MAX bytes, the latest at least half of
 * that.
 */
#ifndef LOG_RECENT_H
#define LOG_RECENT_H

#include "base/str.h"
#include "log/event.h"

enum { LOG_RECENT_MAX = 1 << 20 };

/* From now on lines that have an id are kept, whatever their level, as logfmt; or none any more. */
void log_recent_keep(bool is_kept);
/* Calls EACH with those that have PART, the oldest first, without their newline. */
void log_recent_each(struct str part, void (*each)(void *context, struct str line), void *context);
/* For log_event_by(): the line is kept, and not logged. */
void log_recent_write(enum log_name name, const struct log_field *fields);
/* For log_event_like(), after log_recent_begin() with where the line goes, and its time: it is
 * written there, without its newline, and nowhere else. */
void log_recent_begin(struct buffer *out, int64_t time_us);
void log_recent_format(enum log_name name, const struct log_field *fields);

#endif
