// SPDX-License-Identifier: ISC
/*
 * store/ldap/csn.h - how far a server's content goes: OpenLDAP's change sequence
 * numbers, the newest of each server that changes are made at.
 *
 * TIME#COUNT#SERVER#MODIFICATION, e.g. 20261120192556.362513Z#000000#001#000000; those of one
 * server compare as text. They stand in contextCSN, and in cookies behind "csn=", with ";" between
 * them. To other servers cookies are opaque (RFC 4533 section 2.1.2): then a set is empty.
 */
#ifndef STORE_LDAP_CSN_H
#define STORE_LDAP_CSN_H

#include "base/buffer.h"

enum { CSN_SERVERS_MAX = 64, CSN_SIZE = 64 };

/* All zeroes: empty. */
struct csn_set {
	char csns[CSN_SERVERS_MAX][CSN_SIZE];
	size_t count;
};

/* What is no CSN, or of one server too many, changes nothing. */
void csn_set_add(struct csn_set *set, struct str csn);
void csn_set_add_cookie(struct csn_set *set, struct str cookie);
/* Whether SET goes as far as OTHER for each of OTHER's servers. */
bool csn_set_covers(const struct csn_set *set, const struct csn_set *other);
/* "CSN;CSN" */
void csn_set_print(const struct csn_set *set, struct buffer *out);

#endif
