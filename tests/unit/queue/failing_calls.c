// SPDX-License-Identifier: ISC
#include "failing_calls.h"
#include "os/file/file.h"
#include "test.h"
#include <errno.h>
#include <execinfo.h>
#include <stddef.h>

enum { STACK_MAX = 64, PLACES_MAX = 8192 };

unsigned failing_left;

struct places {
	uint64_t list[PLACES_MAX];
	size_t count;
};

static struct places failed_places; /* of all runs */
static struct places run_places;    /* of this run */
static bool is_armed, has_failed;

static bool has_place(const struct places *places, uint64_t place)
{
	for (size_t i = 0; i < places->count; i++)
		if (places->list[i] == place)
			return true;
	return false;
}

static void add_place(struct places *places, uint64_t place)
{
	assert_true(places->count < PLACES_MAX);
	places->list[places->count++] = place;
}

/* A number that no other place of this run has. */
static uint64_t this_place(void)
{
	void *stack[STACK_MAX];
	int depth = backtrace(stack, STACK_MAX);
	uint64_t place = 0;

	for (int i = 0; i < depth; i++)
		place = (place ^ (uintptr_t)stack[i]) * 0x9e3779b97f4a7c15U;
	while (has_place(&run_places, place))
		place = (place + 1) * 0x9e3779b97f4a7c15U;
	return place;
}

static bool fails_at_new_place(void)
{
	uint64_t place;

	if (!is_armed || has_failed)
		return false;
	place = this_place();
	add_place(&run_places, place);
	if (has_place(&failed_places, place))
		return false;
	add_place(&failed_places, place);
	has_failed = true;
	return true;
}

void failing_calls_forget(void)
{
	failed_places.count = 0;
}

void failing_calls_begin(void)
{
	is_armed = true;
	has_failed = false;
	run_places.count = 0;
}

bool failing_calls_end(void)
{
	is_armed = false;
	return has_failed;
}

static bool fails(void)
{
	return fails_at_new_place() || (failing_left > 0 && --failing_left == 0);
}

#define FAILING(name, parameters, arguments)                             \
	int __real_os_file_##name parameters;                            \
	int __wrap_os_file_##name parameters;                            \
	int __wrap_os_file_##name parameters                             \
	{                                                                \
		return fails() ? -EIO : __real_os_file_##name arguments; \
	}

ssize_t __real_os_file_read(int file, void *data, size_t size, uint64_t offset);
ssize_t __wrap_os_file_read(int file, void *data, size_t size, uint64_t offset);

ssize_t __wrap_os_file_read(int file, void *data, size_t size, uint64_t offset)
{
	return fails() ? -EIO : __real_os_file_read(file, data, size, offset);
}

FAILING(open, (int directory, const char *path, unsigned flags), (directory, path, flags))
FAILING(open_directory, (int directory, const char *path), (directory, path))
FAILING(write, (int file, const void *data, size_t size, uint64_t offset),
	(file, data, size, offset))
FAILING(append, (int file, const void *data, size_t size), (file, data, size))
FAILING(truncate, (int file, uint64_t size), (file, size))
/* The power stays: nothing is synced. */
int __wrap_os_file_sync(int file);
int __wrap_os_file_sync_directory(int directory, const char *path);
int __wrap_os_file_sync_filesystem(int file);
void __wrap_os_file_sync_many(const int *files, size_t count, int *results);
void __wrap_os_file_sync_directories(const int *directories, size_t count, int *results);

int __wrap_os_file_sync(int file)
{
	(void)file;
	return fails() ? -EIO : 0;
}

int __wrap_os_file_sync_directory(int directory, const char *path)
{
	(void)directory;
	(void)path;
	return fails() ? -EIO : 0;
}

int __wrap_os_file_sync_filesystem(int file)
{
	(void)file;
	return fails() ? -EIO : 0;
}

void __wrap_os_file_sync_many(const int *files, size_t count, int *results)
{
	(void)files;
	for (size_t i = 0; i < count; i++)
		results[i] = fails() ? -EIO : 0;
}

void __wrap_os_file_sync_directories(const int *directories, size_t count, int *results)
{
	__wrap_os_file_sync_many(directories, count, results);
}

FAILING(link, (int directory, const char *from, const char *to), (directory, from, to))
FAILING(rename_new, (int directory, const char *from, const char *to), (directory, from, to))
FAILING(rename, (int directory, const char *from, const char *to), (directory, from, to))
FAILING(unlink, (int directory, const char *path), (directory, path))
FAILING(info, (int file, struct os_file_info *info_out), (file, info_out))
FAILING(info_at, (int directory, const char *path, struct os_file_info *info_out),
	(directory, path, info_out))
FAILING(list_open, (int directory, const char *path, struct os_file_list **list_out),
	(directory, path, list_out))
FAILING(list_next, (struct os_file_list * list, const char **name_out), (list, name_out))
FAILING(list,
	(int directory, const char *path, int (*each)(void *context, const char *name),
	 void *context),
	(directory, path, each, context))
