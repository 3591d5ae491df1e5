// SPDX-License-Identifier: ISC
/*
 * base/buffer.h - bytes that grow at one end and are consumed at the other.
 *
 * A buffer of all zeroes is empty and ready. Growth has no bound of its own:
 * whoever appends what a peer sent bounds it first.
 */
#ifndef BASE_BUFFER_H
#define BASE_BUFFER_H

#include "base/attributes.h"
#include "base/str.h"
#include <stdarg.h>

struct buffer {
	char *memory;    /* owned */
	size_t capacity; /* of memory */
	size_t start;    /* bytes at the front that were consumed */
	size_t length;   /* bytes after start that are in use */
};

/* The bytes in use. Valid until the next call that changes the buffer. */
char *buffer_data(const struct buffer *buffer);
struct str buffer_view(const struct buffer *buffer);

/* Room for COUNT more bytes at the end; their place. Follow with
 * buffer_commit() to take some of them into use. */
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

/* Drops the first COUNT bytes (at most all). */
void buffer_consume(struct buffer *buffer, size_t count);
/* Keeps only the first LENGTH bytes. */
void buffer_truncate(struct buffer *buffer, size_t length);
/* Empties the buffer, keeps its memory. */
void buffer_reset(struct buffer *buffer);
/* Frees the memory; the buffer is empty and usable again. */
void buffer_clear(struct buffer *buffer);

#endif
