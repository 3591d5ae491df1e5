// SPDX-License-Identifier: ISC
/*
 * dns/self.h - addresses to which others must not be able to direct mail: this host's own, and
 * those that cannot be those of a host. Does not apply to what the operator has configured.
 */
#ifndef DNS_SELF_H
#define DNS_SELF_H

#include "os/socket/socket.h"

struct dns_self {
	const char *hostname;
	const struct in6_addr *addresses; /* IPv4 mapped into ::ffff:0:0/96 */
	size_t address_count;
	/* Whether ADDRESS is one of it, too, though it has no interface with it; NULL: none is. */
	bool (*is_own)(const void *context, const struct in6_addr *address);
	const void *context;
};

enum dns_target {
	DNS_TARGET_HOST, /* any other address */
	DNS_TARGET_SELF, /* one of SELF's addresses, loopback, unspecified ("this host") */
	DNS_TARGET_NONE, /* multicast, broadcast, reserved, link-local: no single Internet host */
};

/* An IPv4 address is treated the same inside an IPv6 one: mapped, compatible, of a
 * translator (RFC 6052 section 2.1) or of 6to4 (RFC 3056). */
enum dns_target dns_self_target(const struct dns_self *self,
				const union os_socket_address *address);

#endif
