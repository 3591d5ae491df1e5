// SPDX-License-Identifier: ISC
/*
 * mail/address.h - a mailbox address, RFC 5321 section 4.1.2.
 *
 * An address is text without angle brackets: LOCAL@DOMAIN, where LOCAL
 * is a dot-string or a quoted string and DOMAIN a host name or an address
 * literal. The empty text is the null sender "<>". Only ASCII, unless a caller
 * allows UTF-8 (RFC 6531). Dots are allowed anywhere in a local part, as some
 * providers have given such addresses to their users, and it may be longer than
 * RFC 5321 wants, as the senders of newsletters and forwarders are, who write
 * another address into their own (VERP, SRS), unless a caller is strict.
 */
#ifndef MAIL_ADDRESS_H
#define MAIL_ADDRESS_H

#include "base/attributes.h"
#include "base/str.h"

struct in6_addr; /* <netinet/in.h> */

enum {
	MAIL_LOCAL_MAX = 64,       /* RFC 5321 section 4.5.3.1.1; of what we make ourselves */
	MAIL_LOCAL_LONG_MAX = 255, /* of what others make */
	MAIL_DOMAIN_MAX = 255,     /* 4.5.3.1.2 */
	MAIL_ADDRESS_MAX = 320,    /* both and the @: 64, 255 and 1 */
};

enum mail_address_flags {
	MAIL_ADDRESS_UTF8 = 1 << 0,      /* allow UTF-8 in both parts */
	MAIL_ADDRESS_NULL = 1 << 1,      /* allow the empty address */
	MAIL_ADDRESS_NO_DOMAIN = 1 << 2, /* allow a local part alone ("postmaster") */
	MAIL_ADDRESS_STRICT = 1 << 3,    /* no leading, trailing or repeated dots without quotes;
					  * MAIL_LOCAL_MAX */
	MAIL_ADDRESS_ROOT = 1 << 4,      /* allow one dot after the domain, the root of the DNS:
					  * TEXT and DOMAIN come out without it */
};

struct mail_address {
	struct str text;   /* the whole */
	struct str local;  /* as written, quotes included */
	struct str domain; /* without '@'; empty only with MAIL_ADDRESS_NO_DOMAIN or when null */
	bool is_literal;   /* the domain is [...] */
};

/* Parses TEXT (no angle brackets, no source route). The views point into TEXT.
 * -EINVAL: not a valid address; -ENAMETOOLONG: a part or the whole is too long. */
MUST_CHECK int mail_address_parse(struct str text, unsigned flags, struct mail_address *out);

/* The end of the address at the start of TEXT: the first space outside quotes, or the end of TEXT;
 * -1 if a quote is not closed. */
ptrdiff_t mail_address_end(struct str text);

/* Parses an address literal, "[192.0.2.1]" or "[IPv6:2001:db8::1]"; IPv4 is mapped into IPv6.
 * False: malformed. RFC 5321 section 4.1.3 without the general form, for which no tag was ever
 * registered. */
bool mail_literal_parse(struct str literal, struct in6_addr *out);

/* Whether mail from SENDER is a bounce, or a double bounce, for which qmail's sender is "#@[]",
 * which is never sent to other hosts. */
bool mail_sender_is_null(struct str sender);
/* SENDER as shown outside the queue: empty for the null sender. */
struct str mail_sender_told(struct str sender);

/* Whether NAME is a host name of letters, digits, hyphens, underscores and
 * dots: labels of 1 to 63, 255 in total, no dot at either end. */
bool mail_domain_is_valid(struct str name);

#endif
