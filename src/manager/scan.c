// SPDX-License-Identifier: ISC
/*
 * Finding messages: at the start, when something was missed, when lock/trigger
 * is pulled, and from time to time.
 */
#include "base/panic.h"
#include "log/event.h"
#include "manager/internal.h"
#include "os/clock.h"
#include "os/file.h"
#include <errno.h>

struct scan {
	struct manager *manager;
	enum mail_stage stage;
	size_t found;
};

static int on_todo(void *context, uint64_t number)
{
	struct scan *scan = context;

	if (message_find(scan->manager, number) == NULL) {
		message_add(scan->manager, number, true, scan->stage, os_clock_wall_us());
		scan->found++;
	}
	return 0;
}

static int on_info(void *context, uint64_t number)
{
	struct scan *scan = context;
	struct os_file_info info;
	char path[QUEUE_PATH_SIZE];

	if (message_find(scan->manager, number) != NULL)
		return 0;
	queue_store_path(scan->manager->store, QUEUE_INFO, NULL, number, path);
	if (os_file_info_at(queue_store_directory(scan->manager->store), path, &info) < 0)
		return 0;
	message_add(scan->manager, number, false, MAIL_STAGE_SUBMIT, info.modified_us);
	scan->found++;
	return 0;
}

static int on_stray(void *context, const char *path)
{
	(void)context;
	log_event(EVENT_MESSAGE_DAMAGED, log_string("path", path));
	return 0;
}

static void log_scan_error(int error)
{
	if (error < 0)
		log_event(EVENT_QUEUE_ERROR, log_string("operation", "scan"), log_error(error));
}

/* What is at S4 before what is at S5: a message at both is at S4. */
void scan_all(struct manager *manager)
{
	struct scan scan = {.manager = manager};

	if (manager->is_stopping)
		return;
	for (unsigned i = 0; i < MAIL_STAGE_COUNT; i++) {
		scan.stage = (enum mail_stage)i;
		log_scan_error(queue_store_each(manager->store, QUEUE_TODO,
						mail_stage_name(scan.stage), on_todo, on_stray,
						&scan));
	}
	log_scan_error(
		queue_store_each(manager->store, QUEUE_INFO, NULL, on_info, on_stray, &scan));
	log_event(EVENT_RESCAN, log_number("found", (int64_t)scan.found));
}

void scan_timer(void *context)
{
	struct manager *manager = context;

	if (manager->is_managing)
		scan_all(manager);
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
		scan_all(manager);
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
