// SPDX-License-Identifier: ISC
/*
 * power/disk_log.h - what a recording disk was told, in order. history.py reads it.
 */
#ifndef POWER_DISK_LOG_H
#define POWER_DISK_LOG_H

#include <stddef.h>
#include <stdint.h>

enum disk_record_kind {
	DISK_WRITE = 1, /* LENGTH bytes follow the record */
	DISK_ZERO = 2,  /* LENGTH bytes at OFFSET are discarded: they read as zeros */
	DISK_FLUSH = 3, /* all records before it are durable */
};

/* Native byte order; the first record has number 1. */
struct disk_record {
	uint32_t kind;
	uint32_t unused;
	uint64_t offset;
	uint64_t length;
	uint64_t time; /* nanoseconds of CLOCK_REALTIME */
};

struct disk_log {
	int file;
	_Atomic uint64_t *position; /* shared memory: the number of the last record */
};

/* Creates both files; 0 or -errno. Everybody may read POSITION_PATH: 8 bytes. */
int disk_log_open(struct disk_log *log, const char *path, const char *position_path);

/* Appends a record, BYTES only for DISK_WRITE, and then counts it; 0 or -errno. */
int disk_log_append(struct disk_log *log, enum disk_record_kind kind, uint64_t offset,
		    uint64_t length, const void *bytes);

#endif
