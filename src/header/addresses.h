// SPDX-License-Identifier: ISC
/*
 * header/addresses.h - address lists as headers have them: as RFC 5322 section 3.4 says, with the
 * obsolete syntax (section 4.4), and as programs write them all the same.
 *
 * The text is cut into elements: at ',' and ';', and after an address in angle brackets. Nothing is
 * invented: an address is one that stands there, or a single word that is an element, which gets
 * the domain. Where an element ends with an address in angle brackets, everything before is a name,
 * whatever it contains ("Scanner: 2nd floor [b@c.test] <a@b.test>"); so are elements without an
 * address right before it ("Last, First <a@b.test>"). A group begins with ':' if a ';' follows
 * somewhere. Quotes and parentheses that do not match have no meaning, anywhere. What cannot be
 * read does not concern the other elements.
 *
 * The time is linear in the length of the text.
 */
#ifndef HEADER_ADDRESSES_H
#define HEADER_ADDRESSES_H

#include "base/attributes.h"
#include "base/buffer.h"

enum header_element_kind {
	HEADER_ELEMENT_ADDRESS,
	HEADER_ELEMENT_NAME, /* is part of the name of the address that follows: words before a
			      * separator, or an address before angle brackets */
	HEADER_ELEMENT_REST, /* words after an address in angle brackets, without a separator */
	HEADER_ELEMENT_BAD,  /* neither an address nor part of a name */
};

/* Valid during the call that gets it. */
struct header_element {
	enum header_element_kind kind;
	struct str address; /* LOCAL@DOMAIN, without spaces and comments; of NAME perhaps empty; of
			     * REST and BAD empty */
	struct str text;    /* of ADDRESS: what stands before the angle brackets; of others: the
			     * element; as written */
};

/* 0: go on. */
typedef int header_element_taker(void *context, const struct header_element *element);

struct header_addresses_rules {
	struct str hostname; /* of addresses without a domain */
	unsigned flags;      /* MAIL_ADDRESS_UTF8 and MAIL_ADDRESS_ROOT (mail/address.h), or 0: as
			      * for mail_address_parse() */
};

/* Calls TAKE with each element of TEXT, in order; stops when it returns something else than 0, and
 * returns that. Appends TEXT with @HOSTNAME after the addresses that have no domain to *REWRITTEN
 * (may be NULL). *IS_PLAIN_OUT (may be NULL): TEXT has only one reading: it is as RFC 5322 says,
 * without routes, without spaces or comments within an address, and no element is of another kind
 * than ADDRESS. */
MUST_CHECK int header_addresses_read(struct str text, const struct header_addresses_rules *rules,
				     header_element_taker *take, void *context,
				     struct buffer *rewritten, bool *is_plain_out);

/* The same with only the addresses; EACH may be NULL. -EBADMSG: an element is BAD; EACH was called
 * with all addresses nevertheless. */
MUST_CHECK int header_addresses_parse(struct str text, struct str hostname, unsigned flags,
				      struct buffer *rewritten,
				      int (*each)(void *context, struct str address),
				      void *context);

#endif
