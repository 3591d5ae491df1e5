// SPDX-License-Identifier: ISC
/* Whether a message is held, and by what. */
#include "listing/internal.h"
#include "os/file/file.h"
#include <stdio.h>

struct str listing_hold_name(struct mail_id id, char name[LISTING_HOLD_SIZE])
{
	char text[MAIL_ID_SIZE];

	mail_id_format(id, text);
	snprintf(name, LISTING_HOLD_SIZE, "hold.%s", text);
	return str_from(name);
}

void listing_learn_hold(struct queue_store *store, struct listing_entry *entry)
{
	char name[LISTING_HOLD_SIZE];
	char path[LISTING_HOLD_SIZE + 8];
	struct os_file_info info;

	if (entry->control == NULL)
		return;
	listing_hold_name(entry->control->envelope->id, name);
	snprintf(path, sizeof path, "trigger/%s", name);
	entry->is_held = os_file_info_at(queue_store_directory(store), path, &info) == 0;
}
