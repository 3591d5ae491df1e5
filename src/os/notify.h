// SPDX-License-Identifier: ISC
/*
 * os/notify.h - reports this process's state to the service manager that started it, by the
 * protocol of sd_notify(3).
 */
#ifndef OS_NOTIFY_H
#define OS_NOTIFY_H

#include "base/attributes.h"

/* Sends TEXT ("READY=1", several lines) to $NOTIFY_SOCKET, without waiting. 0, also if that is not
 * set; or -errno. */
MUST_CHECK int os_notify(const char *text);
/* Waits up to WAIT_MS milliseconds until the service manager has handled what was sent before: what
 * a process says just before its end may otherwise be nobody's. 0, also without $NOTIFY_SOCKET;
 * -ETIMEDOUT, also by a manager that does not know this (systemd before 246); or -errno. */
MUST_CHECK int os_notify_barrier(int wait_ms);
/* Gives the service manager a copy of DESCRIPTOR, called NAME, for the next start of this service,
 * also after a crash (FDSTORE=1); it keeps as many as its FileDescriptorStoreMax. NAME: at most 255
 * bytes of ASCII, without ':'. */
MUST_CHECK int os_notify_store(const char *name, int descriptor);

#endif
