// SPDX-License-Identifier: ISC
/*
 * command/mailbox/places.h - the mailboxes that a repair looks into.
 */
#ifndef COMMAND_MAILBOX_PLACES_H
#define COMMAND_MAILBOX_PLACES_H

#include "filing/record/record.h"

struct mailbox_place;

struct mailbox_places {
	struct mailbox_place *table;
	struct record_place *places; /* in the order in which they were met */
	size_t count;
	struct arena *arena;
};

/* Adds PLACE unless it is there; copied. */
void mailbox_places_add(struct mailbox_places *places, const struct record_place *place);
/* Adds all that RECORD has, or those of USER if that is not "". 0 or -errno of the record. */
MUST_CHECK int mailbox_places_read(struct mailbox_places *places, struct record *record,
				   struct str user);
/* Adds the mailboxes, with their folders, that are found where TEMPLATE, the path of a service of
 * kind mailbox, says: if it has both %d and %u, each once in a component of its own or between
 * fixed characters. (walk.c) */
void mailbox_places_walk(struct mailbox_places *places, const char *template);
void mailbox_places_clear(struct mailbox_places *places);

#endif
