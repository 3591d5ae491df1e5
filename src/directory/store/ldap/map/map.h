// SPDX-License-Identifier: ISC
/*
 * directory/store/ldap/map/map.h - maps attributes of LDAP entries to records.
 *
 * An entry claims records; if several entries claim the same one, the entry whose name sorts first
 * gets it. Members and owners of lists are entries, too, whose addresses are looked up when
 * needed: a claim of the kinds CLAIM_MEMBER_NAME and CLAIM_OWNER_NAME has the entry's name as its
 * key (directory/store/ldap/dn.h) and the list's address as its fields.
 */
#ifndef DIRECTORY_STORE_LDAP_MAP_MAP_H
#define DIRECTORY_STORE_LDAP_MAP_MAP_H

#include "base/attributes.h"
#include "base/buffer.h"
#include "config/map.h"
#include "directory/record/record.h"

struct entry_attribute {
	struct str name; /* may have options (";lang-en") */
	const struct str *values;
	size_t value_count;
};

struct entry {
	struct str dn;
	const struct entry_attribute *attributes;
	size_t attribute_count;
};

/* These numbers are in the copy's file: they leave room for tables to come. */
enum { CLAIM_MEMBER_NAME = 100, CLAIM_OWNER_NAME };

struct claim {
	int table; /* enum directory_table, or one of the two kinds above */
	struct str key;
	struct str fields; /* NAME NUL VALUE NUL ... */
};

/* What an entry claims; its texts are in the arena. */
struct mapping {
	struct str mail;            /* its address as a member of lists; or empty */
	const struct claim *claims; /* sorted by table and key, without duplicates */
	size_t claim_count;
	size_t passwords_unusable; /* of a kind that records cannot have */
};

/* Called for a value that cannot be used, with the reason; the rest of the entry is used. */
typedef void mapping_bad(void *context, struct str dn, const char *reason);

struct entry_map;

/* The table of config/map.h with the changes in TEXTS: "FIELD=ATTRIBUTE ATTRIBUTE ...", whose
 * values are all used, in this order (the first one, if a field has one value); or "FIELD='TEXT'",
 * the same for every entry; or "FIELD=", none. 0; or -EINVAL, and in WHY what is wrong. */
MUST_CHECK int entry_map_new(const char *const *texts, size_t count, struct entry_map **map_out,
			     struct buffer *why);
void entry_map_free(struct entry_map *map);
/* The attributes to request, NULL after the last; owned by MAP. */
char *const *entry_map_attributes(const struct entry_map *map);
/* As text: two maps with the same text are equal. */
void entry_map_print(const struct entry_map *map, struct buffer *out);
/* Each row of the table as a line "FIELD=ATTRIBUTES<TAB>MEANING". */
void entry_map_describe(struct buffer *out);

/* Values of FIELD, which is not a class, in ENTRY, attribute by attribute; memory of ARENA. */
size_t entry_map_values(const struct entry_map *map, const struct entry *entry,
			enum config_map_field field, struct arena *arena,
			const struct str **values_out);
bool entry_map_has_class(const struct entry_map *map, const struct entry *entry,
			 enum config_map_field field);
/* The attributes of FIELD, best first; owned by MAP. None if it has the same value everywhere. */
size_t entry_map_names(const struct entry_map *map, enum config_map_field field,
		       const struct str **names_out);
/* Whether FIELD uses the attribute NAME. */
bool entry_map_uses(const struct entry_map *map, enum config_map_field field, const char *name);

void entry_map_apply(const struct entry_map *map, const struct entry *entry, struct arena *arena,
		     mapping_bad *bad, void *context, struct mapping *mapping_out);

#endif
