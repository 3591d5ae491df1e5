// SPDX-License-Identifier: ISC
/*
 * slips.h - slips that are switched on by their number, for sources that tests/mutants/draw has
 * rewritten.
 *
 * $SLIP is the number of the one that is active. Into the file $SLIPS_REACHED, or that at
 * SLIPS_PLACE, a byte is written for each that was come upon, also by processes that are killed;
 * what follows these bytes is the number for a process whose environment somebody has cleared. All
 * of it is read before main(), when no process has a sandbox yet, by the kernel's calls: tests put
 * others in the place of the C library's. Every object has all of this, and the linker keeps one.
 */
#ifndef SLIPS_H
#define SLIPS_H

#include <sys/syscall.h> /* only macros: a file may have static functions of any name */

extern char *slips_getenv(const char *name) __asm__("getenv");
extern int slips_atoi(const char *text) __asm__("atoi");
extern long slips_call(long number, ...) __asm__("syscall");

enum {
	SLIPS_MAX = 65536,
	SLIPS_SIZE = SLIPS_MAX + sizeof(int),
	SLIPS_HERE = -100,
	SLIPS_READ_WRITE = 2,
	SLIPS_PAGES = 3,
	SLIPS_SHARED = 1
}; /* of Linux */

#define SLIPS_PLACE "/var/tmp/slips" /* of a test, which has a mount of its own there */

__attribute__((weak)) int slip_active = -1;
__attribute__((weak)) unsigned char slips_unseen[SLIPS_MAX];
__attribute__((weak)) unsigned char *slips_reached = slips_unseen;

#define SLIP(number) (slips_reached[number] = 1, slip_active == (number))

__attribute__((constructor, unused, no_sanitize("address"), no_sanitize("undefined"))) static void
begin_slips(void)
{
	const char *number = slips_getenv("SLIP"), *name = slips_getenv("SLIPS_REACHED");

	if (slip_active >= 0)
		return;
	long file = slips_call(SYS_openat, SLIPS_HERE, name ? name : SLIPS_PLACE, SLIPS_READ_WRITE);
	long memory = file < 0 ? -1
			       : slips_call(SYS_mmap, 0L, (long)SLIPS_SIZE, SLIPS_PAGES,
					    SLIPS_SHARED, file, 0L);

	if (file >= 0)
		slips_call(SYS_close, file);
	if (memory > 0)
		slips_reached = (unsigned char *)memory;
	slip_active = number       ? slips_atoi(number)
		      : memory > 0 ? *(int *)(slips_reached + SLIPS_MAX)
				   : 0;
}

#endif
