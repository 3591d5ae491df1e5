// SPDX-License-Identifier: ISC
/*
 * manager/destination.h - what waits for one host or service, and which job of
 * it is next.
 */
#ifndef MANAGER_DESTINATION_H
#define MANAGER_DESTINATION_H

#include "manager/internal.h"

/* The destination called NAME, made when there is none. */
struct destination *destination_get(struct stage *stage, struct str name);
/* The same, or NULL. */
struct destination *destination_find(struct stage *stage, struct str name);
/* After any change: enters or leaves the stage's ring, wakes what is parked, and
 * frees what is empty. */
void destination_update(struct destination *destination);

/* At the end: those that were kept because something blocks them. */
void destination_free_all(struct stage *stage);

/* A job for the message, which waits; one that the message has here already when
 * it has room for another delivery, of SIZE bytes in a START. */
struct job *destination_add_job(struct destination *destination, struct message *message,
				bool is_retry, size_t size);
/* Takes a waiting job out. */
void destination_remove_job(struct destination *destination, struct job *job);
/* The job whose turn it is, or NULL. It is still in. */
struct job *destination_next_job(struct destination *destination);

/* Learns from an attempt: whether the destination could be worked with. */
void destination_learn(struct destination *destination, bool was_reached);

/* Whether so much waits that another message had better sleep, with the parked. */
bool destination_is_crowded(const struct destination *destination, bool for_retry);

#endif
