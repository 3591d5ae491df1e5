// SPDX-License-Identifier: ISC
#include "deliver/remote/session/places.h"
#include "base/panic.h"
#include "log/event.h"
#include <stdlib.h>

struct remote_places {
	const struct limit_memory *limits;
	struct limit_classes *classes; /* NULL: nothing is counted */
	struct limit_counter *counter; /* likewise */
	struct remote_place *open;
};

struct remote_places *remote_places_new(void)
{
	return memory_alloc_zero(1, sizeof(struct remote_places));
}

void remote_places_free(struct remote_places *places)
{
	if (places == NULL)
		return;
	limit_counter_free(places->counter);
	limit_classes_free(places->classes);
	free(places);
}

static bool has_limit_class(const struct dns_server *server)
{
	return server->address.any.sa_family != AF_UNIX;
}

static size_t find_limit_class(const struct remote_places *places, const char *host,
			       const struct in6_addr *address)
{
	return limit_classes_find(places->classes, str_from(host), address);
}

const struct limit_class *remote_places_class(const struct remote_places *places,
					      const struct dns_server *server)
{
	struct in6_addr address;

	if (places == NULL || places->classes == NULL || !has_limit_class(server))
		return NULL;
	address = os_socket_address_mapped(&server->address);
	return limit_classes_at(places->classes, find_limit_class(places, server->host, &address));
}

/* --- counting --- */

static void log_limit_decision(const struct remote_place *place, bool may)
{
	const struct remote_places *places = place->places;
	const struct limit_class *class = limit_classes_at(places->classes, place->class);
	char address[OS_SOCKET_TEXT_SIZE];
	struct limit_total total;

	limit_total_of(places->limits, class->key, &total);
	os_socket_address_format_mapped(&place->address, address);
	log_event(EVENT_CLASS_DECIDED, log_string(class, class->mask), log_string(direction, "out"),
		  log_string(result, may ? "counted" : "full"), log_number(in, (int64_t)total.in),
		  log_number(out, (int64_t)total.out), log_string(setting, "queue"),
		  log_number(limit, class->queue), log_string(server, address),
		  log_string(name, place->host));
}

/* Whether mail waits for a place in its class. */
static bool is_waited_for(const struct remote_place *place)
{
	const struct remote_places *places = place->places;
	struct limit_total total;

	limit_total_of(places->limits, limit_classes_at(places->classes, place->class)->key,
		       &total);
	return total.waiting > 0;
}

static bool count_connection(struct remote_place *place, bool has_turn)
{
	if (place->places->counter == NULL || place->is_counted)
		return true;
	if (!has_turn && is_waited_for(place))
		limit_hold_out(place->places->counter, place->class);
	else
		place->is_counted = limit_enter_out(place->places->counter, place->class);
	log_limit_decision(place, place->is_counted);
	return place->is_counted;
}

static void stop_counting(struct remote_place *place)
{
	if (place->is_counted)
		limit_leave_out(place->places->counter, place->class);
	place->is_counted = false;
}

static bool counts_idle(const struct remote_places *places, size_t class)
{
	return limit_classes_at(places->classes, class)->counts_idle;
}

/* --- places --- */

bool remote_place_open(struct remote_place *place, struct remote_places *places,
		       const struct dns_server *server, bool has_turn)
{
	struct remote_place opened = {.state = REMOTE_PLACE_USED, .places = places};

	if (places == NULL || !has_limit_class(server))
		return true;
	opened.address = os_socket_address_mapped(&server->address);
	opened.host = memory_copy_string(server->host);
	if (places->classes != NULL)
		opened.class = find_limit_class(places, opened.host, &opened.address);
	if (!count_connection(&opened, has_turn)) {
		free(opened.host);
		return false;
	}
	opened.next = places->open;
	opened.previous = &places->open;
	*place = opened;
	if (place->next != NULL)
		place->next->previous = &place->next;
	places->open = place;
	return true;
}

bool remote_place_claim(struct remote_place *place, bool has_turn)
{
	if (place->state == REMOTE_PLACE_NONE)
		return true;
	if (!count_connection(place, has_turn))
		return false;
	place->state = REMOTE_PLACE_USED;
	return true;
}

void remote_place_rest(struct remote_place *place)
{
	if (place->state == REMOTE_PLACE_NONE)
		return;
	place->state = REMOTE_PLACE_RESTING;
	if (place->is_counted && !counts_idle(place->places, place->class))
		stop_counting(place);
}

void remote_place_close(struct remote_place *place)
{
	if (place->state == REMOTE_PLACE_NONE)
		return;
	stop_counting(place);
	*place->previous = place->next;
	if (place->next != NULL)
		place->next->previous = place->previous;
	free(place->host);
	*place = (struct remote_place){0};
}

bool remote_place_is_wanted(const struct remote_place *place)
{
	return place->is_counted && counts_idle(place->places, place->class) &&
	       is_waited_for(place);
}

bool remote_place_is_spare(const struct remote_place *place, const struct limit_class *class)
{
	return place->state == REMOTE_PLACE_RESTING && place->is_counted &&
	       limit_classes_at(place->places->classes, place->class) == class;
}

/* --- reloads --- */

static void recount_open_connections(struct remote_places *places)
{
	for (struct remote_place *place = places->open; place != NULL; place = place->next) {
		place->is_counted = false;
		if (places->classes == NULL)
			continue;
		place->class = find_limit_class(places, place->host, &place->address);
		place->is_counted =
			place->state == REMOTE_PLACE_USED || counts_idle(places, place->class);
		if (place->is_counted)
			limit_recount_out(places->counter, place->class);
	}
}

void remote_places_configure(struct remote_places *places, const struct config *config,
			     const struct limit_memory *limits)
{
	struct limit_classes *old = places->classes;

	places->classes = limits != NULL ? limit_classes_new(config) : NULL;
	places->limits = limits;
	if (places->classes == NULL) {
		limit_counter_free(places->counter);
		places->counter = NULL;
	} else if (places->counter == NULL) {
		places->counter = limit_counter_new(limits, places->classes);
	}
	if (places->classes != NULL)
		limit_recount_begin(places->counter, limits, places->classes);
	recount_open_connections(places);
	if (places->classes != NULL)
		limit_recount_end(places->counter);
	limit_classes_free(old);
}
