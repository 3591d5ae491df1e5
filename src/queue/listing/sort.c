// SPDX-License-Identifier: ISC
/* Messages in sorted order: their keys are read and sorted first, then each is shown. */
#include "base/arena.h"
#include "base/panic.h"
#include "mail/localpart.h"
#include "queue/listing/internal.h"
#include <stdlib.h>
#include <string.h>

struct key {
	struct mail_id id;
	bool is_damaged;
	int64_t number;   /* smaller first */
	struct str text;  /* then by this, in lower case */
	struct str other; /* and by this */
};

struct sort {
	enum listing_order order;
	struct arena *arena;
	struct key *keys;
	size_t count;
	size_t capacity;
};

static struct str lower_copy(struct sort *sort, struct str text)
{
	char *copy = arena_copy(sort->arena, text);

	str_lower(copy, text.length);
	return str_slice(copy, text.length);
}

static bool is_unfinished_delivery(const struct queue_delivery *delivery)
{
	return delivery->outcome == QUEUE_PENDING || delivery->outcome == QUEUE_WAIT;
}

static struct str first_undecided_address(const struct queue_control *control)
{
	for (size_t i = 0; control->is_mapped && i < control->delivery_count; i++)
		if (is_unfinished_delivery(&control->deliveries[i]))
			return control->deliveries[i].address;
	return control->envelope->recipient_count > 0 ? control->envelope->recipients[0].address
						      : STR("");
}

/* A delivery that was never tried is due now, or at its release; without a time it waits for
 * something else. */
static int64_t next_attempt_us(const struct queue_control *control)
{
	int64_t next = INT64_MAX;

	if (!control->is_mapped)
		return control->envelope->release_us;
	for (size_t i = 0; i < control->delivery_count; i++) {
		const struct queue_delivery *delivery = &control->deliveries[i];
		int64_t until = delivery->outcome == QUEUE_WAIT ? delivery->until_us : 0;

		if (delivery->outcome == QUEUE_WAIT && until == 0)
			until = INT64_MAX;
		if (is_unfinished_delivery(delivery) && until < next)
			next = until;
	}
	return next;
}

static void take_address_as_key(struct sort *sort, struct key *key, struct str address)
{
	struct mail_parts parts = mail_parts_of(address);

	key->text = lower_copy(sort, parts.domain);
	key->other = lower_copy(sort, parts.local);
}

static void fill_key(struct sort *sort, struct key *key, const struct queue_control *control)
{
	key->id = control->envelope->id;
	switch (sort->order) {
	case LISTING_BY_AGE:
		key->number = key->id.born_us;
		break;
	case LISTING_BY_SIZE:
		key->number = -(int64_t)control->envelope->size;
		break;
	case LISTING_BY_SENDER:
		take_address_as_key(sort, key, control->envelope->sender);
		break;
	case LISTING_BY_DOMAIN:
		take_address_as_key(sort, key, first_undecided_address(control));
		break;
	case LISTING_BY_NEXT:
		key->number = next_attempt_us(control);
		break;
	default:
		break;
	}
}

static int take_sort_key(void *context, const struct listing_entry *entry)
{
	struct sort *sort = context;
	struct key *key;

	sort->keys = memory_grow(sort->keys, sort->count, &sort->capacity, sizeof *sort->keys);
	key = &sort->keys[sort->count++];
	*key = (struct key){.id = {.number = entry->number}, .is_damaged = entry->control == NULL};
	if (entry->control != NULL)
		fill_key(sort, key, entry->control);
	return 0;
}

static int compare_key_texts(struct str a, struct str b)
{
	size_t length = a.length < b.length ? a.length : b.length;
	int result = length > 0 ? memcmp(a.data, b.data, length) : 0;

	return result != 0 ? result : (a.length > b.length) - (a.length < b.length);
}

/* Equal keys by age. */
static int compare_keys(const void *a, const void *b)
{
	const struct key *one = a;
	const struct key *other = b;
	int result = one->is_damaged - other->is_damaged;

	if (result == 0)
		result = (one->number > other->number) - (one->number < other->number);
	if (result == 0)
		result = compare_key_texts(one->text, other->text);
	if (result == 0)
		result = compare_key_texts(one->other, other->other);
	if (result == 0)
		result = (one->id.born_us > other->id.born_us) -
			 (one->id.born_us < other->id.born_us);
	return result != 0
		       ? result
		       : (one->id.number > other->id.number) - (one->id.number < other->id.number);
}

static int show_sorted(struct sort *sort, struct queue_store *store,
		       const struct listing_filter *filter, bool is_reversed,
		       int (*each)(void *context, const struct listing_entry *entry), void *context)
{
	struct mail_id *ids = memory_alloc_zero(sort->count, sizeof *ids);
	int result;

	for (size_t i = 0; i < sort->count; i++)
		ids[is_reversed ? sort->count - 1 - i : i] = sort->keys[i].id;
	result = listing_each_of(store, filter, ids, sort->count, each, context);
	free(ids);
	return result;
}

int listing_each_sorted(struct queue_store *store, const struct listing_filter *filter,
			enum listing_order order, bool is_reversed,
			int (*each)(void *context, const struct listing_entry *entry),
			void *context)
{
	struct sort sort = {.order = order, .arena = arena_new()};
	int result;

	if (order == LISTING_BY_PLACE)
		result = listing_each(store, filter, each, context);
	else
		result = listing_each(store, filter, take_sort_key, &sort);
	if (result == 0 && sort.count > 0) {
		qsort(sort.keys, sort.count, sizeof *sort.keys, compare_keys);
		result = show_sorted(&sort, store, filter, is_reversed, each, context);
	}
	free(sort.keys);
	arena_free(sort.arena);
	return result;
}
