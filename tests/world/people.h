// SPDX-License-Identifier: ISC
/*
 * world/people.h - those who change the addresses of a domain, and what these may mean at a time.
 *
 * Users of PEOPLE_DOMAIN are mailboxes, forwarded, refused, or not there, as records of the
 * directory say; people change them with commands ("stagepost directory put"), and in the database
 * (changes.h). They make the lists and change their members, too (lists.h).
 */
#ifndef WORLD_PEOPLE_H
#define WORLD_PEOPLE_H

#include "kernel.h"

#define PEOPLE_DOMAIN "people.example"
#define PEOPLE_STORE  "/var/lib/directory.sqlite" /* on the node that was added first */
enum { PEOPLE_USERS = 20 };

/* People make the domain, and change an address after every PAUSE_US in the mean, until
 * QUIET_FROM_US; each time at one of the nodes that were added. */
void people_start(int64_t pause_us, int64_t quiet_from_us);
void people_add_node(struct machine *node);
/* Now and then ACT happens to the store of the node that was added first; DONE: people go on. */
void people_add_accident(void (*act)(struct machine *node, const char *store, void (*done)(void)));
/* CHANGE is asked before each of their changes: whether it makes one in place of it, and calls DONE
 * when that has ended. */
void people_add_changer(bool (*change)(void (*done)(bool is_good)));
/* From now on they make no other changes than those that failed. */
void people_be_quiet(void);
/* Of logins.h: they change these, too. */
void people_know_logins(void);
void people_end(void);

/* Whether RECIPIENT is in the domain. */
bool people_have(const char *recipient);
/* Whether mail for RECIPIENT that was offered at SINCE_US may come to PLACE now, and may be
 * accepted, or refused for good, now. */
bool people_may_deliver(const char *recipient, const char *place, int64_t since_us);
bool people_may_accept(const char *recipient, int64_t since_us);
bool people_may_refuse(const char *recipient, int64_t since_us);

#endif
