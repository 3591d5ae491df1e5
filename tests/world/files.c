// SPDX-License-Identifier: ISC
#include "files.h"
#include <err.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void *check(void *block)
{
	if (block == NULL)
		err(1, "no memory");
	return block;
}

enum { PIPE_SIZE = 65536 };

/* --- inodes --- */

struct inode *inode_new(struct files *files, bool is_directory)
{
	struct inode *inode = check(calloc(1, sizeof *inode));

	inode->number = ++files->last_number;
	inode->is_directory = is_directory;
	inode->modified_us = kernel_now_us();
	return inode;
}

void inode_drop(struct inode *inode)
{
	if (inode->links > 0 || inode->open_count > 0)
		return;
	free(inode->data);
	free(inode->entries);
	free(inode);
}

void inode_write(struct inode *inode, const void *data, size_t size, uint64_t offset)
{
	size_t end = (size_t)offset + size;

	if (end > inode->capacity) {
		inode->capacity = end < 4096 ? 4096 : end * 2;
		inode->data = check(realloc(inode->data, inode->capacity));
	}
	if (offset > inode->size)
		memset(inode->data + inode->size, 0, (size_t)offset - inode->size);
	memcpy(inode->data + offset, data, size);
	if (end > inode->size)
		inode->size = end;
	inode->modified_us = kernel_now_us();
}

