// SPDX-License-Identifier: ISC
/*
 * policy/sts/server.h - answers questions for policies (policy/sts/protocol.h).
 *
 * However much "remote" asks, people who run commands are served, and root however much the queue's
 * owner asks, as whom processes run: each has connections of its own (ipc/server.h), open questions
 * and lookups (policy/sts/cache.h).
 */
#ifndef POLICY_STS_SERVER_H
#define POLICY_STS_SERVER_H

#include "policy/sts/cache.h"
#include "policy/tlsrpt/session.h"
#include <sys/types.h>

struct sts_server;

/* Who may connect, besides root, who runs commands. */
struct sts_users {
	uid_t remote;
	uid_t owner; /* of the queue, who may run commands */
};

/* LISTENING is not owned, nor is KEEPER. */
struct sts_server *sts_server_new(struct os_loop *loop, int listening, struct sts_cache *cache,
				  const struct sts_users *users);
void sts_server_set_users(struct sts_server *server, const struct sts_users *users);
/* Calls COUNTED with each session that is to be counted for reports; it has a domain as in
 * policy/sts/protocol.h. */
void sts_server_on_count(struct sts_server *server,
			 void (*counted)(void *context, const struct tlsrpt_session *session),
			 void *context);
/* NULL is allowed. */
void sts_server_free(struct sts_server *server);

#endif
