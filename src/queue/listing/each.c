// SPDX-License-Identifier: ISC
/* Visits the messages and deliveries that pass a filter, in the requested order. */
#include "base/panic.h"
#include "mail/localpart.h"
#include "mail/origin.h"
#include "os/clock.h"
#include "queue/listing/internal.h"
#include "queue/trigger.h"
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct walk {
	struct queue_store *store;
	const struct listing_filter *filter;
	int (*each)(void *context, const struct listing_entry *entry);
	void *context;
	bool in_info;
	enum mail_stage stage;
	uint64_t *shown; /* from todo/ of the current X; sorted before info/ is read */
	size_t shown_count;
	size_t shown_capacity;
	int64_t born_us; /* selects one message by its birth; 0: all */
};

static bool address_passes(const struct listing_filter *filter, struct str address)
{
	if (filter->recipient.length > 0 && !str_equal_nocase(filter->recipient, address))
		return false;
	return filter->domain.length == 0 ||
	       str_equal_nocase(filter->domain, mail_parts_of(address).domain);
}

static bool recipients_pass(const struct listing_filter *filter,
			    const struct queue_control *control)
{
	if (filter->recipient.length == 0 && filter->domain.length == 0)
		return true;
	for (size_t i = 0; i < control->envelope->recipient_count; i++)
		if (address_passes(filter, control->envelope->recipients[i].address))
			return true;
	for (size_t i = 0; i < control->delivery_count; i++)
		if (address_passes(filter, control->deliveries[i].address))
			return true;
	return false;
}

static bool is_undecided_at_transport(const struct queue_delivery *delivery, struct str transport)
{
	if (delivery->outcome == QUEUE_DONE || delivery->outcome == QUEUE_FAIL)
		return false;
	if (delivery->route == QUEUE_ROUTE_REMOTE)
		return str_equal(transport, STR("remote"));
	return delivery->route == QUEUE_ROUTE_LOCAL && str_equal(transport, delivery->service);
}

static bool transport_passes(const struct listing_filter *filter, const struct listing_entry *entry)
{
	if (filter->transport.length == 0)
		return true;
	for (size_t i = 0; i < entry->control->delivery_count; i++)
		if (is_undecided_at_transport(&entry->control->deliveries[i], filter->transport))
			return true;
	return false;
}

static bool trigger_passes(const struct listing_filter *filter, const struct listing_entry *entry)
{
	char name[LISTING_HOLD_SIZE];

	if (filter->trigger.length == 0)
		return true;
	if (entry->is_held &&
	    str_equal(filter->trigger, listing_hold_name(entry->control->envelope->id, name)))
		return true;
	if (str_equal(filter->trigger, entry->waits_for) ||
	    str_equal(filter->trigger, entry->held_until))
		return true;
	for (size_t i = 0; i < entry->control->delivery_count; i++) {
		const struct queue_delivery *delivery = &entry->control->deliveries[i];

		if (delivery->outcome == QUEUE_WAIT &&
		    str_equal(filter->trigger, delivery->trigger))
			return true;
	}
	return false;
}

static bool has_nocase(struct str text, struct str part)
{
	for (size_t i = 0; i + part.length <= text.length; i++)
		if (str_equal_nocase(str_slice(text.data + i, part.length), part))
			return true;
	return false;
}

static bool reason_passes(const struct listing_filter *filter, const struct queue_control *control)
{
	if (filter->reason.length == 0)
		return true;
	for (size_t i = 0; i < control->delivery_count; i++) {
		const struct queue_delivery *delivery = &control->deliveries[i];

		if (delivery->outcome == QUEUE_WAIT &&
		    (has_nocase(delivery->text, filter->reason) ||
		     str_equal(delivery->status, filter->reason)))
			return true;
	}
	return false;
}

