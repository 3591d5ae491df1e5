// SPDX-License-Identifier: ISC
/*
 * directory/record/key.h - the one form of addresses and domains by which they are kept and
 * compared.
 *
 * Domain: A-labels in lower case (IDNA2008, RFC 5891, non-transitional UTS 46 mapping), at
 * most 253 bytes; address literals are in no table. Local part: Unicode Normalization Form
 * C (RFC 6532 section 3.1), in lower case (full Unicode lower-casing, then NFC again), at
 * most 64 bytes, no control character, no NUL; with quotes only where it cannot do without
 * (RFC 5321 section 4.1.2), and then written in one way. So "Ann"@Example.ORG is
 * ann@example.org, "a\ b"@d is "a b"@d, and JOSÉ in NFD is josé. Every key of an address
 * passes mail_address_parse(), and its domain stands behind the last '@'. Names of users
 * and servers: local part's rules, or an address.
 */
#ifndef DIRECTORY_RECORD_KEY_H
#define DIRECTORY_RECORD_KEY_H

#include "directory/record/record.h"

/* Appends the form of TEXT to OUT: 0; -EINVAL when it is none (OUT unchanged). Plain
 * ASCII takes a short way without allocation. The form's form is itself. */
MUST_CHECK int directory_key_domain(struct str text, struct buffer *out);
MUST_CHECK int directory_key_local(struct str text, struct buffer *out); /* of an address */
MUST_CHECK int directory_key_address(struct str text, struct buffer *out);
/* Of any table: "@DOMAIN" for address, "LIST MEMBER" for member too. */
MUST_CHECK int directory_key_normalize(enum directory_table table, struct str text,
				       struct buffer *out);

/* A key of table member taken apart: "LIST MEMBER". KEY is in its one form. */
void directory_key_member(struct str key, struct str *list_out, struct str *member_out);

/* Appends KEY, as it is kept, for people: U-labels where that is possible. */
void directory_key_display(struct str key, struct buffer *out);

#endif
