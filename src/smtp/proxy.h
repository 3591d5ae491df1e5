// SPDX-License-Identifier: ISC
/*
 * smtp/proxy.h - the header in which a proxy in front of the server gives the client's address, at
 * the very start of a connection: HAProxy's PROXY protocol, versions 1 (a line of text) and 2
 * (binary). Only from trusted proxies.
 */
#ifndef SMTP_PROXY_H
#define SMTP_PROXY_H

#include "base/attributes.h"
#include "base/str.h"

enum {
	SMTP_PROXY_MAX = 2048, /* bytes of a header; in version 2 most of them are extensions */
	SMTP_PROXY_ADDRESS_SIZE = 46,
};

enum smtp_proxy_state {
	SMTP_PROXY_MORE, /* the header is not complete yet */
	SMTP_PROXY_DONE,
	SMTP_PROXY_LONG,  /* over SMTP_PROXY_MAX */
	SMTP_PROXY_WRONG, /* not a valid header, whatever follows */
};

struct smtp_proxy {
	size_t length; /* of the header; the client's bytes follow */
	bool is_named; /* address and port are the client's; otherwise the header gives none, as
			* for a health check: its client has no rights by an address */
	char address[SMTP_PROXY_ADDRESS_SIZE]; /* "192.0.2.7" (also if mapped), "2001:db8::7" */
	uint16_t port;
};

/* Parses the header at the start of BYTES; *OUT is set with SMTP_PROXY_DONE. With SMTP_PROXY_MAX
 * bytes the result is never MORE. */
MUST_CHECK enum smtp_proxy_state smtp_proxy_parse(struct str bytes, struct smtp_proxy *out);

#endif
