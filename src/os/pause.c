// SPDX-License-Identifier: ISC
/* Waiting for time to pass, for commands, which do nothing else meanwhile. */
#include "os/clock.h"
#include <time.h>

void os_clock_pause_ms(unsigned milliseconds)
{
	const struct timespec pause = {milliseconds / 1000, milliseconds % 1000 * 1000000L};

	nanosleep(&pause, NULL);
}
