// SPDX-License-Identifier: ISC
/*
 * directory/record/key.h - the canonical form in which addresses and domains are stored and
 * compared.
 *
 * Domain: A-labels in lower case (IDNA2008, RFC 5891, non-transitional UTS 46 mapping), at
 * most 253 bytes; address literals are not allowed. Local part: Unicode Normalization Form
 * C (RFC 6532 section 3.1), in lower case (full Unicode lower-casing, then NFC again), at
 * most 255 bytes (the senders of newsletters and gateways make longer ones than RFC 5321 wants,
 * and so do extensions), no control character, no NUL; quoted only where quotes are required
 * (RFC 5321 section 4.1.2), and then in one way. An address has at most 320 bytes. So
 * "Ann"@Example.ORG becomes ann@example.org, "a\ b"@d becomes "a b"@d, and JOSÉ in NFD becomes
 * josé. mail_address_parse() accepts every key that is an address, and its domain is what follows
 * the last '@'. Names of users and servers follow the rules of a local part, or are addresses. The
 * name of a node is of labels of 1 to 63 letters, digits and '-', in lower case, with dots between;
 * no '-' at either end of a label; at most 64 bytes. So it is never a hidden file, "." or "..".
 */
#ifndef DIRECTORY_RECORD_KEY_H
#define DIRECTORY_RECORD_KEY_H

#include "directory/record/record.h"

/* Appends the canonical form of TEXT to OUT. -EINVAL: TEXT is not valid (OUT unchanged). Plain
 * ASCII needs no allocation. The canonical form maps to itself. */
MUST_CHECK int directory_key_domain(struct str text, struct buffer *out);
MUST_CHECK int directory_key_local(struct str text, struct buffer *out); /* of an address */
MUST_CHECK int directory_key_address(struct str text, struct buffer *out);
/* A key of TABLE: accepts "@DOMAIN" for addresses and "LIST MEMBER" for members, too. */
MUST_CHECK int directory_key_normalize(enum directory_table table, struct str text,
				       struct buffer *out);

/* Splits a key of the table member, "LIST MEMBER". KEY is in canonical form. */
void directory_key_member(struct str key, struct str *list_out, struct str *member_out);

/* Appends KEY, which is in canonical form, for people: with U-labels where possible. */
void directory_key_display(struct str key, struct buffer *out);

#endif
