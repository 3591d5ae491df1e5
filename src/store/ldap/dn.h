// SPDX-License-Identifier: ISC
/*
 * store/ldap/dn.h - names of entries (RFC 4514), in a form in which they are compared.
 *
 * The form begins at the root: "dc=org,dc=example,ou=people,uid=ann". So what stands below
 * a name are all that begin with it and a comma. Types are in lower case, values in one case
 * and NFC with single spaces, special bytes as \XX, parts of an RDN in the order of their text.
 * This takes all values for caseIgnoreMatch, as nearly all naming attributes are.
 */
#ifndef STORE_LDAP_DN_H
#define STORE_LDAP_DN_H

#include "base/attributes.h"
#include "base/buffer.h"

enum { DN_MAX = 4096 }; /* bytes of one that is looked at */

/* Appends the form of TEXT to OUT: 0; -EINVAL when it is no name (OUT unchanged). What follows
 * a '#' at the end, a unique identifier (RFC 4517 section 3.3.21), is left out. */
MUST_CHECK int dn_normalize(struct str text, struct buffer *out);
/* The other way round, for people. */
void dn_display(struct str form, struct buffer *out);
/* The dc parts of FORM as a domain: "example.org"; nothing when there are none. */
void dn_domain(struct str form, struct buffer *out);

#endif
