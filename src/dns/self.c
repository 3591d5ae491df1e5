// SPDX-License-Identifier: ISC
#include "dns/self.h"
#include <string.h>

/* RFC 6890, without private networks: operators may send mail there. */
static enum dns_target target_of_v4(const uint8_t address[4])
{
	if (address[0] == 0 || address[0] == 127)
		return DNS_TARGET_SELF;
	if (address[0] >= 224 || (address[0] == 169 && address[1] == 254))
		return DNS_TARGET_NONE;
	return DNS_TARGET_HOST;
}

static const uint8_t *embedded_v4(const struct in6_addr *address)
{
	static const struct {
		uint8_t bytes[12];
		size_t length;
	} prefixes[] = {
		{{[10] = 0xff, [11] = 0xff}, 12},
		{{0}, 12},
		{{[1] = 0x64, [2] = 0xff, [3] = 0x9b}, 12},
		{{0x20, 0x02}, 2},
	};

	for (size_t i = 0; i < COUNT_OF(prefixes); i++)
		if (memcmp(address->s6_addr, prefixes[i].bytes, prefixes[i].length) == 0)
			return address->s6_addr + prefixes[i].length;
	return NULL;
}

static enum dns_target target_of(const struct in6_addr *address)
{
	const uint8_t *v4 = embedded_v4(address);

	if (IN6_IS_ADDR_LOOPBACK(address) || IN6_IS_ADDR_UNSPECIFIED(address))
		return DNS_TARGET_SELF;
	if (IN6_IS_ADDR_MULTICAST(address) || IN6_IS_ADDR_LINKLOCAL(address))
		return DNS_TARGET_NONE;
	return v4 != NULL ? target_of_v4(v4) : DNS_TARGET_HOST;
}

static bool is_own_address(const struct dns_self *self, const struct in6_addr *address)
{
	for (size_t i = 0; i < self->address_count; i++)
		if (memcmp(address, &self->addresses[i], sizeof *address) == 0)
			return true;
	return self->is_own != NULL && self->is_own(self->context, address);
}

enum dns_target dns_self_target(const struct dns_self *self, const union os_socket_address *address)
{
	struct in6_addr mapped = os_socket_address_mapped(address);
	const uint8_t *v4 = embedded_v4(&mapped);
	struct in6_addr inner = {.s6_addr = {[10] = 0xff, [11] = 0xff}};

	if (v4 != NULL)
		memcpy(inner.s6_addr + 12, v4, 4);
	if (is_own_address(self, &mapped) || (v4 != NULL && is_own_address(self, &inner)))
		return DNS_TARGET_SELF;
	return target_of(&mapped);
}
