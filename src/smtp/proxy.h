// SPDX-License-Identifier: ISC
/*
 * smtp/proxy.h - the header by which a proxy in front of a server names the
 * client, at the very start of a connection: HAProxy's PROXY protocol, versions 1
 * (a line of text) and 2 (binary). Only from proxies that are trusted.
 */
#ifndef SMTP_PROXY_H
#define SMTP_PROXY_H

#include "base/attributes.h"
#include "base/str.h"

enum {
	SMTP_PROXY_MAX = 2048, /* bytes of a header; with version 2 that is mostly extras */
	SMTP_PROXY_ADDRESS_SIZE = 46,
};

enum smtp_proxy_state {
	SMTP_PROXY_MORE, /* the header is not whole yet */
	SMTP_PROXY_DONE,
	SMTP_PROXY_WRONG, /* it is none, whatever follows */
};

struct smtp_proxy {
	size_t length; /* of the header; what follows is the client's */
	bool is_named; /* address and port are the client's; otherwise nothing is said of it,
			* and the connection's own peer is the client */
	char address[SMTP_PROXY_ADDRESS_SIZE]; /* "192.0.2.7" (also if mapped), "2001:db8::7" */
	uint16_t port;
};

/* Reads the header that BYTES begin with; *OUT is written with SMTP_PROXY_DONE.
 * At SMTP_PROXY_MAX bytes it is decided. */
MUST_CHECK enum smtp_proxy_state smtp_proxy_parse(struct str bytes, struct smtp_proxy *out);

#endif
