// SPDX-License-Identifier: ISC
/* Changes of names, as link(2), rename(2), unlink(2) and mkdir(2) make them. */
#include "disk_internal.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

struct place {
	struct disk_node *directory;
	struct disk_node *node; /* what is there; NULL: nothing */
	char name[DISK_NAME_MAX + 1];
};

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static int find(struct disk *disk, struct disk_file *from, const char *path, struct place *out)
{
	const struct disk_entry *entry;
	int error = disk_walk(disk, from, path, &out->directory, out->name);

	if (error < 0)
		return error;
	entry = disk_entry_find(out->directory, out->name);
	out->node = entry != NULL ? entry->seen : NULL;
	return 0;
}

int disk_link(struct disk *disk, struct disk_file *from, const char *path, const char *to)
{
	struct disk_node *node;
	struct place place;
	int error = disk_fault(disk, DISK_LINK, 0);

	if (error == 0)
		error = disk_look_up(disk, from, path, &node);
	if (error == 0)
		error = find(disk, from, to, &place);
	if (error < 0)
		return error;
	if (is_dots(place.name) || place.node != NULL)
		return -EEXIST;
	if (S_ISDIR(node->mode))
		return -EPERM;
	disk_entry_see(place.directory, place.name, node, 0);
	return disk_settle(disk);
}

static bool is_inside(const struct disk_node *node, const struct disk_node *directory)
{
	for (;; node = node->parent) {
		if (node == directory)
			return true;
		if (node->parent == node)
			return false;
	}
}

static int check_rename(const struct place *old, const struct place *new, bool may_replace)
{
	bool is_directory = S_ISDIR(old->node->mode);

	if (new->node != NULL && !may_replace)
		return -EEXIST;
	if (is_directory && is_inside(new->directory, old->node))
		return -EINVAL;
	if (new->node == NULL || new->node == old->node)
		return 0;
	if (S_ISDIR(new->node->mode) && is_inside(old->directory, new->node))
		return -ENOTEMPTY;
	if (is_directory != S_ISDIR(new->node->mode))
		return is_directory ? -ENOTDIR : -EISDIR;
	return is_directory && new->node->name_count > 0 ? -ENOTEMPTY : 0;
}

int disk_rename(struct disk *disk, struct disk_file *from, const char *path, const char *to,
		bool may_replace)
{
	struct place old;
	struct place new;
	int error = disk_fault(disk, DISK_RENAME, 0);

	if (error == 0)
		error = find(disk, from, path, &old);
	if (error == 0)
		error = find(disk, from, to, &new);
	if (error < 0)
		return error;
	if (is_dots(old.name) || is_dots(new.name))
		return is_dots(new.name) && !may_replace && !is_dots(old.name) ? -EEXIST : -EBUSY;
	if (old.node == NULL)
		return -ENOENT;
	error = check_rename(&old, &new, may_replace);
	if (error < 0 || new.node == old.node)
		return error;
	disk_entry_see(new.directory, new.name, old.node, 0);
	disk_entry_see(old.directory, old.name, NULL, disk->changes);
	if (S_ISDIR(old.node->mode))
		old.node->parent = new.directory;
	return disk_settle(disk);
}

int disk_unlink(struct disk *disk, struct disk_file *from, const char *path)
{
	struct place place;
	int error = disk_fault(disk, DISK_UNLINK, 0);

	if (error == 0)
		error = find(disk, from, path, &place);
	if (error < 0)
		return error;
	if (is_dots(place.name))
		return -EISDIR;
	if (place.node == NULL)
		return -ENOENT;
	if (S_ISDIR(place.node->mode))
		return -EISDIR;
	disk_entry_see(place.directory, place.name, NULL, 0);
	return disk_settle(disk);
}

int disk_make(struct disk *disk, struct disk_file *from, const char *path, mode_t mode)
{
	struct place place;
	struct disk_node *node;
	int error = disk_fault(disk, DISK_MAKE, 0);

	if (error == 0)
		error = find(disk, from, path, &place);
	if (error < 0)
		return error;
	if (is_dots(place.name) || place.node != NULL)
		return -EEXIST;
	node = disk_node_new(disk, mode);
	if (node == NULL)
		return -ENOSPC;
	node->parent = place.directory;
	disk_entry_see(place.directory, place.name, node, 0);
	return disk_settle(disk);
}
