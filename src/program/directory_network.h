// SPDX-License-Identifier: ISC
/*
 * program/directory_network.h - the directory process's connections with other machines:
 * certificates, listening sockets, and look-ups of server names.
 */
#ifndef PROGRAM_DIRECTORY_NETWORK_H
#define PROGRAM_DIRECTORY_NETWORK_H

#include "directory/server/server.h"
#include "directory/wire/transport.h"
#include "program/child.h"

struct directory_network;

/* Reads, before the sandbox is entered, the files in CHILD's configuration, and the system's
 * configuration of the DNS. If a TLS file cannot be used, this is logged, and it is read again from
 * time to time: until then the directory is not available to other machines. -errno as
 * dns_resolver_new(). */
MUST_CHECK int directory_network_open(struct child *child, struct directory_network **network_out);
/* For directory_client_new(); NULL if all servers are UNIX sockets. */
const struct directory_dialer *directory_network_dialer(const struct directory_network *network);
/* Accepts clients for SERVER from now on. */
void directory_network_listen(struct directory_network *network, struct directory_server *server);
/* Applies CHILD's new configuration: reads files again; if that fails, the previous ones stay in
 * use (logged). */
void directory_network_configure(struct directory_network *network);
/* Accepts no more clients. */
void directory_network_stop(struct directory_network *network);
/* To call after the server and the client were freed. NULL is allowed. */
void directory_network_free(struct directory_network *network);

#endif
