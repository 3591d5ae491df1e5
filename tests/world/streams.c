// SPDX-License-Identifier: ISC
/* Nothing is kept in the streams, so one of each does for all processes. */
#include "streams.h"
#include "os/stream/stream.h"
#include <err.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

/* as redirect.txt names them */
extern FILE *world_stdin;
extern FILE *world_stdout;
extern FILE *world_stderr;
int world_printf(const char *format, ...);
int world_printf_chk(int flag, const char *format, ...);
int world_puts(const char *text);
int world_putchar(int byte);

FILE *world_stdin;
FILE *world_stdout;
FILE *world_stderr;

static ssize_t read_input(void *cookie, char *data, size_t size)
{
	ssize_t count = os_stream_read(STDIN_FILENO, data, size);

	(void)cookie;
	return count >= 0 ? count : -1;
}

/* 0: an error. */
static ssize_t write_to(int descriptor, const char *data, size_t size)
{
	ssize_t count = os_stream_write(descriptor, data, size);

	return count >= 0 ? count : 0;
}

static ssize_t write_output(void *cookie, const char *data, size_t size)
{
	(void)cookie;
	return write_to(STDOUT_FILENO, data, size);
}

static ssize_t write_error(void *cookie, const char *data, size_t size)
{
	(void)cookie;
	return write_to(STDERR_FILENO, data, size);
}

static FILE *open_stream(const char *mode, cookie_io_functions_t functions)
{
	FILE *stream = fopencookie(NULL, mode, functions);

	if (stream == NULL)
		err(1, "no memory");
	setbuf(stream, NULL);
	return stream;
}

void streams_begin(void)
{
	if (world_stdin != NULL)
		return;
	world_stdin = open_stream("r", (cookie_io_functions_t){.read = read_input});
	world_stdout = open_stream("w", (cookie_io_functions_t){.write = write_output});
	world_stderr = open_stream("w", (cookie_io_functions_t){.write = write_error});
}

int world_printf(const char *format, ...)
{
	va_list arguments;
	int count;

	va_start(arguments, format);
	count = vfprintf(world_stdout, format, arguments);
	va_end(arguments);
	return count;
}

/* What printf() is with _FORTIFY_SOURCE. */
int world_printf_chk(int flag, const char *format, ...)
{
	va_list arguments;
	int count;

	(void)flag;
	va_start(arguments, format);
	count = vfprintf(world_stdout, format, arguments);
	va_end(arguments);
	return count;
}

int world_puts(const char *text)
{
	return fputs(text, world_stdout) < 0 || putc('\n', world_stdout) < 0 ? EOF : 0;
}

int world_putchar(int byte)
{
	return putc(byte, world_stdout);
}
