// SPDX-License-Identifier: ISC
#include "base/buffer.h"
#include "base/panic.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SMALLEST = 256 };

char *buffer_data(const struct buffer *buffer)
{
	return buffer->memory != NULL ? buffer->memory + buffer->start : NULL;
}

struct str buffer_view(const struct buffer *buffer)
{
	return str_slice(buffer->memory != NULL ? buffer->memory + buffer->start : "",
			 buffer->length);
}

/* What is moved elsewhere by realloc() would stay where it was. */
static void resize_buffer(struct buffer *buffer, size_t capacity)
{
	char *memory;

	if (!buffer->is_secret || buffer->memory == NULL) {
		buffer->memory = memory_resize(buffer->memory, capacity);
		buffer->capacity = capacity;
		return;
	}
	memory = memory_resize(NULL, capacity);
	memcpy(memory, buffer->memory, buffer->start + buffer->length);
	explicit_bzero(buffer->memory, buffer->capacity);
	free(buffer->memory);
	buffer->memory = memory;
	buffer->capacity = capacity;
}

static void make_room_in_buffer(struct buffer *buffer, size_t count)
{
	size_t wanted;

	if (buffer->start > 0 && buffer->capacity - buffer->length >= count) {
		memmove(buffer->memory, buffer->memory + buffer->start, buffer->length);
		buffer->start = 0;
		return;
	}
	if (__builtin_add_overflow(buffer->start + buffer->length, count, &wanted))
		panic("buffer of %zu bytes cannot grow by %zu", buffer->length, count);
	if (wanted < buffer->capacity * 2)
		wanted = buffer->capacity * 2;
	if (wanted < SMALLEST)
		wanted = SMALLEST;
	resize_buffer(buffer, wanted);
}

char *buffer_reserve(struct buffer *buffer, size_t count)
{
	if (buffer->memory == NULL || buffer->capacity - buffer->start - buffer->length < count)
		make_room_in_buffer(buffer, count);
	return buffer->memory + buffer->start + buffer->length;
}

void buffer_commit(struct buffer *buffer, size_t count)
{
	if (count > buffer->capacity - buffer->start - buffer->length)
		panic("buffer_commit past the reserved bytes");
	buffer->length += count;
}

void buffer_append(struct buffer *buffer, const void *data, size_t length)
{
	if (length == 0)
		return;
	memcpy(buffer_reserve(buffer, length), data, length);
	buffer->length += length;
}

void buffer_append_str(struct buffer *buffer, struct str s)
{
	buffer_append(buffer, s.data, s.length);
}

void buffer_append_string(struct buffer *buffer, const char *string)
{
	buffer_append(buffer, string, strlen(string));
}

void buffer_append_byte(struct buffer *buffer, char byte)
{
	*buffer_reserve(buffer, 1) = byte;
	buffer->length++;
}

void buffer_append_number(struct buffer *buffer, uint64_t value)
{
	char digits[20];
	size_t position = sizeof digits;

	do {
		digits[--position] = (char)('0' + value % 10);
		value /= 10;
	} while (value > 0);
	buffer_append(buffer, digits + position, sizeof digits - position);
}

void buffer_append_format(struct buffer *buffer, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	buffer_append_format_list(buffer, format, arguments);
	va_end(arguments);
}

void buffer_append_format_list(struct buffer *buffer, const char *format, va_list arguments)
{
	va_list again;
	int length;

	va_copy(again, arguments);
	length = vsnprintf(NULL, 0, format, again);
	va_end(again);
	if (length < 0)
		panic("format \"%s\" cannot be printed", format);
	vsnprintf(buffer_reserve(buffer, (size_t)length + 1), (size_t)length + 1, format,
		  arguments);
	buffer->length += (size_t)length;
}

void buffer_consume(struct buffer *buffer, size_t count)
{
	if (count >= buffer->length) {
		buffer_reset(buffer);
		return;
	}
	buffer->start += count;
	buffer->length -= count;
}

void buffer_truncate(struct buffer *buffer, size_t length)
{
	if (length < buffer->length)
		buffer->length = length;
}

void buffer_reset(struct buffer *buffer)
{
	buffer->start = 0;
	buffer->length = 0;
}

void buffer_clear(struct buffer *buffer)
{
	if (buffer->is_secret && buffer->memory != NULL)
		explicit_bzero(buffer->memory, buffer->capacity);
	free(buffer->memory);
	*buffer = (struct buffer){.is_secret = buffer->is_secret};
}
