// SPDX-License-Identifier: ISC
/*
 * mail/origin.h - where a message came from, as its envelope has it in RECEIVED:
 *
 *   smtp 192.0.2.7:53112 name=mail.example.com helo=mail.example.com tls=TLSv1.3 user=anna
 *   qmtp local helo=...      over a UNIX socket
 *   local uid=1000 user=anna by a command
 *   bounce, list, policy     made here
 */
#ifndef MAIL_ORIGIN_H
#define MAIL_ORIGIN_H

#include "base/str.h"
#include <stdint.h>

struct mail_origin {
	struct str protocol; /* "smtp"; never empty, unless all of the text is */
	struct str address;  /* of the client, without brackets; empty: none */
	uint64_t port;       /* 0: none */
	struct str name;     /* that the DNS has for the address; empty: none; likewise: */
	struct str helo;     /* as it called itself */
	struct str tls;      /* the version of TLS */
	struct str user;     /* who was authenticated, or called the command */
	bool has_uid;
	uint64_t uid; /* of who called the command */
};

/* Parts of TEXT, which later versions may have more of; what is malformed is left out. */
struct mail_origin mail_origin_parse(struct str text);

#endif
