// SPDX-License-Identifier: ISC
/*
 * tests/world/disk_table.h - what os_file.c asks of the kernel: the table of descriptors of the
 * process that runs now, and what belongs to it.
 *
 * What a descriptor leads to is a disk's open file with the count of one: the kernel calls
 * disk_close() when no descriptor of any process and no packet on its way leads to it any more.
 */
#ifndef TESTS_WORLD_DISK_TABLE_H
#define TESTS_WORLD_DISK_TABLE_H

#include "base/attributes.h"
#include "disk.h"

/* The lowest free number. Takes FILE over, also when it fails: -EMFILE. */
MUST_CHECK int disk_table_add(struct disk_file *file);
/* Borrowed; NULL when it is not open, or no file. */
struct disk_file *disk_table_find(int descriptor);
/* Closes a descriptor of any kind; one that is not open, too. */
void disk_table_close(int descriptor);
/* The disk of the machine on which this process runs, and its clock. */
struct disk *disk_table_disk(void);
int64_t disk_table_now_us(void);
/* A call that makes one of COUNT things durable takes its time: before the disk has done it, and
 * after that. */
void disk_table_take_time(size_t count);

#endif
