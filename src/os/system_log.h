// SPDX-License-Identifier: ISC
/*
 * os/system_log.h - the socket of the system's log (syslog(3)), which must not stop who writes to
 * it.
 */
#ifndef OS_SYSTEM_LOG_H
#define OS_SYSTEM_LOG_H

#include "base/attributes.h"
#include <stddef.h>

/* A datagram socket to who collects lines: a descriptor, close-on-exec, or -errno. */
MUST_CHECK int os_system_log_connect(void);
/* One line, whole: 0; -EAGAIN: the collector has no room now; another -errno: nobody takes lines
 * from this socket any more. It may be of another origin (os/connector.h). */
MUST_CHECK int os_system_log_send(int socket, const char *line, size_t size);
void os_system_log_close(int socket);

#endif
