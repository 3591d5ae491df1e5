// SPDX-License-Identifier: ISC
/*
 * program/kind/directory_network.h - the directory process's connections with other machines:
 * certificates, listening sockets, and look-ups of server names.
 *
 * Certificate and authorities come from the process "keys", which also signs: when their files
 * change there is a new set of them (keys/client.h). Until the first one, other machines wait, and
 * so do questions to them (directory/client/dialer.h).
 */
#ifndef PROGRAM_KIND_DIRECTORY_NETWORK_H
#define PROGRAM_KIND_DIRECTORY_NETWORK_H

#include "directory/server/server.h"
#include "directory/wire/transport.h"
#include "supervisor/child/child.h"

struct directory_network;

/* Reads, before the sandbox is entered, the system's configuration of the DNS. -errno as
 * dns_resolver_new(). */
MUST_CHECK int directory_network_open(struct child *child, struct directory_network **network_out);
/* For directory_client_new(); NULL if all servers are UNIX sockets. */
const struct directory_dialer *directory_network_dialer(const struct directory_network *network);
/* Accepts clients for SERVER as soon as there is a certificate. */
void directory_network_listen(struct directory_network *network, struct directory_server *server);
/* Applies CHILD's new configuration. A certificate or authorities that cannot be used leave the
 * previous ones in force (logged). */
void directory_network_configure(struct directory_network *network);
/* Accepts no more clients. */
void directory_network_stop(struct directory_network *network);
/* To call after the server and the client were freed. NULL is allowed. */
void directory_network_free(struct directory_network *network);

#endif
