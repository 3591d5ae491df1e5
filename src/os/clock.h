// SPDX-License-Identifier: ISC
/*
 * os/clock.h - what time it is.
 */
#ifndef OS_CLOCK_H
#define OS_CLOCK_H

#include <stdint.h>

/* Microseconds since 1970-01-01T00:00:00Z; may jump either way. */
int64_t os_clock_wall_us(void);
/* Microseconds since some moment; never goes back. */
int64_t os_clock_monotonic_us(void);
/* The same, and it goes on while the machine sleeps, as the wall clock does. */
int64_t os_clock_boot_us(void);

/* Does nothing for so long, or until a signal comes: for commands. (pause.c) */
void os_clock_pause_ms(unsigned milliseconds);

#endif
