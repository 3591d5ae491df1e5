// SPDX-License-Identifier: ISC
/* os/file/file.h on a simulated disk: the descriptors of the process that runs now. */
#include "base/panic.h"
#include "disk_table.h"
#include "os/file/file.h"
#include "os/process/process.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { EXT4_MAGIC = 0xef53, XFS_MAGIC = 0x58465342 };

static struct disk *disk_now(void)
{
	struct disk *disk = disk_table_disk();

	disk_act(disk, disk_table_now_us(), os_process_effective_user());
	return disk;
}

/* The directory that PATH begins at: 0; -EBADF, -ENOTDIR as openat(2) has it. */
static int begin(int directory, const char *path, struct disk_file **from_out)
{
	*from_out = NULL;
	if (directory == OS_FILE_HERE || *path == '/')
		return 0;
	*from_out = disk_table_find(directory);
	return *from_out != NULL ? 0 : -EBADF;
}

static struct disk_file *find(int file)
{
	(void)disk_now();
	return disk_table_find(file);
}

int os_file_open_directory(int directory, const char *path)
{
	struct disk_file *from;
	struct disk_file *file;
	int error = begin(directory, path, &from);

	if (error == 0)
		error = disk_open_directory(disk_now(), from, path, &file);
	return error < 0 ? error : disk_table_add(file);
}

int os_file_open(int directory, const char *path, unsigned flags)
{
	struct disk_file *from;
	struct disk_file *file;
	int error = begin(directory, path, &from);

	if (error == 0)
		error = disk_open(disk_now(), from, path, flags, &file);
	return error < 0 ? error : disk_table_add(file);
}

void os_file_close(int file)
{
	if (file >= 0)
		disk_table_close(file);
}

ssize_t os_file_read(int file, void *data, size_t size, uint64_t offset)
{
	struct disk_file *open = find(file);

	return open != NULL || size == 0 ? disk_read(open, data, size, offset) : -EBADF;
}

int os_file_write(int file, const void *data, size_t size, uint64_t offset)
{
	struct disk_file *open = find(file);

	return open != NULL || size == 0 ? disk_write(open, data, size, offset) : -EBADF;
}

int os_file_append(int file, const void *data, size_t size)
{
	struct disk_file *open = find(file);

	return open != NULL || size == 0 ? disk_append(open, data, size) : -EBADF;
}

int os_file_truncate(int file, uint64_t size)
{
	struct disk_file *open = find(file);

	return open != NULL ? disk_truncate(open, size) : -EBADF;
}

/* What a descriptor leads to may be closed while the call takes its time. */
static int make_durable(int file, size_t count, int (*call)(struct disk_file *file))
{
	struct disk_file *open;
	int result;

	disk_table_take_time(count);
	open = find(file);
	result = open != NULL ? call(open) : -EBADF;
	disk_table_take_time(count);
	return result;
}

int os_file_sync(int file)
{
	return make_durable(file, 1, disk_sync);
}

void os_file_sync_many(const int *files, size_t count, int *results)
{
	for (size_t i = 0; i < count; i++)
		results[i] = make_durable(files[i], count, disk_sync);
}

void os_file_write_out_many(const int *files, size_t count, int *results)
{
	for (size_t i = 0; i < count; i++)
		results[i] = make_durable(files[i], count, disk_write_out);
}

int os_file_sync_directory(int directory, const char *path)
{
	int file = os_file_open_directory(directory, path);
	int result;

	if (file < 0)
		return file;
	os_file_sync_directories(&file, 1, &result);
	os_file_close(file);
	return result;
}

void os_file_sync_directories(const int *directories, size_t count, int *results)
{
	for (size_t i = 0; i < count; i++)
		results[i] = make_durable(directories[i], count, disk_sync_names);
}

static int sync_all(struct disk_file *file)
{
	(void)file;
	return disk_sync_all(disk_now());
}

int os_file_sync_filesystem(int file)
{
	return make_durable(file, 1, sync_all);
}

int os_file_link(int directory, const char *from, const char *to)
{
	struct disk_file *here;
	int error = begin(directory, from, &here);

	return error < 0 ? error : disk_link(disk_now(), here, from, to);
}

static int move(int directory, const char *from, const char *to, bool may_replace)
{
	struct disk_file *here;
	int error = begin(directory, from, &here);

	return error < 0 ? error : disk_rename(disk_now(), here, from, to, may_replace);
}

int os_file_rename_new(int directory, const char *from, const char *to)
{
	int result = move(directory, from, to, false);

	/* of a directory into itself; os/file/file.c takes it for a filesystem that does not know
	 * how */
	return result == -EINVAL ? os_file_link(directory, from, to) : result;
}

