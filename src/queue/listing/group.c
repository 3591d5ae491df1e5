// SPDX-License-Identifier: ISC
/* Counts deliveries by domain, sender or reason. */
#include "base/panic.h"
#include "base/table.h"
#include "mail/localpart.h"
#include "queue/listing/listing.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_BYTES = 160 };

struct group {
	struct listing_group sum;
	uint64_t last; /* the message counted last */
	char name[NAME_MAX_BYTES];
	UT_hash_handle hh;
};

struct grouping {
	enum listing_by by;
	struct group *all;
	struct group rest;
	const struct listing_entry *entry; /* the current message */
};

static void count_in_group(struct grouping *grouping, const char *name, size_t length)
{
	const struct listing_entry *entry = grouping->entry;
	int64_t born_us = entry->control->envelope->id.born_us;
	struct group *group;

	HASH_FIND(hh, grouping->all, name, length, group);
	if (group == NULL && HASH_COUNT(grouping->all) < LISTING_GROUPS_MAX) {
		group = memory_alloc_zero(1, sizeof *group);
		memcpy(group->name, name, length);
		group->sum.name = str_slice(group->name, length);
		HASH_ADD_KEYPTR(hh, grouping->all, group->name, length, group);
	} else if (group == NULL) {
		group = &grouping->rest;
	}
	group->sum.deliveries++;
	group->sum.messages += group->last != entry->number;
	group->last = entry->number;
	if (group->sum.oldest_us == 0 || born_us < group->sum.oldest_us)
		group->sum.oldest_us = born_us;
}

/* --- names --- */

static size_t append_to_group_name(char *name, size_t length, struct str text)
{
	if (text.length > NAME_MAX_BYTES - length)
		text.length = NAME_MAX_BYTES - length;
	if (text.length > 0) /* a text without bytes may have no address */
		memcpy(name + length, text.data, text.length);
	return length + text.length;
}

static size_t name_domain(struct str address, char name[NAME_MAX_BYTES])
{
	size_t length = append_to_group_name(name, 0, mail_parts_of(address).domain);

	str_lower(name, length);
	return length;
}

/* The same reason may contain different ports, queue ids and times: a word with four or more
 * digits becomes "#", unless it contains a '.' or ':', like an address. */
static bool is_like_a_number(struct str word)
{
	size_t digits = 0;

	for (size_t i = 0; i < word.length; i++)
		digits += word.data[i] >= '0' && word.data[i] <= '9';
	return digits >= 4 && str_find(word, '.') < 0 && str_find(word, ':') < 0;
}

static size_t name_reason(const struct queue_delivery *delivery, char name[NAME_MAX_BYTES])
{
	struct str text = delivery->text;
	struct str word;
	size_t length = append_to_group_name(name, 0, delivery->status);

	if (delivery->outcome == QUEUE_PENDING)
		return append_to_group_name(name, 0, STR("not tried"));
	while (text.length > 0 && length < NAME_MAX_BYTES) {
		str_split(&text, ' ', &word);
		if (length > 0)
			length = append_to_group_name(name, length, STR(" "));
		length = append_to_group_name(name, length,
					      is_like_a_number(word) ? STR("#") : word);
	}
	return length;
}

/* --- undecided deliveries --- */

static void count_delivery(struct grouping *grouping, const struct queue_delivery *delivery)
{
	char name[NAME_MAX_BYTES];
	size_t length;

	if (delivery->outcome == QUEUE_DONE || delivery->outcome == QUEUE_FAIL)
		return;
	if (grouping->by == LISTING_BY_REASON) {
		length = name_reason(delivery, name);
	} else if (delivery->route == QUEUE_ROUTE_LOCAL) {
		length = append_to_group_name(name, 0, STR("local "));
		length = append_to_group_name(name, length, delivery->service);
		if (delivery->server.length > 0) {
			length = append_to_group_name(name, length, STR(" "));
			length = append_to_group_name(name, length, delivery->server);
		}
	} else {
		length = name_domain(delivery->address, name);
	}
	count_in_group(grouping, name, length);
}

static int count_message_in_groups(void *context, const struct listing_entry *entry)
{
	struct grouping *grouping = context;
	char name[NAME_MAX_BYTES];

	if (entry->control == NULL)
		return 0;
	grouping->entry = entry;
	for (size_t i = 0; entry->control->is_mapped && i < entry->control->delivery_count; i++)
		count_delivery(grouping, &entry->control->deliveries[i]);
	if (entry->control->is_mapped)
		return 0;
	for (size_t i = 0; i < entry->control->envelope->recipient_count; i++) {
		struct str address = entry->control->envelope->recipients[i].address;

		if (grouping->by == LISTING_BY_REASON)
			count_in_group(grouping, name,
				       append_to_group_name(name, 0, STR("not tried")));
		else
			count_in_group(grouping, name, name_domain(address, name));
	}
	return 0;
}

static int by_size(const struct group *a, const struct group *b)
{
	if (a->sum.deliveries != b->sum.deliveries)
		return a->sum.deliveries < b->sum.deliveries ? 1 : -1;
	return a->sum.oldest_us > b->sum.oldest_us ? 1 : -1;
}

int listing_groups(struct queue_store *store, enum listing_by by,
		   void (*each)(void *context, const struct listing_group *group), void *context)
{
	const struct listing_filter everything = {.born_before_us = 0};
	struct grouping grouping = {.by = by, .rest.sum.is_rest = true};
	struct group *group;
	struct group *next;
	int result = listing_each(store, &everything, count_message_in_groups, &grouping);

	HASH_SORT(grouping.all, by_size);
	HASH_ITER (hh, grouping.all, group, next) {
		if (result == 0)
			each(context, &group->sum);
		HASH_DELETE(hh, grouping.all, group);
		free(group);
	}
	if (result == 0 && grouping.rest.sum.deliveries > 0)
		each(context, &grouping.rest.sum);
	return result;
}
