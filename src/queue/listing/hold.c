// SPDX-License-Identifier: ISC
/* Whether a message is held, and by what. */
#include "queue/listing/internal.h"
#include "queue/trigger.h"
#include <errno.h>
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
	struct buffer until CLEANUP(buffer_clear) = {0};
	char name[LISTING_HOLD_SIZE];
	int result;

	if (entry->control == NULL)
		return 0;
	result = queue_trigger_read_until(
		store, listing_hold_name(entry->control->envelope->id, name), &until);
	if (result < 0)
		return result == -ENOENT ? 0 : result;
	/* the manager removes the file only when the message is tried next */
	result = until.length > 0 ? queue_trigger_is_set(store, buffer_view(&until)) : 1;
	entry->is_held = result > 0;
	if (entry->is_held && until.length > 0)
		entry->held_until =
			arena_copy_str(entry->control->envelope->arena, buffer_view(&until));
	return result < 0 ? result : 0;
}
