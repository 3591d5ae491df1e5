// SPDX-License-Identifier: ISC
/*
 * world/ledger_internal.h - what the ledger knows of a message: for ledger*.c only.
 */
#ifndef WORLD_LEDGER_INTERNAL_H
#define WORLD_LEDGER_INTERNAL_H

#include "mail.h"

/* What one recipient gets of a message. */
struct copy {
	char recipient[64];
	uint64_t count;
	int64_t first_us; /* when the first one came; 0: none has */
	bool has_text;    /* a copy has come, besides any report */
	bool is_reported; /* the sender was told that it does not come */
	bool is_excused;  /* it may come twice (accounts.h) */
	bool is_doubtful; /* and nobody knew whether a node had it: so it may be filed twice */
	bool is_settled;  /* but not because the message is in the queue again */
	bool is_member;   /* gets it through the entry's list */
	bool is_recorded; /* a record says that it is filed */
};

struct entry {
	struct copy *copies; /* one for each recipient, and for each member of a list */
	size_t copy_count;
	uint64_t lines;
	bool is_promised;
	bool is_cut; /* its text was never finished */
	bool is_changed;
	bool is_expanded; /* its list's keeper has it */
	bool is_repeated; /* its list may be expanded twice, and all its members get it so */
	bool has_moved;   /* a node that had tried it has handed some of it over */
	int64_t began_us;
};

/* Of a number that nobody has given out: one for nobody. */
struct entry *ledger_entry(uint64_t number);
/* How many numbers have been given out. */
uint64_t ledger_count(void);
struct copy *ledger_find_copy(struct entry *entry, const char *recipient);
/* A new one for RECIPIENT, in place of which no pointer to another copy is good. */
struct copy *ledger_add_copy(struct entry *entry, const char *recipient);
/* COPY has come, once more or first. */
void ledger_count_copy(struct entry *entry, struct copy *copy);

/* Something came that nobody had sent. */
void ledger_is_strange(void);

/* --- ledger_once.c --- */

/* Whether it goes to a mailbox where it is filed once: nothing excuses a second one, and nobody is
 * refused there. */
bool ledger_is_filed_once(const struct copy *copy);
/* Whether it may be filed at several nodes. */
bool ledger_may_be_filed_again(uint64_t number, const struct copy *copy);
/* Whether it was reported as failed, though it is there. */
bool ledger_is_denied(const struct copy *copy);

/* --- ledger_take.c --- */

/* The copy that comes to PLACE, a new one if it comes through a list; NULL: none does. */
struct copy *ledger_copy_at(struct entry *entry, const char *place);

/* --- ledger_lists.c --- */

/* The copy of the list that ENTRY is for; NULL: it is for none. */
struct copy *ledger_list_copy(struct entry *entry);
/* The copy of somebody at ADDRESS who may get ENTRY through its list, a new one if need be; NULL:
 * there is no reason why he should. */
struct copy *ledger_member_copy(struct entry *entry, const char *address);
/* ADDRESS has got ENTRY through its list: if he is its keeper, it is known now who must, and
 * copies may have been added. */
void ledger_member_has(struct entry *entry, const char *address);
/* Whether the owner of a list at ADDRESS may be told that COPY, of a member of ENTRY's, fails. */
bool ledger_may_tell_owner(struct entry *entry, const struct copy *copy, const char *address);

#endif
