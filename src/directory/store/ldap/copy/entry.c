// SPDX-License-Identifier: ISC
/* Entries and their claims; each change notes the keys of the records that it may affect. */
#include "directory/store/ldap/copy/internal.h"
#include "directory/store/ldap/map/claim.h"
#include <stdlib.h>
#include <string.h>

/* An entry in the file. */
struct kept {
	int64_t id;
	struct str name;
	struct str mail;
};

/* Claims to delete, and to add, both in order. */
struct difference {
	struct buffer old; /* an array of struct claim */
	struct buffer new;
};

static void run_with_texts(struct copy *copy, enum copy_statement which, struct str first,
			   struct str second)
{
	copy_bind(copy->statements[which], 1, first);
	if (second.data != NULL)
		copy_bind(copy->statements[which], 2, second);
	copy_run(copy, copy->statements[which]);
}

static void touch_record(struct copy *copy, int table, struct str key)
{
	sqlite3_stmt *statement = copy->statements[COPY_CHANGED];

	(void)sqlite3_bind_int(statement, 1, table);
	copy_bind(statement, 2, key);
	copy_run(copy, statement);
}

/* The entry called NAME gains or loses the address MAIL: marks the lists that name it. */
static void touch_name(struct copy *copy, struct str name, struct str mail)
{
	if (mail.length == 0)
		return;
	run_with_texts(copy, COPY_CHANGED_MEMBERS, name, mail);
	run_with_texts(copy, COPY_CHANGED_OWNERS, name, (struct str){0});
}

static void touch_claim(struct copy *copy, const struct claim *claim)
{
	if (claim->table == CLAIM_MEMBER_NAME)
		run_with_texts(copy, COPY_CHANGED_MEMBER, claim->key, claim->fields);
	else if (claim->table == CLAIM_OWNER_NAME)
		touch_record(copy, DIRECTORY_ADDRESS, claim->fields);
	else
		touch_record(copy, claim->table, claim->key);
}

static void set_claim(struct copy *copy, int64_t entry, const struct claim *claim)
{
	sqlite3_stmt *statement = copy->statements[COPY_CLAIM_SET];

	(void)sqlite3_bind_int(statement, 1, claim->table);
	copy_bind(statement, 2, claim->key);
	(void)sqlite3_bind_int64(statement, 3, entry);
	copy_bind_bytes(statement, 4, claim->fields);
	copy_run(copy, statement);
	touch_claim(copy, claim);
}

static void delete_claim(struct copy *copy, int64_t entry, const struct claim *claim)
{
	sqlite3_stmt *statement = copy->statements[COPY_CLAIM_DELETE];

	(void)sqlite3_bind_int(statement, 1, claim->table);
	copy_bind(statement, 2, claim->key);
	(void)sqlite3_bind_int64(statement, 3, entry);
	copy_run(copy, statement);
	touch_claim(copy, claim);
}

static void add_old(struct difference *difference, struct arena *arena, const struct claim *claim)
{
	struct claim old = {.table = claim->table,
			    .key = arena_copy_str(arena, claim->key),
			    .fields = arena_copy_str(arena, claim->fields)};

	buffer_append(&difference->old, &old, sizeof(old));
}

static bool step_claim(struct copy *copy, sqlite3_stmt *statement, struct claim *claim_out)
{
	if (!copy_step(copy, statement))
		return false;
	*claim_out = (struct claim){.table = sqlite3_column_int(statement, 0),
				    .key = copy_column(statement, 1),
				    .fields = copy_column(statement, 2)};
	return true;
}

/* Compares both sides in one pass, as both are in order. */
static void find_difference(struct copy *copy, int64_t entry, const struct mapping *mapping,
			    struct difference *difference)
{
	sqlite3_stmt *statement = copy->statements[COPY_CLAIMS];
	struct claim old;
	bool has_old;
	size_t i = 0;

	(void)sqlite3_bind_int64(statement, 1, entry);
	has_old = step_claim(copy, statement, &old);
	while (has_old || i < mapping->claim_count) {
		const struct claim *new = &mapping->claims[i];
		int order = !has_old                    ? 1
			    : i == mapping->claim_count ? -1
							: claim_compare(&old, new);
		bool is_same = order == 0 && str_equal(old.fields, new->fields);

		if (order <= 0 && !is_same)
			add_old(difference, copy->arena, &old);
		if (order >= 0 && !is_same)
			buffer_append(&difference->new, new, sizeof(*new));
		if (order >= 0)
			i++;
		if (order <= 0)
			has_old = step_claim(copy, statement, &old);
	}
}

/* Whether anything differed. */
static bool put_claims(struct copy *copy, int64_t entry, const struct mapping *mapping)
{
	struct difference difference = {0};
	const struct claim *claims;
	bool differs;

	find_difference(copy, entry, mapping, &difference);
	differs = difference.old.length + difference.new.length > 0;
	claims = (const struct claim *)(const void *)buffer_data(&difference.old);
	for (size_t i = 0; i < difference.old.length / sizeof(*claims); i++)
		delete_claim(copy, entry, &claims[i]);
	claims = (const struct claim *)(const void *)buffer_data(&difference.new);
	for (size_t i = 0; i < difference.new.length / sizeof(*claims); i++)
		set_claim(copy, entry, &claims[i]);
	buffer_clear(&difference.old);
	buffer_clear(&difference.new);
	return differs;
}

