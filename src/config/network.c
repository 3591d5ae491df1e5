// SPDX-License-Identifier: ISC
/* Networks: parsing, and membership of addresses. */
#include "config/config.h"
#include <string.h>

bool config_network_has(const struct config_network *network, const struct in6_addr *address)
{
	unsigned whole = network->prefix / 8;
	unsigned rest = network->prefix % 8;

	if (memcmp(address, &network->address, whole) != 0)
		return false;
	return rest == 0 ||
	       ((address->s6_addr[whole] ^ network->address.s6_addr[whole]) >> (8 - rest)) == 0;
}
