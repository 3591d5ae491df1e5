// SPDX-License-Identifier: ISC
/*
 * directory/store/ldap/sync/csn.h - how recent a server's content is: OpenLDAP's change sequence
 * numbers, the newest of each server at which changes are made.
 *
 * TIME#COUNT#SERVER#MODIFICATION, e.g. 20261120192556.362513Z#000000#001#000000; those of one
 * server compare as text. They are in contextCSN, and in cookies after "csn=", separated by ";".
 * Cookies of other LDAP servers are opaque (RFC 4533 section 2.1.2): the set is then empty.
 */
#ifndef DIRECTORY_STORE_LDAP_SYNC_CSN_H
#define DIRECTORY_STORE_LDAP_SYNC_CSN_H

#include "base/buffer.h"

enum { CSN_SERVERS_MAX = 64, CSN_SIZE = 64 };

/* All zero: empty. */
struct csn_set {
	char csns[CSN_SERVERS_MAX][CSN_SIZE];
	size_t count;
};

/* Ignores a malformed CSN, and one of a server too many. */
void csn_set_add(struct csn_set *set, struct str csn);
void csn_set_add_cookie(struct csn_set *set, struct str cookie);
/* Whether SET is at least as recent as OTHER for each of OTHER's servers. */
bool csn_set_covers(const struct csn_set *set, const struct csn_set *other);
/* "CSN;CSN" */
void csn_set_print(const struct csn_set *set, struct buffer *out);

#endif
