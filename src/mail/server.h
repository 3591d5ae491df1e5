// SPDX-License-Identifier: ISC
/*
 * mail/server.h - a server by host and port: "192.0.2.7:24", "[2001:db8::7]:24",
 * "lmtp.example.org:24".
 *
 * In canonical form the host is an A-label name in lower case, or an address in the format of
 * inet_ntop(3), and the port has no leading zero. UNIX sockets are not included.
 */
#ifndef MAIL_SERVER_H
#define MAIL_SERVER_H

#include "base/attributes.h"
#include "base/buffer.h"
#include <netinet/in.h>

enum {
	MAIL_SERVER_HOST_MAX = 128, /* bytes; must fit into a trigger's name and a control file */
	MAIL_SERVER_TEXT_SIZE = MAIL_SERVER_HOST_MAX + 9, /* "[", "]:65535" and a NUL */
};

struct mail_server {
	struct str host;         /* a view of the text: a name, or an address without brackets */
	bool is_address;         /* HOST is not a name */
	struct in6_addr address; /* IPv4 is mapped into ::ffff:0:0/96 */
	uint16_t port;           /* 1 to 65535 */
};

/* Parses TEXT, which may be in any form but has no U-labels: 0, or -EINVAL. */
MUST_CHECK int mail_server_parse(struct str text, struct mail_server *server_out);
/* Appends the canonical form of TEXT to OUT: 0; or -EINVAL, OUT unchanged. */
MUST_CHECK int mail_server_normalize(struct str text, struct buffer *out);
/* Whether TEXT is a server in canonical form. */
bool mail_server_is_in_form(struct str text);

#endif
