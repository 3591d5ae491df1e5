// SPDX-License-Identifier: ISC
/* Counts timers. */
#include "instead.h"
#include "kept.h"
#include "os/loop.h"

typedef void timer_call(void *context);

struct os_timer *real_timer_new(struct os_loop *loop, timer_call *call, void *context)
	REAL(os_timer_new);
void real_timer_free(struct os_timer *timer) REAL(os_timer_free);

struct os_timer *counted_timer_new(struct os_loop *loop, timer_call *call, void *context)
	INSTEAD_OF(os_timer_new);
void counted_timer_free(struct os_timer *timer) INSTEAD_OF(os_timer_free);

struct os_timer *counted_timer_new(struct os_loop *loop, timer_call *call, void *context)
{
	struct os_timer *timer = real_timer_new(loop, call, context);

	kept_add("timer", timer, (uintptr_t)call);
	return timer;
}

void counted_timer_free(struct os_timer *timer)
{
	kept_remove(timer);
	real_timer_free(timer);
}
