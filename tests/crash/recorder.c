// SPDX-License-Identifier: ISC
#include "recorder.h"
#include "base/panic.h"
#include "os/clock.h"
#include "os/file/file.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILES_MAX = 256 };

struct world {
	struct disk *disk;
	struct {
		uint64_t inode; /* 0: closed */
		bool is_append;
		char place[DISK_NAME_SIZE]; /* of the path it was opened by */
	} files[FILES_MAX];
	struct { /* a sync that a mutant deferred */
		bool is_set;
		bool is_write_out;
		uint64_t inode; /* 0: the filesystem */
	} deferred;
	uint64_t first; /* the directory that MUTANT_FIRST is about; 0: none yet */
};

struct recorder recorder;

static const char *const call_names[] = {
	[CALL_OPEN] = "open",
	[CALL_READ] = "read",
	[CALL_WRITE] = "write",
	[CALL_TRUNCATE] = "truncate",
	[CALL_SYNC] = "sync",
	[CALL_WRITE_OUT] = "write out",
	[CALL_SYNC_DIRECTORY] = "sync directory",
	[CALL_SYNC_FILESYSTEM] = "sync filesystem",
	[CALL_LINK] = "link",
	[CALL_RENAME] = "rename",
	[CALL_UNLINK] = "unlink",
	[CALL_MAKE] = "make",
	[CALL_INFO] = "info",
	[CALL_LIST] = "list",
	[CALL_MODIFY] = "modify",
};
static struct world *world;

struct world *world_new(struct disk *disk)
{
	struct world *made = memory_alloc_zero(1, sizeof *made);

	made->disk = disk;
	return made;
}

void world_free(struct world *old)
{
	if (old == NULL)
		return;
	disk_free(old->disk);
	free(old);
}

struct disk *world_disk(struct world *of)
{
	return of->disk;
}

struct world *world_enter(struct world *next)
{
	struct world *before = world;

	world = next;
	return before;
}

/* 0, or the error that this call is to have. */
static int begin(enum call call, const char *place)
{
	recorder.now_us++;
	if (recorder.before != NULL)
		recorder.before(call, place);
	if (++recorder.calls != recorder.fail_at)
		return 0;
	snprintf(recorder.failed, sizeof recorder.failed, "%s %s", call_names[call], place);
	return recorder.fail_with;
}

/* begin() at the place of PATH: its first part. */
static int begin_at(enum call call, const char *path, char place[DISK_NAME_SIZE])
{
	disk_copy_name(place, path);
	return begin(call, place);
}

static bool is_removal(const struct disk_node *node, const struct disk_item *item)
{
	return item->kind == DISK_REMOVE && strcmp(node->kind, recorder.mutant->place) == 0;
}

static void sync_node(struct disk_node *node)
{
	const struct mutant *mutant = recorder.mutant;
	bool is_forgetful = mutant != NULL && mutant->kind == MUTANT_FORGET_REMOVALS;
	size_t before = node->item_count;

	if (world->disk->is_ordered)
		disk_sync_order(world->disk, node->changed, is_forgetful ? is_removal : NULL);
	if (!world->disk->is_ordered || !node->is_directory)
		disk_sync(node, is_forgetful ? is_removal : NULL);
	recorder.mutant_has_struck |= is_forgetful && before > 0 && node->item_count > 0;
}

static void sync_inode(uint64_t inode)
{
	if (inode != 0) {
		if (world->disk->nodes[inode] != NULL)
			sync_node(world->disk->nodes[inode]);
		return;
	}
	for (uint64_t i = 0; i < DISK_NODES_MAX; i++)
		if (world->disk->nodes[i] != NULL)
			sync_node(world->disk->nodes[i]);
}

