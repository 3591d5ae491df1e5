// SPDX-License-Identifier: ISC
/* os/file.h: what is written is there, and whole. */
#include "os/file.h"
#include "files.h"
#include "os/process.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct open_file *find(int file)
{
	return (void *)table_of_kind(file, &file_description);
}

int os_file_open_directory(int directory, const char *path)
{
	struct inode *inode;
	int error = files_look(directory, path, &inode);

	if (error == 0 && !inode->is_directory)
		error = -ENOTDIR;
	return error < 0 ? error : open_file_add(inode, OS_FILE_READ);
}

int os_file_open(int directory, const char *path, unsigned flags)
{
	struct inode *parent;
	const char *name;
	const struct entry *entry;
	int error = files_walk(directory, path, &parent, &name);

	if (error < 0)
		return error;
	entry = directory_find(parent, name);
	if ((flags & OS_FILE_CREATE) == 0)
		return entry == NULL ? -ENOENT : open_file_add(entry->inode, flags);
	if (entry != NULL)
		return -EEXIST;
	directory_add(parent, name, inode_new(kernel_process()->machine->files, false));
	return open_file_add(directory_find(parent, name)->inode, flags);
}

void os_file_close(int file)
{
	if (file >= 0)
		(void)table_close(file);
}

ssize_t os_file_read(int file, void *data, size_t size, uint64_t offset)
{
	const struct open_file *open = find(file);
	size_t left;

	if (open == NULL)
		return -EBADF;
	if (open->inode->is_directory)
		return -EISDIR;
	left = offset < open->inode->size ? open->inode->size - (size_t)offset : 0;
	if (size > left)
		size = left;
	if (size > 0)
		memcpy(data, open->inode->data + offset, size);
	return (ssize_t)size;
}

int os_file_write(int file, const void *data, size_t size, uint64_t offset)
{
	struct open_file *open = find(file);

	if (open == NULL)
		return -EBADF;
	inode_write(open->inode, data, size, offset);
	return 0;
}

int os_file_append(int file, const void *data, size_t size)
{
	struct open_file *open = find(file);
	struct description *pipe = table_of_kind(file, &named_pipe_description);

	if (pipe != NULL)
		return pipe->kind->write(pipe, data, size) < 0 ? -EAGAIN : 0;
	if (open == NULL)
		return -EBADF;
	inode_write(open->inode, data, size, open->inode->size);
	return 0;
}

int os_file_truncate(int file, uint64_t size)
{
	struct open_file *open = find(file);

	if (open == NULL)
		return -EBADF;
	if (size > open->inode->size)
		inode_write(open->inode, "", 1, size - 1);
	open->inode->size = (size_t)size;
	open->inode->modified_us = kernel_now_us();
	return 0;
}

/* --- what is durable --- */

int os_file_sync(int file)
{
	return find(file) == NULL ? -EBADF : 0;
}

void os_file_sync_many(const int *files, size_t count, int *results)
{
	for (size_t i = 0; i < count; i++)
		results[i] = os_file_sync(files[i]);
}

void os_file_write_out_many(const int *files, size_t count, int *results)
{
	os_file_sync_many(files, count, results);
}

int os_file_sync_directory(int directory, const char *path)
{
	struct inode *inode;

	return files_look(directory, path, &inode);
}

void os_file_sync_directories(const int *directories, size_t count, int *results)
{
	os_file_sync_many(directories, count, results);
}

int os_file_sync_filesystem(int file)
{
	return os_file_sync(file);
}

int os_file_order_watch(int file)
{
	(void)file;
	return -EOPNOTSUPP;
}

bool os_file_order_holds(int watch)
{
	(void)watch;
	return false;
}

/* --- names --- */

int os_file_link(int directory, const char *from, const char *to)
{
	struct inode *inode;
	struct inode *parent;
	const char *name;
	int error = files_look(directory, from, &inode);

	if (error == 0)
		error = files_walk(directory, to, &parent, &name);
	if (error == 0 && directory_find(parent, name) != NULL)
		error = -EEXIST;
	if (error == 0)
		directory_add(parent, name, inode);
	return error;
}

