// SPDX-License-Identifier: ISC
/*
 * dns/names/server.h - looks up the names of clients (dns/names/protocol.h). DNS answers are cached
 * by its resolver as long as they are valid.
 */
#ifndef DNS_NAMES_SERVER_H
#define DNS_NAMES_SERVER_H

#include "dns/resolver.h"
#include <sys/types.h>

struct names_server;

/* LISTENING is not owned, nor is RESOLVER. Only USER may connect. */
struct names_server *names_server_new(struct os_loop *loop, int listening,
				      struct dns_resolver *resolver, uid_t user);
/* Only these users may. */
void names_server_set_users(struct names_server *server, const uid_t *users, size_t count);
/* NULL is allowed. */
void names_server_free(struct names_server *server);

#endif
