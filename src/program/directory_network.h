// SPDX-License-Identifier: ISC
/*
 * program/directory_network.h - the directory process and other machines: certificates,
 * the listening sockets, and names of servers.
 */
#ifndef PROGRAM_DIRECTORY_NETWORK_H
#define PROGRAM_DIRECTORY_NETWORK_H

#include "directory/server/server.h"
#include "directory/wire/transport.h"
#include "program/child.h"

struct directory_network;

/* Reads, before the sandbox is entered, the files that CHILD's configuration names and what the
 * system says about the DNS. A file of TLS that cannot be used is logged, and read again
 * from time to time: until it is mended this machine has its directory for itself. -errno as
 * dns_resolver_new(). */
MUST_CHECK int directory_network_open(struct child *child, struct directory_network **network_out);
/* For directory_client_new(); NULL where all servers are UNIX sockets. */
const struct directory_dialer *directory_network_dialer(const struct directory_network *network);
/* Lets clients come to SERVER from now on. */
void directory_network_listen(struct directory_network *network, struct directory_server *server);
/* CHILD's configuration is new: files are read again, and where that fails what was
 * read before stays in force (logged). */
void directory_network_configure(struct directory_network *network);
/* Nobody is let in any more. */
void directory_network_stop(struct directory_network *network);
/* After the server and the client. NULL is allowed. */
void directory_network_free(struct directory_network *network);

#endif
