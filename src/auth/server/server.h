// SPDX-License-Identifier: ISC
/*
 * auth/server/server.h - authenticates clients for the processes that speak to them
 * (auth/protocol.h).
 *
 * An attempt is an exchange of one client's messages by one mechanism:
 *
 *   SPEAKS  it is the client's turn        its response -> ASKS
 *   ASKS    a question is pending, to the directory, a thread, an issuer of tokens, or Dovecot
 *                                          the answer -> SPEAKS, HELD, or the end: accepted, or
 *                                          refused for another reason than a failure
 *   HELD    it has failed; the answer is held back (auth/server/failures.h)
 *                                          the time is over -> the end: refused; or SPEAKS, if the
 *                                          mechanism tells why before that
 *
 *   LEFT    the client has cancelled it, after it learnt of a user's keys: a failure, unless its
 *           session then succeeds by another mechanism within AUTH_LEFT_US -> the end
 *
 * Cancelled, or without its connection, it ends in any state.
 */
#ifndef AUTH_SERVER_SERVER_H
#define AUTH_SERVER_SERVER_H

#include "auth/server/password.h"
#include "config/config.h"
#include "policy/https/https.h"
#include <sys/types.h>

#define AUTH_LEFT_US (60 * SECOND_US)

struct auth_server;

/* What it works with; borrowed. */
struct auth_server_ways {
	struct os_loop *loop;
	int listening;
	const char *directory; /* path of the socket of "directory"; NULL: there is none */
	const struct auth_binder *binder; /* NULL: none */
	struct https *https;              /* NULL: no introspection */
	struct str seed;                  /* auth/server/invent.h */
};

/* CONFIG must stay valid until the next auth_server_configure(). -errno: no thread can be created.
 * Files that cannot be used are logged. */
MUST_CHECK int auth_server_new(const struct auth_server_ways *ways, const struct config *config,
			       struct auth_server **server_out);
/* Also reads the files again. Attempts that wait for an issuer of tokens are given up, and those
 * that wait for Dovecot if it is another one. */
void auth_server_configure(struct auth_server *server, const struct config *config);
/* Who may connect. */
void auth_server_set_users(struct auth_server *server, const uid_t *users, size_t count);
/* NULL is allowed. */
void auth_server_free(struct auth_server *server);

#endif
