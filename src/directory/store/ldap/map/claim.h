// SPDX-License-Identifier: ISC
/* directory/store/ldap/map/claim.h - sorts claims, and stores their fields as text. */
#ifndef DIRECTORY_STORE_LDAP_MAP_CLAIM_H
#define DIRECTORY_STORE_LDAP_MAP_CLAIM_H

#include "directory/store/ldap/map/map.h"

/* By table, then by the bytes of the key, as SQLite orders them. */
int claim_compare(const struct claim *x, const struct claim *y);
/* Sorts CLAIMS, an array of struct claim, into MAPPING; of several claims of one record, the first
 * is kept. Memory of ARENA. */
void claim_sort(const struct buffer *claims, struct arena *arena, struct mapping *mapping);
/* Converts the fields of RECORD to the text of a claim, and back. */
struct str claim_fields_text(struct arena *arena, const struct directory_record *record);
void claim_fields(struct str text, struct arena *arena, const struct directory_field **fields_out,
		  size_t *count_out);

#endif
