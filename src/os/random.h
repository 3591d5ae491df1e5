// SPDX-License-Identifier: ISC
/*
 * os/random.h - unpredictable numbers.
 */
#ifndef OS_RANDOM_H
#define OS_RANDOM_H

#include <stdint.h>

uint64_t os_random_u64(void);
/* A number from 0 to BOUND - 1, uniformly; BOUND > 0. */
uint64_t os_random_below(uint64_t bound);

#endif
