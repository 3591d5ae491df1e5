// SPDX-License-Identifier: ISC
/* turns_internal.h - what turns_packets.c says to turns.c. */
#ifndef WORLD_TURNS_INTERNAL_H
#define WORLD_TURNS_INTERNAL_H

#include "base/str.h"
#include "turns.h"

/* A job: the helper's end of the connection, and its tag there. */
struct turns_job {
	uint64_t helper;
	uint32_t tag;
};

struct wait_place;

void turns_new(struct books *books);
/* Before each packet. */
void turns_notice_moves(struct books *books);
/* ACCOUNT has somebody at host NAME. */
void turns_mapped(struct account *account, struct str name);
/* JOB, of ACCOUNT (NULL: not known) for host NAME (empty: for a service), begins; that is PLACE for
 * waits.h. */
void turns_begin(struct books *books, struct turns_job job, struct account *account,
		 struct str name, struct wait_place *place);
/* Whose JOB is, or NULL; and its PLACE, or NULL. */
struct account *turns_account(const struct books *books, struct turns_job job,
			      struct wait_place **place_out);
/* A report about JOB: its host has answered. Nothing happens if JOB is not known, as below. */
void turns_answer(struct books *books, struct turns_job job);
/* JOB has ended; its destination wants no other for BUSY_US. How long it took; 0 if it is not
 * known, as after anything that delays the machine's mail. */
int64_t turns_finish(struct books *books, struct turns_job job, int64_t busy_us);

#endif
