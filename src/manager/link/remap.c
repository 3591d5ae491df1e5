// SPDX-License-Identifier: ISC
#include "manager/link/remap.h"
#include "mail/localpart.h"
#include "mail/unicode.h"
#include "manager/link/mapping.h"
#include "manager/outcome.h"
#include <stdlib.h>

static bool is_to_be_mapped(const struct queue_delivery *delivery)
{
	return delivery->is_requeued && outcome_is_open(delivery);
}

static struct mail_envelope *begin_envelope(const struct mail_envelope *whole)
{
	struct mail_envelope *envelope = arena_alloc(whole->arena, sizeof *envelope);

	*envelope = *whole;
	envelope->recipients =
		arena_alloc(whole->arena, whole->recipient_count * sizeof *whole->recipients);
	envelope->recipient_count = 0;
	return envelope;
}

struct mail_envelope *remap_envelope(const struct queue_control *control)
{
	const struct mail_envelope *whole = control->envelope;
	struct mail_envelope *envelope = NULL;

	for (size_t i = 0; i < control->delivery_count; i++) {
		uint32_t number = control->deliveries[i].recipient;
		struct mail_recipient *recipients;

		if (!is_to_be_mapped(&control->deliveries[i]))
			continue;
		if (envelope == NULL)
			envelope = begin_envelope(whole);
		recipients = envelope->recipients;
		if (envelope->recipient_count == 0 ||
		    recipients[envelope->recipient_count - 1].number != number)
			recipients[envelope->recipient_count++] =
				*mail_envelope_find(whole, number);
		if (outcome_is_redirected(&control->deliveries[i]))
			recipients[envelope->recipient_count - 1].address = STR("postmaster");
	}
	return envelope;
}

/* --- which delivery is which --- */

static bool is_same_address(struct str one, struct str other)
{
	const struct mail_parts a = mail_parts_of(one);
	const struct mail_parts b = mail_parts_of(other);
	struct mail_domain first;
	struct mail_domain second;

	if (str_equal(one, other))
		return true;
	(void)mail_domain_form(a.domain, &first);
	(void)mail_domain_form(b.domain, &second);
	return str_equal(a.local, b.local) &&
	       str_equal(mail_domain_view(&first), mail_domain_view(&second));
}

static bool is_same_way(const struct queue_delivery *one, const struct queue_delivery *other)
{
	return one->route == other->route && str_equal(one->service, other->service) &&
	       str_equal(one->server, other->server) &&
	       is_same_address(one->address, other->address);
}

/* --- recipient by recipient --- */

struct merge {
	const struct queue_control *control;
	struct remap result;
	uint32_t next; /* the lowest number never used */
	size_t limit;  /* of deliveries in all */
	int64_t now_us;
};

/* The deliveries of one recipient. */
struct share_of {
	const struct queue_delivery *items;
	size_t count;
};

static struct share_of take_deliveries_of_recipient(const struct queue_delivery *deliveries,
						    size_t count, uint32_t recipient)
{
	struct share_of share = {deliveries, 0};

	while (share.count < count && deliveries[share.count].recipient == recipient)
		share.count++;
	return share;
}

static void keep_old_delivery(struct merge *merge, const struct queue_delivery *delivery)
{
	merge->result.is_new[merge->result.count] = false;
	merge->result.deliveries[merge->result.count++] = *delivery;
}

/* The delivery in OLD that TARGET is the same as: a decided one with its address, or an open one
 * with its destination. */
static const struct queue_delivery *find_same(struct share_of old,
					      const struct queue_delivery *target)
{
	for (size_t i = 0; i < old.count; i++) {
		const struct queue_delivery *delivery = &old.items[i];

		if (outcome_is_open(delivery)
			    ? target->outcome == QUEUE_PENDING && is_same_way(delivery, target)
			    : is_same_address(delivery->address, target->address))
			return delivery;
	}
	return NULL;
}

static int64_t delay_told_us(struct share_of old)
{
	int64_t told_us = 0;

	for (size_t i = 0; i < old.count; i++)
		if (outcome_is_open(&old.items[i]) && old.items[i].delayed_us > told_us)
			told_us = old.items[i].delayed_us;
	return told_us;
}

/* It is tried at the host that it is mapped to today: at once, or at the time that its sender has
 * asked for. */
static void keep_open(struct merge *merge, const struct queue_delivery *old)
{
	struct queue_delivery *delivery = &merge->result.deliveries[merge->result.count];

	keep_old_delivery(merge, old);
	delivery->is_requeued = false;
	delivery->trigger = STR("");
	if (delivery->outcome == QUEUE_WAIT &&
	    !outcome_is_postponed(delivery, merge->control->envelope->release_us, merge->now_us))
		delivery->until_us = merge->now_us;
}

/* Whether a delivery kept since FIRST has that number. */
static bool has_number(const struct merge *merge, size_t first, uint32_t number)
{
	for (size_t i = first; i < merge->result.count; i++)
		if (merge->result.deliveries[i].number == number)
			return true;
	return false;
}

static void add_new_delivery(struct merge *merge, struct share_of old,
			     const struct queue_delivery *target)
{
	struct queue_delivery *delivery = &merge->result.deliveries[merge->result.count];

	merge->result.is_new[merge->result.count++] = true;
	*delivery = *target;
	delivery->number = 0;
	delivery->delayed_us = delay_told_us(old);
}

