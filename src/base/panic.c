// SPDX-License-Identifier: ISC
#include "base/panic.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void panic(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fputs("panic: ", stderr);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	va_end(arguments);
	abort();
}

static void (*teller)(const char *what, int error);

void cannot_begin_by(void (*tell)(const char *what, int error))
{
	teller = tell;
}

void cannot_begin(const char *what, int error)
{
	enum { SYSTEM_ERROR = 71 }; /* as in sysexits.h */

	if (teller != NULL)
		teller(what, error);
	else
		fprintf(stderr, "%s: %s\n", what, strerror(-error));
	exit(SYSTEM_ERROR);
}

static void *check_allocated(void *memory)
{
	if (memory == NULL)
		panic("out of memory");
	return memory;
}

void *memory_alloc(size_t size)
{
	return check_allocated(malloc(size > 0 ? size : 1));
}

void *memory_alloc_zero(size_t count, size_t size)
{
	return check_allocated(calloc(count > 0 ? count : 1, size));
}

void *memory_resize(void *memory, size_t size)
{
	return check_allocated(realloc(memory, size > 0 ? size : 1));
}

void *memory_grow(void *memory, size_t count, size_t *capacity, size_t size)
{
	if (count < *capacity)
		return memory;
	*capacity = *capacity * 2 + 16;
	return memory_resize(memory, *capacity * size);
}

char *memory_copy_string(const char *string)
{
	return check_allocated(strdup(string));
}
