// SPDX-License-Identifier: ISC
/*
 * config/section/address.h - addresses and networks in settings.
 */
#ifndef CONFIG_SECTION_ADDRESS_H
#define CONFIG_SECTION_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

struct config_endpoint { /* "0.0.0.0:25", "[::]:25", "unix:/run/x" */
	const char *text;
	const char *host; /* literal address without brackets; or the path of a UNIX socket */
	uint16_t port;    /* 0: UNIX socket */
};

struct config_network { /* IPv4 is mapped into ::ffff:0:0/96 */
	struct in6_addr address;
	unsigned prefix; /* 0 to 128 */
};

/* Servers on one port that the directory may name: those of a network, or by name. */
struct config_reach {
	const char *text;              /* as configured */
	const char *name;              /* lower case; NULL: servers of the network */
	bool is_below;                 /* all names below it, but not the name itself */
	struct config_network network; /* if there is no name */
	uint16_t port;
};

#endif