static bool age_passes(const struct listing_filter *filter, int64_t born_us)
{
	if (filter->left_out_since_us != 0 && born_us >= filter->left_out_since_us &&
	    born_us <= os_clock_wall_us())
		return false;
	return (filter->born_before_us == 0 || born_us < filter->born_before_us) &&
	       (filter->born_after_us == 0 || born_us > filter->born_after_us);
}

static bool sender_passes(const struct listing_filter *filter, struct str sender)
{
	if (filter->is_from_null)
		return sender.length == 0;
	return filter->sender.length == 0 || str_equal_nocase(filter->sender, sender);
}

static bool is_from_network(const struct config_network *network, struct str address)
{
	char text[INET6_ADDRSTRLEN];
	struct in6_addr found = {0};
	struct in_addr ipv4;

	if (address.length == 0 || address.length >= sizeof text)
		return false;
	snprintf(text, sizeof text, STR_FORMAT, STR_ARGUMENTS(address));
	if (inet_pton(AF_INET, text, &ipv4) == 1) {
		found.s6_addr[10] = found.s6_addr[11] = 0xff;
		memcpy(&found.s6_addr[12], &ipv4, sizeof ipv4);
	} else if (inet_pton(AF_INET6, text, &found) != 1) {
		return false;
	}
	return config_network_has(network, &found);
}

static bool origin_passes(const struct listing_filter *filter, struct str received)
{
	const struct mail_origin origin = mail_origin_parse(received);

	if (filter->is_of_one_user && !(str_equal(origin.protocol, STR("local")) &&
					origin.has_uid && origin.uid == filter->uid))
		return false;
	if (filter->user.length > 0 && !str_equal_nocase(filter->user, origin.user))
		return false;
	return !filter->has_client || is_from_network(&filter->client, origin.address);
}

/* Nothing is known of a damaged message: it passes a filter that requires nothing. */
static bool passes_listing_filter(const struct listing_filter *filter,
				  const struct listing_entry *entry)
{
	const struct mail_envelope *envelope;

	if (entry->control == NULL)
		return filter->sender.length == 0 && filter->recipient.length == 0 &&
		       filter->domain.length == 0 && !filter->has_stage &&
		       filter->transport.length == 0 && filter->trigger.length == 0 &&
		       filter->reason.length == 0 && filter->born_before_us == 0 &&
		       filter->born_after_us == 0 && filter->left_out_since_us == 0 &&
		       !filter->is_held && !filter->is_of_one_user && filter->user.length == 0 &&
		       !filter->has_client;
	envelope = entry->control->envelope;
	return sender_passes(filter, envelope->sender) &&
	       origin_passes(filter, envelope->received) &&
	       age_passes(filter, envelope->id.born_us) && reason_passes(filter, entry->control) &&
	       (!filter->is_held || entry->is_held) && recipients_pass(filter, entry->control) &&
	       (!filter->has_stage || (!entry->is_preprocessed && filter->stage == entry->stage)) &&
	       transport_passes(filter, entry) && trigger_passes(filter, entry);
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *one = a;
	const uint64_t *other = b;

	return (*one > *other) - (*one < *other);
}

static bool was_shown(const struct walk *walk, uint64_t number)
{
	return walk->shown_count > 0 &&
	       bsearch(&number, walk->shown, walk->shown_count, sizeof number, by_value) != NULL;
}

static bool is_meant(const struct walk *walk, const struct listing_entry *entry)
{
	return walk->born_us == 0 || entry->control == NULL ||
	       entry->control->envelope->id.born_us == walk->born_us;
}

static int show_listing_entry(struct walk *walk, const struct listing_entry *entry)
{
	if (!is_meant(walk, entry) || !passes_listing_filter(walk->filter, entry))
		return 0;
	if (!walk->in_info) {
		walk->shown = memory_grow(walk->shown, walk->shown_count, &walk->shown_capacity,
					  sizeof *walk->shown);
		walk->shown[walk->shown_count++] = entry->number;
	}
	return walk->each(walk->context, entry);
}

/* Of the disk or of this process: the message may be sound. A filter would leave it out, and nobody
 * would know. */
