// SPDX-License-Identifier: ISC
/* What is wrong with a queue: whether it was copied, by looking at some of its files; and what
 * was set aside. */
#include "os/clock.h"
#include "os/file/file.h"
#include "queue/internal.h"
#include <errno.h>
#include <stdio.h>

enum { SAMPLES = 2000, STOP = 1 };

static const int64_t SAMPLE_US = SECOND_US / 2;

struct sample {
	struct queue_store *store;
	const enum mail_stage *stage;
	struct queue_misnamed *misnamed;
	int64_t until_us;
	unsigned left; /* of the current directory */
	bool is_misnamed;
};

static int sample_message(void *context, uint64_t number)
{
	struct sample *sample = context;
	uint64_t inode;
	int result;

	if (sample->left-- == 0 || os_clock_monotonic_us() > sample->until_us)
		return STOP;
	result = queue_store_look(sample->store, sample->stage, number, &inode);
	if (result != -EUCLEAN)
		return 0;
	sample->is_misnamed = true;
	sample->misnamed->inode = inode;
	queue_store_path(sample->store, sample->stage != NULL ? QUEUE_TODO : QUEUE_MESS,
			 sample->stage != NULL ? mail_stage_name(*sample->stage) : NULL, number,
			 sample->misnamed->path);
	return STOP;
}

static int sample_place(struct sample *sample, const enum mail_stage *stage)
{
	int result = 0;

	sample->stage = stage;
	for (uint32_t x = 0; result >= 0 && !sample->is_misnamed && x < sample->store->split; x++) {
		sample->left = SAMPLES / sample->store->split + 1;
		result = queue_store_each_part(sample->store,
					       stage != NULL ? QUEUE_TODO : QUEUE_MESS,
					       stage != NULL ? mail_stage_name(*stage) : NULL, x,
					       sample_message, NULL, sample);
	}
	return result;
}

int queue_store_sample(struct queue_store *store, struct queue_misnamed *misnamed_out)
{
	static const enum mail_stage stages[] = {MAIL_STAGE_SUBMIT, MAIL_STAGE_ARRIVE};
	struct sample sample = {.store = store,
				.misnamed = misnamed_out,
				.until_us = os_clock_monotonic_us() + SAMPLE_US};
	int result = sample_place(&sample, NULL);

	for (size_t i = 0; result >= 0 && !sample.is_misnamed && i < COUNT_OF(stages); i++)
		result = sample_place(&sample, &stages[i]);
	return sample.is_misnamed || result > 0 ? sample.is_misnamed : result;
}

struct aside {
	struct queue_store *store;
	uint64_t count;
	uint64_t bytes;
};

static int count_aside(void *context, const char *name)
{
	struct aside *aside = context;
	struct os_file_info info;
	char path[QUEUE_PATH_SIZE + 256];

	snprintf(path, sizeof path, "pid/%s", name);
	if (name[0] != 'x' || os_file_info_at(aside->store->directory, path, &info) < 0)
		return 0;
	aside->count++;
	aside->bytes += info.size;
	return 0;
}

int queue_store_aside(struct queue_store *store, uint64_t *count_out, uint64_t *bytes_out)
{
	struct aside aside = {.store = store};
	int result = os_file_list(store->directory, "pid", count_aside, &aside);

	if (result < 0)
		return result;
	*count_out = aside.count;
	*bytes_out = aside.bytes;
	return 0;
}
