// SPDX-License-Identifier: ISC
/*
 * names/server.h - says the names of clients to those who ask (names/protocol.h). What the DNS has
 * said is kept by its resolver for as long as it is true.
 */
#ifndef NAMES_SERVER_H
#define NAMES_SERVER_H

#include "dns/resolver.h"
#include <sys/types.h>

struct names_server;

/* LISTENING is not owned, nor is RESOLVER. USER alone may ask. */
struct names_server *names_server_new(struct os_loop *loop, int listening,
				      struct dns_resolver *resolver, uid_t user);
void names_server_set_user(struct names_server *server, uid_t user);
/* NULL is allowed. */
void names_server_free(struct names_server *server);

#endif
