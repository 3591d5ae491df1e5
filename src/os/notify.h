// SPDX-License-Identifier: ISC
/*
 * os/notify.h - telling the service manager that started this process how it is,
 * by the protocol of sd_notify(3).
 */
#ifndef OS_NOTIFY_H
#define OS_NOTIFY_H

#include "base/attributes.h"

/* Sends TEXT ("READY=1", several lines) to whom $NOTIFY_SOCKET names, and does not wait. 0 also
 * where nobody is named; -errno. */
MUST_CHECK int os_notify(const char *text);

#endif