/* Does the sync, unless the mutant is about this one. */
static void sync_or_mutate(enum call call, const char *place, uint64_t inode)
{
	const struct mutant *mutant = recorder.mutant;

	if (mutant == NULL || mutant->kind == MUTANT_FORGET_REMOVALS ||
	    !mutant_is_call(call, place, mutant->call, mutant->place)) {
		sync_inode(inode);
		return;
	}
	if (mutant->kind == MUTANT_FIRST) {
		recorder.mutant_has_struck |= world->first != 0 && world->first != inode;
		sync_inode(world->first != 0 ? world->first : inode);
		world->first = 0;
		return;
	}
	recorder.mutant_has_struck = true;
	if (mutant->kind == MUTANT_DEFER) {
		world->deferred.is_set = true;
		world->deferred.is_write_out = false;
		world->deferred.inode = inode;
	}
}

static void note_first(enum call call, const char *place, const struct disk_node *directory)
{
	const struct mutant *mutant = recorder.mutant;

	if (mutant != NULL && mutant->kind == MUTANT_FIRST && world->first == 0 &&
	    mutant_is_call(call, place, mutant->until, mutant->until_place))
		world->first = directory->inode;
}

/* After a call was done: what waited for it. */
static void end(enum call call, const char *place)
{
	if (!world->deferred.is_set || recorder.mutant == NULL ||
	    !mutant_is_call(call, place, recorder.mutant->until, recorder.mutant->until_place))
		return;
	if (recorder.before != NULL)
		recorder.before(CALL_SYNC, "deferred");
	world->deferred.is_set = false;
	if (world->deferred.is_write_out)
		disk_write_out(world->disk, world->disk->nodes[world->deferred.inode]);
	else
		sync_inode(world->deferred.inode);
}

/* Whether the mutant makes this call do nothing. */
static bool is_skipped(enum call call, const char *place)
{
	const struct mutant *mutant = recorder.mutant;

	if (mutant == NULL || mutant->kind != MUTANT_SKIP ||
	    !mutant_is_call(call, place, mutant->call, mutant->place))
		return false;
	recorder.mutant_has_struck = true;
	return true;
}

static struct disk_node *node_of(int file)
{
	if (file < 0 || file >= FILES_MAX || world->files[file].inode == 0)
		panic("a call on a file that is not open");
	return world->disk->nodes[world->files[file].inode];
}

static int open_node(struct disk_node *node, bool is_append, const char *place)
{
	for (int i = 0; i < FILES_MAX; i++) {
		if (world->files[i].inode != 0)
			continue;
		world->files[i].inode = node->inode;
		world->files[i].is_append = is_append;
		disk_copy_name(world->files[i].place, place);
		node->open_count++;
		return i;
	}
	panic("files are left open");
}

/* The directory that PATH ends in, and the last name; NULL if it does not exist. */
static struct disk_node *walk(int directory, const char *path, char name[DISK_NAME_SIZE])
{
	struct disk_node *node =
		directory == OS_FILE_HERE ? world->disk->nodes[DISK_ROOT] : node_of(directory);

	for (;;) {
		size_t length = disk_copy_name(name, path);
		struct disk_entry *entry;

		if (length >= DISK_NAME_SIZE)
			return NULL;
		if (path[length] == '\0')
			return node;
		entry = disk_find(node, name);
		if (entry == NULL || !world->disk->nodes[entry->inode]->is_directory)
			return NULL;
		node = world->disk->nodes[entry->inode];
		path += length + 1;
	}
}

static struct disk_node *look_up(int directory, const char *path)
{
	char name[DISK_NAME_SIZE];
	struct disk_node *node = walk(directory, path, name);
	struct disk_entry *entry;

	if (node == NULL || strcmp(name, ".") == 0)
		return node;
	if (strcmp(name, "..") == 0)
		return world->disk->nodes[node->parent];
	entry = disk_find(node, name);
	return entry != NULL ? world->disk->nodes[entry->inode] : NULL;
}

