// SPDX-License-Identifier: ISC
#include "base/hash.h"
#include "base/panic.h"
#include <endian.h>
#include <string.h>
#include <sys/auxv.h>

enum { ROUNDS = 2, LAST_ROUNDS = 4 };

struct state {
	uint64_t v0;
	uint64_t v1;
	uint64_t v2;
	uint64_t v3;
};

static inline uint64_t rotate_left(uint64_t word, unsigned bits)
{
	return word << bits | word >> (64 - bits);
}

static inline void mix_hash_state(struct state *s, unsigned rounds)
{
	for (unsigned i = 0; i < rounds; i++) {
		s->v0 += s->v1;
		s->v2 += s->v3;
		s->v1 = rotate_left(s->v1, 13) ^ s->v0;
		s->v3 = rotate_left(s->v3, 16) ^ s->v2;
		s->v0 = rotate_left(s->v0, 32) + s->v3;
		s->v2 += s->v1;
		s->v3 = rotate_left(s->v3, 21) ^ s->v0;
		s->v1 = rotate_left(s->v1, 17) ^ s->v2;
		s->v2 = rotate_left(s->v2, 32);
	}
}

static inline void take_hash_word(struct state *s, uint64_t word)
{
	s->v3 ^= word;
	mix_hash_state(s, ROUNDS);
	s->v0 ^= word;
}

uint64_t hash_keyed(struct hash_key key, const void *data, size_t size)
{
	struct state s = {key.low ^ 0x736f6d6570736575, key.high ^ 0x646f72616e646f6d,
			  key.low ^ 0x6c7967656e657261, key.high ^ 0x7465646279746573};
	const unsigned char *bytes = data;
	size_t left = size;
	uint64_t word;

	for (; left >= sizeof word; left -= sizeof word, bytes += sizeof word) {
		memcpy(&word, bytes, sizeof word);
		take_hash_word(&s, le64toh(word));
	}
	word = (uint64_t)size << 56;
	for (size_t i = 0; i < left; i++)
		word |= (uint64_t)bytes[i] << 8 * i;
	take_hash_word(&s, word);
	s.v2 ^= 0xff;
	mix_hash_state(&s, LAST_ROUNDS);
	return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

static struct hash_key own_key;

/* Runs before there are threads. AT_RANDOM has 16 bytes (getauxval(3)). */
__attribute__((constructor)) static void choose_key(void)
{
	const void *random = (const void *)(uintptr_t)getauxval(AT_RANDOM);

	if (random == NULL)
		panic("the kernel has given no random bytes");
	memcpy(&own_key, random, sizeof own_key);
}

uint64_t hash_own(const void *data, size_t size)
{
	return hash_keyed(own_key, data, size);
}
