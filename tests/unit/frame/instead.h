// SPDX-License-Identifier: ISC
/* unit/frame/instead.h - a function that the linker puts in the place of another (--wrap). */
#ifndef UNIT_FRAME_INSTEAD_H
#define UNIT_FRAME_INSTEAD_H

/* Each is in a file of its own: what it calls may come from os/ or from a test. Weak: a test may
 * have one of its own. */
#define INSTEAD_OF(name) __asm__("__wrap_" #name) __attribute__((weak))
#define REAL(name)       __asm__("__real_" #name)

#endif