int os_file_open_directory(int directory, const char *path)
{
	char place[DISK_NAME_SIZE];
	struct disk_node *node;
	int result;

	result = begin_at(CALL_OPEN, path, place);
	if (result < 0)
		return result;
	node = look_up(directory, path);
	if (node == NULL)
		return -ENOENT;
	return node->is_directory ? open_node(node, false, place) : -ENOTDIR;
}

static void name_node(struct disk_node *parent, const char *name, struct disk_node *node,
		      const char *path)
{
	disk_add_name(world->disk, parent, name, node->inode);
	disk_touch(parent, recorder.now_us);
	disk_copy_name(node->kind, path);
}

int os_file_open(int directory, const char *path, unsigned flags)
{
	bool is_append = (flags & OS_FILE_APPEND) != 0;
	char place[DISK_NAME_SIZE];
	char name[DISK_NAME_SIZE];
	struct disk_node *parent;
	struct disk_entry *entry;
	struct disk_node *node;
	int result;

	result = begin_at(CALL_OPEN, path, place);
	if (result < 0)
		return result;
	parent = walk(directory, path, name);
	if (parent == NULL)
		return -ENOENT;
	entry = disk_find(parent, name);
	if ((flags & OS_FILE_CREATE) == 0)
		return entry != NULL ? open_node(world->disk->nodes[entry->inode], is_append, place)
				     : -ENOENT;
	if (entry != NULL)
		return -EEXIST;
	node = disk_add_node(world->disk, false);
	disk_touch(node, recorder.now_us);
	name_node(parent, name, node, path);
	return open_node(node, is_append, place);
}

void os_file_close(int file)
{
	if (file < 0)
		return;
	node_of(file)->open_count--;
	world->files[file].inode = 0;
}

ssize_t os_file_read(int file, void *data, size_t size, uint64_t offset)
{
	const struct disk_node *node = node_of(file);
	int result = begin(CALL_READ, node->kind);

	if (result < 0)
		return result;
	if (offset >= node->seen.size || size == 0)
		return 0;
	if (size > node->seen.size - offset)
		size = node->seen.size - offset;
	memcpy(data, node->seen.bytes + offset, size);
	return (ssize_t)size;
}

/* A write that fails has written half. */
static int write_at(int file, const void *data, size_t size, uint64_t offset)
{
	struct disk_node *node = node_of(file);
	int result = begin(CALL_WRITE, node->kind);

	disk_touch(node, recorder.now_us);
	if (result < 0)
		disk_write(world->disk, node, data, size / 2, offset);
	else
		disk_write(world->disk, node, data, size, offset);
	end(CALL_WRITE, node->kind);
	return result;
}

int os_file_write(int file, const void *data, size_t size, uint64_t offset)
{
	return write_at(file, data, size, offset);
}

int os_file_append(int file, const void *data, size_t size)
{
	if (!world->files[file].is_append)
		panic("an append to a file that was not opened for it");
	return write_at(file, data, size, node_of(file)->seen.size);
}

int os_file_truncate(int file, uint64_t size)
{
	struct disk_node *node = node_of(file);
	int result = begin(CALL_TRUNCATE, node->kind);

	if (result < 0 || is_skipped(CALL_TRUNCATE, node->kind))
		return result;
	disk_resize(world->disk, node, size);
	return 0;
}

/* Several names may lead to a control file: it is called as it was opened. */
static const char *place_of_file(int file)
{
	const char *place = world->files[file].place;

	return world->files[file].is_append || strcmp(place, "intd") == 0 ? place
									  : node_of(file)->kind;
}

/* What a sync that failed was to write never comes to the disk. */
int os_file_sync(int file)
{
	struct disk_node *node = node_of(file);
	const char *place = place_of_file(file);
	int result = begin(CALL_SYNC, place);

	if (result < 0 && world->disk->is_ordered)
		disk_lose_bytes(node);
	else if (result < 0)
		disk_lose(node);
	else
		sync_or_mutate(CALL_SYNC, place, node->inode);
	end(CALL_SYNC, place);
	return result;
}

