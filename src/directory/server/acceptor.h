// SPDX-License-Identifier: ISC
/*
 * directory/server/acceptor.h - the directory's clients on other machines: mutual TLS at a
 * listening socket.
 *
 * A client whose certificate no authority stands for does not get through the handshake;
 * one whose names (tls_connection_names()) the configuration does not know is turned away
 * after it. Both are logged (directory_refused). A handshake has ten seconds, and when too many
 * are being made the oldest gives way.
 */
#ifndef DIRECTORY_SERVER_ACCEPTOR_H
#define DIRECTORY_SERVER_ACCEPTOR_H

#include "config/config.h"
#include "directory/wire/transport.h"
#include "os/loop.h"
#include "tls/context.h"

struct directory_acceptor;

#define DIRECTORY_TLS_PROTOCOL "stagepost-directory/1" /* ALPN; who names none is taken too */

enum { DIRECTORY_HANDSHAKES_MAX = 256 }; /* that are being made */

/* A client has come, with ROLES (enum directory_role); PEER is "NAME[ADDRESS]", valid during the
 * call. TRANSPORT is owned by who is called. */
typedef void directory_accepted(void *context, const struct directory_transport *transport,
				unsigned roles, const char *peer);

/* At LISTENING, which is the caller's. TLS and CONFIG, of which readers and changers are used,
 * outlive it, or are replaced. */
struct directory_acceptor *directory_acceptor_new(struct os_loop *loop, int listening,
						  const struct tls_context *tls,
						  const struct config_directory *config,
						  directory_accepted *accepted, void *context);
/* For clients that come from now on. Handshakes that are being made are given up. */
void directory_acceptor_configure(struct directory_acceptor *acceptor,
				  const struct tls_context *tls,
				  const struct config_directory *config);
/* What it has accepted lives on. NULL is allowed. */
void directory_acceptor_free(struct directory_acceptor *acceptor);

#endif
