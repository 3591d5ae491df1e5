// SPDX-License-Identifier: ISC
/*
 * What a crash has left is removed beside all else, in slices, when all mail was found: until
 * then, and until its end, nothing of it does any harm (queue/cleaner.h).
 */
#include "base/panic.h"
#include "log/event.h"
#include "manager/internal.h"
#include "os/clock.h"
#include "queue/cleaner.h"
#include <stdlib.h>

enum { SLICE_US = 2000, PAUSE_US = 1000, BUSY_PAUSE_US = 20000 };

struct cleaning {
	struct manager *manager;
	struct os_timer *timer;
	struct arena *arena; /* of the names: services may go with a new configuration */
	struct queue_cleaner *cleaner;
};

void cleaning_log(void *context, const char *path)
{
	(void)context;
	log_event(EVENT_QUEUE_CLEANED, log_string("path", path));
}

static bool is_busy(void *context, uint64_t number)
{
	return message_find(context, number) != NULL;
}

static void forget(void *context, uint64_t number)
{
	struct manager *manager = context;
	struct sleeper *sleeper = sleepers_find(&manager->sleepers, number);

	if (sleeper != NULL)
		sleepers_remove(&manager->sleepers, sleeper);
}

static int remove_data(void *context, uint64_t number)
{
	removal_ask_data(context, number);
	return 0;
}

static const struct queue_cleaner_handler handler = {is_busy, forget, remove_data, cleaning_log};

static void on_slice(void *context)
{
	struct cleaning *cleaning = context;
	struct manager *manager = cleaning->manager;
	int64_t until_us = os_clock_monotonic_us() + SLICE_US;
	int result = 1;

	if (manager->is_stopping)
		return;
	while (result > 0 && os_clock_monotonic_us() < until_us)
		result = queue_cleaner_step(cleaning->cleaner);
	if (result < 0)
		log_event(EVENT_QUEUE_ERROR, log_string("operation", "clean"), log_error(result));
	if (result != 0) {
		os_timer_start(cleaning->timer,
			       wake_has_spare_time(manager) ? PAUSE_US : BUSY_PAUSE_US);
		return;
	}
	manager->is_cleaned = queue_cleaner_is_sure(cleaning->cleaner);
	removal_tell_cleaned(manager);
	cleaning_end(manager);
}

void cleaning_begin(struct manager *manager)
{
	const char *names[STAGE_SERVICES_MAX];
	struct cleaning *cleaning;
	const char **services;
	size_t count;

	if (manager->is_cleaned || manager->cleaning != NULL || manager->is_stopping)
		return;
	count = stage_services(manager, names);
	cleaning = memory_alloc_zero(1, sizeof *cleaning);
	cleaning->manager = manager;
	cleaning->arena = arena_new();
	services = arena_alloc(cleaning->arena, (count + 1) * sizeof *services);
	for (size_t i = 0; i < count; i++)
		services[i] = arena_copy(cleaning->arena, str_from(names[i]));
	cleaning->cleaner = queue_cleaner_new(manager->store, services, count, &handler, manager);
	cleaning->timer = os_timer_new(manager->loop, on_slice, cleaning);
	manager->cleaning = cleaning;
	os_timer_start(cleaning->timer, 0);
}

void cleaning_end(struct manager *manager)
{
	struct cleaning *cleaning = manager->cleaning;

	if (cleaning == NULL)
		return;
	manager->cleaning = NULL;
	os_timer_free(cleaning->timer);
	queue_cleaner_free(cleaning->cleaner);
	arena_free(cleaning->arena);
	free(cleaning);
}
