// SPDX-License-Identifier: ISC
/*
 * keys/server.h - the private keys of a node, and signatures for its processes (keys/protocol.h);
 * and the passwords of logins to relays, for the one that logs in.
 *
 * Certificates and keys are looked at every three seconds, so a change needs no signal. A signature
 * takes 0.05 ms (ECDSA) to some ms (RSA) of the only thread: there is nothing else to do here.
 */
#ifndef KEYS_SERVER_H
#define KEYS_SERVER_H

#include "config/config.h"
#include "os/loop.h"
#include <sys/types.h>

struct keys_server;

enum { KEYS_SERVER_ACCEPTORS_MAX = 4 };

/* LISTENING is not owned; CONFIG must stay valid until the next keys_server_configure(). Reads the
 * files. */
struct keys_server *keys_server_new(struct os_loop *loop, int listening,
				    const struct config *config);
/* Also reads the files anew where they changed. */
void keys_server_configure(struct keys_server *server, const struct config *config);
/* Only these users may connect; at most IPC_SERVER_USERS_MAX (ipc/server.h). */
void keys_server_set_users(struct keys_server *server, const uid_t *users, size_t count);
/* Only these users, at most KEYS_SERVER_ACCEPTORS_MAX, get the keys of session tickets; at first
 * nobody does. */
void keys_server_set_acceptors(struct keys_server *server, const uid_t *users, size_t count);
/* Only this user gets passwords; at first nobody does. */
void keys_server_set_sender(struct keys_server *server, uid_t user);
/* TROUBLE is called now and whenever it is another: what is wrong with certificates that cannot be
 * used, for people; "": nothing. It has been logged. */
void keys_server_set_trouble(struct keys_server *server,
			     void (*trouble)(void *context, struct str problems), void *context);
/* NULL is allowed. */
void keys_server_free(struct keys_server *server);

#endif
