// SPDX-License-Identifier: ISC
/* Derives records from claims. */
#include "directory/record/key.h"
#include "directory/store/ldap/copy/internal.h"
#include "directory/store/ldap/map/claim.h"

/* The present address of the owner that ENTRY names; empty if there is none. */
static struct str find_owner(struct copy *copy, int64_t entry)
{
	sqlite3_stmt *statement = copy->statements[COPY_OWNER];
	struct str owner = {0};

	(void)sqlite3_bind_int64(statement, 1, entry);
	if (copy_step(copy, statement)) {
		owner = arena_copy_str(copy->arena, copy_column(statement, 0));
		copy_reset(statement);
	}
	return owner;
}

/* FIELDS of a list, with the owner that ENTRY names in place of the default one. */
static struct str with_owner(struct copy *copy, int64_t entry, struct str text)
{
	struct directory_record record = {0};
	struct str owner = find_owner(copy, entry);

	if (owner.length == 0)
		return text;
	claim_fields(text, copy->arena, &record.fields, &record.field_count);
	if (!str_equal(directory_record_field(&record, "kind"), STR("list")))
		return text;
	for (size_t i = 0; i < record.field_count; i++)
		if (str_equal(record.fields[i].name, STR("owner")))
			((struct directory_field *)record.fields)[i].value = owner;
	return claim_fields_text(copy->arena, &record);
}

static bool is_member(struct copy *copy, struct str list, struct str member)
{
	sqlite3_stmt *statement = copy->statements[COPY_IS_MEMBER];
	bool is_found;

	copy_bind_bytes(statement, 1, list);
	copy_bind(statement, 2, member);
	is_found = copy_step(copy, statement);
	if (is_found)
		copy_reset(statement);
	return is_found;
}

static void derive_member(struct copy *copy, struct str key, bool is_claimed)
{
	struct str list;
	struct str member;

	directory_key_member(key, &list, &member);
	if (!str_equal(list, member) && (is_claimed || is_member(copy, list, member)))
		copy_row_put(copy, DIRECTORY_MEMBER, key, (struct str){0});
	else
		copy_row_remove(copy, DIRECTORY_MEMBER, key);
}

static void derive_record(struct copy *copy, int table, struct str key)
{
	sqlite3_stmt *statement = copy->statements[COPY_CLAIMANTS];
	struct str fields = {0};
	struct str first = {0};
	int64_t entry = 0;
	bool is_claimed;

	(void)sqlite3_bind_int(statement, 1, table);
	copy_bind(statement, 2, key);
	is_claimed = copy_step(copy, statement);
	if (is_claimed) {
		fields = arena_copy_str(copy->arena, copy_column(statement, 0));
		entry = sqlite3_column_int64(statement, 1);
		first = arena_copy_str(copy->arena, copy_column(statement, 2));
		if (copy_step(copy, statement)) {
			if (table != DIRECTORY_MEMBER && table != DIRECTORY_DOMAIN)
				copy->conflict(copy->context, key, first,
					       copy_column(statement, 2));
			copy_reset(statement);
		}
	}
	if (table == DIRECTORY_MEMBER)
		derive_member(copy, key, is_claimed);
	else if (is_claimed)
		copy_row_put(copy, table, key,
			     table == DIRECTORY_ADDRESS ? with_owner(copy, entry, fields) : fields);
	else
		copy_row_remove(copy, table, key);
}

void copy_derive(struct copy *copy)
{
	sqlite3_stmt *statement = copy->statements[COPY_CHANGED_ALL];

	while (copy_step(copy, statement)) {
		int table = sqlite3_column_int(statement, 0);

		arena_reset(copy->arena);
		derive_record(copy, table, arena_copy_str(copy->arena, copy_column(statement, 1)));
	}
	copy_run(copy, copy->statements[COPY_CHANGED_NONE]);
}
