// SPDX-License-Identifier: ISC
#include "scene.h"
#include "base/panic.h"
#include "unit/test.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { CAPACITY = 64 };

struct manager *scene_manager;
struct config scene_config;
const struct config *model_config;

static struct config told[2]; /* scene_config as it was at first, and as it was told since */
static bool is_stopping;
static bool is_stopped;

void model_fail(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	fprintf(stderr, "\n");
	va_end(arguments);
	abort();
}

static void configure(bool has_extra)
{
	static struct config_transport transports[] = {{"remote", 10, 4, false},
						       {"local", 4, 4, false},
						       {"list", 2, 2, false},
						       {"extra", 2, 2, false}};
	static struct config_service services[] = {
		{.name = "local", .kind = CONFIG_SERVICE_MAILDIR},
		{.name = "extra", .kind = CONFIG_SERVICE_LMTP}};

	scene_config = (struct config){.hostname = "model.example",
				       .bouncefrom = "MAILER-DAEMON",
				       .doublebounceto = "postmaster@model.example",
				       .queuelifetime_us = MODEL_LIFETIME_US,
				       .rescan_us = HOUR_US,
				       .probe_delay_us = MINUTE_US,
				       .transports = transports,
				       .transport_count = has_extra ? 4 : 3,
				       .services = services,
				       .service_count = has_extra ? 2 : 1};
	model_config = &scene_config;
}

void scene_configure(void)
{
	told[1] = scene_config;
	manager_configure(scene_manager, &told[1]);
	model_run_tasks();
}

static void on_ready(void *context)
{
	(void)context;
}

static void start(void)
{
	static const struct ipc_tokens tokens = {{{"resolve", "token"},
						  {"remote", "token"},
						  {"local", "token"},
						  {"lmtp", "token"},
						  {"list", "token"},
						  {"pipe", "token"},
						  {"mailbox", "token"}},
						 7};
	const struct manager_peers peers = {.listening = MODEL_LISTENING,
					    .notify = MODEL_NOTIFY,
					    .queue_path = "queue",
					    .helpers = {[MANAGER_RESOLVE] = {"resolve", 1},
							[MANAGER_REMOTE] = {"remote", 2},
							[MANAGER_LOCAL] = {"local", 3},
							[MANAGER_LMTP] = {"lmtp", 3},
							[MANAGER_LIST] = {"list", 5},
							[MANAGER_PIPE] = {"pipe", 3},
							[MANAGER_MAILBOX] = {"mailbox", 3}},
					    .tokens = &tokens,
					    .owner = 4};

	told[0] = scene_config;
	is_stopping = is_stopped = false;
	scene_manager = manager_new(model_loop, model_store, &told[0], &peers, on_ready, NULL);
	model_queue_connects();
	model_connect_helpers();
}

void scene_begin(bool has_extra)
{
	model_is_calm = true;
	for (size_t i = 0; i < MODEL_HELPERS; i++)
		model_users[i] = i < 2 ? 2 : i < 4 ? 3 : i < 5 ? 1 : 5;
	model_orderer = 0;
	model_disk = (struct model_disk){.capacity = CAPACITY};
	model_disk.messages = memory_alloc_zero(CAPACITY, sizeof *model_disk.messages);
	configure(has_extra);
	start();
}

static void on_stopped(void *context)
{
	(void)context;
	is_stopped = true;
}

void scene_stop(void)
{
	is_stopping = true;
	manager_stop(scene_manager, on_stopped, NULL);
	model_run_tasks();
}

bool scene_has_stopped(void)
{
	return is_stopped;
}

static void end(void)
{
	if (!is_stopping)
		scene_stop();
	for (unsigned i = 0; i < 100 && !is_stopped; i++) {
		model_helpers_finish_all();
		scene_work();
		model_advance(MINUTE_US);
	}
	assert_true(is_stopped);
	assert_int_equal(model_disk.open_files, 0);
	manager_free(scene_manager);
	model_forget_manager();
}

void scene_restart(int64_t jump_us)
{
	end();
	model_wall_us += jump_us;
	model_jumped_us += jump_us < 0 ? -jump_us : jump_us;
	start();
	scene_work();
}

void scene_end(void)
{
	model_disk.fails = model_disk.refuses = model_disk.is_closed = model_disk.keeps = false;
	model_disk.hides = false;
	end();
	model_forget_disk();
	free(model_disk.messages);
}

struct model_message *scene_mail_to(const char *first, const char *second, const char *third)
{
	const char *const addresses[] = {first, second, third, NULL};
	struct model_message *m = model_mail_to("s@sender.example", addresses, 100);

	model_resolve(MODEL_KNOWN);
	return m;
}

struct model_message *scene_mail(const char *address)
{
	return scene_mail_to(address, NULL, NULL);
}

void scene_work(void)
{
	model_run_tasks();
	while (model_disk_works() || model_queue_bounce())
		model_answer_removals();
	model_answer_removals();
}

void scene_pass(int64_t us)
{
	model_advance(us);
	model_resolve(MODEL_KNOWN);
}

bool scene_is_tried(const struct model_message *m, uint32_t delivery)
{
	return m->flight[delivery] != NULL;
}

void scene_say(struct model_message *m, uint32_t delivery, const char *status, const char *trigger)
{
	model_say(m, delivery, status, trigger);
	scene_work();
}

struct model_message *scene_begin_deferred(void)
{
	struct model_message *m;

	scene_begin(true);
	m = scene_mail("r@grey.example");
	scene_say(m, 1, "4.7.1", "");
	return m;
}

static const struct sleeper *asleep(const struct model_message *m)
{
	const struct sleeper *sleeper = sleepers_find(&scene_manager->sleepers, m->id.number);

	assert_non_null(sleeper);
	return sleeper;
}

int64_t scene_due_in(const struct model_message *m)
{
	const struct sleeper *sleeper = asleep(m);

	return sleeper->due_us == INT64_MAX ? INT64_MAX : sleeper->due_us - model_wall_us;
}

bool scene_waits(const struct model_message *m)
{
	return asleep(m)->waiters != NULL;
}

const char *scene_order_until(const char *word, const struct model_message *m, const char *trigger)
{
	char text[128];

	snprintf(text, sizeof text, "%s %" PRIu64 " %s", word, m->id.number, trigger);
	return model_give_order(text);
}

const char *scene_order(const char *word, const struct model_message *m)
{
	char text[64];

	snprintf(text, sizeof text, "%s %" PRIu64, word, m->id.number);
	return model_give_order(text);
}
