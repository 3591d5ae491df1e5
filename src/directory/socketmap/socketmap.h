// SPDX-License-Identifier: ISC
/*
 * directory/socketmap/socketmap.h - the directory for other mail systems, by the protocol of
 * Postfix's socketmap_table(5), which is Sendmail's.
 *
 * A request is a netstring "MAP KEY", its answer a netstring: "OK VALUE", "NOTFOUND ", "TEMP
 * REASON", "TIMEOUT REASON" or "PERM REASON". Connections are persistent; answers come in the
 * order of the requests. While the data cannot be read every answer is TEMP or TIMEOUT, never
 * NOTFOUND. The maps:
 *
 *   virtual    ADDRESS: its targets, separated by commas. A mailbox, a list, a program and an
 *              address of a relay domain map to themselves: Postfix's own transport must deliver
 *              them. NOTFOUND if the address does not exist, is refused, or is of a domain that
 *              is not ours
 *   alias      like virtual, but NOTFOUND if the address maps only to itself. A name without a
 *              domain is in config_default_domain()
 *   mailbox    ADDRESS: itself, if it is delivered under this very name
 *   domain     DOMAIN: "local" or "alias"
 *   relay      DOMAIN: "relay"
 *   transport  ADDRESS: "lmtp:inet:[HOST]:PORT" or "lmtp:unix:PATH", if it is delivered to one
 *              service, which is of kind lmtp
 */
#ifndef DIRECTORY_SOCKETMAP_SOCKETMAP_H
#define DIRECTORY_SOCKETMAP_SOCKETMAP_H

#include "directory/expand/expand.h"
#include "os/loop.h"

enum {
	DIRECTORY_SOCKETMAP_MAX = 100000,       /* bytes of a request, and of an answer */
	DIRECTORY_SOCKETMAP_CONNECTIONS = 1000, /* over it, the one idle for longest is closed */
	DIRECTORY_SOCKETMAP_SOCKETS = 16,
	DIRECTORY_SOCKETMAP_IDLE = 600, /* seconds without a request until it is closed */
};

struct directory_socketmap;

/* STORE (NULL: only the configuration) and CONFIG must outlive the socketmap, and STORE also its
 * pending questions. */
struct directory_socketmap *directory_socketmap_new(struct os_loop *loop,
						    struct directory_store *store,
						    const struct config *config);
/* For directory_server_tell(), with the socketmap as the context. */
extern const struct directory_store_handler directory_socketmap_handler;
/* Accepts at LISTENING, too, a socket that the caller owns and closes after freeing the socketmap.
 * False: more than DIRECTORY_SOCKETMAP_SOCKETS. */
bool directory_socketmap_listen(struct directory_socketmap *socketmap, int listening);
/* From the next question on. */
void directory_socketmap_configure(struct directory_socketmap *socketmap,
				   const struct config *config);
/* Closes all connections; LOOP frees what waits for an answer of the store after that. NULL is
 * allowed. */
void directory_socketmap_free(struct directory_socketmap *socketmap);

#endif
