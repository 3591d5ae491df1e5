// SPDX-License-Identifier: ISC
/* store/ldap/claim.h - lists of claims, and their fields as one text. */
#ifndef STORE_LDAP_CLAIM_H
#define STORE_LDAP_CLAIM_H

#include "store/ldap/map.h"

/* By table, then by the bytes of the key: as SQLite orders them. */
int claim_compare(const struct claim *x, const struct claim *y);
/* CLAIMS, one struct claim after the other, into MAPPING in order; of several for one record the
 * first stays. Memory of ARENA. */
void claim_sort(const struct buffer *claims, struct arena *arena, struct mapping *mapping);
/* The fields of RECORD as a claim has them, and back. */
struct str claim_fields_text(struct arena *arena, const struct directory_record *record);
void claim_fields(struct str text, struct arena *arena, const struct directory_field **fields_out,
		  size_t *count_out);

#endif