/* Where NAME is, or would be. */
static size_t place_of(const struct inode *directory, const char *name)
{
	size_t low = 0;
	size_t high = directory->entry_count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (strcmp(directory->entries[middle].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct entry *directory_find(const struct inode *directory, const char *name)
{
	size_t place = place_of(directory, name);

	if (place == directory->entry_count || strcmp(directory->entries[place].name, name) != 0)
		return NULL;
	return &directory->entries[place];
}

void directory_add(struct inode *directory, const char *name, struct inode *inode)
{
	size_t place = place_of(directory, name);

	if (directory->entry_count == directory->entry_size) {
		directory->entry_size = directory->entry_size == 0 ? 8 : 2 * directory->entry_size;
		directory->entries = check(
			realloc(directory->entries, directory->entry_size * sizeof(struct entry)));
	}
	memmove(&directory->entries[place + 1], &directory->entries[place],
		(directory->entry_count - place) * sizeof(struct entry));
	directory->entries[place] = (struct entry){check(strdup(name)), inode};
	directory->entry_count++;
	directory->modified_us = kernel_now_us();
	if (inode->is_directory)
		inode->parent = directory;
	inode->links++;
}

void directory_remove(struct inode *directory, const char *name)
{
	struct entry *entry = directory_find(directory, name);
	struct inode *inode = entry->inode;
	size_t place = (size_t)(entry - directory->entries);

	free(entry->name);
	directory->entry_count--;
	memmove(entry, entry + 1, (directory->entry_count - place) * sizeof(struct entry));
	directory->modified_us = kernel_now_us();
	inode->links--;
	inode_drop(inode);
}

/* --- the tree --- */

struct files *files_new(void)
{
	struct files *files = check(calloc(1, sizeof *files));

	files->root = inode_new(files, true);
	files->root->links = 1;
	return files;
}

static void free_tree(struct inode *inode)
{
	while (inode->entry_count > 0) {
		struct entry *entry = &inode->entries[inode->entry_count - 1];

		if (entry->inode->is_directory)
			free_tree(entry->inode);
		directory_remove(inode, entry->name);
	}
}

void files_free(struct files *files)
{
	free_tree(files->root);
	files->root->links = 0;
	inode_drop(files->root);
	free(files);
}

/* What is called NAME in DIRECTORY; NULL: nothing. */
static struct inode *child(struct inode *directory, const char *name)
{
	const struct entry *entry;

	if (name[0] == '\0' || strcmp(name, ".") == 0)
		return directory;
	if (strcmp(name, "..") == 0)
		return directory->parent != NULL ? directory->parent : directory;
	entry = directory_find(directory, name);
	return entry != NULL ? entry->inode : NULL;
}

/* NAME_OUT stands in PATH, which ends with it; "" when that is the place itself. */
static int walk(struct inode *inode, const char *path, struct inode **parent_out,
		const char **name_out)
{
	char part[256];

	for (;;) {
		size_t length;

		while (*path == '/' || (path[0] == '.' && (path[1] == '/' || path[1] == '\0')))
			path++;
		length = strcspn(path, "/");
		if (!inode->is_directory)
			return -ENOTDIR;
		if (path[length + (path[length] == '/')] == '\0')
			break;
		if (length >= sizeof part)
			return -ENAMETOOLONG;
		memcpy(part, path, length);
		part[length] = '\0';
		inode = child(inode, part);
		if (inode == NULL)
			return -ENOENT;
		path += length;
	}
	*parent_out = inode;
	*name_out = path;
	return 0;
}

static int look(struct inode *from, const char *path, struct inode **inode_out)
{
	struct inode *parent;
	struct inode *found;
	const char *name;
	char part[256];
	int error = walk(from, path, &parent, &name);

	if (error < 0)
		return error;
	snprintf(part, sizeof part, "%.*s", (int)strcspn(name, "/"), name);
	found = child(parent, part);
	if (found == NULL)
		return -ENOENT;
	*inode_out = found;
	return 0;
}

static int start_of(int directory, const char *path, struct inode **inode_out)
{
	const struct open_file *file;

	*inode_out = kernel_process()->machine->files->root;
	if (path[0] == '/' || directory == OS_FILE_HERE)
		return 0;
	file = (void *)table_of_kind(directory, &file_description);
	if (file == NULL)
		return -EBADF;
	*inode_out = file->inode;
	return 0;
}

int files_walk(int directory, const char *path, struct inode **parent_out, const char **name_out)
{
	struct inode *from;
	int error = start_of(directory, path, &from);

	return error < 0 ? error : walk(from, path, parent_out, name_out);
}

int files_look(int directory, const char *path, struct inode **inode_out)
{
	struct inode *from;
	int error = start_of(directory, path, &from);

	return error < 0 ? error : look(from, path, inode_out);
}

/* --- for the world --- */

struct inode *files_find(struct machine *machine, const char *path)
{
	struct inode *inode;

	return look(machine->files->root, path, &inode) == 0 ? inode : NULL;
}

void files_put(struct machine *machine, const char *path, const char *text)
{
	struct inode *directory = machine->files->root;
	struct inode *file;
	const char *rest = path + 1;

	for (const char *slash; (slash = strchr(rest, '/')) != NULL; rest = slash + 1) {
		char part[256];
		const struct entry *entry;

		snprintf(part, sizeof part, "%.*s", (int)(slash - rest), rest);
		entry = directory_find(directory, part);
		if (entry == NULL) {
			directory_add(directory, part, inode_new(machine->files, true));
			entry = directory_find(directory, part);
		}
		directory = entry->inode;
	}
	if (text == NULL || *rest == '\0')
		return;
	if (directory_find(directory, rest) != NULL)
		directory_remove(directory, rest);
	file = inode_new(machine->files, false);
	inode_write(file, text, strlen(text), 0);
	directory_add(directory, rest, file);
}

int files_each(struct machine *machine, const char *path,
	       int (*each)(void *context, const char *name, struct inode *inode), void *context)
{
	const struct inode *directory = files_find(machine, path);
	int result = 0;

	for (size_t i = 0; directory != NULL && result == 0 && i < directory->entry_count; i++)
		result = each(context, directory->entries[i].name, directory->entries[i].inode);
	return result;
}

/* --- open files --- */

static void close_file(struct description *description)
{
	struct open_file *file = (void *)description;

	if (file->inode->locked_by == description)
		file->inode->locked_by = NULL;
	file->inode->open_count--;
	inode_drop(file->inode);
	free(file);
}

static ssize_t read_file(struct description *description, void *data, size_t size)
{
	struct open_file *file = (void *)description;
	size_t left =
		file->position < file->inode->size ? file->inode->size - (size_t)file->position : 0;

	if (size > left)
		size = left;
	if (size > 0)
		memcpy(data, file->inode->data + file->position, size);
	file->position += size;
	return (ssize_t)size;
}

static ssize_t write_file(struct description *description, const void *data, size_t size)
{
	struct open_file *file = (void *)description;

	if (file->flags & OS_FILE_APPEND)
		file->position = file->inode->size;
	inode_write(file->inode, data, size, file->position);
	file->position += size;
	return (ssize_t)size;
}

const struct description_kind file_description = {"file",    NULL,       close_file,
						  read_file, write_file, S_IFREG};

/* --- named pipes --- */

static unsigned poll_pipe(struct description *description)
{
	const struct open_file *file = (void *)description;

	return file->inode->size > 0 ? OS_WATCH_READ | OS_WATCH_WRITE : OS_WATCH_WRITE;
}

static ssize_t read_pipe(struct description *description, void *data, size_t size)
{
	struct inode *inode = ((struct open_file *)description)->inode;

	if (inode->size == 0)
		return -EAGAIN;
	if (size > inode->size)
		size = inode->size;
	memcpy(data, inode->data, size);
	inode->size -= size;
	memmove(inode->data, inode->data + size, inode->size);
	return (ssize_t)size;
}

static ssize_t write_pipe(struct description *description, const void *data, size_t size)
{
	struct inode *inode = ((struct open_file *)description)->inode;

	if (inode->size + size > PIPE_SIZE)
		return -EAGAIN;
	inode_write(inode, data, size, inode->size);
	for (struct open_file *open = inode->opens; open != NULL; open = open->next_of_pipe)
		description_changed(&open->description);
	return (ssize_t)size;
}

static void close_pipe(struct description *description)
{
	struct open_file *file = (void *)description;
	struct open_file **place = &file->inode->opens;

	while (*place != file)
		place = &(*place)->next_of_pipe;
	*place = file->next_of_pipe;
	close_file(description);
}

const struct description_kind named_pipe_description = {"pipe",    poll_pipe,  close_pipe,
							read_pipe, write_pipe, S_IFIFO};

int open_file_add(struct inode *inode, unsigned flags)
{
	struct open_file *file = check(calloc(1, sizeof *file));

	description_init(&file->description,
			 inode->is_pipe ? &named_pipe_description : &file_description);
	file->description.inode = inode->number;
	file->inode = inode;
	file->flags = flags;
	if (inode->is_pipe) {
		file->next_of_pipe = inode->opens;
		inode->opens = file;
	}
	inode->open_count++;
	return table_add(&file->description);
}
