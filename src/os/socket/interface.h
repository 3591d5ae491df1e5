// SPDX-License-Identifier: ISC
/*
 * os/socket/interface.h - the addresses of this host.
 */
#ifndef OS_SOCKET_INTERFACE_H
#define OS_SOCKET_INTERFACE_H

#include "base/attributes.h"
#include <netinet/in.h>
#include <stdbool.h>

/* Fills LIST with up to SIZE addresses of the network interfaces, IPv4 mapped
 * into ::ffff:0:0/96. Returns their number, or -errno. */
MUST_CHECK int os_interface_addresses(struct in6_addr *list, size_t size);
/* Whether an interface has ADDRESS (IPv4 mapped) now; false also if that cannot be known. */
bool os_interface_has(const struct in6_addr *address);

#endif
