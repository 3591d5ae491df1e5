// SPDX-License-Identifier: ISC
/*
 * directory/store/ldap/link/link.h - connects to an LDAP server, with TLS, and binds.
 *
 * All calls block, each wait at most LINK_PATIENCE_S.
 */
#ifndef DIRECTORY_STORE_LDAP_LINK_LINK_H
#define DIRECTORY_STORE_LDAP_LINK_LINK_H

#include "base/attributes.h"
#include "base/buffer.h"
#include "directory/store/ldap/sync/csn.h"
#include <ldap.h>

enum {
	LINK_PATIENCE_S = 5,
	LINK_RECORD_S = 10,          /* for the rest of a TLS record */
	LINK_MESSAGE_MAX = 64 << 20, /* bytes: an entry with a million members; over it, the
				      * connection is lost */
	LINK_MESSAGES_MAX = 100,     /* before the result of an operation that has one */
};

struct link_server {
	char *url;       /* as configured */
	char *uri;       /* for libldap: scheme (ldap, also for ldaps), host and port */
	bool is_tls;     /* ldaps: TLS from the start */
	bool starts_tls; /* StartTLS */
};

struct link_login {
	const char *bind_dn; /* NULL: anonymous */
	const char *password;
	const char *base;
};

/* 0 and *SERVER_OUT; or -EINVAL, and in WHY what is wrong with URL. */
MUST_CHECK int link_server_parse(const char *url, struct link_server *server_out,
				 struct buffer *why);
void link_server_clear(struct link_server *server);
bool link_server_needs_tls(const struct link_server *server);

/* For all connections of the process: certificates are verified against AUTHORITY (a PEM file;
 * NULL: the system's), which is read now. -EINVAL, and a sentence in WHY. */
MUST_CHECK int link_prepare_tls(const char *authority, struct buffer *why);

/* Connects and binds: 0 and *LD_OUT, for link_close(). Otherwise an LDAP result code, and what
 * was tried, the server's reply, and the code are appended to WHY. */
MUST_CHECK int link_open(const struct link_server *server, const struct link_login *login,
			 LDAP **ld_out, struct buffer *why);
void link_close(LDAP *ld);
/* Reads and writes on LD may wait SECONDS from now on, until the next call: if the rest of a
 * message does not come by then, the connection is lost. */
void link_allow(LDAP *ld, int seconds);
/* Appends CODE for people, and the last message of the server or the system: "Invalid credentials
 * (49)". */
void link_describe(LDAP *ld, int code, struct buffer *why);

/* The name of the entry above (or at) BASE that has contextCSN; the caller frees it. NULL: none is
 * visible. */
char *link_find_context(LDAP *ld, const char *base);
/* Requests contextCSN of CONTEXT: returns the message ID; negative if the connection is lost. */
int link_ask_csns(LDAP *ld, const char *context);
/* Adds the contextCSN values of MESSAGE, an entry. */
void link_add_csns(LDAP *ld, LDAPMessage *message, struct csn_set *set);
/* Requests them and waits. SET stays empty if they cannot be read. An LDAP result code. */
MUST_CHECK int link_read_csns(LDAP *ld, const char *context, struct csn_set *set);

#endif
