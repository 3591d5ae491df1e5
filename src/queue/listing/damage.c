// SPDX-License-Identifier: ISC
/* Looks for what a disk has changed, in all messages. */
#include "queue/damage.h"
#include "queue/listing/listing.h"
#include <errno.h>

struct search {
	struct queue_damage damage;
	const enum mail_stage *stage; /* NULL: S5 */
	struct listing_damage *found;
	void (*each)(void *context, const char *path, const struct queue_difference *difference);
};

/* A file that is reused for another message meanwhile looks damaged once: the second time its name
 * is gone, or leads to the next message. */
static int search_message(void *context, uint64_t number)
{
	struct search *search = context;
	struct queue_damage *damage = &search->damage;
	int result;

	damage->each = NULL;
	result = queue_damage_look(damage, search->stage, number);
	if (result == 0 && damage->count > 0) {
		damage->each = search->each;
		result = queue_damage_look(damage, search->stage, number);
	}
	if (result < 0)
		return result == -ENOENT ? 0 : result;
	search->found->messages += damage->count > 0;
	search->found->differences += damage->count;
	return 0;
}

int listing_damage(struct queue_store *store, bool with_data,
		   void (*each)(void *context, const char *path,
				const struct queue_difference *difference),
		   void *context, struct listing_damage *found_out)
{
	struct search search = {
		.damage = {.store = store, .with_data = with_data, .context = context},
		.found = found_out,
		.each = each,
	};
	int result = 0;

	*found_out = (struct listing_damage){.messages = 0};
	for (enum mail_stage stage = 0; result == 0 && stage < MAIL_STAGE_COUNT; stage++) {
		search.stage = &stage;
		result = queue_store_each(store, QUEUE_TODO, mail_stage_name(stage), search_message,
					  NULL, &search);
	}
	search.stage = NULL;
	return result == 0
		       ? queue_store_each(store, QUEUE_INFO, NULL, search_message, NULL, &search)
		       : result;
}
