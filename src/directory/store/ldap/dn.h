// SPDX-License-Identifier: ISC
/*
 * directory/store/ldap/dn.h - names of entries (RFC 4514), in a canonical form for comparison.
 *
 * The form begins at the root: "dc=org,dc=example,ou=people,uid=ann". So the entries below a name
 * are those that begin with it and a comma. Types are in lower case, values in one case and NFC
 * with single spaces, special bytes as \XX, parts of an RDN sorted by their text. This treats all
 * values as caseIgnoreMatch, which is right for nearly all naming attributes.
 */
#ifndef DIRECTORY_STORE_LDAP_DN_H
#define DIRECTORY_STORE_LDAP_DN_H

#include "base/attributes.h"
#include "base/buffer.h"

enum { DN_MAX = 4096 }; /* bytes; longer names are refused */

/* Appends the canonical form of TEXT to OUT: 0; -EINVAL: TEXT is not a valid name (OUT unchanged).
 * Ignores a unique identifier (RFC 4517 section 3.3.21) after a '#' at the end. */
MUST_CHECK int dn_normalize(struct str text, struct buffer *out);
/* Converts it back, for people. */
void dn_display(struct str form, struct buffer *out);
/* Appends the dc parts of FORM as a domain: "example.org"; nothing if there are none. */
void dn_domain(struct str form, struct buffer *out);

#endif
