// SPDX-License-Identifier: ISC
/*
 * tests/world/disk_scene.h - one process with a disk, without a kernel: what disk_table.h asks for.
 */
#ifndef TESTS_WORLD_DISK_SCENE_H
#define TESTS_WORLD_DISK_SCENE_H

#include "disk.h"

enum { SCENE_DESCRIPTORS = 128 };

/* A new disk whose chances SEED decides. PLAN: options, but for chance; NULL: all 0. */
void disk_scene_begin(uint64_t seed, const struct disk_options *plan);
void disk_scene_end(void);
/* The process is killed, the power cut; then there is a new one. */
void disk_scene_cut_power(void);
struct disk *disk_scene_disk(void);
/* From the scene's own source, which is another one than the disk's. */
uint64_t disk_scene_below(uint64_t bound);
/* The next calls of that kind fail with ERROR, COUNT of them. */
void disk_scene_fail(enum disk_call call, int error, unsigned count);
/* After CALLS more every call fails with ERROR, until disk_scene_cut_power(). */
void disk_scene_fail_after(uint64_t calls, int error);

#endif
