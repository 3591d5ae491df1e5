// SPDX-License-Identifier: ISC
/*
 * program/kind/peer_network.h - a process's connections with machines of the same mail system, by
 * mutual TLS: certificates, listening sockets, and look-ups of names.
 *
 * Certificate and authorities come from the process "keys", which also signs: when their files
 * change there is a new set of them (keys/client.h). Until the first one, other machines wait, and
 * so do dials (directory/client/dialer.h).
 */
#ifndef PROGRAM_KIND_PEER_NETWORK_H
#define PROGRAM_KIND_PEER_NETWORK_H

#include "directory/wire/transport.h"
#include "directory/wire/transport_acceptor.h"
#include "supervisor/child/child.h"

/* What differs between processes. */
struct peer_network_kind {
	const char *socket;      /* listening sockets are called "SOCKET ADDRESS" */
	const char *certificate; /* of config_key_at() */
	const char *protocol;    /* ALPN */
	const char *(*authority)(const struct config *config);
	/* The addresses at which peers connect. */
	const struct config_endpoint *(*listens)(const struct config *config, size_t *count_out);
	/* Whether peers are dialled. */
	bool (*dials)(const struct config *config);
	/* For peers that connect; NULL: none do. */
	const struct transport_acceptor_handler *handler;
	/* An OPERATION failed, because of REASON: to be logged. */
	void (*complain)(const char *operation, const char *reason);
};

struct peer_network;

/* Reads, before the sandbox is entered, the system's configuration of the DNS. -errno as
 * dns_resolver_new(). KIND is borrowed. */
MUST_CHECK int peer_network_open(struct child *child, const struct peer_network_kind *kind,
				 struct peer_network **network_out);
/* NULL if no peers are dialled. */
const struct directory_dialer *peer_network_dialer(const struct peer_network *network);
/* Peers may be dialled, as soon as there is a certificate. */
void peer_network_dial(struct peer_network *network);
/* The same, and accepts peers, with CONTEXT for the kind's handler, as soon as there is a certificate. */
void peer_network_listen(struct peer_network *network, void *context);
/* Applies CHILD's new configuration. A certificate or authorities that cannot be used leave the
 * previous ones in force (logged). */
void peer_network_configure(struct peer_network *network);
/* Accepts no more peers. */
void peer_network_stop(struct peer_network *network);
/* To call after all connections were freed. NULL is allowed. */
void peer_network_free(struct peer_network *network);

#endif
