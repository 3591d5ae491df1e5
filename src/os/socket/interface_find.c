// SPDX-License-Identifier: ISC
/* Whether an address is one of those. */
#include "os/socket/interface.h"

enum { ADDRESSES_MAX = 1024, LOOPBACK = 127 };

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