void os_file_sync_many(const int *files, size_t count, int *results)
{
	for (size_t i = 0; i < count; i++)
		results[i] = os_file_sync(files[i]);
}

static int write_out(int file)
{
	struct disk_node *node = node_of(file);
	const char *place = place_of_file(file);
	const struct mutant *mutant = recorder.mutant;
	int result = begin(CALL_WRITE_OUT, place);

	if (result < 0)
		disk_lose_bytes(node);
	else if (mutant == NULL ||
		 !mutant_is_call(CALL_WRITE_OUT, place, mutant->call, mutant->place))
		disk_write_out(world->disk, node);
	else
		recorder.mutant_has_struck = true;
	if (result == 0 && mutant != NULL && mutant->kind == MUTANT_DEFER &&
	    mutant_is_call(CALL_WRITE_OUT, place, mutant->call, mutant->place)) {
		world->deferred.is_set = true;
		world->deferred.is_write_out = true;
		world->deferred.inode = node->inode;
	}
	end(CALL_WRITE_OUT, place);
	return result;
}

void os_file_write_out_many(const int *files, size_t count, int *results)
{
	for (size_t i = 0; i < count; i++)
		results[i] = write_out(files[i]);
}

static void lose_all(void)
{
	for (uint64_t i = 0; i < DISK_NODES_MAX; i++)
		if (world->disk->nodes[i] != NULL)
			disk_lose(world->disk->nodes[i]);
}

/* The one sync of a group fails: nothing of the group comes to the disk. */
static bool is_for_all(const char *place)
{
	return world->disk->is_ordered && (strcmp(place, "todo") == 0 || strcmp(place, "pid") == 0);
}

static int sync_names(struct disk_node *node, const char *place)
{
	int result = begin(CALL_SYNC_DIRECTORY, place);

	if (result < 0 && is_for_all(place))
		lose_all();
	else if (result < 0)
		disk_lose(node);
	else
		sync_or_mutate(CALL_SYNC_DIRECTORY, place, node->inode);
	end(CALL_SYNC_DIRECTORY, place);
	return result;
}

int os_file_sync_directory(int directory, const char *path)
{
	int file = os_file_open_directory(directory, path);
	int result;

	if (file < 0)
		return file;
	result = sync_names(node_of(file), world->files[file].place);
	os_file_close(file);
	return result;
}

void os_file_sync_directories(const int *directories, size_t count, int *results)
{
	for (size_t i = 0; i < count; i++)
		results[i] =
			sync_names(node_of(directories[i]), world->files[directories[i]].place);
}

static bool has_undecided(const char *kind, enum disk_item_kind wanted)
{
	for (uint64_t i = 0; i < DISK_NODES_MAX; i++) {
		const struct disk_node *node = world->disk->nodes[i];

		if (node == NULL || strcmp(node->kind, kind) != 0)
			continue;
		for (size_t k = 0; k < node->item_count; k++)
			if (node->items[k].kind == wanted)
				return true;
	}
	return false;
}

static const char *place_of_filesystem(void)
{
	if (has_undecided("bounce", DISK_WRITE))
		return "bounce";
	if (has_undecided("todo", DISK_ADD) || has_undecided("info", DISK_ADD))
		return "names";
	return "bytes";
}

int os_file_sync_filesystem(int file)
{
	const char *place = place_of_filesystem();
	int result = begin(CALL_SYNC_FILESYSTEM, place);

	(void)node_of(file);
	if (result < 0) {
		lose_all();
		return result;
	}
	sync_or_mutate(CALL_SYNC_FILESYSTEM, place, 0);
	end(CALL_SYNC_FILESYSTEM, place);
	return 0;
}

