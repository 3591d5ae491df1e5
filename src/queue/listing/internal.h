// SPDX-License-Identifier: ISC
/*
 * queue/listing/internal.h - what the files of this folder share.
 */
#ifndef QUEUE_LISTING_INTERNAL_H
#define QUEUE_LISTING_INTERNAL_H

#include "queue/listing/listing.h"

/* load.c: queue_update_load() for callers without a lock: checks that what was loaded belonged
 * to NUMBER. -ENOENT also when the message moved on meanwhile. */
MUST_CHECK int listing_load(struct queue_store *store, const enum mail_stage *stage,
			    uint64_t number, struct queue_control **control_out,
			    unsigned *line_out);

/* each.c: listing_each() for the messages in IDS, in that order; a birth of 0 means any message
 * with that number. */
MUST_CHECK int listing_each_of(struct queue_store *store, const struct listing_filter *filter,
			       const struct mail_id *ids, size_t count,
			       int (*each)(void *context, const struct listing_entry *entry),
			       void *context);

/* hold.c: sets entry->is_held: 0, or -errno: that cannot be seen. */
MUST_CHECK int listing_learn_hold(struct queue_store *store, struct listing_entry *entry);

#endif
