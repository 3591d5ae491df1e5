// SPDX-License-Identifier: ISC
#include "os/random.h"
#include "base/panic.h"
#include <sys/random.h>

uint64_t os_random_u64(void)
{
	uint64_t value;

	if (getrandom(&value, sizeof value, 0) != (ssize_t)sizeof value)
		panic("no random numbers");
	return value;
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
