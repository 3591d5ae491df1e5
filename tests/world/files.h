// SPDX-License-Identifier: ISC
/*
 * world/files.h - the files of a machine, for the world: they are on its disk (disk.h).
 */
#ifndef WORLD_FILES_H
#define WORLD_FILES_H

#include "description.h"
#include "disk.h"

/* A disk for MACHINE, whose chances are the world's. */
void files_begin(struct machine *machine);
void files_end(struct machine *machine);
/* Makes a file with TEXT at PATH, and the directories above it, all durable; a PATH that ends with
 * '/' is a directory. */
void files_put(struct machine *machine, const char *path, const char *text);
/* The names in the directory PATH: a text of texts, each with its NUL, of *SIZE_OUT bytes in all;
 * given back with disk_list_free(). NULL: there is no such directory. */
char *files_names(struct machine *machine, const char *path, size_t *size_out);
/* What is in the file at PATH, with a NUL behind it; the caller frees it. NULL: there is none. */
char *files_read(struct machine *machine, const char *path, size_t *size_out);
/* The last bytes of the file at PATH, SIZE at most: how many. */
size_t files_end_of(struct machine *machine, const char *path, char *text, size_t size);
/* 0: there is no such file or directory. */
uint64_t files_inode(struct machine *machine, const char *path);
uint64_t files_size(struct machine *machine, const char *path);
bool files_is_folder(struct machine *machine, const char *path);
bool files_exist(struct machine *machine, const char *path);
/* Gives the file at PATH the name TO, durably: false when that cannot be done. */
bool files_move(struct machine *machine, const char *path, const char *to);
/* The bytes and the name of the file at PATH become durable. */
void files_sync(struct machine *machine, const char *path);
/* The file at PATH gets the name TO, durably, and what had that is gone. PATH's bytes become
 * durable, too. */
void files_replace(struct machine *machine, const char *path, const char *to);
void files_remove(struct machine *machine, const char *path);
/* The file at PATH has TEXT from now on, durably. */
void files_change(struct machine *machine, const char *path, const char *text);
/* Removes the files in the directory PATH. */
void files_empty(struct machine *machine, const char *path);

/* --- as descriptions (disk_table.c) --- */

/* What a descriptor of a file or directory leads to. */
struct open_file {
	struct description description;
	struct disk_file *file;
	struct named_pipe *pipe; /* of a named pipe */
	uint64_t position;
	struct open_file *next_of_pipe;
};

extern const struct description_kind file_description;
extern const struct description_kind named_pipe_description;

/* The pipes of MACHINE hold nothing any more. */
void disk_table_forget(struct machine *machine);

#endif
