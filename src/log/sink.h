// SPDX-License-Identifier: ISC
/*
 * log/sink.h - where lines go: standard error and the system's own logs.
 */
#ifndef LOG_SINK_H
#define LOG_SINK_H

#include "base/buffer.h"
#include "log/event.h"

/* Writes the lines in LINES and removes them. What does not fit within WAIT_MS milliseconds
 * stays. Lines that can never be written are removed too; returns their number. */
uint64_t log_sink_write(struct buffer *lines, int wait_ms);

/* The syslog(3) priority of a level; written before a line as "<PRIORITY>" if standard error is
 * the journal. */
int log_sink_priority(enum log_level level);
/* Sends one line to the system's syslog socket, facility mail, in the format of RFC 3164. False
 * when it is lost because nobody accepts it now. */
bool log_sink_syslog(enum log_level level, struct str line);
/* For processes that may not create sockets: from now on CONNECT(path, SOCK_DGRAM), which
 * returns a descriptor or -errno, connects. After a failure it is not called again for a second. */
void log_sink_connect_by(int (*connect)(const char *path, int kind));

#endif
