// SPDX-License-Identifier: ISC
/*
 * tests/fuzz/fuzz_ldap.c - what an LDAP server says: values of content synchronisation, names of
 * entries, and entries. A name's form is one form; every record that is claimed passes the
 * check of records, and claims come in order.
 */
#include "base/panic.h"
#include "directory/store/ldap/dn.h"
#include "directory/store/ldap/map/claim.h"
#include "directory/store/ldap/sync/csn.h"
#include "directory/store/ldap/sync/value.h"
#include "input.h"

enum { ATTRIBUTES_MAX = 8, VALUES_MAX = 4 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_name(struct str text)
{
	struct buffer form = {0};
	struct buffer shown = {0};
	struct buffer again = {0};

	if (dn_normalize(text, &form) == 0 && form.length < DN_MAX / 4) {
		dn_display(buffer_view(&form), &shown);
		if (form.length > 0 && dn_normalize(buffer_view(&shown), &again) < 0)
			panic("a name's form is no name");
		check_equal(buffer_view(&form), buffer_view(&again), "names");
	}
	buffer_reset(&shown);
	dn_domain(buffer_view(&form), &shown);
	buffer_clear(&form);
	buffer_clear(&shown);
	buffer_clear(&again);
}

static void try_values(struct str data, struct arena *arena)
{
	struct sync_state_value state;
	struct sync_info_value info;
	struct csn_set csns = {0};
	struct buffer text = {0};

	if (sync_state_decode(data, arena, &state) == 0)
		csn_set_add_cookie(&csns, state.cookie);
	if (sync_info_decode(data, arena, &info) == 0)
		csn_set_add_cookie(&csns, info.cookie);
	csn_set_add_cookie(&csns, data);
	if (!csn_set_covers(&csns, &csns))
		panic("a set does not cover itself");
	csn_set_print(&csns, &text);
	buffer_clear(&text);
}

static void on_bad(void *context, struct str dn, const char *reason)
{
	(void)context;
	(void)dn;
	if (*reason == '\0')
		panic("a complaint without a reason");
}

static void check_claims(const struct mapping *mapping, struct arena *arena)
{
	for (size_t i = 0; i < mapping->claim_count; i++) {
		const struct claim *claim = &mapping->claims[i];
		struct directory_record record = {0};
		struct directory_record checked;
		const char *reason;

		if (i > 0 && claim_compare(claim - 1, claim) >= 0)
			panic("claims out of order");
		if (claim->table >= DIRECTORY_TABLES)
			continue;
		record.key = (struct directory_key){(enum directory_table)claim->table, claim->key};
		claim_fields(claim->fields, arena, &record.fields, &record.field_count);
		if (claim->table != DIRECTORY_MEMBER &&
		    directory_record_check(&record, arena, &checked, &reason) < 0)
			panic("a claim that is no record: %s", reason);
	}
}

static void try_entry(struct input *input, struct arena *arena)
{
	static struct entry_map *map;
	struct str values[ATTRIBUTES_MAX][VALUES_MAX];
	struct entry_attribute attributes[ATTRIBUTES_MAX];
	struct entry entry = {.attributes = attributes, .dn = input_text(input)};
	struct mapping mapping;
	struct buffer why = {0};
	unsigned which = input_byte(input);
	size_t known = 0;

	if (map == NULL && entry_map_new(NULL, 0, &map, &why) < 0)
		panic("the map's defaults are wrong");
	while (entry_map_attributes(map)[known] != NULL)
		known++;
	if (known == 0)
		panic("the map asks for nothing");
	entry.attribute_count = which % (ATTRIBUTES_MAX + 1);
	for (size_t i = 0; i < entry.attribute_count; i++) {
		attributes[i].name = str_from(entry_map_attributes(map)[input_byte(input) % known]);
		attributes[i].value_count = 1 + input_byte(input) % VALUES_MAX;
		attributes[i].values = values[i];
		for (size_t k = 0; k < attributes[i].value_count; k++)
			values[i][k] = input_text(input);
	}
	entry_map_apply(map, &entry, arena, on_bad, NULL, &mapping);
	check_claims(&mapping, arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = {{(const char *)data, size}};
	struct arena *arena = arena_new();

	switch (input_byte(&input) % 3) {
	case 0:
		try_name(input.rest);
		break;
	case 1:
		try_values(input.rest, arena);
		break;
	default:
		try_entry(&input, arena);
	}
	arena_free(arena);
	return 0;
}
