// SPDX-License-Identifier: ISC
/*
 * Finding messages: at the start, when something was missed, when lock/trigger
 * is pulled, and from time to time. New mail need not wait for it: it is done in
 * slices of a few milliseconds, between which the loop sees to all else, with pauses
 * where there is much.
 *
 * While few messages sleep, all are kept in memory. Beyond that those at S5 that
 * are not due soon are left where they are: the file's time says when they are,
 * and a later scan comes before that.
 */
#include "base/panic.h"
#include "log/event.h"
#include "manager/internal.h"
#include "manager/schedule.h"
#include "os/clock.h"
#include "os/file.h"
#include "queue/walk.h"
#include <errno.h>
#include <stdlib.h>

enum { KEPT_MAX = 500000, SLICE_US = 2000, BUSY_PAUSE_US = 10000 };

struct scan {
	struct manager *manager;
	struct os_timer *timer;
	struct queue_walk walk;
	unsigned place; /* the stages of todo/, then info/ */
	bool is_running;
	bool only_new;
	bool again; /* something was missed since it began */
	bool again_only_new;
	size_t found;
};

bool scan_will_find(const struct manager *manager, int64_t due_us)
{
	return manager->sleepers.count >= KEPT_MAX && due_us != INT64_MAX &&
	       due_us > os_clock_wall_us() + 2 * manager->config->rescan_us;
}

/* --- one message --- */

static bool is_known(struct manager *manager, uint64_t number)
{
	return message_find(manager, number) != NULL ||
	       sleepers_find(&manager->sleepers, number) != NULL;
}

/* Looks at the name itself, where WALK is (NULL: anywhere): what a directory's list told may be
 * over. What cannot be looked at is taken to be there, and due: whoever reads it finds out. */
static bool stat_at(struct manager *manager, const struct queue_walk *walk, enum queue_place place,
		    const char *name, uint64_t number, struct os_file_info *info)
{
	char path[QUEUE_PATH_SIZE];
	int error;

	queue_store_path(manager->store, place, name, number, path);
	error = walk != NULL ? queue_walk_info(walk, number, info)
			     : os_file_info_at(queue_store_directory(manager->store), path, info);
	if (error < 0 && error != -ENOENT) {
		log_event(EVENT_QUEUE_ERROR, log_string("path", path), log_error(error));
		*info = (struct os_file_info){.inode = number};
		return true;
	}
	return error == 0;
}

/* Before anybody works on it. Where that cannot be done, its data may have two names: then
 * it is not removed before it has gone through S5. */
static bool is_settled(struct manager *manager, enum mail_stage stage, uint64_t number)
{
	int error = manager->is_cleaned ? 0
					: queue_update_settle(manager->store, stage, number,
							      cleaning_log, NULL);

	if (error < 0)
		log_event(EVENT_QUEUE_ERROR, log_number("number", (int64_t)number),
			  log_string("operation", "settle"), log_error(error));
	return error == 0;
}

static struct sleeper *add_queued(struct manager *manager, const struct queue_walk *walk,
				  enum mail_stage stage, uint64_t number)
{
	struct os_file_info info;
	struct sleeper *sleeper;
	bool has_names;

	if (!stat_at(manager, walk, QUEUE_TODO, mail_stage_name(stage), number, &info))
		return NULL;
	has_names = !is_settled(manager, stage, number);
	sleeper = sleepers_add(&manager->sleepers, number, INT64_MAX);
	sleeper->is_queued = true;
	sleeper->is_found = true;
	sleeper->has_names = has_names;
	sleeper->stage = (unsigned)stage & 15U;
	wake_first(manager, sleeper);
	return sleeper;
}

/* No message waits so long: the clock was set back since, and it may be late. */
static bool is_absurd(const struct manager *manager, int64_t due_us)
{
	return due_us > os_clock_wall_us() + schedule_longest_us(manager->config->queuelifetime_us);
}

static struct sleeper *add_preprocessed(struct manager *manager, const struct queue_walk *walk,
					uint64_t number)
{
	struct os_file_info info;
	struct sleeper *sleeper;

	if (!stat_at(manager, walk, QUEUE_INFO, NULL, number, &info))
		return NULL;
	if (is_absurd(manager, info.modified_us))
		info.modified_us = 0;
	if (walk != NULL && scan_will_find(manager, info.modified_us))
		return NULL;
	wake_check_clock(manager);
	sleeper = sleepers_add(&manager->sleepers, number, info.modified_us);
	wake_schedule(manager);
	return sleeper;
}

/* What is at S4 before what is at S5: a message at both is at S4. WALK: found by a scan, so
 * that it may be left to another one. */
static struct sleeper *add(struct manager *manager, const struct queue_walk *walk, unsigned place,
			   uint64_t number)
{
	return place < MAIL_STAGE_COUNT ? add_queued(manager, walk, (enum mail_stage)place, number)
					: add_preprocessed(manager, walk, number);
}

