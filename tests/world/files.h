// SPDX-License-Identifier: ISC
/*
 * world/files.h - a machine's files, in memory.
 */
#ifndef WORLD_FILES_H
#define WORLD_FILES_H

#include "description.h"
#include "os/file.h"

struct inode {
	uint64_t number;
	uint64_t links;
	size_t open_count;
	bool is_directory;
	bool is_pipe;            /* a named one: what was written and not read is its data */
	struct inode *parent;    /* of a directory; NULL: the root, or not linked yet */
	struct open_file *opens; /* of a pipe */
	int64_t modified_us;
	char *data;
	size_t size;
	size_t capacity;
	struct entry *entries; /* of a directory, by name */
	size_t entry_count;
	size_t entry_size;
	struct description *locked_by;
};

struct entry {
	char *name;
	struct inode *inode;
};

struct files {
	struct inode *root;
	uint64_t last_number;
};

/* What a descriptor of a file or directory leads to. */
struct open_file {
	struct description description;
	struct inode *inode;
	unsigned flags; /* as of os_file_open() */
	uint64_t position;
	struct open_file *next_of_pipe;
};

extern const struct description_kind file_description;
extern const struct description_kind named_pipe_description;

struct files *files_new(void);
void files_free(struct files *files);
/* The file at PATH of MACHINE; NULL when there is none. */
struct inode *files_find(struct machine *machine, const char *path);
/* Makes a file with TEXT at PATH, and the directories above it. */
void files_put(struct machine *machine, const char *path, const char *text);
/* Calls EACH with the names of the directory at PATH; stops when it returns something else than 0
 * and returns that. */
int files_each(struct machine *machine, const char *path,
	       int (*each)(void *context, const char *name, struct inode *inode), void *context);

/* --- files.c, for those who implement os/file.h --- */

/* The directory that the last part of PATH is in, and that part: 0, -ENOENT, -ENOTDIR, -EBADF. */
int files_walk(int directory, const char *path, struct inode **parent_out, const char **name_out);
/* The same, to what is there. */
int files_look(int directory, const char *path, struct inode **inode_out);
struct inode *inode_new(struct files *files, bool is_directory);
void inode_drop(struct inode *inode);
struct entry *directory_find(const struct inode *directory, const char *name);
void directory_add(struct inode *directory, const char *name, struct inode *inode);
void directory_remove(struct inode *directory, const char *name);
void inode_write(struct inode *inode, const void *data, size_t size, uint64_t offset);
void inode_fill_info(const struct inode *inode, struct os_file_info *out);
int open_file_add(struct inode *inode, unsigned flags);

#endif
