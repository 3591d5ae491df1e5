// SPDX-License-Identifier: ISC
/* os/watchdog.h: a process of the world uses the processor time that it says (decoder.h). */
#include "os/watchdog.h"
#include "base/panic.h"
#include "decoder.h"
#include "inside.h"
#include <stdbool.h>
#include <stdlib.h>

struct os_watchdog {
	int64_t limit_us;
	void (*expired)(void *context);
	void *context;
	int64_t left_us; /* for the thing that has begun */
};

static struct os_watchdog *watching; /* something has begun */

int os_watchdog_new(int64_t limit_us, void (*expired)(void *context), void *context,
		    struct os_watchdog **watchdog_out)
{
	struct os_watchdog *watchdog = memory_alloc_zero(1, sizeof *watchdog);

	*watchdog = (struct os_watchdog){limit_us, expired, context, 0};
	*watchdog_out = watchdog;
	return 0;
}

void os_watchdog_begin(struct os_watchdog *watchdog, int64_t more_us)
{
	watchdog->left_us = watchdog->limit_us + more_us;
	watching = watchdog;
}

void os_watchdog_end(struct os_watchdog *watchdog)
{
	(void)watchdog;
	watching = NULL;
}

void os_watchdog_free(struct os_watchdog *watchdog)
{
	free(watchdog);
}

void watchdog_work(int64_t us)
{
	struct os_watchdog *watchdog = watching;

	if (watchdog == NULL || us < watchdog->left_us) {
		world_sleep_us(us);
		if (watchdog != NULL)
			watchdog->left_us -= us;
		return;
	}
	world_sleep_us(watchdog->left_us);
	if (watchdog->expired != NULL)
		watchdog->expired(watchdog->context);
	exit(OS_WATCHDOG_STATUS);
}
