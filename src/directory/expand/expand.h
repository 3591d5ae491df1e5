// SPDX-License-Identifier: ISC
/*
 * directory/expand/expand.h - resolves an address to its targets: the table "route".
 *
 * Follows domains, aliases, forwards, user+extension, catch-alls and user-to-server maps
 * in a store, and stops at lists: each is sent on as a message of its own. The first that exists
 * counts: the address itself, the address without its extension, @DOMAIN. The extension begins
 * with one of the characters of recipient_delimiter; mailbox and alias keep it, forward does not,
 * and services get it after a '+'. postmaster exists in each local domain (RFC 5321 section
 * 4.5.1) and is, without a record, the domain's mailbox of that name; without a domain, or at the
 * host's name if that is not a domain of ours, it is that of config_default_domain(). Domains of
 * the configuration take precedence over those of the store.
 *
 * Routes are in order, without duplicates. If the address does not exist, or its record refuses,
 * the only route is a REFUSE. A loop is refused with 4.4.6, and the text shows it: a@d > b@d >
 * a@d. More than DIRECTORY_TARGETS_MAX routes, or DIRECTORY_DEPTH_MAX steps, are refused likewise:
 * faults of the data defer mail. A record that names an unknown user, server or service, or a
 * server that its service does not list, is refused with 4.3.5. Addresses are as they were asked
 * for if that is plain ASCII, else in canonical form.
 *
 * While data change, an address that exists before and after is never refused: if the data were
 * read partly before and partly after a change, they are read again, a few times; then the error is
 * -ETIMEDOUT. While the store has lost its link (lost_us), a permanent refusal becomes -ENOTCONN.
 */
#ifndef DIRECTORY_EXPAND_EXPAND_H
#define DIRECTORY_EXPAND_EXPAND_H

#include "config/config.h"
#include "directory/store/store.h"
#include "directory/wire/route.h"

enum {
	DIRECTORY_TARGETS_MAX = 1000,
	DIRECTORY_DEPTH_MAX = 50,
	DIRECTORY_DEPENDENCIES_MAX = 64, /* with more of them an answer is not cached: TTL 0 */
};

struct directory_expansion {
	const struct directory_route *routes; /* valid during the call, as all of it */
	size_t count;
	const struct directory_key *dependencies; /* the records on which it depends */
	size_t dependency_count;
	bool may_keep;    /* dependencies are complete, and none has changed meanwhile */
	uint64_t version; /* all data that it depends on were at least this new */
};

struct directory_expander;

/* STORE may be NULL: only the configuration. The caller must report changes of STORE, see below. */
struct directory_expander *directory_expander_new(struct directory_store *store,
						  const struct config *config);
void directory_expander_configure(struct directory_expander *expander, const struct config *config);
/* Resolves ADDRESS, which may be any text; may call back before it returns. */
void directory_expand(struct directory_expander *expander, struct str address,
		      directory_expanded *expanded, void *context);
/* To call after a change of the store: answers under way that depend on it will not be cached. */
void directory_expander_changed(struct directory_expander *expander,
				const struct directory_key *key);
void directory_expander_reset(struct directory_expander *expander);
/* Nothing may be under way. */
void directory_expander_free(struct directory_expander *expander);

#endif
