// SPDX-License-Identifier: ISC
/*
 * listing/internal.h - what the files of this folder share.
 */
#ifndef LISTING_INTERNAL_H
#define LISTING_INTERNAL_H

#include "listing/listing.h"

/* hold.c: sets entry->is_held. */
void listing_learn_hold(struct queue_store *store, struct listing_entry *entry);

#endif
