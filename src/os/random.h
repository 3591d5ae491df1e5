// SPDX-License-Identifier: ISC
/*
 * os/random.h - numbers nobody can guess.
 */
#ifndef OS_RANDOM_H
#define OS_RANDOM_H

#include <stdint.h>

uint64_t os_random_u64(void);
/* 0 to BOUND - 1, each as likely; BOUND > 0. */
uint64_t os_random_below(uint64_t bound);

#endif