static void read_kept(struct copy *copy, sqlite3_stmt *statement, struct kept *kept_out)
{
	*kept_out = (struct kept){.id = sqlite3_column_int64(statement, 0),
				  .name = arena_copy_str(copy->arena, copy_column(statement, 1)),
				  .mail = arena_copy_str(copy->arena, copy_column(statement, 2))};
}

static bool find_copied_entry(struct copy *copy, const struct sync_uuid *uuid,
			      struct kept *kept_out)
{
	sqlite3_stmt *statement = copy->statements[COPY_ENTRY_FIND];

	copy_bind_bytes(statement, 1, str_slice((const char *)uuid->bytes, SYNC_UUID_SIZE));
	if (!copy_step(copy, statement))
		return false;
	read_kept(copy, statement, kept_out);
	copy_reset(statement);
	return true;
}

static void bind_mail(sqlite3_stmt *statement, int place, struct str mail)
{
	if (mail.length > 0)
		copy_bind(statement, place, mail);
	else
		(void)sqlite3_bind_null(statement, place);
}

static int64_t insert_copied_entry(struct copy *copy, const struct sync_uuid *uuid, struct str name,
				   struct str mail)
{
	sqlite3_stmt *statement = copy->statements[COPY_ENTRY_NEW];

	copy_bind_bytes(statement, 1, str_slice((const char *)uuid->bytes, SYNC_UUID_SIZE));
	copy_bind(statement, 2, name);
	bind_mail(statement, 3, mail);
	copy_run(copy, statement);
	touch_name(copy, name, mail);
	return sqlite3_last_insert_rowid(copy->database);
}

static void update_copied_entry(struct copy *copy, const struct kept *kept, struct str name,
				struct str mail)
{
	sqlite3_stmt *statement = copy->statements[COPY_ENTRY_SET];

	touch_name(copy, kept->name, kept->mail);
	(void)sqlite3_bind_int64(statement, 1, kept->id);
	copy_bind(statement, 2, name);
	bind_mail(statement, 3, mail);
	copy_run(copy, statement);
	touch_name(copy, name, mail);
}

/* Renames the entries below a renamed one, as servers report only the latter. */
static void move_below(struct copy *copy, struct str from, struct str to)
{
	sqlite3_stmt *statement = copy->statements[COPY_ENTRIES_BELOW];
	struct buffer found = {0};
	struct buffer name = {0};
	const struct kept *moved;
	struct kept kept;

	copy_bind(statement, 1, from);
	while (copy_step(copy, statement)) {
		read_kept(copy, statement, &kept);
		buffer_append(&found, &kept, sizeof(kept));
	}
	moved = (const struct kept *)(const void *)buffer_data(&found);
	for (size_t i = 0; i < found.length / sizeof(*moved); i++) {
		buffer_reset(&name);
		buffer_append_str(&name, to);
		buffer_append_str(&name, str_skip(moved[i].name, from.length));
		update_copied_entry(copy, &moved[i], buffer_view(&name), moved[i].mail);
	}
	buffer_clear(&found);
	buffer_clear(&name);
}

void copy_put(struct copy *copy, const struct sync_uuid *uuid, struct str name,
	      const struct mapping *mapping)
{
	struct kept kept = {0};
	bool differs = true;

	copy_begin(copy);
	arena_reset(copy->arena);
	if (!find_copied_entry(copy, uuid, &kept)) {
		kept.id = insert_copied_entry(copy, uuid, name, mapping->mail);
	} else if (!str_equal(kept.name, name) || !str_equal(kept.mail, mapping->mail)) {
		update_copied_entry(copy, &kept, name, mapping->mail);
		if (!str_equal(kept.name, name))
			move_below(copy, kept.name, name);
	} else {
		differs = false;
	}
	if (put_claims(copy, kept.id, mapping) || differs)
		copy->counts.entries++;
}

void copy_delete(struct copy *copy, const struct sync_uuid *uuid)
{
	const struct mapping nothing = {0};
	struct kept kept;

	copy_begin(copy);
	arena_reset(copy->arena);
	if (!find_copied_entry(copy, uuid, &kept))
		return;
	(void)put_claims(copy, kept.id, &nothing);
	touch_name(copy, kept.name, kept.mail);
	(void)sqlite3_bind_int64(copy->statements[COPY_ENTRY_DELETE], 1, kept.id);
	copy_run(copy, copy->statements[COPY_ENTRY_DELETE]);
	copy->counts.deleted++;
}

static int compare_entry_uuids(const void *a, const void *b)
{
	return memcmp(a, b, SYNC_UUID_SIZE);
}

void copy_keep_only(struct copy *copy, const struct sync_uuid *uuids, size_t count)
{
	sqlite3_stmt *statement = copy->statements[COPY_ENTRIES_ALL];
	struct buffer gone = {0};
	const struct sync_uuid *deleted;

	copy_begin(copy);
	while (copy_step(copy, statement)) {
		struct str uuid = copy_column(statement, 0);

		if (uuid.length == SYNC_UUID_SIZE &&
		    (count == 0 ||
		     bsearch(uuid.data, uuids, count, sizeof(*uuids), compare_entry_uuids) == NULL))
			buffer_append_str(&gone, uuid);
	}
	deleted = (const struct sync_uuid *)(const void *)buffer_data(&gone);
	for (size_t i = 0; i < gone.length / sizeof(*deleted); i++)
		copy_delete(copy, &deleted[i]);
	buffer_clear(&gone);
}
