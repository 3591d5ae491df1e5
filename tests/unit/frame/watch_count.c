// SPDX-License-Identifier: ISC
/* Counts watches. */
#include "instead.h"
#include "kept.h"
#include "os/loop.h"

typedef void watch_call(void *context, unsigned events);

struct os_watch *real_watch_new(struct os_loop *loop, int descriptor, unsigned events,
				watch_call *call, void *context) REAL(os_watch_new);
void real_watch_free(struct os_watch *watch) REAL(os_watch_free);

struct os_watch *counted_watch_new(struct os_loop *loop, int descriptor, unsigned events,
				   watch_call *call, void *context) INSTEAD_OF(os_watch_new);
void counted_watch_free(struct os_watch *watch) INSTEAD_OF(os_watch_free);

struct os_watch *counted_watch_new(struct os_loop *loop, int descriptor, unsigned events,
				   watch_call *call, void *context)
{
	struct os_watch *watch = real_watch_new(loop, descriptor, events, call, context);

	kept_add("watch", watch, (uintptr_t)call);
	return watch;
}

void counted_watch_free(struct os_watch *watch)
{
	kept_remove(watch);
	real_watch_free(watch);
}
