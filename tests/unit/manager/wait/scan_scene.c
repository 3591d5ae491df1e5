// SPDX-License-Identifier: ISC
#include "scan_scene.h"
#include "base/panic.h"
#include "os/clock.h"
#include "test.h"
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

const struct scan_times scene_times = {.rescan_us = HOUR_US, .lifetime_us = 5 * DAY_US};

static bool is_awake(void *context, uint64_t number)
{
	const struct scan_scene *scene = context;

	return number == scene->awake;
}

static void on_wanted(void *context, bool only_new)
{
	struct scan_scene *scene = context;

	if (only_new)
		scene->wanted_new++;
	else
		scene->wanted_all++;
	if (scene->pulls)
		queue_store_pull_trigger(scene_store);
	scene->pulls = false;
	if (scene->obeys)
		scan_begin(scene->scan, only_new);
}

static void on_found(void *context, enum mail_stage stage, uint64_t number)
{
	struct scan_scene *scene = context;

	assert_true(scene->found_count < SCENE_NAMES_MAX);
	scene->found[scene->found_count].stage = stage;
	scene->found[scene->found_count++].number = number;
	fake_pass(scene->costs_us);
	for (unsigned i = 0; scene->found_count == 1 && i < scene->requests; i++)
		scan_begin(scene->scan, scene->only_new[i]);
}

static bool settle(void *context, enum mail_stage stage, uint64_t number)
{
	struct scan_scene *scene = context;

	(void)stage;
	(void)number;
	scene->settled++;
	return !scene->is_named;
}

static void on_whole(void *context)
{
	struct scan_scene *scene = context;

	scene->wholes++;
}

static const struct scan_handler scan_handler = {is_awake, on_wanted, on_found, settle, on_whole};

static void on_wake(void *context, struct sleeper *sleeper, bool is_retry)
{
	struct scan_scene *scene = context;

	assert_true(scene->woken_count < SCENE_NAMES_MAX);
	scene->woken[scene->woken_count++] = sleeper->number;
	scene->was_retry = is_retry;
	sleepers_remove(&scene->wait->sleepers, sleeper);
	if (is_retry)
		wake_retry_ended(scene->wake, false);
}

static void on_load(void *context, unsigned *processors_out, unsigned *disk_out)
{
	(void)context;
	*processors_out = 0;
	*disk_out = 0;
}

static const struct wake_handler wake_handler = {on_wake, on_load};

/* The files' times are the real clock's: the scene's must not lie before them. */
static void set_clock(void)
{
	fake_set_wall((int64_t)time(NULL) * SECOND_US + SECOND_US - os_clock_wall_us());
}

struct scan_scene *scan_scene_new(void)
{
	struct scan_scene *scene = memory_alloc_zero(1, sizeof *scene);

	scene->wait = wait_scene_new();
	set_clock();
	scene->share.limit = SHARE_UNITS;
	scene->wake = wake_new(NULL, &scene->wait->sleepers, scene->wait->triggers, &scene->share,
			       &wake_handler, scene);
	wake_check_clock(scene->wake);
	scene->scan = scan_new(NULL, scene_store, &scene->wait->sleepers, scene->wake, scene_times,
			       &scan_handler, scene);
	return scene;
}

void scan_scene_restart(struct scan_scene *scene)
{
	scan_free(scene->scan);
	sleepers_clear(&scene->wait->sleepers);
	scene->scan = scan_new(NULL, scene_store, &scene->wait->sleepers, scene->wake, scene_times,
			       &scan_handler, scene);
}

/* --- names --- */

static void path_of(enum queue_folder folder, const char *name, uint64_t number,
		    char path[QUEUE_PATH_SIZE])
{
	queue_store_path(scene_store, folder, name, number, path);
}

void scan_scene_make_name(enum queue_folder folder, const char *name, uint64_t number)
{
	char path[QUEUE_PATH_SIZE];
	int file;

	path_of(folder, name, number, path);
	file = openat(queue_store_directory(scene_store), path, O_CREAT | O_WRONLY, 0600);
	assert_true(file >= 0);
	assert_int_equal(close(file), 0);
}

void scan_scene_make_queued(uint64_t number)
{
	scan_scene_make_name(QUEUE_TODO, "arrive", number);
}

void scan_scene_set_due(uint64_t number, int64_t due_us)
{
	const struct timespec at[2] = {
		{.tv_nsec = UTIME_OMIT},
		{.tv_sec = due_us / SECOND_US, .tv_nsec = due_us % SECOND_US * 1000},
	};
	char path[QUEUE_PATH_SIZE];

	scan_scene_make_name(QUEUE_INFO, NULL, number);
	path_of(QUEUE_INFO, NULL, number, path);
	assert_int_equal(utimensat(queue_store_directory(scene_store), path, at, 0), 0);
}

void scan_scene_make_waiting(uint64_t number, int64_t delay_us)
{
	scan_scene_set_due(number, os_clock_wall_us() + delay_us);
}

void scan_scene_remove_name(enum queue_folder folder, const char *name, uint64_t number)
{
	char path[QUEUE_PATH_SIZE];

	path_of(folder, name, number, path);
	(void)unlinkat(queue_store_directory(scene_store), path, 0);
}

void scan_scene_free(struct scan_scene *scene)
{
	scan_free(scene->scan);
	wake_free(scene->wake);
	wait_scene_free(scene->wait);
	(void)unlinkat(queue_store_directory(scene_store), "intd/due", 0);
	for (uint64_t number = 1; number < SCENE_NAMES_MAX; number++) {
		scan_scene_remove_name(QUEUE_TODO, "arrive", number);
		scan_scene_remove_name(QUEUE_TODO, "submit", number);
		scan_scene_remove_name(QUEUE_INFO, NULL, number);
	}
	free(scene);
}

void scan_scene_look(struct scan_scene *scene, bool only_new)
{
	scene->found_count = 0;
	scene->wholes = 0;
	scan_begin(scene->scan, only_new);
	fake_advance(SECOND_US);
}

struct sleeper *scan_scene_asleep(const struct scan_scene *scene, uint64_t number)
{
	struct sleeper *sleeper = sleepers_find(&scene->wait->sleepers, number);

	assert_non_null(sleeper);
	return sleeper;
}

bool scan_scene_is_asleep(const struct scan_scene *scene, uint64_t number)
{
	return sleepers_find(&scene->wait->sleepers, number) != NULL;
}
