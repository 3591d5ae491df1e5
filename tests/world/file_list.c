// SPDX-License-Identifier: ISC
/* os/file.h: the names in directories, and locks. */
#include "files.h"
#include "os/file.h"
#include <errno.h>

/* --- directories --- */

struct os_file_list {
	struct inode *directory;
	char **names;
	size_t count;
	size_t next;
};

int os_file_list_open(int directory, const char *path, struct os_file_list **list_out)
{
	struct os_file_list *list;
	struct inode *inode;
	int error = files_look(directory, path, &inode);

	if (error < 0)
		return error;
	if (!inode->is_directory)
		return -ENOTDIR;
	list = world_calloc(1, sizeof *list);
	list->directory = inode;
	list->names = world_calloc(inode->entry_count + 1, sizeof *list->names);
	for (size_t i = 0; i < inode->entry_count; i++)
		list->names[list->count++] = world_strdup(inode->entries[i].name);
	/* a random one first: nobody may rely on an order */
	if (list->count > 1)
		for (size_t i = list->count - 1; i > 0; i--) {
			size_t other = (size_t)kernel_below(i + 1);
			char *name = list->names[i];

			list->names[i] = list->names[other];
			list->names[other] = name;
		}
	*list_out = list;
	return 0;
}

int os_file_list_next(struct os_file_list *list, const char **name_out)
{
	if (list->next == list->count)
		return 0;
	*name_out = list->names[list->next++];
	return 1;
}

int os_file_list_info(struct os_file_list *list, const char *name, struct os_file_info *info_out)
{
	const struct entry *entry = directory_find(list->directory, name);

	if (entry == NULL)
		return -ENOENT;
	inode_fill_info(entry->inode, info_out);
	return 0;
}

void os_file_list_close(struct os_file_list *list)
{
	if (list == NULL)
		return;
	for (size_t i = 0; i < list->count; i++)
		world_free(list->names[i]);
	world_free(list->names);
	world_free(list);
}

int os_file_list(int directory, const char *path, int (*each)(void *context, const char *name),
		 void *context)
{
	struct os_file_list *list;
	const char *name;
	int result = os_file_list_open(directory, path, &list);

	if (result < 0)
		return result;
	while (result == 0 && os_file_list_next(list, &name) > 0)
		result = each(context, name);
	os_file_list_close(list);
	return result;
}

/* --- locks --- */

int os_file_lock(int file)
{
	struct open_file *open = (void *)table_of_kind(file, &file_description);

	if (open == NULL)
		return -EBADF;
	if (open->inode->locked_by != NULL && open->inode->locked_by != &open->description)
		return -EAGAIN;
	open->inode->locked_by = &open->description;
	return 0;
}

int os_file_lock_within(int file, int milliseconds)
{
	enum { STEP_US = 10000 };
	int64_t until_us = kernel_now_us() + milliseconds * 1000LL;
	int error = os_file_lock(file);

	while (error == -EAGAIN && kernel_now_us() < until_us) {
		task_sleep_until(kernel_now_us() + STEP_US);
		error = os_file_lock(file);
	}
	return error;
}
