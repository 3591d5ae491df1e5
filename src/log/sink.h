// SPDX-License-Identifier: ISC
/*
 * log/sink.h - standard error, as a place that may be slow, full or gone.
 *
 * A log that nobody reads must not stop the mail: nothing here waits for a
 * reader longer than it is told, and a broken pipe raises no signal.
 */
#ifndef LOG_SINK_H
#define LOG_SINK_H

#include "base/buffer.h"
#include "log/event.h"

/* Looks at what standard error is. */
void log_sink_open(void);

/* Writes the lines in LINES and takes them out. What a reader has no room for
 * within WAIT_MS milliseconds stays. What can never be written is taken out
 * too; returns how many lines that were. */
uint64_t log_sink_write(struct buffer *lines, int wait_ms);

/* Whether standard error is a stream of the journal: it says so in JOURNAL_STREAM,
 * and then takes "<PRIORITY>" in front of a line (sd-daemon(3)). */
bool log_sink_is_journal(void);
/* The priority of syslog(3) for a level. */
int log_sink_priority(enum log_level level);
/* One line to the system's syslog socket, facility mail, as RFC 3164 has it. False
 * when it is lost: nobody takes it now. */
bool log_sink_syslog(enum log_level level, struct str line);
/* For who may make no socket: CONNECT(path, SOCK_DGRAM), a descriptor or -errno, connects to
 * it from now on. When that fails it is not called again for a second. */
void log_sink_connect_by(int (*connect)(const char *path, int kind));

#endif
