// SPDX-License-Identifier: ISC
#include "os/random.h"
#include "base/panic.h"
#include <sys/random.h>

/* Bytes in one call: up to 256, the kernel returns all of them, even with signals. */
enum { AHEAD = 32 };

/* No process continues in a child after fork(): so no numbers are used twice. */
static _Thread_local struct {
	uint64_t numbers[AHEAD];
	unsigned left;
} ahead;

uint64_t os_random_u64(void)
{
	if (ahead.left == 0) {
		if (getrandom(ahead.numbers, sizeof ahead.numbers, 0) !=
		    (ssize_t)sizeof ahead.numbers)
			panic("no random numbers");
		ahead.left = AHEAD;
	}
	return ahead.numbers[--ahead.left];
}

uint64_t os_random_below(uint64_t bound)
{
	uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
	uint64_t value;

	do
		value = os_random_u64();
	while (value >= limit);
	return value % bound;
}
