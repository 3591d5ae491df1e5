// SPDX-License-Identifier: ISC
/* All transports: their configuration and upkeep, and checks of their counters. */
#include "base/panic.h"
#include "manager/turn/internal.h"
#include "manager/turn/transport.h"
#include "manager/wait/schedule.h"
#include <stdlib.h>
#include <string.h>

struct transports *transports_new(const struct share *share,
				  const struct transport_handler *handler, void *context)
{
	struct transports *transports = memory_alloc_zero(1, sizeof *transports);

	transports->share = share;
	transports->handler = handler;
	transports->context = context;
	return transports;
}

static struct transport *find_any_transport(const struct transports *transports, struct str name)
{
	for (struct transport *t = transports->first; t != NULL; t = t->next)
		if (str_equal(name, str_from(t->name)))
			return t;
	return NULL;
}

struct transport *transports_find(struct transports *transports, struct str name)
{
	struct transport *transport = find_any_transport(transports, name);

	return transport != NULL && !transport->is_retired ? transport : NULL;
}

struct transport *transports_next(const struct transports *transports,
				  const struct transport *transport)
{
	return transport == NULL ? transports->first : transport->next;
}

static struct transport *add_transport(struct transports *transports, const char *name)
{
	struct transport *transport = memory_alloc_zero(1, sizeof *transport);

	transport->transports = transports;
	transport->name = memory_copy_string(name);
	transport->is_remote = strcmp(name, "remote") == 0;
	transport->skip = transport->is_remote ? SCHEDULE_SKIP_REMOTE : SCHEDULE_SKIP_LOCAL;
	transport->next = transports->first;
	transports->first = transport;
	if (!transport->is_remote) {
		transports->services =
			memory_resize(transports->services, (transports->service_count + 1) *
								    sizeof *transports->services);
		transports->services[transports->service_count++] = transport->name;
	}
	return transport;
}

static void update_places(struct transport *transport)
{
	struct destination *destination;
	struct destination *next;

	transport->concurrency = transport->is_handed ? TRANSPORT_HANDED_PLACES
						      : transport->configured_concurrency;
	HASH_ITER (hh, transport->destinations, destination, next)
		destination_update(destination);
}

void transport_hand_over(struct transport *transport, bool is_handed)
{
	transport->is_handed = is_handed;
	update_places(transport);
}

static void configure_transport(struct transport *transport, const struct config_transport *config)
{
	bool is_resumed = transport->is_paused && !config->paused;
	struct destination *destination;
	struct destination *next;

	transport->configured_concurrency = config->concurrency;
	transport->destination_concurrency = config->destination_concurrency;
	transport->is_paused = config->paused;
	transport->is_retired = false;
	HASH_ITER (hh, transport->destinations, destination, next)
		if (is_resumed)
			flow_wake_parked(&destination->retries);
	update_places(transport);
}

void transports_configure(struct transports *transports, const struct config *config)
{
	for (struct transport *t = transports->first; t != NULL; t = t->next)
		t->is_retired = true;
	for (size_t i = 0; i < config->transport_count; i++) {
		const struct config_transport *configured = &config->transports[i];
		struct transport *transport =
			find_any_transport(transports, str_from(configured->name));

		if (transport == NULL)
			transport = add_transport(transports, configured->name);
		configure_transport(transport, configured);
	}
}

static void transport_free(struct transport *transport)
{
	struct destination *destination;
	struct destination *next;

	HASH_ITER (hh, transport->destinations, destination, next) {
		if (destination->obstacle != NULL)
			destination_unblock(destination);
	}
	while (transport->destinations != NULL)
		destination_free(transport->destinations);
	heap_clear(&transport->pauses);
	free(transport->name);
	free(transport);
}

void transports_free(struct transports *transports)
{
	while (transports->first != NULL) {
		struct transport *transport = transports->first;

		transports->first = transport->next;
		transport_free(transport);
	}
	heap_clear(&transports->looks);
	free(transports->services);
	free(transports);
}

size_t transports_services(const struct transports *transports, const char *const **names_out)
{
	*names_out = transports->services;
	return transports->service_count;
}

/* --- now and then --- */

struct job *transports_paused_retry(const struct transports *transports)
{
	for (const struct transport *t = transports->first; t != NULL; t = t->next)
		for (const struct destination *d = t->destinations; t->is_paused && d != NULL;
		     d = d->hh.next)
			if (d->retries.jobs != NULL)
				return d->retries.jobs;
	return NULL;
}

struct job *transports_overdue(const struct transports *transports, int64_t now_us)
{
	struct heap_node *first = heap_first(&transports->looks);

	return first != NULL && first->key <= now_us ? CONTAINER_OF(first, struct job, look) : NULL;
}

int64_t transports_next_overdue_us(const struct transports *transports)
{
	const struct heap_node *first = heap_first(&transports->looks);

	return first != NULL ? first->key : INT64_MAX;
}

void transports_sweep(struct transports *transports)
{
	struct destination *destination;
	struct destination *next;

	for (struct transport *t = transports->first; t != NULL; t = t->next)
		HASH_ITER (hh, t->destinations, destination, next)
			if (!destination->is_idle)
				destination_sweep(destination);
	for (struct transport *t = transports->first; t != NULL; t = t->next)
		transport_trim(t);
}

/* --- invariants --- */

static bool is_forgotten_flow(const struct flow *flow)
{
	return flow->waiting == 0 && flow->parked.count > 0 &&
	       (!flow->is_starved || flow->destination->is_idle);
}

static const char *check_destination(const struct destination *destination, size_t *waiting)
{
	size_t in_flows = destination->retries.waiting;
	size_t units = destination->retries.units;
	bool has_forgotten = is_forgotten_flow(&destination->retries);

	for (const struct flow *flow = destination->flows; flow != NULL; flow = flow->hh.next) {
		in_flows += flow->waiting;
		units += flow->units;
		has_forgotten |= is_forgotten_flow(flow);
	}
	*waiting += in_flows;
	if (has_forgotten)
		return "somebody is parked where nobody waits, and is not fed";
	if (in_flows != destination->waiting || units != destination->units)
		return "a destination counts others than its flows do";
	return NULL;
}

const char *transports_check(const struct transports *transports)
{
	for (const struct transport *t = transports->first; t != NULL; t = t->next) {
		size_t waiting = 0;
		size_t in_flight = 0;
		size_t units = 0;

		for (const struct destination *d = t->destinations; d != NULL; d = d->hh.next) {
			const char *problem = check_destination(d, &waiting);

			in_flight += d->in_flight;
			units += d->units;
			if (problem != NULL)
				return problem;
		}
		if (waiting != t->waiting || units != t->units || in_flight != t->in_flight ||
		    in_flight != t->in_flight_by[SPEED_FAST] + t->in_flight_by[SPEED_NEW] +
					 t->in_flight_by[SPEED_SLOW])
			return "a transport counts others than its destinations do";
	}
	return NULL;
}