static bool is_failure(int error)
{
	return error == -EACCES || error == -EIO || error == -EMFILE || error == -ENFILE ||
	       error == -ENOMEM;
}

static int visit_queued_message(void *context, uint64_t number)
{
	struct walk *walk = context;
	struct listing_entry entry = {
		.number = number, .is_preprocessed = walk->in_info, .stage = walk->stage};
	int result;

	if (walk->in_info && was_shown(walk, number))
		return 0;
	result = listing_load(walk->store, walk->in_info ? NULL : &walk->stage, number,
			      &entry.control, &entry.line);
	if (result == -ENOENT)
		return 0; /* it was delivered or moved meanwhile */
	if (is_failure(result))
		return result;
	result = listing_learn_hold(walk->store, &entry);
	if (result == 0) {
		listing_learn_why(walk->store, walk->filter->ask_why, walk->filter->why_context,
				  &entry);
		result = show_listing_entry(walk, &entry);
	}
	queue_control_free(entry.control);
	return result;
}

/* A message moves from todo/ to info/ within one X, and for a while it has both names. Searched
 * in this order, it is always found; if it was shown already, it is not shown again. */
static int walk_part(struct walk *walk, uint32_t x)
{
	int result = 0;

	walk->in_info = false;
	walk->shown_count = 0;
	for (unsigned stage = 0; result == 0 && stage < MAIL_STAGE_COUNT; stage++) {
		walk->stage = stage;
		result = queue_store_each_part(walk->store, QUEUE_TODO, mail_stage_name(stage), x,
					       visit_queued_message, NULL, walk);
	}
	if (result != 0)
		return result;
	if (walk->shown_count > 0)
		qsort(walk->shown, walk->shown_count, sizeof *walk->shown, by_value);
	walk->in_info = true;
	return queue_store_each_part(walk->store, QUEUE_INFO, NULL, x, visit_queued_message, NULL,
				     walk);
}

/* The same for one message. */
static int walk_message(struct walk *walk, uint64_t number)
{
	int result = 0;

	walk->in_info = false;
	walk->shown_count = 0;
	for (unsigned stage = 0; result == 0 && stage < MAIL_STAGE_COUNT; stage++) {
		walk->stage = stage;
		result = visit_queued_message(walk, number);
	}
	walk->in_info = true;
	return result != 0 ? result : visit_queued_message(walk, number);
}

static int is_any_trigger(void *context, struct str name)
{
	(void)context;
	(void)name;
	return 1;
}

/* Without any triggers the manager need not be asked for one. */
static struct listing_filter filter_for(struct queue_store *store,
					const struct listing_filter *filter)
{
	struct listing_filter own = *filter;

	if (own.ask_why != NULL && own.wants_triggers_only &&
	    queue_trigger_each(store, is_any_trigger, NULL) == 0)
		own.ask_why = NULL;
	return own;
}

int listing_each(struct queue_store *store, const struct listing_filter *filter,
		 int (*each)(void *context, const struct listing_entry *entry), void *context)
{
	struct listing_filter own = filter_for(store, filter);
	struct walk walk = {.store = store, .filter = &own, .each = each, .context = context};
	int result = 0;

	for (uint32_t x = 0; result == 0 && x < queue_store_split(store); x++)
		result = walk_part(&walk, x);
	free(walk.shown);
	return result;
}

int listing_each_of(struct queue_store *store, const struct listing_filter *filter,
		    const struct mail_id *ids, size_t count,
		    int (*each)(void *context, const struct listing_entry *entry), void *context)
{
	struct listing_filter own = filter_for(store, filter);
	struct walk walk = {.store = store, .filter = &own, .each = each, .context = context};
	int result = 0;

	for (size_t i = 0; result == 0 && i < count; i++) {
		walk.born_us = ids[i].born_us;
		result = walk_message(&walk, ids[i].number);
	}
	free(walk.shown);
	return result;
}
