// SPDX-License-Identifier: ISC
/*
 * os/stream/system_log.h - the socket of the system log (syslog(3)), used without ever blocking.
 */
#ifndef OS_STREAM_SYSTEM_LOG_H
#define OS_STREAM_SYSTEM_LOG_H

#include "base/attributes.h"
#include <stddef.h>

/* A datagram socket connected to the collector: a descriptor, close-on-exec, or -errno. */
MUST_CHECK int os_system_log_connect(void);
/* Sends one line: 0; -EAGAIN: the collector has no room now; another -errno: the socket cannot be
 * used any more. SOCKET may come from another process (os/socket/connector.h). */
MUST_CHECK int os_system_log_send(int socket, const char *line, size_t size);
void os_system_log_close(int socket);

#endif