/* Numbers the new deliveries since FIRST. */
static void number_new(struct merge *merge, size_t first)
{
	bool is_alone = merge->result.count == first + 1;

	for (size_t i = first; i < merge->result.count; i++)
		if (merge->result.deliveries[i].number == 0)
			merge->result.deliveries[i].number =
				is_alone ? merge->result.deliveries[i].recipient : merge->next++;
}

static void keep_all(struct merge *merge, struct share_of old)
{
	for (size_t i = 0; i < old.count; i++) {
		struct queue_delivery *delivery = &merge->result.deliveries[merge->result.count];

		keep_old_delivery(merge, &old.items[i]);
		delivery->is_requeued = false;
	}
}

/* --- a recipient whose mail goes to this node's postmaster --- */

static bool has_redirected(struct share_of old)
{
	for (size_t i = 0; i < old.count; i++)
		if (outcome_is_redirected(&old.items[i]))
			return true;
	return false;
}

/* The others stay; those that were redirected have failed if HAS_FAILED, and else are left out. */
static void keep_others(struct merge *merge, struct share_of old, bool has_failed)
{
	for (size_t i = 0; i < old.count; i++) {
		bool is_redirected = outcome_is_redirected(&old.items[i]);
		struct queue_delivery *delivery = &merge->result.deliveries[merge->result.count];

		if (is_redirected && !has_failed)
			continue;
		keep_old_delivery(merge, &old.items[i]);
		delivery->is_requeued = false;
		if (!is_redirected)
			continue;
		delivery->outcome = QUEUE_FAIL;
		delivery->changed_us = merge->now_us;
		merge->result.is_new[merge->result.count - 1] = true;
	}
}

/* MAY_ADD: there is room for new deliveries. */
static void merge_redirected(struct merge *merge, struct share_of old, struct share_of fresh,
			     bool may_add)
{
	size_t first = merge->result.count;
	bool has_failed = true;

	for (size_t i = 0; i < fresh.count; i++) {
		const struct queue_delivery *same = find_same(old, &fresh.items[i]);
		bool is_good = fresh.items[i].outcome == QUEUE_PENDING;

		if (same == NULL)
			has_failed &= !(is_good && may_add);
		else
			has_failed &= same->outcome == QUEUE_FAIL || outcome_is_redirected(same);
	}
	keep_others(merge, old, has_failed);
	for (size_t i = 0; i < fresh.count && may_add; i++)
		if (fresh.items[i].outcome == QUEUE_PENDING &&
		    find_same(old, &fresh.items[i]) == NULL)
			add_new_delivery(merge, old, &fresh.items[i]);
	number_new(merge, first);
}

/* LEFT: how many deliveries are left to look at, including OLD. */
static void merge_recipient(struct merge *merge, struct share_of old, size_t left,
			    struct share_of fresh)
{
	size_t first = merge->result.count;
	bool has_room = first + left + fresh.count <= merge->limit;

	if (has_redirected(old)) {
		merge_redirected(merge, old, fresh, has_room);
		return;
	}
	if (fresh.count == 0 || !has_room) {
		keep_all(merge, old);
		return;
	}
	for (size_t i = 0; i < old.count; i++)
		if (!outcome_is_open(&old.items[i]))
			keep_old_delivery(merge, &old.items[i]);
	for (size_t i = 0; i < fresh.count; i++) {
		const struct queue_delivery *same = find_same(old, &fresh.items[i]);

		if (same == NULL)
			add_new_delivery(merge, old, &fresh.items[i]);
		else if (outcome_is_open(same) && !has_number(merge, first, same->number))
			keep_open(merge, same);
	}
	number_new(merge, first);
}

static uint32_t first_unused(const struct queue_control *control)
{
	const struct mail_envelope *envelope = control->envelope;
	uint32_t last = envelope->recipients[envelope->recipient_count - 1].number;

	for (size_t i = 0; i < control->delivery_count; i++)
		if (control->deliveries[i].number > last)
			last = control->deliveries[i].number;
	return last + 1;
}

struct remap remap_merge(const struct queue_control *control, const struct queue_delivery *fresh,
			 size_t count, int64_t now_us)
{
	struct arena *arena = control->envelope->arena;
	size_t most = control->delivery_count + count;
	struct merge merge = {
		.control = control,
		.result = {arena_alloc(arena, most * sizeof *fresh), arena_alloc(arena, most), 0},
		.next = first_unused(control),
		.limit = MAPPING_DELIVERIES_MAX + control->envelope->recipient_count,
		.now_us = now_us,
	};

	for (size_t i = 0, k = 0; i < control->delivery_count;) {
		uint32_t recipient = control->deliveries[i].recipient;
		size_t left = control->delivery_count - i;
		const struct share_of old =
			take_deliveries_of_recipient(&control->deliveries[i], left, recipient);
		const struct share_of new =
			take_deliveries_of_recipient(&fresh[k], count - k, recipient);

		merge_recipient(&merge, old, left, new);
		i += old.count;
		k += new.count;
	}
	return merge.result;
}
