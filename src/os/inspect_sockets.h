// SPDX-License-Identifier: ISC
/*
 * os/inspect_sockets.h - the sockets of the machine, whoever has them: by the number that
 * "socket:[NUMBER]" among a process's descriptors has. (sock_diag(7), proc(5))
 */
#ifndef OS_INSPECT_SOCKETS_H
#define OS_INSPECT_SOCKETS_H

#include "base/attributes.h"
#include "os/socket_address.h"
#include <stdbool.h>
#include <stdint.h>

enum os_inspect_kind {
	OS_INSPECT_UNKNOWN, /* none that the kernel lists: a TCP socket that is not connected */
	OS_INSPECT_UNIX,
	OS_INSPECT_TCP,
	OS_INSPECT_UDP,
	OS_INSPECT_RAW, /* IP or packets, past all ports */
	OS_INSPECT_NETLINK,
};

struct os_inspect_socket {
	uint64_t number;
	enum os_inspect_kind kind;
	bool is_listening;
	bool is_bound;  /* UNIX: it has a name */
	uint64_t peer;  /* UNIX: the number of the socket at the other end; 0: none */
	char name[112]; /* UNIX: its path, '@' before an abstract name; or "" */
	union os_socket_address local;
	union os_socket_address remote;
};

struct os_inspect_sockets;

/* All sockets as of now, of the network namespace that this process and PID are in; -errno. The
 * caller frees them. */
MUST_CHECK int os_inspect_sockets_new(pid_t pid, struct os_inspect_sockets **out);
void os_inspect_sockets_free(struct os_inspect_sockets *sockets);
/* NULL when there is none of that NUMBER. */
const struct os_inspect_socket *os_inspect_sockets_find(const struct os_inspect_sockets *sockets,
							uint64_t number);

#endif
