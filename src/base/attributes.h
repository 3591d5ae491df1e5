// SPDX-License-Identifier: ISC
/*
 * base/attributes.h - attributes that let the compiler check more.
 */
#ifndef BASE_ATTRIBUTES_H
#define BASE_ATTRIBUTES_H

#include <stddef.h>

#define MUST_CHECK               __attribute__((warn_unused_result))
#define PRINTF_LIKE(text, first) __attribute__((format(printf, text, first)))
#define CLEANUP(function)        __attribute__((cleanup(function)))
#define COUNT_OF(array)          (sizeof(array) / sizeof((array)[0]))
#define CONTAINER_OF(pointer, type, member) \
	((type *)(void *)((char *)(pointer)-offsetof(type, member)))

#endif
