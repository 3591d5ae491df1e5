// SPDX-License-Identifier: ISC
/* A world's life, and its log. */
#include "description.h"
#include "image.h"
#include "kernel_internal.h"
#include "streams.h"
#include <err.h>
#include <stdlib.h>
#include <string.h>

static struct {
	FILE *log;
	const char *until;
	bool is_stopping;
} kernel;

void *kernel_grow(void *list, size_t count, size_t *size, size_t each)
{
	if (count < *size)
		return list;
	*size = *size == 0 ? 64 : 2 * *size;
	list = realloc(list, *size * each);
	if (list == NULL)
		err(1, "no memory");
	return list;
}

/* --- the log --- */

void world_log_text(const char *who, const char *text, size_t length)
{
	int64_t now = kernel_now_us();

	kernel_mix(text, length);
	if (kernel.until != NULL &&
	    memmem(text, length, kernel.until, strlen(kernel.until)) != NULL)
		kernel.is_stopping = true;
	if (kernel.log == NULL)
		return;
	fprintf(kernel.log, "%03lld:%02lld:%02lld.%06lld %s: ", (long long)(now / 3600000000),
		(long long)(now / 60000000 % 60), (long long)(now / 1000000 % 60),
		(long long)(now % 1000000), who);
	fwrite(text, 1, length, kernel.log);
	fputc('\n', kernel.log);
}

void world_log(const char *who, const char *format, ...)
{
	char text[1024];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	world_log_text(who, text, strlen(text));
}

/* --- the world --- */

void world_begin(uint64_t seed, FILE *log)
{
	chance_begin(seed);
	events_begin();
	kernel.log = log;
	streams_begin();
	tasks_begin();
}

void world_stop(void)
{
	kernel.is_stopping = true;
}

void world_stop_at(const char *text)
{
	kernel.is_stopping = false;
	kernel.until = text;
}

bool world_has_stopped(void)
{
	return kernel.is_stopping;
}

void world_run(int64_t when_us)
{
	while (!kernel.is_stopping) {
		events_run();
		if (kernel_now_us() < when_us && tasks_run_one())
			continue;
		if (kernel_now_us() >= when_us || !events_go_on(when_us))
			return;
	}
}

void world_end(void)
{
	process_end_all();
	listen_end();
	events_end();
	tasks_end();
	image_end();
	memset(&kernel, 0, sizeof kernel);
}
