// SPDX-License-Identifier: ISC
/*
 * By the processor's own instruction where it has one (SSE4.2 on x86-64, the CRC32 extension of
 * ARMv8): 8 bytes at a time. Otherwise by a table, byte after byte.
 */
#include "base/checksum.h"
#include <stdbool.h>
#include <string.h>

/* STATE is the inverted checksum, as CRC-32C starts from ones and is inverted at the end. */
typedef uint32_t extend_function(uint32_t state, const unsigned char *bytes, size_t size);

/* --- with a table --- */

enum { BITS = 8, TABLE_SIZE = 1 << BITS };

static const uint32_t POLYNOMIAL = 0x82f63b78; /* reflected */

static uint32_t table[TABLE_SIZE];

static void fill_table(void)
{
	for (uint32_t i = 0; i < TABLE_SIZE; i++) {
		uint32_t value = i;

		for (unsigned bit = 0; bit < BITS; bit++)
			value = (value & 1) != 0 ? value >> 1 ^ POLYNOMIAL : value >> 1;
		table[i] = value;
	}
}

static uint32_t extend_by_table(uint32_t state, const unsigned char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		state = state >> 8 ^ table[(state ^ bytes[i]) & 0xff];
	return state;
}

/* --- with an instruction --- */

enum { BLOCK = 8 }; /* words, without a loop */

static inline uint64_t word_at(const unsigned char *bytes, size_t number)
{
	uint64_t word;

	memcpy(&word, bytes + number * sizeof word, sizeof word);
	return word;
}

#if defined(__x86_64__)

#include <nmmintrin.h>

__attribute__((target("sse4.2"))) static uint32_t
extend_by_instruction(uint32_t state, const unsigned char *bytes, size_t size)
{
	uint64_t wide = state;

	for (; size >= BLOCK * sizeof wide;
	     size -= BLOCK * sizeof wide, bytes += BLOCK * sizeof wide)
		for (unsigned i = 0; i < BLOCK; i++)
			wide = _mm_crc32_u64(wide, word_at(bytes, i));
	for (; size >= sizeof wide; size -= sizeof wide, bytes += sizeof wide)
		wide = _mm_crc32_u64(wide, word_at(bytes, 0));
	state = (uint32_t)wide;
	for (size_t i = 0; i < size; i++)
		state = _mm_crc32_u8(state, bytes[i]);
	return state;
}

static bool has_instruction(void)
{
	__builtin_cpu_init(); /* constructors of this file's rank may run before the compiler's */
	return __builtin_cpu_supports("sse4.2");
}

#elif defined(__aarch64__)

#include <arm_acle.h>
#include <sys/auxv.h>

__attribute__((target("+crc"))) static uint32_t
extend_by_instruction(uint32_t state, const unsigned char *bytes, size_t size)
{
	for (; size >= BLOCK * sizeof(uint64_t);
	     size -= BLOCK * sizeof(uint64_t), bytes += BLOCK * sizeof(uint64_t))
		for (unsigned i = 0; i < BLOCK; i++)
			state = __crc32cd(state, word_at(bytes, i));
	for (; size >= sizeof(uint64_t); size -= sizeof(uint64_t), bytes += sizeof(uint64_t))
		state = __crc32cd(state, word_at(bytes, 0));
	for (size_t i = 0; i < size; i++)
		state = __crc32cb(state, bytes[i]);
	return state;
}

static bool has_instruction(void)
{
	enum { CRC32 = 1 << 7 }; /* HWCAP_CRC32 of the kernel's asm/hwcap.h */

	return (getauxval(AT_HWCAP) & CRC32) != 0;
}

#else

static uint32_t extend_by_instruction(uint32_t state, const unsigned char *bytes, size_t size)
{
	return extend_by_table(state, bytes, size);
}

static bool has_instruction(void)
{
	return false;
}

#endif

static extend_function *extend = extend_by_table;

/* Runs before there are threads. */
__attribute__((constructor)) static void choose_function(void)
{
	fill_table();
	if (has_instruction())
		extend = extend_by_instruction;
}

uint32_t checksum_extend(uint32_t checksum, const void *data, size_t size)
{
	return size > 0 ? ~extend(~checksum, data, size) : checksum;
}

uint32_t checksum_extend_by_table(uint32_t checksum, const void *data, size_t size)
{
	return ~extend_by_table(~checksum, data, size);
}
