// SPDX-License-Identifier: ISC
/*
 * deliver/remote/route/peer.h - how a server is named in replies, reports and the log.
 */
#ifndef DELIVER_REMOTE_ROUTE_PEER_H
#define DELIVER_REMOTE_ROUTE_PEER_H

#include "dns/search.h"
#include "mail/verdict.h"
#include "os/socket/socket.h"

enum { REMOTE_PEER_SIZE = DNS_NAME_SIZE + OS_SOCKET_TEXT_SIZE };

/* "mx.example.org[192.0.2.7]", with an unusual port appended; a UNIX socket by its path. */
void remote_peer_format(const struct dns_server *server, char peer[REMOTE_PEER_SIZE]);
/* 4.4.1: no connection to SERVER, because of REASON. */
void remote_peer_unreachable(struct mail_verdict *verdict, const struct dns_server *server,
			     const char *reason);
/* Whether a connection that fails with ERROR (-errno) says that the server is away. A lack of
 * descriptors or memory says nothing about it; and the full queue of a UNIX socket, that it is
 * there. */
bool remote_peer_is_absent(int error);

#endif
