// SPDX-License-Identifier: ISC
#include "wait_scene.h"
#include "base/panic.h"
#include "scratch.h"
#include "test.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct queue_store *scene_store;
static char base[SCRATCH_SIZE];

int scene_open(void **state)
{
	struct queue_options options = {.create = true, .split = 1, .unsafe = true};
	char path[SCRATCH_SIZE + 16];

	(void)state;
	if (scratch_make(base) < 0)
		return -1;
	snprintf(path, sizeof path, "%s/queue", base);
	return queue_store_open(path, &options, &scene_store, NULL);
}

int scene_close(void **state)
{
	(void)state;
	queue_store_close(scene_store);
	return scratch_remove(base);
}

bool scene_has_file(const char *name)
{
	char path[SCRATCH_SIZE + 256];

	snprintf(path, sizeof path, "%s/queue/%s", base, name);
	return access(path, F_OK) == 0;
}

void scene_rename(const char *from, const char *to)
{
	char old[SCRATCH_SIZE + 256];
	char new[SCRATCH_SIZE + 256];

	snprintf(old, sizeof old, "%s/queue/%s", base, from);
	snprintf(new, sizeof new, "%s/queue/%s", base, to);
	assert_int_equal(rename(old, new), 0);
}

/* --- what triggers say --- */

static void on_released(void *context, struct trigger *trigger)
{
	struct wait_scene *scene = context;
	size_t length = strlen(scene->released);

	assert_true(length + 1 < sizeof scene->released);
	scene->released[length] = trigger_name(trigger).data[0];
}

static void on_probe(void *context, struct trigger *trigger, struct sleeper *sleeper)
{
	struct wait_scene *scene = context;

	scene->probes++;
	scene->probed = trigger;
	if (scene->refuses_probes)
		return;
	scene->prober = sleeper->number;
	sleepers_remove(&scene->sleepers, sleeper);
	trigger_probe(scene->triggers, trigger,
		      scene->has_many ? (const void *)(uintptr_t)scene->prober : scene);
}

static void on_crowded(void *context)
{
	struct wait_scene *scene = context;

	scene->crowded++;
}

static void on_search(void *context)
{
	struct wait_scene *scene = context;

	scene->searches++;
	if (scene->still_wanted != NULL)
		(void)triggers_find(scene->triggers, str_from(scene->still_wanted));
}

static const struct trigger_handler handler = {on_released, on_probe, on_search, on_crowded};

struct wait_scene *wait_scene_new(void)
{
	struct wait_scene *scene = memory_alloc_zero(1, sizeof *scene);

	fake_begin(1);
	scene->triggers =
		triggers_new(NULL, scene_store, &scene->sleepers, SCENE_PROBE_US, &handler, scene);
	return scene;
}

static int remove_file(void *context, struct str name)
{
	(void)context;
	return queue_trigger_release(scene_store, name);
}

void wait_scene_free(struct wait_scene *scene)
{
	assert_int_equal(queue_trigger_each(scene_store, remove_file, NULL), 0);
	triggers_free(scene->triggers);
	sleepers_clear(&scene->sleepers);
	free(scene);
}

void wait_scene_sleep(struct wait_scene *scene, uint64_t number, int64_t due_us,
		      struct waiters *waiters)
{
	struct sleeper *sleeper = sleepers_add(&scene->sleepers, number, due_us);

	if (waiters != NULL)
		sleepers_wait(&scene->sleepers, sleeper, waiters);
}
