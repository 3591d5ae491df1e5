// SPDX-License-Identifier: ISC
#include "deliver/remote/route/peer.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { PORT_USUAL = 25 };

void remote_peer_format(const struct dns_server *server, char peer[REMOTE_PEER_SIZE])
{
	char address[OS_SOCKET_TEXT_SIZE];
	bool is_unix = server->address.any.sa_family == AF_UNIX;
	uint16_t port = is_unix ? PORT_USUAL : os_socket_address_port(&server->address);
	int length;

	os_socket_address_format_host(&server->address, address);
	if (is_unix || strcmp(address, server->host) == 0)
		length = snprintf(peer, REMOTE_PEER_SIZE, "%s", server->host);
	else
		length = snprintf(peer, REMOTE_PEER_SIZE, "%s[%s]", server->host, address);
	if (port != PORT_USUAL && length > 0 && length < REMOTE_PEER_SIZE)
		snprintf(peer + length, (size_t)(REMOTE_PEER_SIZE - length), ":%u", port);
}

void remote_peer_unreachable(struct mail_verdict *verdict, const struct dns_server *server,
			     const char *reason)
{
	char peer[REMOTE_PEER_SIZE];

	remote_peer_format(server, peer);
	mail_verdict_set(verdict, "4.4.1", "connect to %s: %s", peer, reason);
}

bool remote_peer_is_absent(int error)
{
	return error != -EMFILE && error != -ENFILE && error != -ENOBUFS && error != -ENOMEM &&
	       error != -EAGAIN;
}
