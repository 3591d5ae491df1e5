// SPDX-License-Identifier: ISC
/*
 * directory/lookup/post.h - whether a sender may post to a list, as the list's field "post" says.
 *
 * members: those of the list and of the lists that are its members by their own address, and its
 * owner; owners: its owner alone. A sender is an address in canonical form
 * (directory/record/key.h), and is the member's own, not an alias of it. The empty sender posts to
 * no such list. It is the envelope's sender, which anybody can write: this keeps out mail that is
 * not meant for a list, not somebody who lies.
 *
 * What the directory says of a list is the same for all senders, so that it may be kept; what is
 * asked about a sender has the sender in its key. Who is no member costs a look at each list that
 * he is on, and at those that these are on.
 */
#ifndef DIRECTORY_LOOKUP_POST_H
#define DIRECTORY_LOOKUP_POST_H

#include "directory/lookup/lookup.h"

/* The only target of RESULT, where it is a list to which not everybody may post; else NULL: then
 * whoever sends on to its targets has to ask. */
const struct directory_target *directory_result_closed_list(const struct directory_result *result);

/* VERDICT: of class OK; FAIL 5.7.2 (RFC 3463 section 3.8); or WAIT while there is no answer, or
 * when the sender is on more than DIRECTORY_TARGETS_MAX lists. IS_AWAY: there is none because the
 * directory does not answer. The request may be used again. */
typedef void directory_post_judged(void *context, const struct mail_verdict *verdict, bool is_away);

struct directory_posting; /* under way */

/* Storage of the caller, zeroed at first, until it is judged or cancelled. */
struct directory_post_request {
	struct directory_posting *post; /* NULL: nothing waits */
};

/* Judges SENDER, any text, perhaps before it returns. LIST and SENDER are copied. */
void directory_post_ask(struct directory *directory, const struct directory_target *list,
			struct str sender, directory_post_judged *judged, void *context,
			struct directory_post_request *request);
/* Nothing is called. Nothing happens where nothing waits. */
void directory_post_cancel(struct directory_post_request *request);

#endif
