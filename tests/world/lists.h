// SPDX-License-Identifier: ISC
/*
 * world/lists.h - the lists of a world, who may be in them at a time, and so who gets their mail.
 *
 *   list0  anyone may post; list1 may be its member
 *   list1  only members may, and CLIENT_SENDER may be one; list0 and list2 may be its members
 *   list2  only its owner may, which CLIENT_SENDER is; list3 may be its member
 *   list3  only its owner may, which CLIENT_SENDER is not
 *
 * Each has a keeper who is always a member of it, and of no other: that he has a message says that
 * the list is expanded. All others come and go: people.c changes one record of table member at a
 * time (changes.h). Members are at the next hop, in mailboxes and at programs; the next hop refuses
 * some of them for good, and the list's owner is told; for others it has time later.
 */
#ifndef WORLD_LISTS_H
#define WORLD_LISTS_H

#include "kernel.h"

#define LISTS_DOMAIN "lists.example"
enum { LISTS = 4 };

/* NODES: of these there are mailboxes. */
void lists_begin(size_t nodes);
void lists_end(void);

/* --- for people --- */

/* What makes the domain, the lists and the keepers: statements for the database. */
const char *lists_setup(void);
/* The lists are there; not before they are known everywhere mail may be for them. */
void lists_set_up(void);
/* Makes one change, at NODE or in the database on STORE; again one that failed, if there is one. */
void lists_change(struct machine *node, struct machine *store, void (*done)(bool is_good));
/* Whether some change failed, and was not made again. */
bool lists_have_failed(void);

/* --- what is true, for mail that was offered at SINCE_US --- */

bool lists_are_ready(void);
/* The address of list INDEX. */
const char *lists_name(size_t index);
/* The part of its owner's address that all his addresses have (VERP). */
const char *lists_owner(size_t index);
/* Whether ADDRESS is one of a list. */
bool lists_have(const char *address);
/* Whether CLIENT_SENDER may be allowed to post to LIST, and not be. */
bool lists_may_accept(const char *list, int64_t since_us);
bool lists_may_refuse(const char *list, int64_t since_us);
/* The member INDEX of any list, the keepers too; NULL: there are not so many. */
const char *lists_member(size_t index);
bool lists_is_keeper(const char *list, const char *address);
/* Whether mail for LIST may reach ADDRESS, a member or a list that it has in it; and whether it
 * must: he was a member from SINCE_US until now. */
bool lists_may_reach(const char *list, const char *address, int64_t since_us);
bool lists_must_reach(const char *list, const char *address, int64_t since_us);
/* Whether a list that LIST may have in it may have come or gone: then somebody may get the mail
 * through both. */
bool lists_may_change(const char *list, int64_t since_us);
/* Whether ADDRESS is told what fails of some list's mail; and of what LIST sends to MEMBER. */
bool lists_own(const char *address);
bool lists_may_tell(const char *list, const char *member, const char *address, int64_t since_us);

#endif
