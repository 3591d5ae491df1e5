// SPDX-License-Identifier: ISC
/*
 * command/directory/dangling.h - finds records of the directory that name something
 * missing: a service, a user, a server, a domain, an address, a user of this machine; and those
 * that form a loop.
 */
#ifndef COMMAND_DIRECTORY_DANGLING_H
#define COMMAND_DIRECTORY_DANGLING_H

#include "config/config.h"
#include "directory/bulk/pages.h"

/* WHY is for people, one line that may contain any byte. */
typedef void directory_dangles(void *context, const struct directory_key *key, struct str why);

/* Asks SERVER about COUNT records, and calls DANGLES for each thing that one of them names but that
 * does not exist. The services are those of CONFIG. 0, or -errno of bulk_server_errno(). */
MUST_CHECK int directory_dangling(struct bulk_server *server, const struct config *config,
				  const struct directory_record *records, size_t count,
				  directory_dangles *dangles, void *context);

/* The same about the postmaster of this node, to whom mail for postmasters without a mailbox goes,
 * as a record of the table address with the key "postmaster". */
MUST_CHECK int directory_dangling_postmaster(struct bulk_server *server,
					     const struct config *config,
					     directory_dangles *dangles, void *context);

#endif
