// SPDX-License-Identifier: ISC
/*
 * slips.h - slips that are switched on by their number, for sources that tests/mutants/draw has rewritten.
 *
 * $SLIP is the number of the one that is active; into the file $SLIPS_REACHED a byte is written for each that was
 * come upon, also by processes that are killed. Both are read before main(), by the kernel's calls: tests put others
 * in the place of the C library's. Every object has all of this, and the linker keeps one.
 */
#ifndef SLIPS_H
#define SLIPS_H

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SLIPS_MAX = 65536 };

__attribute__((weak)) int slip_active = -1;
__attribute__((weak)) unsigned char slips_unseen[SLIPS_MAX];
__attribute__((weak)) unsigned char *slips_reached = slips_unseen;

#define SLIP(number) (slips_reached[number] = 1, slip_active == (number))

__attribute__((constructor, unused, no_sanitize("address"), no_sanitize("undefined"))) static void begin_slips(void)
{
	const char *number = getenv("SLIP"), *name = getenv("SLIPS_REACHED");

	if (slip_active >= 0)
		return;
	slip_active = number != NULL ? atoi(number) : 0;
	if (name != NULL) {
		long file = syscall(SYS_openat, AT_FDCWD, name, O_RDWR | O_CLOEXEC);
		long memory = file < 0 ? -1 : syscall(SYS_mmap, NULL, SLIPS_MAX, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);

		if (file >= 0)
			syscall(SYS_close, file);
		if (memory > 0)
			slips_reached = (unsigned char *)memory;
	}
}

#endif
