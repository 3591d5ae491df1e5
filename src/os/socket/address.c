// SPDX-License-Identifier: ISC
#include "os/socket/address.h"
#include "base/attributes.h"
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

bool os_socket_address_parse(const char *host, uint16_t port, union os_socket_address *out)
{
	union os_socket_address address = {0};

	if (inet_pton(AF_INET, host, &address.v4.sin_addr) == 1) {
		address.v4.sin_family = AF_INET;
		address.v4.sin_port = htons(port);
	} else if (inet_pton(AF_INET6, host, &address.v6.sin6_addr) == 1) {
		address.v6.sin6_family = AF_INET6;
		address.v6.sin6_port = htons(port);
	} else {
		return false;
	}
	*out = address;
	return true;
}

socklen_t os_socket_address_size(const union os_socket_address *address)
{
	if (address->any.sa_family == AF_UNIX)
		return sizeof address->local;
	return address->any.sa_family == AF_INET6 ? sizeof address->v6 : sizeof address->v4;
}

void os_socket_address_format_host(const union os_socket_address *address,
				   char text[OS_SOCKET_TEXT_SIZE])
{
	const void *bytes = &address->v4.sin_addr;

	if (address->any.sa_family == AF_INET6)
		bytes = &address->v6.sin6_addr;
	if (address->any.sa_family != AF_INET && address->any.sa_family != AF_INET6)
		snprintf(text, OS_SOCKET_TEXT_SIZE, OS_SOCKET_UNIX);
	else
		inet_ntop(address->any.sa_family, bytes, text, OS_SOCKET_TEXT_SIZE);
}

void os_socket_address_format(const union os_socket_address *address,
			      char text[OS_SOCKET_TEXT_SIZE])
{
	char host[OS_SOCKET_TEXT_SIZE];

	os_socket_address_format_host(address, host);
	if (address->any.sa_family == AF_INET6)
		snprintf(text, OS_SOCKET_TEXT_SIZE, "[%s]:%u", host,
			 os_socket_address_port(address));
	else
		snprintf(text, OS_SOCKET_TEXT_SIZE, "%s:%u", host, os_socket_address_port(address));
}

void os_socket_address_format_mapped(const struct in6_addr *address, char text[OS_SOCKET_TEXT_SIZE])
{
	union os_socket_address full = {.v6 = {.sin6_family = AF_INET6, .sin6_addr = *address}};

	if (IN6_IS_ADDR_V4MAPPED(address)) {
		full = (union os_socket_address){.v4 = {.sin_family = AF_INET}};
		memcpy(&full.v4.sin_addr, address->s6_addr + 12, sizeof full.v4.sin_addr);
	}
	os_socket_address_format_host(&full, text);
}

uint16_t os_socket_address_port(const union os_socket_address *address)
{
	return ntohs(address->any.sa_family == AF_INET6 ? address->v6.sin6_port
							: address->v4.sin_port);
}

struct in6_addr os_socket_address_mapped(const union os_socket_address *address)
{
	struct in6_addr mapped = {0};

	if (address->any.sa_family == AF_INET6)
		return address->v6.sin6_addr;
	mapped.s6_addr[10] = 0xff;
	mapped.s6_addr[11] = 0xff;
	memcpy(&mapped.s6_addr[12], &address->v4.sin_addr, 4);
	return mapped;
}

bool os_socket_address_of_path(const char *path, union os_socket_address *out)
{
	struct sockaddr_un local = {.sun_family = AF_UNIX};

	if (strlen(path) >= sizeof local.sun_path)
		return false;
	memcpy(local.sun_path, path, strlen(path));
	out->local = local;
	return true;
}

/* RFC 6890, and the addresses of several hosts. */
static bool is_public_v4(uint32_t address)
{
	static const struct {
		uint32_t network;
		unsigned bits;
	} special[] = {
		{0x00000000, 8},  /* this network */
		{0x0a000000, 8},  /* private */
		{0x64400000, 10}, /* of carriers */
		{0x7f000000, 8},  /* loopback */
		{0xa9fe0000, 16}, /* a link's */
		{0xac100000, 12}, /* private */
		{0xc0000000, 24}, /* of protocols */
		{0xc0a80000, 16}, /* private */
		{0xe0000000, 3},  /* multicast, reserved */
	};

	for (size_t i = 0; i < COUNT_OF(special); i++)
		if (address >> (32 - special[i].bits) ==
		    special[i].network >> (32 - special[i].bits))
			return false;
	return true;
}

bool os_socket_address_is_public(const union os_socket_address *address)
{
	struct in6_addr mapped;
	uint32_t v4;

	if (address->any.sa_family == AF_UNIX)
		return false;
	mapped = os_socket_address_mapped(address);
	memcpy(&v4, &mapped.s6_addr[12], sizeof v4);
	if (IN6_IS_ADDR_V4MAPPED(&mapped))
		return is_public_v4(ntohl(v4));
	/* 2000::/3 is all that was given out; among it are those of IPv4 by 6to4 */
	if (mapped.s6_addr[0] == 0x20 && mapped.s6_addr[1] == 0x02) {
		memcpy(&v4, &mapped.s6_addr[2], sizeof v4);
		return is_public_v4(ntohl(v4));
	}
	return (mapped.s6_addr[0] & 0xe0) == 0x20;
}

bool os_socket_address_is_equal(const union os_socket_address *a, const union os_socket_address *b)
{
	struct in6_addr left = os_socket_address_mapped(a);
	struct in6_addr right = os_socket_address_mapped(b);

	return memcmp(&left, &right, sizeof left) == 0 &&
	       os_socket_address_port(a) == os_socket_address_port(b);
}