static int rename_to(int directory, const char *from, const char *to, bool may_replace)
{
	struct inode *parents[2];
	const char *names[2];
	struct entry *source;
	struct entry *target;
	int error = files_walk(directory, from, &parents[0], &names[0]);

	if (error == 0)
		error = files_walk(directory, to, &parents[1], &names[1]);
	if (error < 0)
		return error;
	source = directory_find(parents[0], names[0]);
	target = directory_find(parents[1], names[1]);
	if (source == NULL)
		return -ENOENT;
	if (target != NULL && !may_replace)
		return -EEXIST;
	if (target != NULL && target->inode == source->inode)
		return 0;
	if (target != NULL)
		directory_remove(parents[1], names[1]);
	directory_add(parents[1], names[1], directory_find(parents[0], names[0])->inode);
	directory_remove(parents[0], names[0]);
	return 0;
}

int os_file_rename_new(int directory, const char *from, const char *to)
{
	return rename_to(directory, from, to, false);
}

int os_file_rename(int directory, const char *from, const char *to)
{
	return rename_to(directory, from, to, true);
}

int os_file_unlink(int directory, const char *path)
{
	struct inode *parent;
	const char *name;
	const struct entry *entry;
	int error = files_walk(directory, path, &parent, &name);

	if (error < 0)
		return error;
	entry = directory_find(parent, name);
	if (entry == NULL)
		return -ENOENT;
	if (entry->inode->is_directory)
		return -EISDIR;
	directory_remove(parent, name);
	return 0;
}

int os_file_make_directory(int directory, const char *path)
{
	struct inode *parent;
	const char *name;
	char part[256];
	int error = files_walk(directory, path, &parent, &name);

	if (error < 0)
		return error;
	snprintf(part, sizeof part, "%.*s", (int)strcspn(name, "/"), name);
	if (part[0] == '\0' || directory_find(parent, part) != NULL)
		return -EEXIST;
	directory_add(parent, part, inode_new(kernel_process()->machine->files, true));
	return 0;
}

int os_file_make_pipe(int directory, const char *path)
{
	struct inode *parent;
	const char *name;
	struct inode *inode;
	int error = files_walk(directory, path, &parent, &name);

	if (error == 0 && directory_find(parent, name) != NULL)
		error = -EEXIST;
	if (error < 0)
		return error;
	inode = inode_new(kernel_process()->machine->files, false);
	inode->is_pipe = true;
	directory_add(parent, name, inode);
	return 0;
}

/* --- what is known of them --- */

int os_file_is_open_elsewhere(int file)
{
	const struct open_file *open = find(file);

	return open == NULL ? -EBADF : open->inode->open_count > 1;
}

/* Too careful: who has it open for reading counts, too. */
int os_file_has_writers(int file)
{
	return os_file_is_open_elsewhere(file);
}

void inode_fill_info(const struct inode *inode, struct os_file_info *out)
{
	*out = (struct os_file_info){.inode = inode->number,
				     .device = 1,
				     .links = inode->links,
				     .size = inode->size,
				     .modified_us = inode->modified_us +
						    kernel_process()->machine->wall_offset_us,
				     .is_directory = inode->is_directory,
				     .mode = inode->is_directory ? S_IFDIR | 0700 : S_IFREG | 0640,
				     .owner = os_process_effective_user()};
}

int os_file_info(int file, struct os_file_info *info_out)
{
	const struct open_file *open = find(file);
	const struct description *any = table_find(file);

	if (any == NULL)
		return -EBADF;
	if (open != NULL)
		inode_fill_info(open->inode, info_out);
	else
		*info_out = (struct os_file_info){.inode = any->inode, .device = 2, .links = 1};
	return 0;
}

int os_file_info_at(int directory, const char *path, struct os_file_info *info_out)
{
	struct inode *inode;
	int error = files_look(directory, path, &inode);

	if (error == 0)
		inode_fill_info(inode, info_out);
	return error;
}

int os_file_set_modified(int directory, const char *path, int64_t modified_us)
{
	struct inode *inode;
	int error = files_look(directory, path, &inode);

	if (error == 0)
		inode->modified_us = modified_us - kernel_process()->machine->wall_offset_us;
	return error;
}

int os_file_space(int file, struct os_file_space *space_out)
{
	(void)file;
	*space_out = (struct os_file_space){(uint64_t)1 << 40, 1 << 30};
	return 0;
}

int os_file_filesystem_type(int file, uint64_t *type_out)
{
	enum { EXT4 = 0xef53 };

	(void)file;
	*type_out = EXT4;
	return 0;
}
