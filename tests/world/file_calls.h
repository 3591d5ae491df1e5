// SPDX-License-Identifier: ISC
/*
 * tests/world/file_calls.h - the calls of os/file/file.h and range.h as a table, so that a test has
 * the real ones and the simulated ones beside each other. (file_calls.c is compiled twice.)
 */
#ifndef TESTS_WORLD_FILE_CALLS_H
#define TESTS_WORLD_FILE_CALLS_H

#include "os/file/file.h"
#include "os/file/range.h"

struct file_calls {
	int (*open_directory)(int directory, const char *path);
	int (*open)(int directory, const char *path, unsigned flags);
	void (*close)(int file);
	ssize_t (*read)(int file, void *data, size_t size, uint64_t offset);
	int (*write)(int file, const void *data, size_t size, uint64_t offset);
	int (*append)(int file, const void *data, size_t size);
	int (*truncate)(int file, uint64_t size);
	int (*sync)(int file);
	void (*write_out_many)(const int *files, size_t count, int *results);
	int (*sync_directory)(int directory, const char *path);
	int (*link)(int directory, const char *from, const char *to);
	int (*rename_new)(int directory, const char *from, const char *to);
	int (*rename)(int directory, const char *from, const char *to);
	int (*unlink)(int directory, const char *path);
	int (*make_directory)(int directory, const char *path);
	int (*make_pipe)(int directory, const char *path);
	int (*is_open_elsewhere)(int file);
	int (*has_writers)(int file);
	int (*info)(int file, struct os_file_info *info_out);
	int (*info_at)(int directory, const char *path, struct os_file_info *info_out);
	int (*set_modified)(int directory, const char *path, int64_t modified_us);
	int (*list)(int directory, const char *path, int (*each)(void *context, const char *name),
		    void *context);
	int (*lock)(int file);
	int (*sync_filesystem)(int file);
	int (*range_lock)(int file, uint64_t offset);
	void (*range_unlock)(int file, uint64_t offset);
	void (*range_unlock_all)(int file);
	int (*range_holder)(int file, uint64_t offset, int *process_out);
};

extern const struct file_calls real_calls;
extern const struct file_calls world_calls;

#endif
