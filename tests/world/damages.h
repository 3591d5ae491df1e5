// SPDX-License-Identifier: ISC
/*
 * world/damages.h - what the disks of nodes have changed of which messages (rot.h), and what was
 * said of it.
 *
 * A damage belongs to a message of a queue, which its birth names: what stands for it in the queue
 * later has the same birth. It is *told* once the log has named it, and *parted* once the log, or a
 * repair, has said that what is left of it is in the queue no more.
 *
 * It excuses, of its own message alone, what the product promises:
 *
 * - that a recipient has nothing: it is parted;
 * - that the sender is told so: it is told;
 * - a second copy: a record of what was delivered was changed, or a name was lost.
 *
 * That it is late, or in no state, is nobody's fault either: see the judges. Nothing excuses that
 * a text comes which nobody has sent.
 *
 * The judge of damage (JUDGE_DAMAGE): what the log or a repair call damaged is.
 */
#ifndef WORLD_DAMAGES_H
#define WORLD_DAMAGES_H

#include "kernel.h"

enum damage_part {
	DAMAGE_DATA = 1,    /* a data file */
	DAMAGE_RECORDS = 2, /* a control file, or what was to be reported */
	DAMAGE_NAME = 4,
};

struct damage {
	struct damage *next;
	const struct machine *machine;
	uint64_t number;  /* in the queue */
	uint64_t instead; /* of the message that stands for it there, of the same birth; 0: none */
	char birth[24];   /* as in its id: "NUMBER-BIRTH" */
	uint64_t message; /* of the ledger; UINT64_MAX: not known */
	unsigned parts;
	int64_t since_us;
	bool is_told;
	bool is_parted;
};

/* PART of the message NUMBER with ID is not what it was any more. */
void damages_add(const struct machine *machine, uint64_t number, const char *id, uint64_t message,
		 enum damage_part part);
void damages_end(void);

/* NULL: there is none. */
struct damage *damages_of_id(const struct machine *machine, const char *id);
/* The latest of that number, which may be another message's by now. */
struct damage *damages_of_number(const struct machine *machine, uint64_t number);
/* Whether one of the PARTS of MESSAGE is damaged. */
bool damages_have(uint64_t message, unsigned parts);
/* Whether a recipient of MESSAGE may have nothing. */
bool damages_excuse_loss(uint64_t message);
/* Whether a recipient of MESSAGE may be reported to the sender. */
bool damages_excuse_report(uint64_t message);
/* The postmaster was told of what is damaged of MESSAGE: a report, and nobody else hears of it. */
void damages_part(uint64_t message);
/* The damaged message that the report TEXT is about, by its id, whatever else is in it; or, for
 * what stands for one and is not known by its number, BY_BIRTH alone. UINT64_MAX: none. */
uint64_t damages_reported(const char *text, bool by_birth);
bool damages_are_there(void);
/* Of all that is damaged, how many messages; of these, of how many that was said. */
void damages_count(uint64_t *all_out, uint64_t *told_out);
/* Prints ", N damaged, of which N were told", if any are. */
void damages_print(void);

/* --- damage_lines.c --- */

/* A line of the log of MACHINE, about EVENT. */
void damages_hear(const struct machine *machine, const char *event, const char *line);
/* What "queue repair --json" has printed there. */
void damages_hear_repair(const struct machine *machine, const char *output);

#endif
