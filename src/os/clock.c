// SPDX-License-Identifier: ISC
#include "os/clock.h"
#include <time.h>

static int64_t read_clock(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t os_clock_wall_us(void)
{
	return read_clock(CLOCK_REALTIME);
}

int64_t os_clock_monotonic_us(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

int64_t os_clock_boot_us(void)
{
	return read_clock(CLOCK_BOOTTIME);
}
