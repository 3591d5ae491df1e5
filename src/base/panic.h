// SPDX-License-Identifier: ISC
/*
 * base/panic.h - ends a process whose invariants no longer hold.
 *
 * The queue survives a crash, so a broken invariant or exhausted memory ends the
 * process. A peer's input must never lead to it.
 */
#ifndef BASE_PANIC_H
#define BASE_PANIC_H

#include "base/attributes.h"
#include <stddef.h>

/* Writes "panic: MESSAGE" to standard error and aborts. */
_Noreturn void panic(const char *format, ...) PRINTF_LIKE(1, 2);

/* Ends a process that cannot start because the system lacks a resource (WHAT: "no thread"; ERROR:
 * -errno): reports it by the function of cannot_begin_by(), or on standard error, and exits with
 * status 71. The supervisor will start it again later. */
_Noreturn void cannot_begin(const char *what, int error);
void cannot_begin_by(void (*tell)(const char *what, int error));

/* malloc, calloc and realloc that panic instead of returning NULL. */
void *memory_alloc(size_t size);
void *memory_alloc_zero(size_t count, size_t size);
void *memory_resize(void *memory, size_t size);
/* The array MEMORY with room for one more than COUNT items of SIZE: if it has none, its *CAPACITY,
 * in items, doubles. NULL and 0 at first. */
void *memory_grow(void *memory, size_t count, size_t *capacity, size_t size);
char *memory_copy_string(const char *string);

#endif
