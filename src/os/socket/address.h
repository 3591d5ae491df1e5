// SPDX-License-Identifier: ISC
/*
 * os/socket/address.h - socket addresses, and their text form.
 */
#ifndef OS_SOCKET_ADDRESS_H
#define OS_SOCKET_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

/* In place of an address of a UNIX socket. */
#define OS_SOCKET_UNIX "unix"
enum { OS_SOCKET_TEXT_SIZE = 64 }; /* "[2001:db8::7]:53112" and a NUL */

union os_socket_address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	struct sockaddr_un local; /* only where this is documented */
};

/* HOST is a literal address without brackets; false: malformed. */
bool os_socket_address_parse(const char *host, uint16_t port, union os_socket_address *out);
/* The address of the UNIX socket at PATH; false: too long. */
bool os_socket_address_of_path(const char *path, union os_socket_address *out);
socklen_t os_socket_address_size(const union os_socket_address *address);
/* "192.0.2.7:53112" or "[2001:db8::7]:53112" */
void os_socket_address_format(const union os_socket_address *address,
			      char text[OS_SOCKET_TEXT_SIZE]);
/* "192.0.2.7" or "2001:db8::7" */
void os_socket_address_format_host(const union os_socket_address *address,
				   char text[OS_SOCKET_TEXT_SIZE]);
/* The same of an address alone, IPv4 if it is mapped into ::ffff:0:0/96. */
void os_socket_address_format_mapped(const struct in6_addr *address,
				     char text[OS_SOCKET_TEXT_SIZE]);
uint16_t os_socket_address_port(const union os_socket_address *address);
/* For IPv4 and IPv6 only: whether address and port are equal. */
/* Whether it may be anybody's on the Internet: not of this machine, a private network, a link, or
 * several hosts (RFC 6890). Of an IPv4 address mapped into IPv6, that of the former. */
bool os_socket_address_is_public(const union os_socket_address *address);
bool os_socket_address_is_equal(const union os_socket_address *a, const union os_socket_address *b);
/* The address as IPv6; IPv4 is mapped into ::ffff:0:0/96. */
struct in6_addr os_socket_address_mapped(const union os_socket_address *address);

#endif
