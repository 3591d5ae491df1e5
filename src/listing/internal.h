// SPDX-License-Identifier: ISC
/*
 * listing/internal.h - what the files of this folder share.
 */
#ifndef LISTING_INTERNAL_H
#define LISTING_INTERNAL_H

#include "listing/listing.h"

/* load.c: queue_update_load() for those who hold no lock: what is loaded was NUMBER's when
 * this began. -ENOENT also when it went on meanwhile. */
MUST_CHECK int listing_load(struct queue_store *store, const enum mail_stage *stage,
			    uint64_t number, struct queue_control **control_out,
			    unsigned *line_out);

/* hold.c: sets entry->is_held. */
void listing_learn_hold(struct queue_store *store, struct listing_entry *entry);

#endif
