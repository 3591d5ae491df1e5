// SPDX-License-Identifier: ISC
#include "disk_scene.h"
#include "disk_table.h"
#include <errno.h>
#include <string.h>

enum { NEVER = -1 };

static struct {
	struct disk *disk;
	struct disk_file *files[SCENE_DESCRIPTORS];
	uint64_t state;      /* of the scene's chances */
	uint64_t disk_state; /* of the disk's */
	int64_t now_us;
	int failing; /* enum disk_call, or NEVER */
	int error;
	unsigned failures;
	uint64_t calls_left; /* UINT64_MAX: no end */
} scene;

/* splitmix64 */
static uint64_t next(uint64_t *state)
{
	uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

uint64_t disk_scene_below(uint64_t bound)
{
	return next(&scene.state) % bound;
}

static uint64_t below(void *context, uint64_t bound)
{
	return next(context) % bound;
}

static int fault(void *context, enum disk_call call, uint64_t inode)
{
	(void)context;
	(void)inode;
	if (scene.calls_left == 0)
		return scene.error;
	if (scene.calls_left != UINT64_MAX)
		scene.calls_left--;
	if ((int)call != scene.failing || scene.failures == 0)
		return 0;
	scene.failures--;
	return scene.error;
}

void disk_scene_fail(enum disk_call call, int error, unsigned count)
{
	scene.failing = (int)call;
	scene.error = error;
	scene.failures = count;
}

void disk_scene_fail_after(uint64_t calls, int error)
{
	scene.calls_left = calls;
	scene.error = error;
}

void disk_scene_begin(uint64_t seed, const struct disk_options *plan)
{
	struct disk_options options = {0};

	if (plan != NULL)
		options = *plan;
	memset(&scene, 0, sizeof scene);
	scene.state = seed;
	scene.disk_state = ~seed;
	scene.failing = NEVER;
	scene.calls_left = UINT64_MAX;
	options.below = below;
	options.fault = fault;
	options.context = &scene.disk_state;
	scene.disk = disk_new(&options);
}

static void kill_process(void)
{
	for (int i = 0; i < SCENE_DESCRIPTORS; i++)
		disk_table_close(i);
}

void disk_scene_cut_power(void)
{
	kill_process();
	scene.calls_left = UINT64_MAX;
	disk_cut_power(scene.disk);
}

void disk_scene_end(void)
{
	kill_process();
	disk_free(scene.disk);
	scene.disk = NULL;
}

struct disk *disk_scene_disk(void)
{
	return scene.disk;
}

int disk_table_add(struct disk_file *file)
{
	for (int i = 0; i < SCENE_DESCRIPTORS; i++)
		if (scene.files[i] == NULL) {
			scene.files[i] = file;
			return i;
		}
	disk_close(file);
	return -EMFILE;
}

struct disk_file *disk_table_find(int descriptor)
{
	return descriptor >= 0 && descriptor < SCENE_DESCRIPTORS ? scene.files[descriptor] : NULL;
}

void disk_table_close(int descriptor)
{
	struct disk_file *file = disk_table_find(descriptor);

	if (file == NULL)
		return;
	scene.files[descriptor] = NULL;
	disk_close(file);
}

struct disk *disk_table_disk(void)
{
	return scene.disk;
}

int64_t disk_table_now_us(void)
{
	return ++scene.now_us;
}

void disk_table_take_time(size_t count)
{
	(void)count;
}
