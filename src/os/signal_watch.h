// SPDX-License-Identifier: ISC
/*
 * os/signal_watch.h - signals as calls of the event loop.
 */
#ifndef OS_SIGNAL_WATCH_H
#define OS_SIGNAL_WATCH_H

#include "os/loop.h"

struct os_signal_watch;

/* Calls CALL in a turn of LOOP after signal NUMBER; several signals may become one call. Each
 * NUMBER can have one watch at a time. */
struct os_signal_watch *os_signal_watch_new(struct os_loop *loop, int number,
					    void (*call)(void *context), void *context);
/* Restores the signal's previous disposition. */
void os_signal_watch_free(struct os_signal_watch *watch);

#endif
