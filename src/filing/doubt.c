// SPDX-License-Identifier: ISC
#include "filing/doubt.h"
#include "filing/lock/name.h"

static uint64_t key_of_message_id(struct str message_id)
{
	struct lock_name name;

	lock_name_make(message_id, &name);
	return name.key;
}

void filing_doubt_add(struct filing_doubt *doubt, struct str message_id)
{
	doubt->keys[doubt->next] = key_of_message_id(message_id);
	doubt->next = (doubt->next + 1) % FILING_DOUBT_MAX;
}

bool filing_doubt_has(const struct filing_doubt *doubt, struct str message_id)
{
	uint64_t key = key_of_message_id(message_id);

	for (size_t i = 0; i < FILING_DOUBT_MAX; i++)
		if (doubt->keys[i] == key)
			return true;
	return false;
}
