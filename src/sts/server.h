// SPDX-License-Identifier: ISC
/*
 * sts/server.h - answers questions for policies (sts/protocol.h).
 */
#ifndef STS_SERVER_H
#define STS_SERVER_H

#include "sts/keeper.h"
#include "tlsrpt/session.h"
#include <sys/types.h>

struct sts_server;

/* LISTENING is not owned, nor is KEEPER. Only USER may connect. */
struct sts_server *sts_server_new(struct os_loop *loop, int listening, struct sts_keeper *keeper,
				  uid_t user);
void sts_server_set_user(struct sts_server *server, uid_t user);
/* Calls COUNTED with each session that is to be counted for reports; it has a domain as in
 * sts/protocol.h. */
void sts_server_on_count(struct sts_server *server,
			 void (*counted)(void *context, const struct tlsrpt_session *session),
			 void *context);
/* NULL is allowed. */
void sts_server_free(struct sts_server *server);

#endif
