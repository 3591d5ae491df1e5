// SPDX-License-Identifier: ISC
/*
 * os/socket.h - sockets. All are close-on-exec and do not block. Functions
 * return a descriptor, 0, a count or -errno.
 */
#ifndef OS_SOCKET_H
#define OS_SOCKET_H

#include "base/attributes.h"
#include "base/str.h"
#include "os/socket_address.h"
#include <sys/types.h>

/* A listening TCP socket; IPv6 sockets take IPv6 only. */
MUST_CHECK int os_socket_listen(const union os_socket_address *address, int backlog);
/* Begins to connect, by TCP or to a UNIX stream socket: the descriptor becomes
 * writable when it is decided; ask os_socket_error() then. -EAGAIN when too many
 * wait at a UNIX socket. */
MUST_CHECK int os_socket_connect(const union os_socket_address *address);
/* A UDP socket that sends to ADDRESS and hears nobody else. That nobody listens there is told by
 * -ECONNREFUSED of a later call. */
MUST_CHECK int os_socket_connect_udp(const union os_socket_address *address);
/* For connections by TCP that are held for long: one whose peer is gone without a word fails
 * within a minute, whether anything is said on it or not (-ETIMEDOUT). */
void os_socket_keep_alive(int socket);
/* 0 or -errno of the last asynchronous operation. */
MUST_CHECK int os_socket_error(int socket);
/* Bytes that have come by TCP since it was connected; 0 for other sockets. */
uint64_t os_socket_received(int socket);
/* -EAGAIN when nobody waits. */
MUST_CHECK int os_socket_accept(int listening, union os_socket_address *peer_out);
/* Whether the listening socket, or the one for datagrams, was shut down or taken apart by who
 * shares it: it hears nobody any more. One that was made to block does not from now on. */
bool os_socket_has_ended(int listening);
MUST_CHECK int os_socket_local_address(int socket, union os_socket_address *out);

/* UNIX sockets of kind SOCK_SEQPACKET or SOCK_DGRAM. The path is replaced when
 * a socket stands there; mode is that of the new one from its beginning (for which one thread
 * changes the process's mask for a moment). At a datagram socket the
 * kernel tells who sends. */
MUST_CHECK int os_socket_listen_unix(const char *path, int kind, unsigned mode);
/* Is asked for where os/connector.h says so. */
MUST_CHECK int os_socket_connect_unix(const char *path, int kind);
/* A SOCK_DGRAM socket that sends to the one at PATH and can be answered: the
 * kernel gives it an address. */
MUST_CHECK int os_socket_ask_unix(const char *path);
/* Waits until SOCKET can be read (or, FOR_WRITING, written): 0; -ETIMEDOUT. */
MUST_CHECK int os_socket_wait(int socket, bool for_writing, int64_t timeout_us);

/* Bytes moved, 0 at the end of input, -EAGAIN, or -errno. No signal when the
 * peer is gone. */
MUST_CHECK ssize_t os_socket_read(int socket, void *data, size_t size);
MUST_CHECK ssize_t os_socket_write(int socket, const void *data, size_t size);
void os_socket_close(int socket);
/* The same for a connection on which the peer was told something last: bytes of
 * it that lie there unread would make the kernel reset the connection, and the
 * peer lose what it was told. */
void os_socket_close_politely(int socket);

/* One packet with up to OS_SOCKET_DESCRIPTORS descriptors. os_socket_receive()
 * returns the packet's length (0: the peer has closed), -EMSGSIZE for one that
 * does not fit SIZE; received descriptors belong to the caller. */
enum { OS_SOCKET_DESCRIPTORS = 16 };
MUST_CHECK ssize_t os_socket_send(int socket, const void *data, size_t size, const int *descriptors,
				  size_t descriptor_count);
MUST_CHECK ssize_t os_socket_receive(int socket, void *data, size_t size, int *descriptors,
				     size_t *descriptor_count);

/* The user who made the connection, as the kernel knows him; -1, which is nobody's,
 * when it does not. */
uid_t os_socket_peer_user(int socket);

/* A datagram, where it came from and whose it is; and an answer to it, which is dropped when
 * the sender has no address or does not listen. */
struct os_socket_sender {
	struct sockaddr_storage address;
	socklen_t size;
	uid_t user; /* -1: not known */
};
MUST_CHECK ssize_t os_socket_receive_from(int socket, void *data, size_t size,
					  struct os_socket_sender *sender_out);
void os_socket_answer(int socket, const void *data, size_t size,
		      const struct os_socket_sender *sender);

#endif
