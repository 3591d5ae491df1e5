// SPDX-License-Identifier: ISC
/*
 * directory/expand/expand.h - what becomes of an address: the table "route".
 *
 * Follows domains, aliases, forwards, user+extension, catch-alls and user-to-server maps
 * in a store, and stops at lists: those are sent on as messages of their own. In order,
 * the first that exists: the address itself, the address without its extension, @DOMAIN.
 * The extension, which begins with one of recipient_delimiter, goes with it: mailbox and alias
 * keep it, forward does not. Services get it behind a '+'. postmaster
 * exists in each local domain (RFC 5321 section 4.5.1) and is then the domain's mailbox of that
 * name; alone, or at the host's name where that is no domain of ours, it is that of
 * config_default_domain(). Domains of the configuration come before those of the store.
 *
 * Routes come in order and each once. An address that is asked for and does not exist, or whose
 * record refuses, is one REFUSE. A loop is refused with 4.4.6, and the text names it: a@d > b@d >
 * a@d. So is more than DIRECTORY_TARGETS_MAX routes, or DIRECTORY_DEPTH_MAX steps: faults of the
 * data defer. What names a user, server or service that there is not, or a server that its service
 * does not list, is refused with 4.3.5. Addresses are as they were asked for where that is plain
 * ASCII, else in canonical form.
 *
 * While data change, an address that exists before and after is never refused: what was
 * seen in part before and in part after is found out again, a few times; then it is -ETIMEDOUT.
 * While the store has lost its link (lost_us), what it would refuse for good is -ENOTCONN.
 */
#ifndef DIRECTORY_EXPAND_EXPAND_H
#define DIRECTORY_EXPAND_EXPAND_H

#include "config/config.h"
#include "directory/wire/route.h"
#include "store/store.h"

enum {
	DIRECTORY_TARGETS_MAX = 1000,
	DIRECTORY_DEPTH_MAX = 50,
	DIRECTORY_DEPENDENCIES_MAX = 64, /* what depends on more is not to be kept: TTL 0 */
};

struct directory_expansion {
	const struct directory_route *routes; /* all is valid during the call */
	size_t count;
	const struct directory_key *dependencies; /* that it depends on */
	size_t dependency_count;
	bool may_keep;    /* its dependencies are all in it, and none changed meanwhile */
	uint64_t version; /* all it saw were at least this new */
};

struct directory_expander;

/* STORE may be NULL: only the configuration. It tells the expander itself of nothing; see below. */
struct directory_expander *directory_expander_new(struct directory_store *store,
						  const struct config *config);
void directory_expander_configure(struct directory_expander *expander, const struct config *config);
/* Answers for ADDRESS, any text, perhaps before it returns. */
void directory_expand(struct directory_expander *expander, struct str address,
		      directory_expanded *expanded, void *context);
/* The store has told of a change: what is under way and depends on it is not kept. */
void directory_expander_changed(struct directory_expander *expander,
				const struct directory_key *key);
void directory_expander_reset(struct directory_expander *expander);
/* With nothing under way. */
void directory_expander_free(struct directory_expander *expander);

#endif
