// SPDX-License-Identifier: ISC
#include "program/kind/service.h"
#include "base/panic.h"
#include "supervisor/child/child.h"
#include <stdlib.h>
#include <string.h>

static const int64_t STOP_CHECK_US = SECOND_US / 20;
static const int64_t RETIRED_CHECK_US = SECOND_US / 2;

struct service {
	char *name;
	const struct service_kind *kind;
	void *transport;
	struct deliver_helper *helper;
	struct service *next;
};

static struct {
	struct child *child;
	const struct service_program *own;
	struct service *services;
	struct service *retired; /* removed by a reload, with jobs that continue */
	struct os_timer *stop_check;
	struct os_timer *retired_check;
} service_program;

static const struct service_kind *find_kind(enum config_service_kind kind)
{
	const struct service_kind *known = service_program.own->kinds;

	while (known->new != NULL && (known->name != NULL || known->kind != kind))
		known++;
	return known->new != NULL ? known : NULL;
}

/* NAME: a service of CONFIG, or one that always exists. */
static void add_transport_service(const char *name, const struct config_service *config,
				  const struct service_kind *kind)
{
	struct service *service = memory_alloc_zero(1, sizeof *service);
	struct child *child = service_program.child;
	char path[108];

	child_path(child, "send", path);
	service->name = memory_copy_string(name);
	service->kind = kind;
	service->transport = kind->new (child, child->config, config);
	service->helper = deliver_helper_new(
		child->loop,
		&(struct deliver_helper_call){path, child_token(child, service_program.own->name),
					      name, kind->concurrency},
		&kind->jobs, service->transport);
	service->next = service_program.services;
	service_program.services = service;
}

static void drop_service(struct service **place)
{
	struct service *service = *place;

	*place = service->next;
	service->kind->free(service->transport);
	deliver_helper_free(service->helper);
	free(service->name);
	free(service);
}

static bool has_running_service(const char *name)
{
	for (const struct service *service = service_program.services; service != NULL;
	     service = service->next)
		if (strcmp(service->name, name) == 0)
			return true;
	return false;
}

static void add_missing_services(void)
{
	const struct config *config = service_program.child->config;

	for (size_t i = 0; i < config->service_count; i++) {
		const struct service_kind *kind = find_kind(config->services[i].kind);

		if (kind != NULL && !has_running_service(config->services[i].name))
			add_transport_service(config->services[i].name, &config->services[i], kind);
	}
	for (const struct service_kind *kind = service_program.own->kinds; kind->new != NULL;
	     kind++)
		if (kind->name != NULL && !has_running_service(kind->name))
			add_transport_service(kind->name, NULL, kind);
}

/* Whether SERVICE continues with the new configuration. */
static bool keep_service(struct service *service)
{
	const struct config *config = service_program.child->config;
	const struct config_service *found = config_service_find(config, str_from(service->name));

	if (service->kind->name == NULL && (found == NULL || found->kind != service->kind->kind))
		return false;
	service->kind->configure(service->transport, config, found);
	return true;
}

static size_t jobs_of(const struct service *service)
{
	size_t count = 0;

	for (; service != NULL; service = service->next)
		count += deliver_helper_job_count(service->helper);
	return count;
}

static size_t jobs_of_all_services(void)
{
	return jobs_of(service_program.services) + jobs_of(service_program.retired);
}

static void drop_retired(void *unused)
{
	struct service **place = &service_program.retired;

	(void)unused;
	while (*place != NULL) {
		if (deliver_helper_job_count((*place)->helper) == 0)
			drop_service(place);
		else
			place = &(*place)->next;
	}
	if (service_program.retired != NULL)
		os_timer_start(service_program.retired_check, RETIRED_CHECK_US);
}

static void retire_service(struct service **place)
{
	struct service *service = *place;

	*place = service->next;
	service->next = service_program.retired;
	service_program.retired = service;
	deliver_helper_retire(service->helper);
}

static void end_all_services(void)
{
	os_timer_stop(service_program.stop_check);
	os_timer_stop(service_program.retired_check);
	while (service_program.services != NULL)
		drop_service(&service_program.services);
	while (service_program.retired != NULL)
		drop_service(&service_program.retired);
	os_loop_stop(service_program.child->loop);
}

/* Jobs that cannot be repeated without a duplicate may finish. */
static void check_stop_of_services(void *unused)
{
	(void)unused;
	if (jobs_of_all_services() > 0)
		os_timer_start(service_program.stop_check, STOP_CHECK_US);
	else
		end_all_services();
}

static int start_services(struct child *child)
{
	service_program.child = child;
	service_program.stop_check = os_timer_new(child->loop, check_stop_of_services, NULL);
	service_program.retired_check = os_timer_new(child->loop, drop_retired, NULL);
	add_missing_services();
	child_ready(child);
	return 0;
}

/* If a service was removed, its jobs that cannot be repeated without a duplicate continue, if the
 * transport keeps what they need of the old configuration. The others end without a report, and are
 * tried again. */
static void reload_services(struct child *child, const struct config *old)
{
	struct service **place = &service_program.services;
	bool fits = service_program.own->fits == NULL ||
		    service_program.own->fits(child, child->config);

	(void)old;
	while (*place != NULL) {
		if (keep_service(*place))
			place = &(*place)->next;
		else
			retire_service(place);
	}
	drop_retired(NULL);
	add_missing_services();
	if (!fits)
		child_renew(child);
}

static void stop_services(struct child *child)
{
	(void)child;
	for (struct service *service = service_program.services; service != NULL;
	     service = service->next)
		deliver_helper_retire(service->helper);
	check_stop_of_services(NULL);
}

static size_t pending_jobs_of_services(const struct child *child)
{
	(void)child;
	return jobs_of_all_services();
}

static void hurry_services(struct child *child)
{
	(void)child;
	end_all_services();
}

static void call_with_each(const struct service *service, void (*call)(void *transport))
{
	for (; service != NULL; service = service->next)
		call(service->transport);
}

void service_each(void (*call)(void *transport))
{
	call_with_each(service_program.services, call);
	call_with_each(service_program.retired, call);
}

int service_main(int argc, char **argv, const struct service_program *service)
{
	const char *file = service->file != NULL ? service->file : service->name;
	const struct child_program supervised = {file,           service->open,
						 start_services, reload_services,
						 stop_services,  pending_jobs_of_services,
						 hurry_services};

	service_program.own = service;
	return child_main(argc, argv, &supervised);
}