int os_file_rename(int directory, const char *from, const char *to)
{
	return move(directory, from, to, true);
}

int os_file_unlink(int directory, const char *path)
{
	struct disk_file *here;
	int error = begin(directory, path, &here);

	return error < 0 ? error : disk_unlink(disk_now(), here, path);
}

static int make(int directory, const char *path, mode_t mode)
{
	struct disk_file *here;
	int error = begin(directory, path, &here);

	return error < 0 ? error : disk_make(disk_now(), here, path, mode);
}

int os_file_make_directory(int directory, const char *path)
{
	return make(directory, path, S_IFDIR | 0750);
}

int os_file_make_pipe(int directory, const char *path)
{
	return make(directory, path, S_IFIFO | 0620);
}

int os_file_is_open_elsewhere(int file)
{
	const struct disk_file *open = find(file);

	return open != NULL ? disk_is_open_elsewhere(open) : -EBADF;
}

int os_file_has_writers(int file)
{
	const struct disk_file *open = find(file);

	return open != NULL ? disk_has_writers(open) : -EBADF;
}

int os_file_info(int file, struct os_file_info *info_out)
{
	struct disk_file *open = find(file);

	return open != NULL ? disk_info(open, info_out) : -EBADF;
}

int os_file_info_at(int directory, const char *path, struct os_file_info *info_out)
{
	struct disk_file *here;
	int error = begin(directory, path, &here);

	return error < 0 ? error : disk_info_at(disk_now(), here, path, info_out);
}

int os_file_set_modified(int directory, const char *path, int64_t modified_us)
{
	struct disk_file *here;
	int error = begin(directory, path, &here);

	return error < 0 ? error : disk_set_modified(disk_now(), here, path, modified_us);
}

int os_file_space(int file, struct os_file_space *space_out)
{
	if (find(file) == NULL)
		return -EBADF;
	disk_space(disk_now(), space_out);
	return 0;
}

int os_file_filesystem_type(int file, uint64_t *type_out)
{
	if (find(file) == NULL)
		return -EBADF;
	*type_out = disk_keeps_order(disk_now()) ? EXT4_MAGIC : XFS_MAGIC;
	return 0;
}

/* Any open file of the disk is a watch: what it is does not change. */
int os_file_order_watch(int file)
{
	struct disk_file *open = find(file);

	if (open == NULL || !disk_keeps_order(disk_now()))
		return -ENOTSUP;
	return os_file_open_directory(OS_FILE_HERE, "/");
}

bool os_file_order_holds(int watch)
{
	return find(watch) != NULL && disk_keeps_order(disk_now());
}

int os_file_lock(int file)
{
	struct disk_file *open = find(file);

	return open != NULL ? disk_lock(open) : -EBADF;
}

struct os_file_list {
	int file;
	char *names; /* as they were when it was opened */
	size_t size;
	size_t next;
};

int os_file_list_open(int directory, const char *path, struct os_file_list **list_out)
{
	struct os_file_list *list;
	char *names;
	size_t size;
	int file = os_file_open_directory(directory, path);
	int error;

	if (file < 0)
		return file;
	error = disk_list(find(file), &names, &size);
	if (error < 0) {
		os_file_close(file);
		return error;
	}
	/* in one piece, of the process's memory, so that it ends with it */
	list = memory_alloc(sizeof *list + size);
	*list = (struct os_file_list){.file = file, .names = (char *)(list + 1), .size = size};
	memcpy(list->names, names, size);
	disk_list_free(names);
	*list_out = list;
	return 0;
}

int os_file_list_next(struct os_file_list *list, const char **name_out)
{
	if (list->next == list->size)
		return 0;
	*name_out = list->names + list->next;
	list->next += strlen(*name_out) + 1;
	return 1;
}

int os_file_list_info(struct os_file_list *list, const char *name, struct os_file_info *info_out)
{
	return os_file_info_at(list->file, name, info_out);
}

void os_file_list_close(struct os_file_list *list)
{
	if (list == NULL)
		return;
	os_file_close(list->file);
	free(list);
}

int os_file_list(int directory, const char *path, int (*each)(void *context, const char *name),
		 void *context)
{
	struct os_file_list *list = NULL;
	const char *name = NULL;
	int result = os_file_list_open(directory, path, &list);

	if (list == NULL)
		return result;
	while ((result = os_file_list_next(list, &name)) > 0) {
		result = each(context, name);
		if (result != 0)
			break;
	}
	os_file_list_close(list);
	return result;
}