struct sleeper *scan_find(struct manager *manager, uint64_t number)
{
	struct sleeper *sleeper = sleepers_find(&manager->sleepers, number);

	for (unsigned place = 0; sleeper == NULL && place <= MAIL_STAGE_COUNT; place++)
		sleeper = add(manager, NULL, place, number);
	return sleeper;
}

/* --- all --- */

static void on_stray(const char *path)
{
	log_event(EVENT_MESSAGE_DAMAGED, log_string("path", path));
}

static void enter_place(struct scan *scan)
{
	struct queue_store *store = scan->manager->store;

	if (scan->place < MAIL_STAGE_COUNT)
		queue_walk_begin(&scan->walk, store, QUEUE_TODO,
				 mail_stage_name((enum mail_stage)scan->place));
	else
		queue_walk_begin(&scan->walk, store, QUEUE_INFO, NULL);
}

static void finish(struct scan *scan)
{
	scan->is_running = false;
	log_event(EVENT_RESCAN, log_number("found", (int64_t)scan->found));
	if (!scan->only_new)
		cleaning_begin(scan->manager);
	if (scan->again)
		scan_begin(scan->manager, scan->again_only_new);
}

/* To the end of the place: whether there is another one. */
static bool next_place(struct scan *scan)
{
	scan->place++;
	if (scan->place > MAIL_STAGE_COUNT || (scan->only_new && scan->place == MAIL_STAGE_COUNT))
		return false;
	enter_place(scan);
	return true;
}

/* One name. False at the end. */
static bool step(struct scan *scan)
{
	struct manager *manager = scan->manager;
	uint64_t number;
	int result = queue_walk_next(&scan->walk, &number, on_stray);

	if (result == 0)
		return next_place(scan);
	if (result < 0)
		log_event(EVENT_QUEUE_ERROR, log_string("operation", "scan"), log_error(result));
	else if (!is_known(manager, number) &&
		 add(manager, &scan->walk, scan->place, number) != NULL)
		scan->found++;
	return true;
}

static void on_slice(void *context)
{
	struct scan *scan = context;
	int64_t until_us = os_clock_monotonic_us() + SLICE_US;
	bool is_more = true;

	if (scan->manager->is_stopping)
		return;
	while (is_more && os_clock_monotonic_us() < until_us)
		is_more = step(scan);
	if (is_more)
		os_timer_start(scan->timer, wake_has_spare_time(scan->manager) ? 0 : BUSY_PAUSE_US);
	else
		finish(scan);
}

static struct scan *scan_new(struct manager *manager)
{
	struct scan *scan = memory_alloc_zero(1, sizeof *scan);

	scan->manager = manager;
	scan->timer = os_timer_new(manager->loop, on_slice, scan);
	return scan;
}

void scan_begin(struct manager *manager, bool only_new)
{
	struct scan *scan;

	if (manager->is_stopping)
		return;
	if (manager->scan == NULL)
		manager->scan = scan_new(manager);
	scan = manager->scan;
	if (scan->is_running) { /* what is new may stand behind us */
		scan->again_only_new = only_new && (!scan->again || scan->again_only_new);
		scan->again = true;
		return;
	}
	scan->is_running = true;
	scan->again = false;
	scan->only_new = only_new;
	scan->found = 0;
	scan->place = 0;
	enter_place(scan);
	on_slice(scan);
}

void scan_end(struct manager *manager)
{
	struct scan *scan = manager->scan;

	if (scan == NULL)
		return;
	queue_walk_end(&scan->walk);
	os_timer_free(scan->timer);
	free(scan);
	manager->scan = NULL;
}

void scan_timer(void *context)
{
	struct manager *manager = context;

	if (manager->is_managing)
		scan_begin(manager, false);
	os_timer_start(manager->rescan_timer, manager->config->rescan_us);
}

/* The pipe is opened anew before each scan (sources, section 7), so that a pull
 * during the scan is not lost. */
static void on_trigger(void *context, unsigned events)
{
	struct manager *manager = context;

	(void)events;
	scan_open_trigger(manager);
	if (manager->is_managing)
		scan_begin(manager, true);
}

void scan_open_trigger(struct manager *manager)
{
	os_watch_free(manager->trigger_watch);
	manager->trigger_watch = NULL;
	if (manager->trigger >= 0)
		os_file_close(manager->trigger);
	manager->trigger = os_file_open(queue_store_directory(manager->store), "lock/trigger",
					OS_FILE_READ | OS_FILE_NO_BLOCK);
	if (manager->trigger < 0) {
		log_event(EVENT_QUEUE_ERROR, log_string("operation", "open lock/trigger"),
			  log_error(manager->trigger));
		return;
	}
	manager->trigger_watch =
		os_watch_new(manager->loop, manager->trigger, OS_WATCH_READ, on_trigger, manager);
}
