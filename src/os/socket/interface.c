// SPDX-License-Identifier: ISC
#include "os/socket/interface.h"
#include "os/socket/socket.h"
#include <errno.h>
#include <ifaddrs.h>
#include <limits.h>

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
