// SPDX-License-Identifier: ISC
/*
 * mail/unicode.h - the canonical form of internationalised addresses.
 *
 * A domain in U-labels and in A-labels is the same: internally it is always in A-labels and in
 * lower case. For people it may be shown in U-labels.
 */
#ifndef MAIL_UNICODE_H
#define MAIL_UNICODE_H

#include "base/buffer.h"
#include "mail/address.h"

/* Appends NAME by IDNA2008 (non-transitional UTS 46 mapping). -EINVAL: it has no stable form. */
MUST_CHECK int mail_unicode_domain(struct str name, struct buffer *out);

/* Appends the lower case of LOCAL, which is unquoted: NFC, in lower case, NFC. -EINVAL: it is not
 * valid text, or has no stable form. */
MUST_CHECK int mail_unicode_local(struct str local, struct buffer *out);

/* Appends ADDRESS in ASCII, for fields that must not need SMTPUTF8: its domain in A-labels, other
 * characters as "\x{E9}" (RFC 6533 section 3). An address in ASCII stays. */
void mail_unicode_address(struct str address, struct buffer *out);
/* Whether SHOWN is ADDRESS, or that form of it, ignoring case in ASCII. */
bool mail_unicode_is_address(struct str shown, struct str address);

/* Appends NAME in U-labels, or unchanged if that is impossible. */
void mail_unicode_display(struct str name, struct buffer *out);

struct mail_domain {
	char text[MAIL_DOMAIN_MAX + 1]; /* ends with a NUL */
	size_t length;
};

/* The canonical form in which domains of addresses and of the configuration are compared and looked
 * up. Any ASCII has one, even an address literal or an invalid name: it is lower-cased, without
 * allocation. False: NAME has none, and *OUT is an approximation. */
bool mail_domain_form(struct str name, struct mail_domain *out);
/* Valid as long as DOMAIN. */
struct str mail_domain_view(const struct mail_domain *domain);

#endif
