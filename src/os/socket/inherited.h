// SPDX-License-Identifier: ISC
/*
 * os/socket/inherited.h - listening sockets that this process did not bind itself.
 */
#ifndef OS_SOCKET_INHERITED_H
#define OS_SOCKET_INHERITED_H

#include "base/buffer.h"
#include "os/socket/address.h"

enum { OS_INHERITED_FIRST = 3 }; /* the first descriptor above standard error */

/* How many descriptors from OS_INHERITED_FIRST on the service manager has passed to this process,
 * by the protocol of sd_listen_fds(3), and their names, separated by ':'; "": they have none. Who
 * asks again, and programs that this one starts, are told of none. */
unsigned os_inherited_count(struct buffer *names_out);
/* Whether SOCKET is of KIND (SOCK_STREAM...) and bound to ADDRESS, also to a path (.local). */
bool os_inherited_is_bound_to(int socket, int kind, const union os_socket_address *address);
/* The TCP port that SOCKET is bound to; 0: none. */
uint16_t os_inherited_port(int socket);
/* Makes it close-on-exec and non-blocking. */
void os_inherited_adopt(int socket);

#endif
