// SPDX-License-Identifier: ISC
/*
 * smtp/client/capabilities.h - what a server offers in its reply to EHLO.
 */
#ifndef SMTP_CLIENT_CAPABILITIES_H
#define SMTP_CLIENT_CAPABILITIES_H

#include "base/str.h"

enum { SMTP_MECHANISMS_SIZE = 512 };

enum smtp_xforward {
	SMTP_XFORWARD_NAME = 1 << 0,
	SMTP_XFORWARD_ADDR = 1 << 1,
	SMTP_XFORWARD_PORT = 1 << 2,
	SMTP_XFORWARD_PROTO = 1 << 3,
	SMTP_XFORWARD_HELO = 1 << 4,
	SMTP_XFORWARD_IDENT = 1 << 5,
	SMTP_XFORWARD_SOURCE = 1 << 6,
	SMTP_XFORWARD_COUNT = 7,
};

extern const char *const smtp_xforward_names[SMTP_XFORWARD_COUNT];

struct smtp_capabilities {
	bool has_pipelining; /* RFC 2920 */
	bool has_8bitmime;   /* RFC 6152 */
	bool has_dsn;        /* RFC 3461 */
	bool has_utf8;       /* SMTPUTF8, RFC 6531 */
	bool has_chunking;   /* RFC 3030 */
	bool has_binarymime; /* the same */
	uint64_t mail_max;   /* RFC 9422: transactions of a session; 0: not given */
	uint64_t rcpt_max;   /* recipients of a transaction; 0: not given */
	bool has_starttls;   /* RFC 3207 */
	bool has_requiretls; /* RFC 8689 */
	bool has_priority;   /* MT-PRIORITY, RFC 6710 */
	bool has_deliverby;  /* RFC 2852 */
	uint64_t by_min;     /* seconds, with by-mode R; 0: no limit */
	unsigned xforward;   /* the attributes of XFORWARD (Postfix): enum smtp_xforward */
	bool has_auth;       /* RFC 4954 */
	char mechanisms[SMTP_MECHANISMS_SIZE]; /* of AUTH, separated by spaces; as many as fit */
	bool has_size;                         /* RFC 1870 */
	uint64_t size;                         /* the largest message; 0: not given */
};

/* TEXT is the reply's text, with '\n' between lines; the first line is the greeting. */
void smtp_capabilities_parse(struct str text, struct smtp_capabilities *capabilities_out);

#endif
