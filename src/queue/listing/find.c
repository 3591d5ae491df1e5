// SPDX-License-Identifier: ISC
/* Finds one message by its number. */
#include "queue/listing/internal.h"
#include <errno.h>

/* Returns 0 also when it exists but is damaged. */
static int load_listing_entry(struct queue_store *store, const enum mail_stage *stage,
			      uint64_t number, struct listing_entry *entry)
{
	int result;

	*entry = (struct listing_entry){.number = number, .is_preprocessed = stage == NULL};
	if (stage != NULL)
		entry->stage = *stage;
	result = listing_load(store, stage, number, &entry->control, &entry->line);
	return result == -EBADMSG || result == -EPROTO || result == -ENODATA ? 0 : result;
}

int listing_find(struct queue_store *store, struct str text, struct listing_entry *entry_out)
{
	struct listing_entry entry = {0};
	struct mail_id id = {0, 0};
	int result = -ENOENT;

	if (!mail_id_parse(text, &id) && !str_to_u64(text, &id.number))
		return -EINVAL;
	for (unsigned i = 0; result == -ENOENT && i < MAIL_STAGE_COUNT; i++) {
		enum mail_stage stage = i;

		result = load_listing_entry(store, &stage, id.number, &entry);
	}
	if (result == -ENOENT)
		result = load_listing_entry(store, NULL, id.number, &entry);
	if (result < 0)
		return result;
	if (id.born_us != 0 && entry.control != NULL &&
	    entry.control->envelope->id.born_us != id.born_us) {
		queue_control_free(entry.control);
		return -ENOENT;
	}
	result = listing_learn_hold(store, &entry);
	if (result < 0)
		queue_control_free(entry.control);
	else
		*entry_out = entry;
	return result;
}
