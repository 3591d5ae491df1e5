// SPDX-License-Identifier: ISC
/*
 * directory/server/acceptor.h - which machines may be clients of the directory, by mutual TLS: those
 * whose certificate has a name of the configuration. Others are logged (directory_refused).
 */
#ifndef DIRECTORY_SERVER_ACCEPTOR_H
#define DIRECTORY_SERVER_ACCEPTOR_H

#include "config/config.h"
#include "directory/wire/transport_acceptor.h"

#define DIRECTORY_TLS_PROTOCOL "stagepost-directory/1" /* ALPN; optional for clients */

/* The context of directory_acceptor_handler. */
struct directory_acceptor {
	const struct config_directory *config; /* its readers and changers; borrowed */
	/* Called for a new client with ROLES (enum directory_role); PEER is "NAME[ADDRESS]", valid
	 * during the call. The callback owns TRANSPORT. */
	void (*accepted)(void *context, const struct directory_transport *transport, unsigned roles,
			 const char *peer);
	void *context;
};

extern const struct transport_acceptor_handler directory_acceptor_handler;

#endif
