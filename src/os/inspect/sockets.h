// SPDX-License-Identifier: ISC
/*
 * os/inspect/sockets.h - the sockets of all processes, by the number in "socket:[NUMBER]" of a
 * process's descriptors. (sock_diag(7), proc(5))
 */
#ifndef OS_INSPECT_SOCKETS_H
#define OS_INSPECT_SOCKETS_H

#include "base/attributes.h"
#include "os/socket/address.h"
#include <stdbool.h>
#include <stdint.h>

enum os_inspect_kind {
	OS_INSPECT_UNKNOWN, /* not listed by the kernel: an unconnected TCP socket */
	OS_INSPECT_UNIX,
	OS_INSPECT_TCP,
	OS_INSPECT_UDP,
	OS_INSPECT_RAW, /* raw IP or packets, which bypass ports */
	OS_INSPECT_NETLINK,
};

struct os_inspect_socket {
	uint64_t number;
	enum os_inspect_kind kind;
	bool is_listening;
	bool is_bound;  /* UNIX: has a name */
	uint64_t peer;  /* UNIX: number of the socket at the other end; 0: none */
	char name[112]; /* UNIX: its path, with '@' before an abstract name; or "" */
	union os_socket_address local;
	union os_socket_address remote;
};

struct os_inspect_sockets;

/* A snapshot of all sockets in the network namespace of this process and PID; -errno. The caller
 * frees it. */
MUST_CHECK int os_inspect_sockets_new(pid_t pid, struct os_inspect_sockets **out);
void os_inspect_sockets_free(struct os_inspect_sockets *sockets);
/* NULL if no socket has that NUMBER. */
const struct os_inspect_socket *os_inspect_sockets_find(const struct os_inspect_sockets *sockets,
							uint64_t number);

#endif
