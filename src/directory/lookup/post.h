// SPDX-License-Identifier: ISC
/*
 * directory/lookup/post.h - whether a sender may post to a list, by the list's field "post".
 *
 * members: members of the list and of lists that are its members by their own address, and its
 * owner; owners: only its owner. The sender is an address in canonical form
 * (directory/record/key.h) that must be the member's own, not an alias of it. The empty sender may
 * not post to such a list. It is the envelope sender, which anybody can forge: this keeps out mail
 * that strays to a list, not an attacker.
 *
 * What the directory says about a list is the same for all senders, so it can be cached; questions
 * about a sender have the sender in their key. For a sender who is not a member, each list that he
 * is a member of is looked up, and those that these are members of.
 */
#ifndef DIRECTORY_LOOKUP_POST_H
#define DIRECTORY_LOOKUP_POST_H

#include "directory/lookup/lookup.h"

/* The only target of RESULT, if it is a list to which not everybody may post; else NULL. For a list
 * among several targets, the process that sends to the members must check. */
const struct directory_target *directory_result_closed_list(const struct directory_result *result);

/* VERDICT: class OK; FAIL 5.7.2 (RFC 3463 section 3.8); or WAIT if there is no answer, or if the
 * sender is a member of more than DIRECTORY_TARGETS_MAX lists. IS_AWAY: the directory does not
 * answer. The request may be reused. */
typedef void directory_post_judged(void *context, const struct mail_verdict *verdict, bool is_away);

struct directory_posting; /* a check under way */

/* Storage of the caller, zeroed at first, until it is judged or cancelled. */
struct directory_post_request {
	struct directory_posting *post; /* NULL: not pending */
};

/* Judges SENDER, any text; may call JUDGED before it returns. Copies LIST and SENDER. */
void directory_post_ask(struct directory *directory, const struct directory_target *list,
			struct str sender, directory_post_judged *judged, void *context,
			struct directory_post_request *request);
/* Calls nothing. Does nothing if the request is not pending. */
void directory_post_cancel(struct directory_post_request *request);

#endif