int os_file_link(int directory, const char *from, const char *to)
{
	struct disk_node *node = look_up(directory, from);
	char place[DISK_NAME_SIZE];
	char name[DISK_NAME_SIZE];
	struct disk_node *parent;
	int result;

	disk_copy_name(place, to);
	result = begin(CALL_LINK, place);
	if (result < 0)
		return result;
	parent = walk(directory, to, name);
	if (node == NULL || parent == NULL)
		return -ENOENT;
	if (disk_find(parent, name) != NULL)
		return -EEXIST;
	name_node(parent, name, node, to);
	note_first(CALL_LINK, place, parent);
	end(CALL_LINK, place);
	return 0;
}

int os_file_rename_new(int directory, const char *from, const char *to)
{
	return look_up(directory, to) != NULL ? -EEXIST : os_file_rename(directory, from, to);
}

int os_file_rename(int directory, const char *from, const char *to)
{
	struct disk_node *node = look_up(directory, from);
	char from_name[DISK_NAME_SIZE];
	char name[DISK_NAME_SIZE];
	char place[DISK_NAME_SIZE];
	struct disk_node *from_parent;
	struct disk_node *parent;
	int result;

	disk_copy_name(place, to);
	result = begin(CALL_RENAME, place);
	if (result < 0)
		return result;
	from_parent = walk(directory, from, from_name);
	parent = walk(directory, to, name);
	if (node == NULL || parent == NULL)
		return -ENOENT;
	if (node == look_up(directory, to) &&
	    (parent != from_parent || strcmp(name, from_name) != 0)) {
		end(CALL_RENAME, place); /* two names of one file: both stay */
		return 0;
	}
	disk_move_name(world->disk, from_parent, from_name, parent, name);
	disk_touch(from_parent, recorder.now_us);
	disk_touch(parent, recorder.now_us);
	disk_copy_name(node->kind, to);
	note_first(CALL_RENAME, place, parent);
	end(CALL_RENAME, place);
	return 0;
}

int os_file_unlink(int directory, const char *path)
{
	char place[DISK_NAME_SIZE];
	char name[DISK_NAME_SIZE];
	struct disk_node *parent;
	int result;

	result = begin_at(CALL_UNLINK, path, place);
	if (result < 0)
		return result;
	parent = walk(directory, path, name);
	if (parent == NULL || disk_find(parent, name) == NULL)
		return -ENOENT;
	disk_remove_name(world->disk, parent, name);
	disk_touch(parent, recorder.now_us);
	end(CALL_UNLINK, place);
	return 0;
}

static int make(int directory, const char *path, bool is_directory)
{
	char place[DISK_NAME_SIZE];
	char name[DISK_NAME_SIZE];
	struct disk_node *parent;
	struct disk_node *node;
	int result;

	result = begin_at(CALL_MAKE, path, place);
	if (result < 0)
		return result;
	parent = walk(directory, path, name);
	if (parent == NULL)
		return -ENOENT;
	if (disk_find(parent, name) != NULL)
		return -EEXIST;
	node = disk_add_node(world->disk, is_directory);
	node->parent = parent->inode;
	name_node(parent, name, node, path);
	return 0;
}

int os_file_make_directory(int directory, const char *path)
{
	return make(directory, path, true);
}

int os_file_make_pipe(int directory, const char *path)
{
	return make(directory, path, false);
}

static void fill_info(const struct disk_node *node, struct os_file_info *info_out)
{
	*info_out = (struct os_file_info){
		.inode = node->inode,
		.device = 1,
		.links = node->links,
		.size = node->seen.size,
		.modified_us = node->modified_us,
		.changed_us = recorder.now_us,
		.is_directory = node->is_directory,
	};
}

int os_file_is_open_elsewhere(int file)
{
	return begin(CALL_INFO, node_of(file)->kind);
}

int os_file_has_writers(int file)
{
	return begin(CALL_INFO, node_of(file)->kind);
}

