// SPDX-License-Identifier: ISC
/* local - delivers into mailboxes: one helper for each local service. */
#include "stage/local.h"
#include "base/panic.h"
#include "log/event.h"
#include "program/child.h"
#include <stdlib.h>
#include <string.h>

enum { CONCURRENCY = 1000, STOP_CHECKS_MAX = 200 };

static const int64_t STOP_CHECK_US = SECOND_US / 20;

struct service {
	struct stage_local *local;
	struct stage_helper *helper;
	struct service *next;
};

struct local_program {
	struct child *child;
	struct service *services;
	struct os_timer *stop_check;
	unsigned stop_checks;
};

static void on_job(void *context, struct stage_helper_job *job)
{
	struct service *service = context;

	stage_local_deliver(service->local, job);
}

static void on_lost(void *context)
{
	struct service *service = context;

	stage_local_lost(service->local);
}

static const struct stage_helper_handler handler = {on_job, on_lost};

static void add_service(struct local_program *program, const struct config_service *config)
{
	struct service *service = memory_alloc_zero(1, sizeof *service);
	struct child *child = program->child;
	char path[108];

	child_path(child, "send", path);
	service->local = stage_local_new(child->loop, child->config, config);
	service->helper =
		stage_helper_new(child->loop, path, config->name, CONCURRENCY, &handler, service);
	service->next = program->services;
	program->services = service;
}

static void add_services(struct local_program *program)
{
	const struct config *config = program->child->config;

	for (size_t i = 0; i < config->service_count; i++)
		if (config->services[i].kind == CONFIG_SERVICE_MAILDIR)
			add_service(program, &config->services[i]);
}

static void drop_services(struct local_program *program)
{
	while (program->services != NULL) {
		struct service *service = program->services;

		program->services = service->next;
		stage_local_free(service->local);
		stage_helper_free(service->helper);
		free(service);
	}
}

static size_t jobs(const struct local_program *program)
{
	size_t count = 0;

	for (const struct service *service = program->services; service != NULL;
	     service = service->next)
		count += stage_helper_job_count(service->helper);
	return count;
}

static void check_stop(void *context)
{
	struct local_program *program = context;

	if (jobs(program) > 0 && ++program->stop_checks <= STOP_CHECKS_MAX) {
		os_timer_start(program->stop_check, STOP_CHECK_US);
		return;
	}
	drop_services(program);
	os_loop_stop(program->child->loop);
}

static int start(struct child *child)
{
	struct local_program *program = memory_alloc_zero(1, sizeof *program);

	child->state = program;
	program->child = child;
	program->stop_check = os_timer_new(child->loop, check_stop, program);
	add_services(program);
	child_ready(child);
	return 0;
}

/* Jobs of the old services are finished without a report and tried again. */
static void reload(struct child *child, const struct config *old)
{
	struct local_program *program = child->state;

	(void)old;
	drop_services(program);
	add_services(program);
}

static void stop(struct child *child)
{
	check_stop(child->state);
}

int main(int argc, char **argv)
{
	static const struct child_program program = {"local", start, reload, stop};

	return child_main(argc, argv, &program);
}
