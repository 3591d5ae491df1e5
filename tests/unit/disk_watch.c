// SPDX-License-Identifier: ISC
#include "disk_watch.h"
#include "os/file/file.h"
#include <stdio.h>
#include <string.h>

enum { NODES = 4096, PATH = 400, FILES = 1024 };

/* A name that came to the disk since the reset. */
struct node {
	char path[PATH]; /* "": no more */
	size_t order;    /* when it got that name */
	bool has_durable_name;
	bool has_durable_bytes;
};

static struct {
	struct node nodes[NODES];
	size_t node_count;
	size_t open[FILES]; /* 1 + node of a descriptor; 0: not ours */
	size_t order;
	bool is_ordered;
	size_t calls;
	size_t fail_at; /* 0: never */
	int error;
	size_t counts[DISK_CALL_COUNT];
	const char *problem;
} watch;

void disk_watch_reset(void)
{
	memset(&watch, 0, sizeof watch);
}

void disk_watch_keep_order(void)
{
	watch.is_ordered = true;
}

void disk_watch_fail(size_t call, int error)
{
	watch.calls = 0;
	watch.fail_at = call;
	watch.error = error;
}

bool disk_watch_has_failed(void)
{
	return watch.fail_at > 0 && watch.calls >= watch.fail_at;
}

size_t disk_watch_count(enum disk_call call)
{
	return watch.counts[call];
}

static bool fails(void)
{
	return ++watch.calls == watch.fail_at;
}

static struct node *find(const char *path)
{
	for (size_t i = 0; i < watch.node_count; i++)
		if (strcmp(watch.nodes[i].path, path) == 0)
			return &watch.nodes[i];
	return NULL;
}

static size_t add(const char *path)
{
	struct node *node = &watch.nodes[watch.node_count % NODES];

	snprintf(node->path, sizeof node->path, "%s", path);
	node->order = ++watch.order;
	node->has_durable_name = false;
	node->has_durable_bytes = true;
	return ++watch.node_count;
}

static void cut(char *path)
{
	char *slash = strrchr(path, '/');

	if (slash != NULL)
		*slash = '\0';
	else
		*path = '\0';
}

/* Whether the name and each directory above it would survive. */
static bool is_durable(const char *path)
{
	char above[PATH];

	snprintf(above, sizeof above, "%s", path);
	for (; above[0] != '\0'; cut(above)) {
		const struct node *node = find(above);

		if (node != NULL && !node->has_durable_name)
			return false;
	}
	return true;
}

static void check_tmp(const char *path)
{
	static const char *const beside[] = {"", "/cur", "/new"};
	char above[PATH];
	size_t length = strlen(path);

	if (length < 4 || strcmp(path + length - 4, "/tmp") != 0)
		return;
	for (size_t i = 0; i < 3; i++) {
		snprintf(above, sizeof above, "%.*s%s", (int)length - 4, path, beside[i]);
		if (!is_durable(above))
			watch.problem = "tmp/ was made before its Maildir was durable";
	}
}

const char *disk_watch_problem(void)
{
	for (size_t i = 0; i < watch.node_count && watch.problem == NULL; i++)
		if ((strstr(watch.nodes[i].path, "/new/") != NULL ||
		     strstr(watch.nodes[i].path, "/cur/") != NULL) &&
		    !is_durable(watch.nodes[i].path))
			watch.problem = "a name in new/ or cur/ or above it is not durable";
	return watch.problem;
}

#define WRAP(type, name, ...)            \
	type __real_##name(__VA_ARGS__); \
	type __wrap_##name(__VA_ARGS__); \
	type __wrap_##name(__VA_ARGS__)

WRAP(int, os_file_open, int directory, const char *path, unsigned flags)
{
	int file = fails() ? watch.error : __real_os_file_open(directory, path, flags);

	if (file >= 0 && file < FILES)
		watch.open[file] = (flags & OS_FILE_CREATE) != 0 ? add(path) : 0;
	return file;
}

WRAP(ssize_t, os_file_read, int file, void *data, size_t size, uint64_t offset)
{
	return fails() ? watch.error : __real_os_file_read(file, data, size, offset);
}

WRAP(int, os_file_write, int file, const void *data, size_t size, uint64_t offset)
{
	if (fails())
		return watch.error;
	if (watch.open[file] > 0)
		watch.nodes[watch.open[file] - 1].has_durable_bytes = false;
	return __real_os_file_write(file, data, size, offset);
}

WRAP(int, os_file_info, int file, struct os_file_info *info_out)
{
	return fails() ? watch.error : __real_os_file_info(file, info_out);
}

static void store_many(enum disk_call call, const int *files, size_t count, int *results)
{
	for (size_t i = 0; i < count; i++) {
		watch.counts[call]++;
		results[i] = fails() ? watch.error : 0;
		if (results[i] == 0 && watch.open[files[i]] > 0)
			watch.nodes[watch.open[files[i]] - 1].has_durable_bytes = true;
	}
}

/* Nothing is really synced: the judge is above. */
WRAP(void, os_file_sync_many, const int *files, size_t count, int *results)
{
	store_many(DISK_SYNC_FILE, files, count, results);
}

WRAP(void, os_file_write_out_many, const int *files, size_t count, int *results)
{
	if (!watch.is_ordered)
		watch.problem = "a disk that keeps no order was relied upon";
	store_many(DISK_WRITE_OUT, files, count, results);
}

static bool is_in(const struct node *node, const char *directory)
{
	char above[PATH];

	snprintf(above, sizeof above, "%s", node->path);
	cut(above);
	return strcmp(above, directory) == 0;
}

WRAP(int, os_file_sync_directory, int directory, const char *path)
{
	size_t last = 0;

	(void)directory;
	watch.counts[DISK_SYNC_DIRECTORY]++;
	if (fails())
		return watch.error;
	for (size_t i = 0; i < watch.node_count; i++) {
		struct node *node = &watch.nodes[i];

		if (!is_in(node, path))
			continue;
		node->has_durable_name = true;
		last = node->order > last ? node->order : last;
	}
	for (size_t i = 0; i < watch.node_count && watch.is_ordered; i++)
		watch.nodes[i].has_durable_name |= watch.nodes[i].order <= last;
	return 0;
}

WRAP(int, os_file_sync_filesystem, int file)
{
	(void)file;
	watch.counts[DISK_SYNC_FILESYSTEM]++;
	if (fails())
		return watch.error;
	for (size_t i = 0; i < watch.node_count; i++) {
		watch.nodes[i].has_durable_name = true;
		watch.nodes[i].has_durable_bytes = true;
	}
	return 0;
}

WRAP(int, os_file_rename, int directory, const char *from, const char *to)
{
	struct node *node = find(from);

	if (fails())
		return watch.error;
	if (node != NULL) {
		if (!node->has_durable_bytes)
			watch.problem = "a message came into new/ before it was durable";
		snprintf(node->path, sizeof node->path, "%s", to);
		node->order = ++watch.order;
		node->has_durable_name = false;
	}
	return __real_os_file_rename(directory, from, to);
}

WRAP(int, os_file_unlink, int directory, const char *path)
{
	struct node *node = find(path);

	if (node != NULL)
		node->path[0] = '\0';
	return __real_os_file_unlink(directory, path);
}

WRAP(int, os_file_make_directory, int directory, const char *path)
{
	int result;

	if (fails())
		return watch.error;
	check_tmp(path);
	result = __real_os_file_make_directory(directory, path);
	if (result == 0)
		add(path);
	return result;
}