int os_file_info(int file, struct os_file_info *info_out)
{
	const struct disk_node *node = node_of(file);
	int result = begin(CALL_INFO, node->kind);

	if (result == 0)
		fill_info(node, info_out);
	return result;
}

int os_file_info_at(int directory, const char *path, struct os_file_info *info_out)
{
	const struct disk_node *node = look_up(directory, path);
	char place[DISK_NAME_SIZE];
	int result;

	result = begin_at(CALL_INFO, path, place);
	if (result < 0)
		return result;
	if (node == NULL)
		return -ENOENT;
	fill_info(node, info_out);
	return 0;
}

int os_file_set_modified(int directory, const char *path, int64_t modified_us)
{
	struct disk_node *node = look_up(directory, path);
	char place[DISK_NAME_SIZE];
	int result;

	result = begin_at(CALL_MODIFY, path, place);
	if (result < 0)
		return result;
	if (node == NULL)
		return -ENOENT;
	if (is_skipped(CALL_MODIFY, place))
		return 0;
	disk_set_time(world->disk, node, modified_us);
	return 0;
}

int os_file_space(int file, struct os_file_space *space_out)
{
	(void)node_of(file);
	*space_out = (struct os_file_space){UINT64_C(1) << 40, UINT64_MAX, UINT64_MAX};
	return 0;
}

int os_file_order_watch(int file)
{
	return world->disk->is_ordered ? open_node(node_of(file), false, "proc") : -ENOTSUP;
}

bool os_file_order_holds(int watch)
{
	(void)node_of(watch);
	return world->disk->is_ordered;
}

int os_file_filesystem_type(int file, uint64_t *type_out)
{
	(void)node_of(file);
	*type_out = 0xef53;
	return 0;
}

struct os_file_list {
	struct disk_entry *names; /* owned; as they were when it was opened */
	size_t count;
	size_t next;
	int directory;
	char path[128];
};

int os_file_list_open(int directory, const char *path, struct os_file_list **list_out)
{
	const struct disk_node *node = look_up(directory, path);
	char place[DISK_NAME_SIZE];
	struct os_file_list *list;
	int result;

	result = begin_at(CALL_LIST, path, place);
	if (result < 0)
		return result;
	if (node == NULL)
		return -ENOENT;
	list = memory_alloc_zero(1, sizeof *list);
	list->directory = directory;
	snprintf(list->path, sizeof list->path, "%s", path);
	list->count = node->seen_names.count;
	list->names = memory_alloc((list->count + 1) * sizeof *list->names);
	for (size_t i = 0; i < list->count; i++)
		list->names[i] = node->seen_names.items[i];
	*list_out = list;
	return 0;
}

int os_file_list_next(struct os_file_list *list, const char **name_out)
{
	if (list->next == list->count)
		return 0;
	*name_out = list->names[list->next++].name;
	return 1;
}

int os_file_list_info(struct os_file_list *list, const char *name, struct os_file_info *info_out)
{
	char path[sizeof list->path + DISK_NAME_SIZE + 1];

	snprintf(path, sizeof path, "%s/%s", list->path, name);
	return os_file_info_at(list->directory, path, info_out);
}

void os_file_list_close(struct os_file_list *list)
{
	if (list == NULL)
		return;
	free(list->names);
	free(list);
}

int os_file_list(int directory, const char *path, int (*each)(void *context, const char *name),
		 void *context)
{
	struct os_file_list *list;
	int result = os_file_list_open(directory, path, &list);
	const char *name;

	if (result < 0)
		return result;
	while (result == 0 && os_file_list_next(list, &name) > 0)
		result = each(context, name);
	os_file_list_close(list);
	return result;
}

int os_file_lock(int file)
{
	(void)node_of(file);
	return 0;
}

int64_t os_clock_wall_us(void)
{
	return recorder.now_us;
}

int64_t os_clock_monotonic_us(void)
{
	return recorder.now_us;
}

int64_t os_clock_boot_us(void)
{
	return recorder.now_us;
}
