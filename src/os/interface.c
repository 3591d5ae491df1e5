// SPDX-License-Identifier: ISC
#include "os/interface.h"
#include "os/socket.h"
#include <errno.h>
#include <ifaddrs.h>
#include <limits.h>

enum { ADDRESSES_MAX = 1024, LOOPBACK = 127 };

int os_interface_addresses(struct in6_addr *list, size_t size)
{
	struct ifaddrs *interfaces;
	size_t count = 0;

	if (getifaddrs(&interfaces) != 0)
		return -errno;
	for (struct ifaddrs *i = interfaces; i != NULL && count < size; i = i->ifa_next) {
		union os_socket_address address = {0};

		if (i->ifa_addr == NULL)
			continue;
		if (i->ifa_addr->sa_family == AF_INET)
			address.v4 = *(const struct sockaddr_in *)(const void *)i->ifa_addr;
		else if (i->ifa_addr->sa_family == AF_INET6)
			address.v6 = *(const struct sockaddr_in6 *)(const void *)i->ifa_addr;
		else
			continue;
		list[count++] = os_socket_address_mapped(&address);
	}
	freeifaddrs(interfaces);
	return count < INT_MAX ? (int)count : INT_MAX;
}

bool os_interface_has(const struct in6_addr *address)
{
	struct in6_addr list[ADDRESSES_MAX];
	int count;

	if (IN6_IS_ADDR_V4MAPPED(address) && address->s6_addr[12] == LOOPBACK)
		return true; /* the interface has one address for all */
	count = os_interface_addresses(list, ADDRESSES_MAX);
	for (int i = 0; i < count; i++)
		if (IN6_ARE_ADDR_EQUAL(&list[i], address))
			return true;
	return false;
}
