// SPDX-License-Identifier: ISC
/*
 * tests/crash/disk.h - a disk in memory that can lose its power.
 *
 * Every change has two lives: what a process sees at once, and what the disk
 * would show after a power cut. Between them stands a list of undecided items:
 * a write of at most 512 bytes, a file's new size, one name added, one name
 * removed. Each of them may or may not have reached the disk, in any order,
 * until a sync decides them. (No filesystem is as bad as that; each is as bad
 * in some part.)
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

enum disk_item_kind { DISK_WRITE, DISK_SIZE, DISK_ADD, DISK_REMOVE };

struct disk_item {
	enum disk_item_kind kind;
	uint64_t offset; /* DISK_WRITE; or the DISK_SIZE */
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
};

struct disk *disk_new(void);
void disk_free(struct disk *disk);
struct disk *disk_copy(const struct disk *disk);

/* A new node under the lowest number that nothing refers to, durably or not. */
struct disk_node *disk_add_node(struct disk *disk, bool is_directory);
struct disk_entry *disk_find(const struct disk_node *directory, const char *name);
void disk_add_name(struct disk *disk, struct disk_node *directory, const char *name,
		   uint64_t inode);
void disk_remove_name(struct disk *disk, struct disk_node *directory, const char *name);
void disk_write(struct disk *disk, struct disk_node *file, const char *data, size_t size,
		uint64_t offset);
void disk_resize(struct disk *disk, struct disk_node *file, uint64_t size);

/* Decides a node's items: all reached the disk. LEAVE, if not NULL, says which
 * are left undecided. */
void disk_sync(struct disk_node *node,
	       bool (*leave)(const struct disk_node *, const struct disk_item *));
/* Decides them the other way: they are seen, but never reach the disk. */
void disk_lose(struct disk_node *node);

size_t disk_undecided(const struct disk *disk);
/* What the disk shows after a power cut when KEEP[i] says whether the i-th of
 * disk_undecided() items reached it. IS_LAST: its power will not fail again. */
struct disk *disk_crash(const struct disk *disk, const bool *keep, bool is_last);

#endif
