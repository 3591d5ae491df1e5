// SPDX-License-Identifier: ISC
/*
 * os/watchdog.h - ends this process if one thing that it does takes too much processor time: for
 * processes whose sandbox has no timers of the system.
 */
#ifndef OS_WATCHDOG_H
#define OS_WATCHDOG_H

#include "base/attributes.h"
#include <stdint.h>

enum { OS_WATCHDOG_STATUS = 75 }; /* the process's exit status then */

struct os_watchdog;

/* Starts a thread. LIMIT_US: of this process's processor time between begin and end. EXPIRED is
 * called before the process ends, in that thread, while os_watchdog_end() waits; NULL: nothing is.
 * -EAGAIN, -EPERM: no thread can be created. */
MUST_CHECK int os_watchdog_new(int64_t limit_us, void (*expired)(void *context), void *context,
			       struct os_watchdog **watchdog_out);
/* MORE_US: that this thing may take beyond the limit. */
void os_watchdog_begin(struct os_watchdog *watchdog, int64_t more_us);
void os_watchdog_end(struct os_watchdog *watchdog);
/* NULL is allowed. */
void os_watchdog_free(struct os_watchdog *watchdog);

#endif
