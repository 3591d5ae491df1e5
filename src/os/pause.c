// SPDX-License-Identifier: ISC
/* Sleeping, for commands that have nothing else to do meanwhile. */
#include "os/clock.h"
#include <time.h>

void os_clock_pause_ms(unsigned milliseconds)
{
	const struct timespec pause = {milliseconds / 1000, milliseconds % 1000 * 1000000L};

	nanosleep(&pause, NULL);
}
