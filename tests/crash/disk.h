// SPDX-License-Identifier: ISC
/*
 * tests/crash/disk.h - a disk in memory that can lose its power.
 *
 * Every change has two lives: what a process sees at once, and what the disk
 * would show after a power cut. Between them is a list of undecided items:
 * a write of at most 512 bytes, a file's new size, a time that it was given, one
 * name added, one name removed. Each of them may or may not have reached the disk, in any order,
 * until a sync decides them. (No filesystem is as bad as that; each is as bad
 * in some part.)
 *
 * A disk that keeps order promises more, and no more than this: names, cuts
 * and times reach it in the order they were made in, those of a rename together, and with
 * one of them whatever was written out before it. Bytes, and a size that grew,
 * may reach it at any time, each piece by itself. A sync of a directory decides
 * what was done up to that directory's last change, however old that is; that of
 * a file what was done before it last grew.
 */
#ifndef TESTS_CRASH_DISK_H
#define TESTS_CRASH_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DISK_ROOT = 2, DISK_NODES_MAX = 256, DISK_NAME_SIZE = 40, DISK_SECTOR = 512 };

struct disk_image { /* of a file */
	char *bytes;
	size_t capacity; /* beyond size: zeroes, or sectors whose size is not durable */
	size_t size;
};

struct disk_entry { /* of a directory */
	char name[DISK_NAME_SIZE];
	uint64_t inode;
};

struct disk_entries {
	struct disk_entry *items;
	size_t count;
	size_t capacity;
};

enum disk_item_kind { DISK_WRITE, DISK_SIZE, DISK_TIME, DISK_ADD, DISK_REMOVE };

struct disk_item {
	enum disk_item_kind kind;
	uint64_t order;  /* of names, cuts and times: when it was done; 0: may come at any time */
	uint64_t out;    /* of the others: when it was written out; 0: not yet */
	uint64_t offset; /* DISK_WRITE; or the DISK_SIZE, or the DISK_TIME */
	size_t length;
	char bytes[DISK_SECTOR];
	struct disk_entry entry; /* DISK_ADD, DISK_REMOVE */
};

struct disk_node {
	uint64_t inode;
	uint64_t parent; /* of a directory */
	bool is_directory;
	unsigned open_count;
	unsigned links;
	int64_t modified_us;
	int64_t durable_modified_us;
	uint64_t changed;          /* when its names were, last; of a file: when it grew */
	char kind[DISK_NAME_SIZE]; /* the first part of its last path: "mess" */
	struct disk_image seen;
	struct disk_image durable;
	struct disk_entries seen_names;
	struct disk_entries durable_names;
	struct disk_item *items;
	size_t item_count;
	size_t item_capacity;
};

struct disk {
	struct disk_node *nodes[DISK_NODES_MAX]; /* by inode; owned */
	uint64_t changes; /* counts items; a sync only narrows their states */
	bool is_ordered;
	uint64_t durable; /* ordered: all that was done up to then is decided */
};

struct disk *disk_new(void);
void disk_free(struct disk *disk);
struct disk *disk_copy(const struct disk *disk);

/* A new node under the lowest number that nothing refers to, durably or not. */
struct disk_node *disk_add_node(struct disk *disk, bool is_directory);
/* Copies the first part of PATH, cut to what fits; returns how long it is in PATH. */
size_t disk_copy_name(char name[DISK_NAME_SIZE], const char *path);
struct disk_entry *disk_find(const struct disk_node *directory, const char *name);
void disk_add_name(struct disk *disk, struct disk_node *directory, const char *name,
		   uint64_t inode);
void disk_remove_name(struct disk *disk, struct disk_node *directory, const char *name);
/* Both at once; any name TO is replaced. */
void disk_move_name(struct disk *disk, struct disk_node *from, const char *name,
		    struct disk_node *to, const char *new_name);
void disk_write(struct disk *disk, struct disk_node *file, const char *data, size_t size,
		uint64_t offset);
/* When it was last modified: by itself, as far as anybody cares durably; or as it was told. */
void disk_touch(struct disk_node *node, int64_t now_us);
void disk_set_time(struct disk *disk, struct disk_node *file, int64_t modified_us);
void disk_resize(struct disk *disk, struct disk_node *file, uint64_t size);

/* Decides a node's items: all reached the disk. LEAVE, if not NULL, says which
 * are left undecided. */
void disk_sync(struct disk_node *node,
	       bool (*leave)(const struct disk_node *, const struct disk_item *));
/* On a disk that keeps order: what was done up to ORDER reached it. */
void disk_sync_order(struct disk *disk, uint64_t order,
		     bool (*leave)(const struct disk_node *, const struct disk_item *));
void disk_write_out(struct disk *disk, struct disk_node *file);
/* Decides them the other way: they are seen, but never reach the disk. */
void disk_lose(struct disk_node *node);
/* The same for bytes and sizes that grew and were not written out: what the
 * device has, a later error of writing does not take back. */
void disk_lose_bytes(struct disk_node *file);

size_t disk_undecided(const struct disk *disk);
/* Makes KEEP a state that a disk with its order can show: names and cuts before
 * the first that is not kept, and what must have come with them. */
void disk_keep_order(const struct disk *disk, bool *keep);
/* When the items were done, one for each, 0 for those that may come at any time. */
void disk_orders(const struct disk *disk, uint64_t *orders);
/* What the disk shows after a power cut when KEEP[i] says whether the i-th of
 * disk_undecided() items reached it. IS_LAST: its power will not fail again. */
struct disk *disk_crash(const struct disk *disk, const bool *keep, bool is_last);

#endif
