// SPDX-License-Identifier: ISC
/* Chance, which the seed decides (splitmix64), and the fingerprint of what has happened. */
#include "kernel_internal.h"

static struct {
	uint64_t next;
	uint64_t fingerprint;
} chance;

void chance_begin(uint64_t seed)
{
	chance.next = seed * 0x2545f4914f6cdd1d;
	chance.fingerprint = 0xcbf29ce484222325;
}

uint64_t kernel_random_of(uint64_t *stream)
{
	uint64_t x = *stream += 0x9e3779b97f4a7c15;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
	return x ^ (x >> 31);
}

uint64_t kernel_random(void)
{
	return kernel_random_of(&chance.next);
}

uint64_t kernel_below(uint64_t bound)
{
	return kernel_random() % bound;
}

bool kernel_one_in(uint64_t n)
{
	return kernel_below(n) == 0;
}

/* FNV-1a */
void kernel_mix(const void *data, size_t size)
{
	const unsigned char *bytes = data;

	for (size_t i = 0; i < size; i++)
		chance.fingerprint = (chance.fingerprint ^ bytes[i]) * 0x100000001b3;
}

void kernel_mix_number(uint64_t number)
{
	chance.fingerprint = (chance.fingerprint ^ number) * 0x100000001b3;
	chance.fingerprint ^= chance.fingerprint >> 29;
}

uint64_t world_fingerprint(void)
{
	return chance.fingerprint;
}
