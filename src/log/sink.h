// SPDX-License-Identifier: ISC
/*
 * log/sink.h - where lines go: standard error and the system's own logs.
 */
#ifndef LOG_SINK_H
#define LOG_SINK_H

#include "base/buffer.h"
#include "log/event.h"

/* Writes the lines in LINES and takes them out. What a reader has no room for
 * within WAIT_MS milliseconds stays. What can never be written is taken out
 * too; returns how many lines that were. */
uint64_t log_sink_write(struct buffer *lines, int wait_ms);

/* The priority of syslog(3) for a level; in front of a line as "<PRIORITY>" where standard error
 * is the journal's. */
int log_sink_priority(enum log_level level);
/* One line to the system's syslog socket, facility mail, as RFC 3164 has it. False
 * when it is lost: nobody takes it now. */
bool log_sink_syslog(enum log_level level, struct str line);
/* For who may make no socket: CONNECT(path, SOCK_DGRAM), a descriptor or -errno, connects to
 * it from now on. When that fails it is not called again for a second. */
void log_sink_connect_by(int (*connect)(const char *path, int kind));

#endif
