// SPDX-License-Identifier: ISC
/*
 * mail/address.h - a mailbox address, RFC 5321 section 4.1.2.
 *
 * An address is kept as text without angle brackets: LOCAL@DOMAIN, where LOCAL
 * is a dot-string or a quoted string and DOMAIN a host name or an address
 * literal. The empty text is the null sender "<>". Plain ASCII here; UTF-8
 * (RFC 6531) only where a caller allows it. Dots may stand anywhere in a local
 * part, as in addresses that some providers have given their users, unless a
 * caller is strict.
 */
#ifndef MAIL_ADDRESS_H
#define MAIL_ADDRESS_H

#include "base/attributes.h"
#include "base/str.h"

struct in6_addr; /* <netinet/in.h> */

enum {
	MAIL_LOCAL_MAX = 64,    /* RFC 5321 section 4.5.3.1.1 */
	MAIL_DOMAIN_MAX = 255,  /* 4.5.3.1.2 */
	MAIL_ADDRESS_MAX = 320, /* both and the @ */
};

enum mail_address_flags {
	MAIL_ADDRESS_UTF8 = 1 << 0,      /* allow UTF-8 in both parts */
	MAIL_ADDRESS_NULL = 1 << 1,      /* allow the empty address */
	MAIL_ADDRESS_NO_DOMAIN = 1 << 2, /* allow a local part alone ("postmaster") */
	MAIL_ADDRESS_STRICT = 1 << 3,    /* no dots in a row or at an end without quotes */
};

struct mail_address {
	struct str text;   /* the whole */
	struct str local;  /* as written, quotes included */
	struct str domain; /* without '@'; empty only with MAIL_ADDRESS_NO_DOMAIN or when null */
	bool is_literal;   /* the domain is [...] */
};

/* Parses TEXT (no angle brackets, no source route). The views point into TEXT.
 * -EINVAL when it is no address, -ENAMETOOLONG when a part is over its bound. */
MUST_CHECK int mail_address_parse(struct str text, unsigned flags, struct mail_address *out);

/* Where the address at the front of TEXT ends: at the first space outside of quotes, or with TEXT;
 * -1 when its quotes do not end. */
ptrdiff_t mail_address_end(struct str text);

/* The address that LITERAL, "[192.0.2.1]" or "[IPv6:2001:db8::1]", stands for, IPv4 mapped
 * into IPv6; false when it is none. RFC 5321 section 4.1.3 without the general form, for
 * which no tag was ever registered. */
bool mail_literal_parse(struct str literal, struct in6_addr *out);

/* Whether mail of SENDER is a bounce, or a bounce of one: "#@[]" is qmail's sender
 * of those; it never leaves. */
bool mail_sender_is_null(struct str sender);
/* SENDER as anybody outside of the queue is told it: empty for the null sender. */
struct str mail_sender_told(struct str sender);

/* Whether NAME is a host name of letters, digits, hyphens, underscores and
 * dots, labels of 1 to 63, 255 in all, no dot at either end. */
bool mail_domain_is_valid(struct str name);

#endif
