// SPDX-License-Identifier: ISC
/*
 * mail/unicode.h - the canonical form of what internationalised addresses are made of.
 *
 * A domain in U-labels and the same in A-labels are one: everywhere inside it is in A-labels and
 * lower case. Who shows it to people may show U-labels.
 */
#ifndef MAIL_UNICODE_H
#define MAIL_UNICODE_H

#include "base/buffer.h"
#include "mail/address.h"

/* NAME as IDNA2008 has it (non-transitional UTS 46 mapping): -EINVAL when it has no stable form. */
MUST_CHECK int mail_unicode_domain(struct str name, struct buffer *out);

/* The lower case of LOCAL, which has no quotes of its own: NFC, in lower case, NFC. -EINVAL
 * when it is no text or has no stable form. */
MUST_CHECK int mail_unicode_local(struct str local, struct buffer *out);

/* NAME in U-labels, or as it is. */
void mail_unicode_display(struct str name, struct buffer *out);

struct mail_domain {
	char text[MAIL_DOMAIN_MAX + 1]; /* ends with a NUL */
	size_t length;
};

/* The form by which domains of addresses and of the configuration are compared and looked up.
 * Any ASCII has it, also address literals and names of no host: in lower case, without
 * allocation. False: NAME has none, and *OUT is what there is of it. */
bool mail_domain_form(struct str name, struct mail_domain *out);
/* Lives as long as DOMAIN. */
struct str mail_domain_view(const struct mail_domain *domain);

#endif
