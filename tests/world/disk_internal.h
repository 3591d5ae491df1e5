// SPDX-License-Identifier: ISC
/*
 * tests/world/disk_internal.h - what a disk consists of.
 *
 * A file has two images, what is seen and what is durable, which share pages until they differ. A
 * directory has one table of entries, each with the node that is seen under its name and the one
 * that is durably there. Items are the changes of the second that are not decided, in the order
 * they were made in: of the whole disk, and of each node.
 */
#ifndef TESTS_WORLD_DISK_INTERNAL_H
#define TESTS_WORLD_DISK_INTERNAL_H

#include "disk.h"

enum { DISK_FIRST_INODE = 12 /* but for the root's */ };

struct disk_page {
	unsigned references;
	char bytes[DISK_PAGE];
};

struct disk_image {
	struct disk_page **pages; /* NULL: a hole */
	size_t count;
	uint64_t size;
};

struct disk_entry {
	struct disk_entry *next; /* in its bucket */
	struct disk_node *seen;
	struct disk_node *durable;
	unsigned items; /* that will change DURABLE */
	char name[];
};

enum disk_item_kind { DISK_ITEM_NAME, DISK_ITEM_CUT, DISK_ITEM_OUT };

struct disk_item {
	struct disk_item *before, *after;         /* of the disk */
	struct disk_item *own_before, *own_after; /* of the node */
	struct disk_node *node;
	uint64_t order;
	int64_t made_us; /* of the disk's uptime */
	enum disk_item_kind kind;
	struct disk_entry *entry; /* NAME: is to lead to TARGET, or nowhere */
	struct disk_node *target;
	struct disk_image out; /* OUT: the pages that were written out; CUT: its size */
};

struct disk_node {
	struct disk *disk;
	struct disk_node *before, *after; /* of the disk */
	uint64_t inode;
	mode_t mode;
	uid_t owner;
	int64_t modified_us;
	int64_t changed_us;
	unsigned references; /* entries, seen and durable; open files; items */
	unsigned links;      /* entries, seen */
	unsigned readers;    /* open files that cannot write */
	unsigned writers;
	bool is_left;        /* has no name and nobody has it open */
	bool is_number_free; /* another may have it, until the power is cut */
	bool is_reached;     /* while the power is cut */
	struct disk_file *locked_by;
	struct disk_file *files; /* open */
	void **shared;           /* disk_sqlite_share() */
	size_t shared_count;
	struct disk_item *first, *last;
	size_t item_count;
	/* a file */
	struct disk_image seen, durable;
	bool *is_dirty; /* of each of SEEN's pages, which may differ from DURABLE's on their way
			   there */
	size_t dirty_count;
	bool is_changed; /* one of the disk's changed ones */
	struct disk_node *changed_before, *changed_after;
	/* a directory */
	struct disk_node *parent;
	struct disk_entry **buckets;
	size_t bucket_count;
	size_t entry_count;
	size_t name_count; /* seen */
	unsigned folder_count;
	uint64_t changed; /* order of the last change of its names; of a file: of when it grew */
};

struct disk_file {
	struct disk_node *node;
	unsigned references;
	unsigned flags;
	uint64_t position;
	struct disk_file *next; /* of the node's */
	int level;              /* of SQLite's locks */
	unsigned exclusive;     /* of its shared memory */
	unsigned common;
	uint64_t *ranges; /* bytes that it has locked (disk_range.h) */
	size_t range_count;
};

struct disk {
	struct disk_options options;
	const struct disk_watch *watch; /* NULL: nobody */
	struct disk_ear *ears;
	struct disk_node *root;
	struct disk_node *nodes;
	struct disk_node *changed; /* files whose bytes or size may not be durable */
	struct disk_item *first, *last;
	size_t item_count;
	uint64_t changes;
	uint64_t pages;
	uint64_t inodes;
	uint64_t next_inode;
	uint64_t *free_inodes; /* the last one is used first */
	size_t free_count, free_capacity;
	bool is_broken; /* a commit failed: an old name may stand beside its number's new one */
	size_t open_count;
	int64_t now_us; /* of the wall clock */
	int64_t uptime_us;
	uid_t user;
};

/* disk_bytes.c */
struct disk_page *disk_page_share(struct disk_page *page);
void disk_image_clear(struct disk_image *image);
void disk_image_set(struct disk_image *image, size_t number, struct disk_page *page);
/* Cuts an image to SIZE, or lets it grow. */
void disk_image_resize(struct disk_image *image, uint64_t size);
void disk_node_leave_bytes(struct disk_node *node);
void disk_node_clean(struct disk_node *node, size_t number);
/* All of its bytes, and its size, are durable, or nobody's any more. */
void disk_node_settle(struct disk_node *node);

/* disk_items.c */
struct disk_item *disk_item_add(struct disk_node *node, enum disk_item_kind kind);
/* It reached the disk, or never will. */
void disk_item_apply(struct disk_item *item);
void disk_item_lose(struct disk_item *item);
void disk_items_apply_until(struct disk *disk, uint64_t order);

/* disk.c: memory of the host's, zeroed; ends the program when there is none */
void *disk_alloc(size_t size);
void *disk_resize(void *old, size_t size);
int disk_fault(const struct disk *disk, enum disk_call call, uint64_t inode);
uint64_t disk_chance(const struct disk *disk, uint64_t bound);
void disk_node_hold(struct disk_node *node);
void disk_node_drop(struct disk_node *node);
/* After a name or an open file less. */
void disk_node_check_left(struct disk_node *node);
void disk_node_free(struct disk_node *node);
void disk_inode_give_back(struct disk *disk, uint64_t inode);

/* disk_ear.c: tells of WHAT, of enum disk_sound; of a name that led to BEFORE and leads to NODE;
 * that there will be nothing more of NODE. */
void disk_sound_bytes(const struct disk_node *node, unsigned what);
void disk_sound_name(const struct disk_node *directory, const char *name,
		     const struct disk_node *before, const struct disk_node *node);
void disk_sound_end(const struct disk_node *node);

/* disk_sqlite.c: nobody has it open any more */
void disk_sqlite_forget(struct disk_node *node);

/* disk_names.c */
struct disk_entry *disk_entry_find(const struct disk_node *directory, const char *name);
void disk_entry_check(struct disk_node *directory, struct disk_entry *entry);
void disk_entry_see(struct disk_node *directory, const char *name, struct disk_node *node,
		    uint64_t order);
/* All that a call changes of names is done: its result, 0. */
int disk_settle(const struct disk *disk);
/* The directory that PATH ends in, and its last name ("." for none): 0 or -errno. */
int disk_walk(struct disk *disk, struct disk_file *from, const char *path,
	      struct disk_node **directory_out, char name[DISK_NAME_MAX + 1]);
int disk_look_up(struct disk *disk, struct disk_file *from, const char *path,
		 struct disk_node **node_out);
struct disk_node *disk_node_new(struct disk *disk, mode_t mode);

#endif
