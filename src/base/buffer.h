// SPDX-License-Identifier: ISC
/*
 * base/buffer.h - bytes that grow at one end and are consumed at the other.
 *
 * A zeroed buffer is empty and ready to use. Its growth is not limited: the caller
 * must limit the size of foreign data first.
 */
#ifndef BASE_BUFFER_H
#define BASE_BUFFER_H

#include "base/attributes.h"
#include "base/str.h"
#include <stdarg.h>

struct buffer {
	char *memory;    /* owned */
	size_t capacity; /* of memory */
	size_t start;    /* consumed bytes at the beginning */
	size_t length;   /* bytes in use after START */
	bool is_secret;  /* memory is overwritten before it is freed */
};

/* The bytes in use. Valid until the next call that changes the buffer. */
char *buffer_data(const struct buffer *buffer);
struct str buffer_view(const struct buffer *buffer);

/* Reserves room for COUNT more bytes at the end, and returns its address. Call
 * buffer_commit() for those that were written. */
char *buffer_reserve(struct buffer *buffer, size_t count);
void buffer_commit(struct buffer *buffer, size_t count);

void buffer_append(struct buffer *buffer, const void *data, size_t length);
void buffer_append_str(struct buffer *buffer, struct str s);
void buffer_append_string(struct buffer *buffer, const char *string);
void buffer_append_byte(struct buffer *buffer, char byte);
void buffer_append_number(struct buffer *buffer, uint64_t value);
void buffer_append_format(struct buffer *buffer, const char *format, ...) PRINTF_LIKE(2, 3);
void buffer_append_format_list(struct buffer *buffer, const char *format, va_list arguments)
	PRINTF_LIKE(2, 0);

/* Removes the first COUNT bytes, or all if there are fewer. */
void buffer_consume(struct buffer *buffer, size_t count);
/* Keeps only the first LENGTH bytes. */
void buffer_truncate(struct buffer *buffer, size_t length);
/* Empties the buffer, keeps its memory. */
void buffer_reset(struct buffer *buffer);
/* Frees the memory; the buffer is empty and usable again, and as secret as it was. */
void buffer_clear(struct buffer *buffer);

#endif
