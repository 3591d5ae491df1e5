// SPDX-License-Identifier: ISC
/* directory/store/ldap/map/internal.h - shared by the parts of entry_map_apply(), one for each kind
 * of entry. */
#ifndef DIRECTORY_STORE_LDAP_MAP_INTERNAL_H
#define DIRECTORY_STORE_LDAP_MAP_INTERNAL_H

#include "directory/store/ldap/map/map.h"

/* An entry being mapped. */
struct entry_work {
	const struct entry_map *map;
	const struct entry *entry;
	struct arena *arena;
	mapping_bad *bad;
	void *context;
	struct buffer claims; /* an array of struct claim */
	struct str mail;      /* its address in canonical form; or empty */
};

/* work.c. Reports that VALUE, which is a WHAT, cannot be used. */
void entry_report(struct entry_work *work, const char *what, struct str value, const char *reason);
size_t entry_values(struct entry_work *work, enum config_map_field field,
		    const struct str **values_out);
/* TEXT as an address in canonical form, in the arena; empty if it is not valid, which is reported
 * as WHAT. */
struct str entry_address(struct entry_work *work, const char *what, struct str text);
/* Appends the first value of FIELD, if there is one, to FIELDS as NAME. */
void entry_add_field(struct entry_work *work, enum config_map_field field, const char *name,
		     struct directory_field *fields, size_t *count);
/* Appends the state in FIELD, if there is one, to FIELDS. An unknown state means deferred: its
 * author did not mean the default. */
void entry_add_state(struct entry_work *work, enum config_map_field field,
		     struct directory_field *fields, size_t *count);
void entry_claim(struct entry_work *work, int table, struct str key, struct str fields);
/* Claims the record of TABLE and KEY, if it passes the check; returns the key in canonical form, or
 * empty if it was refused. */
struct str entry_claim_record(struct entry_work *work, enum directory_table table, struct str key,
			      const struct directory_field *fields, size_t count);
/* Claims the values of FIELD, from the FIRST on, as aliases of the entry's address. */
void entry_claim_aliases(struct entry_work *work, enum config_map_field field, size_t first);

/* person.c; leaves the person's address in WORK. */
void entry_claim_person(struct entry_work *work);
/* user.c; adds passwords of kinds that records cannot have to UNUSABLE. */
void entry_claim_user(struct entry_work *work, size_t *unusable);
/* list.c; leaves the list's address in WORK. */
void entry_claim_list(struct entry_work *work);

#endif
