// SPDX-License-Identifier: ISC
/*
 * directory/socketmap/socketmap.h - the directory as other mail systems ask it: Postfix's
 * socketmap_table(5), which is Sendmail's protocol.
 *
 * A request is a netstring "MAP KEY", its answer a netstring: "OK VALUE", "NOTFOUND ", "TEMP
 * REASON", "TIMEOUT REASON" or "PERM REASON". Connections are held; on each, answers come in the
 * order of the requests. While the data cannot be read every answer is TEMP or TIMEOUT, never
 * NOTFOUND. The maps:
 *
 *   virtual    ADDRESS: to whom its mail goes, with commas between. A mailbox, a list, a program,
 *              and what is of a relay domain are themselves: whoever delivers for Postfix has to
 *              take them. What does not exist, is refused, or is of a domain that is not ours:
 *              NOTFOUND
 *   alias      the same, but NOTFOUND for what is only itself. A name without a domain is at
 *              config_default_domain()
 *   mailbox    ADDRESS: itself, where it is delivered under this very name
 *   domain     DOMAIN: "local" or "alias"
 *   relay      DOMAIN: "relay"
 *   transport  ADDRESS: "lmtp:inet:[HOST]:PORT" or "lmtp:unix:PATH", where it is delivered to one
 *              service and that is of kind lmtp
 */
#ifndef DIRECTORY_SOCKETMAP_SOCKETMAP_H
#define DIRECTORY_SOCKETMAP_SOCKETMAP_H

#include "directory/expand/expand.h"
#include "os/loop.h"

enum {
	DIRECTORY_SOCKETMAP_MAX = 100000,       /* bytes of a request, and of an answer */
	DIRECTORY_SOCKETMAP_CONNECTIONS = 1000, /* more: the one that is idle for longest goes */
	DIRECTORY_SOCKETMAP_SOCKETS = 16,
	DIRECTORY_SOCKETMAP_IDLE = 600, /* seconds without a request, and it is closed */
};

struct directory_socketmap;

/* STORE (NULL: only the configuration is asked) and CONFIG outlive it, and what waits for an answer
 * of the store. */
struct directory_socketmap *directory_socketmap_new(struct os_loop *loop,
						    struct directory_store *store,
						    const struct config *config);
/* What it has to hear of the store, with itself as the context: directory_server_tell(). */
extern const struct directory_store_handler directory_socketmap_handler;
/* Answers also at LISTENING, a socket that the caller owns and closes after the socketmap is freed.
 * At most DIRECTORY_SOCKETMAP_SOCKETS; false: they are too many. */
bool directory_socketmap_listen(struct directory_socketmap *socketmap, int listening);
/* From the next question on. */
void directory_socketmap_configure(struct directory_socketmap *socketmap,
				   const struct config *config);
/* Closes all connections; what waits for an answer of the store is freed by LOOP after that. NULL
 * is allowed. */
void directory_socketmap_free(struct directory_socketmap *socketmap);

#endif
