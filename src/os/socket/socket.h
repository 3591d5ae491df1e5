// SPDX-License-Identifier: ISC
/*
 * os/socket/socket.h - sockets. All are close-on-exec and non-blocking. Functions
 * return a descriptor, 0, a count or -errno.
 */
#ifndef OS_SOCKET_SOCKET_H
#define OS_SOCKET_SOCKET_H

#include "base/attributes.h"
#include "base/str.h"
#include "os/socket/address.h"
#include <sys/types.h>

/* A listening TCP socket; an IPv6 socket accepts IPv6 only. */
MUST_CHECK int os_socket_listen(const union os_socket_address *address, int backlog);
/* The same beside sockets of this user that os_socket_share_address() has made ready for it, which
 * may listen at the same address, or at one that it covers; nobody else may come in between. */
MUST_CHECK int os_socket_listen_beside(const union os_socket_address *address, int backlog);
/* Whether another socket may listen at the address of LISTENING, too. */
void os_socket_share_address(int listening, bool is_shared);
/* Starts to connect, by TCP or to a UNIX stream socket: the descriptor becomes
 * writable when that is decided; then call os_socket_error(). -EAGAIN: too many
 * are waiting at a UNIX socket. */
MUST_CHECK int os_socket_connect(const union os_socket_address *address);
/* The same by TCP from SOURCE (IPv4 mapped), an address of this machine and of ADDRESS's family, at
 * a port that the kernel chooses. -EADDRNOTAVAIL: this machine does not have it now. */
MUST_CHECK int os_socket_connect_from(const struct in6_addr *source,
				      const union os_socket_address *address);
/* A UDP socket that exchanges datagrams only with ADDRESS. If nobody listens there, a later call
 * returns -ECONNREFUSED. */
MUST_CHECK int os_socket_connect_udp(const union os_socket_address *address);
/* For long-lived TCP connections: if the peer disappears silently, the connection fails within a
 * minute, even if it is idle (-ETIMEDOUT). */
void os_socket_keep_alive(int socket);
/* 0 or -errno of the last asynchronous operation. */
MUST_CHECK int os_socket_error(int socket);
/* Bytes received by TCP since it was connected; 0 for other sockets. */
uint64_t os_socket_received(int socket);
/* -EAGAIN: no connection is waiting. */
MUST_CHECK int os_socket_accept(int listening, union os_socket_address *peer_out);
/* Shuts down a listening TCP socket: connections are refused, for all who share it, and those that
 * wait at it are reset. It keeps its address. Then listens again: -EADDRINUSE. */
void os_socket_shut(int listening);
MUST_CHECK int os_socket_listen_again(int listening, int backlog);
/* Whether the listening or datagram socket was shut down or disconnected by a process that shares
 * it, so that it receives nothing any more. Also makes it non-blocking again. */
bool os_socket_has_ended(int listening);
MUST_CHECK int os_socket_local_address(int socket, union os_socket_address *out);

/* UNIX sockets of kind SOCK_SEQPACKET or SOCK_DGRAM. Replaces an existing socket at PATH; the new
 * one has MODE from the start (for which a process with one thread changes its umask for a
 * moment). At a datagram socket the kernel identifies the senders. */
MUST_CHECK int os_socket_listen_unix(const char *path, int kind, unsigned mode);
/* Asks another process to connect if os/socket/connector.h is in use. */
MUST_CHECK int os_socket_connect_unix(const char *path, int kind);
/* A SOCK_DGRAM socket that sends to the one at PATH and can receive answers: the
 * kernel assigns it an address. */
MUST_CHECK int os_socket_ask_unix(const char *path);
/* From now on no read or write of SOCKET, which a library has made, waits. */
void os_socket_never_wait(int socket);
/* Waits until SOCKET is readable (or, FOR_WRITING, writable): 0; -ETIMEDOUT. */
MUST_CHECK int os_socket_wait(int socket, bool for_writing, int64_t timeout_us);

/* The number of bytes, 0 at the end of input, -EAGAIN, or -errno. No signal if the
 * peer has closed. */
MUST_CHECK ssize_t os_socket_read(int socket, void *data, size_t size);
MUST_CHECK ssize_t os_socket_write(int socket, const void *data, size_t size);
/* The same of what more follows at once, or the end: both can be one segment (MSG_MORE in send(2)).
 * If nothing follows, it leaves after 0.2 s. */
MUST_CHECK ssize_t os_socket_write_part(int socket, const void *data, size_t size);
void os_socket_close(int socket);
/* Closes a connection after a last message to the peer: unread input would make the kernel reset
 * the connection, and the peer lose that message. */
void os_socket_close_politely(int socket);

/* Sends or receives one packet with up to OS_SOCKET_DESCRIPTORS descriptors. os_socket_receive()
 * returns the packet's length (0: the peer has closed), -EMSGSIZE for one that
 * does not fit SIZE or has more descriptors; received descriptors belong to the caller. */
enum { OS_SOCKET_DESCRIPTORS = 16 };
MUST_CHECK ssize_t os_socket_send(int socket, const void *data, size_t size, const int *descriptors,
				  size_t descriptor_count);
MUST_CHECK ssize_t os_socket_receive(int socket, void *data, size_t size, int *descriptors,
				     size_t *descriptor_count);

/* The user who made the connection, from the kernel; -1, which is nobody's uid,
 * if unknown. */
uid_t os_socket_peer_user(int socket);

/* A datagram, where it came from and whose it is; and an answer to it, which is dropped when
 * the sender has no address or does not listen. */
struct os_socket_sender {
	struct sockaddr_storage address;
	socklen_t size;
	uid_t user; /* -1: unknown */
};
MUST_CHECK ssize_t os_socket_receive_from(int socket, void *data, size_t size,
					  struct os_socket_sender *sender_out);
void os_socket_answer(int socket, const void *data, size_t size,
		      const struct os_socket_sender *sender);

#endif
