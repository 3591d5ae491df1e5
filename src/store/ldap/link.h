// SPDX-License-Identifier: ISC
/*
 * store/ldap/link.h - a connection to an LDAP server: made, made secure, bound.
 *
 * All calls block, at most LINK_PATIENCE_S for each thing that they wait for.
 */
#ifndef STORE_LDAP_LINK_H
#define STORE_LDAP_LINK_H

#include "base/attributes.h"
#include "base/buffer.h"
#include "store/ldap/csn.h"
#include <ldap.h>

enum {
	LINK_PATIENCE_S = 5,
	LINK_RECORD_S = 10,          /* until a TLS record is whole of which a part came */
	LINK_MESSAGE_MAX = 64 << 20, /* bytes: an entry with a million members; a connection on
				      * which a longer one comes is lost */
	LINK_MESSAGES_MAX = 100,     /* that come before the result of what has one */
};

struct link_server {
	char *url;       /* as it was given */
	char *uri;       /* what libldap is told: scheme (ldap, of ldaps, too), host and port */
	bool is_tls;     /* ldaps: before anything is said */
	bool starts_tls; /* by StartTLS */
};

struct link_login {
	const char *bind_dn; /* NULL: anonymous */
	const char *password;
	const char *base;
};

/* 0 and *SERVER_OUT; -EINVAL, and in WHY what is wrong with URL. */
MUST_CHECK int link_server_parse(const char *url, struct link_server *server_out,
				 struct buffer *why);
void link_server_clear(struct link_server *server);
bool link_server_needs_tls(const struct link_server *server);

/* For all connections of the process: certificates are checked against AUTHORITY (a PEM file;
 * NULL: the system's). Reads the file. -EINVAL, and a sentence in WHY. */
MUST_CHECK int link_prepare_tls(const char *authority, struct buffer *why);

/* A connection that is bound: 0 and *LD_OUT, to be ended by link_close(). Otherwise an LDAP
 * result code, and in WHY what was tried, what the server said, and the code. */
MUST_CHECK int link_open(const struct link_server *server, const struct link_login *login,
			 LDAP **ld_out, struct buffer *why);
void link_close(LDAP *ld);
/* What is read and written on LD from now on may wait SECONDS, until this is called again: a
 * message whose rest does not come by then is a lost connection. */
void link_allow(LDAP *ld, int seconds);
/* Appends CODE for people, and what the server or the system said last: "Invalid credentials (49)".
 */
void link_describe(LDAP *ld, int code, struct buffer *why);

/* The name of the entry above (or at) BASE that has contextCSN; the caller frees it. NULL: none is
 * shown. */
char *link_find_context(LDAP *ld, const char *base);
/* Begins to ask for contextCSN of CONTEXT: the number of the messages that answer; negative when
 * the connection is lost. */
int link_ask_csns(LDAP *ld, const char *context);
/* Adds what MESSAGE, an entry, has of it. */
void link_add_csns(LDAP *ld, LDAPMessage *message, struct csn_set *set);
/* Asks and waits. Where nothing is to be read, SET stays empty. An LDAP result code. */
MUST_CHECK int link_read_csns(LDAP *ld, const char *context, struct csn_set *set);

#endif
