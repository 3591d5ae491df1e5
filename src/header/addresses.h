// SPDX-License-Identifier: ISC
/*
 * header/addresses.h - address lists as in headers, RFC 5322 section 3.4: names, groups, comments,
 * quoted strings, folded lines, and from the obsolete syntax (section 4.4) empty elements, routes,
 * dots in names and spaces around dots.
 */
#ifndef HEADER_ADDRESSES_H
#define HEADER_ADDRESSES_H

#include "base/attributes.h"
#include "base/buffer.h"

/* FLAGS: MAIL_ADDRESS_UTF8 and MAIL_ADDRESS_ROOT (mail/address.h), or 0: as for
 * mail_address_parse(). Calls EACH (may be NULL) with every address in
 * TEXT as LOCAL@DOMAIN, valid during the call; stops when EACH returns something else than 0, and
 * returns that. An address without a domain gets @HOSTNAME, also in the copy of TEXT that is
 * appended to *REWRITTEN (may be NULL). "<>" is skipped. -EBADMSG when TEXT is not an address list:
 * EACH may have been called for a part of it. */
MUST_CHECK int header_addresses_parse(struct str text, struct str hostname, unsigned flags,
				      struct buffer *rewritten,
				      int (*each)(void *context, struct str address),
				      void *context);

#endif
