// SPDX-License-Identifier: ISC
/* Whether a message is held, and by what. */
#include "listing/internal.h"
#include "queue/trigger.h"
#include <stdio.h>

struct str listing_hold_name(struct mail_id id, char name[LISTING_HOLD_SIZE])
{
	char text[MAIL_ID_SIZE];

	mail_id_format(id, text);
	snprintf(name, LISTING_HOLD_SIZE, "hold.%s", text);
	return str_from(name);
}

int listing_learn_hold(struct queue_store *store, struct listing_entry *entry)
{
	char name[LISTING_HOLD_SIZE];
	int result = 0;

	if (entry->control != NULL)
		result = queue_trigger_is_set(
			store, listing_hold_name(entry->control->envelope->id, name));
	entry->is_held = result > 0;
	return result < 0 ? result : 0;
}
