// SPDX-License-Identifier: ISC
/* Whether a recipient was named before: a linear search while they are few, then a hash table
 * with open addressing in the transaction's arena. */
#include "base/hash.h"
#include "smtp/internal.h"
#include <string.h>

enum { FEW = 8, ROOM = 4 }; /* slots for each recipient when the table is made */

static size_t domain_of(struct str address)
{
	return (size_t)(str_find_last(address, '@') + 1);
}

static bool is_same(struct str a, struct str b)
{
	size_t domain = domain_of(a);

	return a.length == b.length && domain == domain_of(b) &&
	       memcmp(a.data, b.data, domain) == 0 &&
	       str_equal_nocase(str_skip(a, domain), str_skip(b, domain));
}

static size_t first_slot(const struct smtp_transaction *t, struct str address)
{
	char key[MAIL_ADDRESS_MAX];
	size_t length = address.length < sizeof key ? address.length : sizeof key;

	memcpy(key, address.data, length);
	str_lower(key, length);
	return hash_own(key, length) & (t->slot_count - 1);
}

static void enter(struct smtp_transaction *t, size_t index)
{
	size_t slot = first_slot(t, t->envelope->recipients[index].address);

	while (t->slots[slot] != 0)
		slot = (slot + 1) & (t->slot_count - 1);
	t->slots[slot] = (uint32_t)index + 1;
}

/* At least half of it stays empty, so that a search ends soon. */
static void make_room(struct smtp_transaction *t)
{
	size_t count = t->envelope->recipient_count;

	if (2 * (count + 1) <= t->slot_count)
		return;
	for (t->slot_count = FEW; t->slot_count < ROOM * count;)
		t->slot_count *= 2;
	t->slots = arena_alloc(t->envelope->arena, t->slot_count * sizeof *t->slots);
	for (size_t i = 0; i < count; i++)
		enter(t, i);
}

bool smtp_recipient_is_known(struct smtp_transaction *t, struct str address)
{
	const struct mail_recipient *recipients = t->envelope->recipients;
	size_t count = t->envelope->recipient_count;

	if (count <= FEW) {
		for (size_t i = 0; i < count; i++)
			if (is_same(recipients[i].address, address))
				return true;
		return false;
	}
	make_room(t);
	for (size_t slot = first_slot(t, address); t->slots[slot] != 0;
	     slot = (slot + 1) & (t->slot_count - 1))
		if (is_same(recipients[t->slots[slot] - 1].address, address))
			return true;
	return false;
}

void smtp_recipient_added(struct smtp_transaction *t)
{
	if (t->slots != NULL)
		enter(t, t->envelope->recipient_count - 1);
}
