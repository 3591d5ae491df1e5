// SPDX-License-Identifier: ISC
/*
 * os/clock.h - clocks.
 */
#ifndef OS_CLOCK_H
#define OS_CLOCK_H

#include <stdint.h>

/* Microseconds since 1970-01-01T00:00:00Z; may jump either way. */
int64_t os_clock_wall_us(void);
/* Microseconds since an arbitrary time; never decreases. */
int64_t os_clock_monotonic_us(void);
/* Likewise, but also counts while the machine is suspended, as the wall clock does. */
int64_t os_clock_boot_us(void);

/* Sleeps for so long, or until a signal comes: for commands. (pause.c) */
void os_clock_pause_ms(unsigned milliseconds);

#endif
