// SPDX-License-Identifier: ISC
/* Open files: their lives, locks and leases. */
#include "disk_ear.h"
#include "disk_internal.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct disk_file *file_new(struct disk_node *node, unsigned flags)
{
	struct disk_file *file = disk_alloc(sizeof *file);

	*file = (struct disk_file){
		.node = node, .references = 1, .flags = flags, .next = node->files};
	node->files = file;
	*((flags & OS_FILE_WRITE) != 0 ? &node->writers : &node->readers) += 1;
	node->disk->open_count++;
	disk_node_hold(node);
	return file;
}

static int create(struct disk *disk, struct disk_file *from, const char *path, unsigned flags,
		  struct disk_file **out)
{
	char name[DISK_NAME_MAX + 1];
	struct disk_entry *entry;
	struct disk_node *directory;
	struct disk_node *node;
	int error = disk_walk(disk, from, path, &directory, name);

	if (error < 0)
		return error;
	entry = disk_entry_find(directory, name);
	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
	    (entry != NULL && entry->seen != NULL))
		return -EEXIST;
	node = disk_node_new(disk, S_IFREG | ((flags & OS_FILE_PRIVATE) != 0 ? 0600 : 0640));
	if (node == NULL)
		return -ENOSPC;
	disk_entry_see(directory, name, node, 0);
	*out = file_new(node, flags);
	return disk_settle(disk);
}

static enum disk_call call_of(unsigned flags)
{
	if ((flags & OS_FILE_CREATE) != 0)
		return DISK_CREATE;
	return (flags & OS_FILE_WRITE) != 0 ? DISK_OPEN_TO_WRITE : DISK_OPEN;
}

int disk_open(struct disk *disk, struct disk_file *from, const char *path, unsigned flags,
	      struct disk_file **out)
{
	struct disk_node *node;
	int error = disk_fault(disk, call_of(flags), 0);

	if (error < 0)
		return error;
	if ((flags & OS_FILE_CREATE) != 0)
		return create(disk, from, path, flags, out);
	error = disk_look_up(disk, from, path, &node);
	if (error < 0)
		return error;
	if (S_ISDIR(node->mode) && (flags & OS_FILE_WRITE) != 0)
		return -EISDIR;
	*out = file_new(node, flags);
	return 0;
}

int disk_open_directory(struct disk *disk, struct disk_file *from, const char *path,
			struct disk_file **out)
{
	struct disk_node *node;
	int error = disk_fault(disk, DISK_OPEN, 0);

	if (error == 0)
		error = disk_look_up(disk, from, path, &node);
	if (error < 0)
		return error;
	if (!S_ISDIR(node->mode))
		return -ENOTDIR;
	*out = file_new(node, OS_FILE_READ);
	return 0;
}

void disk_share(struct disk_file *file)
{
	file->references++;
}

void disk_close(struct disk_file *file)
{
	struct disk_node *node = file->node;
	struct disk_file **place = &node->files;

	if (--file->references > 0)
		return;
	while (*place != file)
		place = &(*place)->next;
	*place = file->next;
	if ((file->flags & OS_FILE_WRITE) != 0)
		disk_sound_bytes(node, DISK_CLOSED);
	if (node->files == NULL)
		disk_sqlite_forget(node);
	if (node->locked_by == file)
		node->locked_by = NULL;
	*((file->flags & OS_FILE_WRITE) != 0 ? &node->writers : &node->readers) -= 1;
	node->disk->open_count--;
	free(file->ranges);
	free(file);
	disk_node_check_left(node);
	disk_node_drop(node);
}

bool disk_is_pipe(const struct disk_file *file)
{
	return S_ISFIFO(file->node->mode);
}

int disk_lock(struct disk_file *file)
{
	if (file->node->locked_by != NULL && file->node->locked_by != file)
		return -EAGAIN;
	file->node->locked_by = file;
	return 0;
}

int disk_is_open_elsewhere(const struct disk_file *file)
{
	const struct disk_node *node = file->node;

	if (!S_ISREG(node->mode))
		return -EINVAL;
	return node->readers + node->writers > 1;
}

int disk_has_writers(const struct disk_file *file)
{
	if (!S_ISREG(file->node->mode))
		return -EINVAL;
	return file->node->writers > 0;
}

void disk_set_mode(struct disk_file *file, mode_t mode)
{
	file->node->mode = (file->node->mode & S_IFMT) | (mode & ~(mode_t)S_IFMT);
}

static void fill_info(const struct disk_node *node, struct os_file_info *info_out)
{
	*info_out = (struct os_file_info){
		.inode = node->inode,
		.device = node->disk->options.device,
		.links = S_ISDIR(node->mode) ? 2 + node->folder_count : node->links,
		.size = S_ISDIR(node->mode) ? DISK_PAGE : node->seen.size,
		.modified_us = node->modified_us,
		.changed_us = node->changed_us,
		.is_directory = S_ISDIR(node->mode),
		.mode = node->mode,
		.owner = node->owner,
	};
}

int disk_info(struct disk_file *file, struct os_file_info *info_out)
{
	int error = disk_fault(file->node->disk, DISK_INFO, file->node->inode);

	if (error == 0)
		fill_info(file->node, info_out);
	return error;
}

int disk_info_at(struct disk *disk, struct disk_file *from, const char *path,
		 struct os_file_info *info_out)
{
	struct disk_node *node;
	int error = disk_fault(disk, DISK_INFO, 0);

	if (error == 0)
		error = disk_look_up(disk, from, path, &node);
	if (error == 0)
		fill_info(node, info_out);
	return error;
}

int disk_set_modified(struct disk *disk, struct disk_file *from, const char *path,
		      int64_t modified_us)
{
	struct disk_node *node;
	int error = disk_fault(disk, DISK_MODIFY, 0);

	if (error == 0)
		error = disk_look_up(disk, from, path, &node);
	if (error < 0)
		return error;
	node->modified_us = modified_us;
	node->changed_us = disk->now_us;
	return 0;
}
