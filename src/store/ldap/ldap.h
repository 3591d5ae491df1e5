// SPDX-License-Identifier: ISC
/*
 * store/ldap/ldap.h - a backend that follows LDAP servers (RFC 4511) by content
 * synchronisation (RFC 4533, refreshAndPersist).
 *
 * What the servers' entries say about mail is kept in an SQLite file of the schema that
 * store/sqlite/sqlite.h describes, with the cookie that says how far the content is known, in one
 * transaction. So lookups read a local file and never wait for the network, memory does not grow
 * with the content, and a restart goes on from the cookie. A thread follows the servers and writes
 * the file; the loop's thread reads it.
 *
 * Which attribute becomes which field is one table, in map.c; the setting `map` changes it.
 *
 * fresh_us is the last moment at which the server that is followed was asked and all that it had
 * then was in the file. When no server is followed, answers go on until the TTL has passed
 * beyond that moment; from then on they are -ENOTCONN.
 *
 * Servers are tried in their order, and the first is gone back to. One that lacks changes which
 * the file has (by contextCSN, which OpenLDAP's syncprov keeps) is not used.
 */
#ifndef STORE_LDAP_LDAP_H
#define STORE_LDAP_LDAP_H

#include "base/attributes.h"
#include "base/buffer.h"
#include "os/loop.h"
#include "store/store.h"

struct store_ldap_settings {
	const char *path; /* of the SQLite file */
	/* ldaps://HOST, ldapi://, or ldap://HOST: then StartTLS is demanded, unless HOST is this
	 * machine or the URL ends in x-no-tls, "ldap://HOST/????x-no-tls"; StartTLS in that
	 * place demands it of this machine, too */
	const char **urls;
	size_t url_count;
	const char *base;          /* DN of the subtree that is followed */
	const char *bind_dn;       /* or NULL: anonymous */
	const char *password_file; /* its first line; or NULL */
	const char *authority; /* PEM; who signs the servers' certificates. NULL: the system's */
	const char **map;      /* "FIELD=ATTRIBUTE ..."; see store_ldap_describe_map() */
	size_t map_count;
	int64_t ttl_us;
};

/* Reads the files that only LDAP needs: 0 and a store that is to be opened; or -errno, and in WHY a
 * sentence: -EINVAL, what is wrong in the settings; else of the files. What SETTINGS has is
 * copied. */
MUST_CHECK int store_ldap_new(struct os_loop *loop, const struct store_ldap_settings *settings,
			      struct directory_store **store_out, struct buffer *why);
/* Opens the copy, and has the servers followed from the loop's next turn on. 0; or -errno, and a
 * sentence in WHY; STORE is freed by its operation either way. */
MUST_CHECK int store_ldap_open(struct directory_store *store, struct buffer *why);
/* The table of fields, for the manual: one line a field, "FIELD=ATTRIBUTES<TAB>MEANING". */
void store_ldap_describe_map(struct buffer *out);

#endif
