// SPDX-License-Identifier: ISC
/* A linear search while they are few, then a hash table with open addressing. */
#include "smtp/server/recipients.h"
#include "base/hash.h"
#include "mail/address.h"
#include <string.h>

enum { FEW = 8, ROOM = 4 }; /* slots for each recipient when the table is made */

static size_t domain_start_of_address(struct str address)
{
	return (size_t)(str_find_last(address, '@') + 1);
}

static bool is_same_recipient(struct str a, struct str b)
{
	size_t domain = domain_start_of_address(a);

	return a.length == b.length && domain == domain_start_of_address(b) &&
	       memcmp(a.data, b.data, domain) == 0 &&
	       str_equal_nocase(str_skip(a, domain), str_skip(b, domain));
}

static size_t first_slot(const struct smtp_recipients *r, struct str address)
{
	char key[MAIL_ADDRESS_MAX];
	size_t length = address.length < sizeof key ? address.length : sizeof key;

	memcpy(key, address.data, length);
	str_lower(key, length);
	return hash_own(key, length) & (r->slot_count - 1);
}

static void enter_recipient(struct smtp_recipients *r, const struct mail_envelope *envelope,
			    size_t index)
{
	size_t slot = first_slot(r, envelope->recipients[index].address);

	while (r->slots[slot] != 0)
		slot = (slot + 1) & (r->slot_count - 1);
	r->slots[slot] = (uint32_t)index + 1;
}

/* At least half of it stays empty, so that a search ends soon. */
static void make_room_for_recipient(struct smtp_recipients *r, const struct mail_envelope *envelope)
{
	size_t count = envelope->recipient_count;

	if (2 * (count + 1) <= r->slot_count)
		return;
	for (r->slot_count = FEW; r->slot_count < ROOM * count;)
		r->slot_count *= 2;
	r->slots = arena_alloc(envelope->arena, r->slot_count * sizeof *r->slots);
	for (size_t i = 0; i < count; i++)
		enter_recipient(r, envelope, i);
}

bool smtp_recipients_have(struct smtp_recipients *r, const struct mail_envelope *envelope,
			  struct str address)
{
	const struct mail_recipient *recipients = envelope->recipients;
	size_t count = envelope->recipient_count;

	if (count <= FEW) {
		for (size_t i = 0; i < count; i++)
			if (is_same_recipient(recipients[i].address, address))
				return true;
		return false;
	}
	make_room_for_recipient(r, envelope);
	for (size_t slot = first_slot(r, address); r->slots[slot] != 0;
	     slot = (slot + 1) & (r->slot_count - 1))
		if (is_same_recipient(recipients[r->slots[slot] - 1].address, address))
			return true;
	return false;
}

void smtp_recipients_added(struct smtp_recipients *r, const struct mail_envelope *envelope)
{
	if (r->slots != NULL)
		enter_recipient(r, envelope, envelope->recipient_count - 1);
}
