// SPDX-License-Identifier: ISC
/*
 * directory/store/ldap/ldap.h - a backend that follows LDAP servers (RFC 4511) by content
 * synchronisation (RFC 4533, refreshAndPersist).
 *
 * The content of the servers' entries is kept in an SQLite file with the schema of
 * directory/store/sqlite/sqlite.h, together with the cookie of the synchronisation, in one
 * transaction. So lookups read a local file and never wait for the network, memory does not grow
 * with the content, and a restart resumes from the cookie. A thread follows the servers and writes
 * the file; the loop's thread reads it.
 *
 * The table of fields and their attributes is in directory/store/ldap/map/map.c; the setting `map`
 * changes it.
 *
 * fresh_us is the last time at which the server was probed and everything that it then had was in
 * the file. When no server can be followed, answers continue until the TTL after that time is
 * over; then they are -ENOTCONN.
 *
 * Servers are tried in order, and the first is preferred. A server that lacks changes which the
 * file has (by contextCSN, which OpenLDAP's syncprov maintains) is not used.
 */
#ifndef DIRECTORY_STORE_LDAP_LDAP_H
#define DIRECTORY_STORE_LDAP_LDAP_H

#include "base/attributes.h"
#include "base/buffer.h"
#include "directory/store/store.h"
#include "os/loop.h"

struct store_ldap_settings {
	const char *path; /* of the SQLite file */
	/* ldaps://HOST, ldapi://, or ldap://HOST: the latter requires StartTLS, unless HOST is this
	 * machine or the URL ends in x-no-tls, "ldap://HOST/????x-no-tls"; StartTLS in its place
	 * requires it on this machine, too */
	const char **urls;
	size_t url_count;
	const char *base;          /* DN of the subtree to follow */
	const char *bind_dn;       /* or NULL: anonymous */
	const char *password_file; /* its first line; or NULL */
	const char *authority;     /* PEM; signs the servers' certificates. NULL: the system's */
	const char **map;          /* "FIELD=ATTRIBUTE ..."; see store_ldap_describe_map() */
	size_t map_count;
	int64_t ttl_us;
};

/* Reads the files that only LDAP needs, and creates the store, which must then be opened. 0; or
 * -errno and a sentence in WHY: -EINVAL for an error in the settings; else an error of the files.
 * Copies SETTINGS. */
MUST_CHECK int store_ldap_new(struct os_loop *loop, const struct store_ldap_settings *settings,
			      struct directory_store **store_out, struct buffer *why);
/* Opens the copy; the servers are followed from the loop's next turn on. 0; or -errno, and a
 * sentence in WHY; the caller must free STORE in either case. */
MUST_CHECK int store_ldap_open(struct directory_store *store, struct buffer *why);
/* The table of fields, for the manual: one line a field, "FIELD=ATTRIBUTES<TAB>MEANING". */
void store_ldap_describe_map(struct buffer *out);

#endif
