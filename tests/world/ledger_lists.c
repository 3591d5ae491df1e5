// SPDX-License-Identifier: ISC
/* The ledger: who gets a message that is for a list. A message is for one list at most.
 *
 * When the list's keeper has it, the list has been expanded, between then and the offer. Who was a
 * member all that time must get a copy, who was one at some instant of it may. */
#include "ledger_internal.h"
#include "lists.h"
#include <string.h>

struct copy *ledger_list_copy(struct entry *entry)
{
	for (size_t i = 0; i < entry->copy_count; i++)
		if (!entry->copies[i].is_member && lists_have(entry->copies[i].recipient))
			return &entry->copies[i];
	return NULL;
}

static struct copy *add_member(struct entry *entry, const char *address)
{
	struct copy *copy = ledger_add_copy(entry, address);

	copy->is_member = true;
	return copy;
}

struct copy *ledger_member_copy(struct entry *entry, const char *address)
{
	const struct copy *list = ledger_list_copy(entry);
	struct copy *copy = ledger_find_copy(entry, address);

	if (copy != NULL && copy->is_member)
		return copy;
	if (list == NULL || !lists_may_reach(list->recipient, address, entry->began_us))
		return NULL;
	return add_member(entry, address);
}

/* Through a list that comes or goes meanwhile a member may get it twice. */
void ledger_member_has(struct entry *entry, const char *address)
{
	struct copy *list = ledger_list_copy(entry);
	char name[sizeof list->recipient];

	if (entry->is_expanded || !lists_is_keeper(list->recipient, address))
		return;
	entry->is_expanded = true;
	entry->is_repeated |= lists_may_change(list->recipient, entry->began_us);
	ledger_count_copy(entry, list);
	memcpy(name, list->recipient, sizeof name);
	for (size_t i = 0; lists_member(i) != NULL; i++)
		if (lists_must_reach(name, lists_member(i), entry->began_us) &&
		    ledger_find_copy(entry, lists_member(i)) == NULL)
			(void)add_member(entry, lists_member(i));
}

bool ledger_may_tell_owner(struct entry *entry, const struct copy *copy, const char *address)
{
	return lists_may_tell(ledger_list_copy(entry)->recipient, copy->recipient, address,
			      entry->began_us);
}
