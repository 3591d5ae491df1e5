// SPDX-License-Identifier: ISC
#include "base/panic.h"
#include "directory/store/ldap/copy/internal.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* the tables of directory/record/record.h and directory/store/ldap/map/map.h, as SQL literals */
#define ADDRESS     "2"
#define MEMBER      "3"
#define MEMBER_NAME "100"
#define OWNER_NAME  "101"
_Static_assert(DIRECTORY_ADDRESS == 2 && DIRECTORY_MEMBER == 3 && CLAIM_MEMBER_NAME == 100 &&
		       CLAIM_OWNER_NAME == 101 && (int)DIRECTORY_TABLES < (int)CLAIM_MEMBER_NAME,
	       "numbers in SQL");

static const char SCHEMA[] =
	"CREATE TABLE IF NOT EXISTS ldap_state(name TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS ldap_entry(id INTEGER PRIMARY KEY, uuid BLOB NOT NULL UNIQUE,"
	" dn TEXT NOT NULL, mail TEXT);"
	"CREATE INDEX IF NOT EXISTS ldap_entry_dn ON ldap_entry(dn);"
	"CREATE INDEX IF NOT EXISTS ldap_entry_mail ON ldap_entry(mail) WHERE mail IS NOT NULL;"
	"CREATE TABLE IF NOT EXISTS ldap_claim(tbl INTEGER, key TEXT, entry INTEGER, fields BLOB,"
	" PRIMARY KEY(tbl, key, entry)) WITHOUT ROWID;"
	"CREATE INDEX IF NOT EXISTS ldap_claim_entry ON ldap_claim(entry);"
	"CREATE TABLE IF NOT EXISTS ldap_changed(tbl INTEGER, key TEXT, PRIMARY KEY(tbl, key))"
	" WITHOUT ROWID;"
	/* before there was a table "node", which has number 6 */
	"BEGIN IMMEDIATE;"
	"UPDATE ldap_claim SET tbl = tbl + 94 WHERE tbl IN (6, 7)"
	" AND NOT EXISTS (SELECT 1 FROM ldap_state WHERE name = 'claims');"
	"INSERT OR IGNORE INTO ldap_state(name, value) VALUES('claims', '100');"
	"COMMIT;";

static const char *const SQL[COPY_STATEMENTS] = {
	[COPY_BEGIN] = "BEGIN IMMEDIATE",
	[COPY_COMMIT] = "COMMIT",
	[COPY_ROLLBACK] = "ROLLBACK",
	[COPY_STATE_GET] = "SELECT value FROM ldap_state WHERE name = ?1",
	[COPY_STATE_SET] = "INSERT OR REPLACE INTO ldap_state(name, value) VALUES(?1, ?2)",
	[COPY_ENTRY_COUNT] = "SELECT count(*) FROM ldap_entry",
	[COPY_ENTRY_FIND] = "SELECT id, dn, mail FROM ldap_entry WHERE uuid = ?1",
	[COPY_ENTRY_NEW] = "INSERT INTO ldap_entry(uuid, dn, mail) VALUES(?1, ?2, ?3)",
	[COPY_ENTRY_SET] = "UPDATE ldap_entry SET dn = ?2, mail = ?3 WHERE id = ?1",
	[COPY_ENTRY_DELETE] = "DELETE FROM ldap_entry WHERE id = ?1",
	/* '-' is the byte after ',' */
	[COPY_ENTRIES_BELOW] = "SELECT id, dn, mail FROM ldap_entry"
			       " WHERE dn > ?1 || ',' AND dn < ?1 || '-'",
	[COPY_ENTRIES_ALL] = "SELECT uuid FROM ldap_entry",
	[COPY_CLAIMS] =
		"SELECT tbl, key, fields FROM ldap_claim WHERE entry = ?1 ORDER BY tbl, key",
	[COPY_CLAIM_SET] = "INSERT OR REPLACE INTO ldap_claim(tbl, key, entry, fields)"
			   " VALUES(?1, ?2, ?3, ?4)",
	[COPY_CLAIM_DELETE] = "DELETE FROM ldap_claim WHERE tbl = ?1 AND key = ?2 AND entry = ?3",
	[COPY_CHANGED] = "INSERT OR IGNORE INTO ldap_changed(tbl, key) VALUES(?1, ?2)",
	/* list ?2 gains or loses the member with the name ?1 */
	[COPY_CHANGED_MEMBER] = "INSERT OR IGNORE INTO ldap_changed(tbl, key)"
				" SELECT " MEMBER ", ?2 || ' ' || mail FROM ldap_entry"
				" WHERE dn = ?1 AND mail IS NOT NULL",
	/* the entry with the name ?1 gains or loses the address ?2 */
	[COPY_CHANGED_MEMBERS] = "INSERT OR IGNORE INTO ldap_changed(tbl, key)"
				 " SELECT " MEMBER ", fields || ' ' || ?2 FROM ldap_claim"
				 " WHERE tbl = " MEMBER_NAME " AND key = ?1",
	[COPY_CHANGED_OWNERS] = "INSERT OR IGNORE INTO ldap_changed(tbl, key)"
				" SELECT " ADDRESS ", CAST(fields AS TEXT) FROM ldap_claim"
				" WHERE tbl = " OWNER_NAME " AND key = ?1",
	[COPY_CHANGED_ALL] = "SELECT tbl, key FROM ldap_changed",
	[COPY_CHANGED_NONE] = "DELETE FROM ldap_changed",
	[COPY_CLAIMANTS] = "SELECT claim.fields, claim.entry, entry.dn FROM ldap_claim AS claim"
			   " JOIN ldap_entry AS entry ON entry.id = claim.entry"
			   " WHERE claim.tbl = ?1 AND claim.key = ?2 ORDER BY entry.dn LIMIT 2",
	[COPY_IS_MEMBER] =
		"SELECT 1 FROM ldap_entry AS entry JOIN ldap_claim AS claim"
		" ON claim.tbl = " MEMBER_NAME " AND claim.key = entry.dn AND claim.fields = ?1"
		" WHERE entry.mail = ?2 LIMIT 1",
	[COPY_OWNER] = "SELECT entry.mail FROM ldap_claim AS claim JOIN ldap_entry AS entry"
		       " ON entry.dn = claim.key WHERE claim.entry = ?1 AND claim.tbl = " OWNER_NAME
		       " AND entry.mail IS NOT NULL ORDER BY claim.key LIMIT 1",
};

/* --- opening --- */

static int fail_to_open_copy(struct copy *copy, const char *path, int error, struct buffer *why)
{
	buffer_append_format(why, "%s: %s", path, sqlite3_errmsg(copy->database));
	copy_close(copy);
	return copy_errno(error);
}

static int prepare_copy(struct copy *copy)
{
	int error = sqlite3_exec(copy->database, SCHEMA, NULL, NULL, NULL);

	for (int i = 0; i < COPY_STATEMENTS && error == SQLITE_OK; i++)
		error = sqlite3_prepare_v3(copy->database, SQL[i], -1, SQLITE_PREPARE_PERSISTENT,
					   &copy->statements[i], NULL);
	return error == SQLITE_OK ? copy_row_prepare(copy) : error;
}

static void get_state(struct copy *copy, const char *name, struct buffer *out)
{
	sqlite3_stmt *statement = copy->statements[COPY_STATE_GET];

	buffer_reset(out);
	copy_bind(statement, 1, str_from(name));
	if (copy_step(copy, statement)) {
		buffer_append_str(out, copy_column(statement, 0));
		copy_reset(statement);
	}
}

void copy_begin(struct copy *copy)
{
	if (copy->is_open || copy->error != 0)
		return;
	copy_run(copy, copy->statements[COPY_BEGIN]);
	copy->is_open = copy->error == 0;
}

static void set_state(struct copy *copy, const char *name, struct str value)
{
	sqlite3_stmt *statement = copy->statements[COPY_STATE_SET];

	copy_begin(copy);
	copy_bind(statement, 1, str_from(name));
	copy_bind_bytes(statement, 2, value);
	copy_run(copy, statement);
}

static void keep_cookie(struct copy *copy)
{
	buffer_reset(&copy->cookie_kept);
	buffer_append_str(&copy->cookie_kept, buffer_view(&copy->cookie));
}

/* Forgets the cookie if the copy was made with other settings; its data stay until the reload. */
static int check_shape_of_copy(struct copy *copy, struct str shape)
{
	struct copy_counts counts = {0};
	struct buffer text = {0};
	uint64_t fresh = 0;

	get_state(copy, "fresh", &text);
	if (str_to_u64(buffer_view(&text), &fresh))
		copy->fresh_us = (int64_t)fresh;
	get_state(copy, "cookie", &copy->cookie);
	get_state(copy, "shape", &text);
	if (!str_equal(buffer_view(&text), shape)) {
		set_state(copy, "shape", shape);
		copy_set_cookie(copy, (struct str){0});
	}
	buffer_clear(&text);
	keep_cookie(copy);
	return copy_commit(copy, &counts);
}

int copy_open(const char *path, struct str shape, copy_conflict *conflict, void *context,
	      struct copy **copy_out, struct buffer *why)
{
	struct copy *copy = memory_alloc_zero(1, sizeof(*copy));
	int error;

	*copy = (struct copy){.conflict = conflict, .context = context, .arena = arena_new()};
	error = sqlite3_open_v2(path, &copy->database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
				NULL);
	if (error == SQLITE_OK)
		error = sqlite3_exec(copy->database,
				     "PRAGMA busy_timeout = 10000; PRAGMA synchronous = FULL;"
				     "PRAGMA temp_store = MEMORY; PRAGMA cache_size = -32000;"
				     "PRAGMA journal_size_limit = 67108864;",
				     NULL, NULL, NULL);
	if (error == SQLITE_OK)
		error = prepare_copy(copy);
	if (error != SQLITE_OK)
		return fail_to_open_copy(copy, path, error, why);
	error = check_shape_of_copy(copy, shape);
	if (error < 0) {
		buffer_append_format(why, "%s: %s", path, copy->error_text);
		copy_close(copy);
		return error;
	}
	*copy_out = copy;
	return 0;
}

void copy_close(struct copy *copy)
{
	if (copy == NULL)
		return;
	for (int i = 0; i < COPY_STATEMENTS; i++)
		(void)sqlite3_finalize(copy->statements[i]);
	for (int table = 0; table < DIRECTORY_TABLES; table++)
		for (int i = 0; i < SQLITE_STATEMENTS; i++)
			(void)sqlite3_finalize(copy->rows[table][i]);
	(void)sqlite3_close(copy->database);
	arena_free(copy->arena);
	buffer_clear(&copy->cookie);
	buffer_clear(&copy->cookie_kept);
	free(copy);
}

/* --- state --- */

struct str copy_cookie(const struct copy *copy)
{
	return buffer_view(&copy->cookie);
}

int64_t copy_fresh_us(const struct copy *copy)
{
	return copy->fresh_us;
}

uint64_t copy_entry_count(struct copy *copy)
{
	sqlite3_stmt *statement = copy->statements[COPY_ENTRY_COUNT];
	uint64_t count = 0;

	if (copy_step(copy, statement)) {
		count = (uint64_t)sqlite3_column_int64(statement, 0);
		copy_reset(statement);
	}
	return count;
}

void copy_set_cookie(struct copy *copy, struct str cookie)
{
	struct buffer text = {0};

	buffer_append_str(&text, cookie);
	set_state(copy, "cookie", buffer_view(&text));
	buffer_clear(&copy->cookie);
	copy->cookie = text;
}

void copy_set_fresh(struct copy *copy, int64_t wall_us)
{
	struct buffer text = {0};

	buffer_append_number(&text, (uint64_t)wall_us);
	set_state(copy, "fresh", buffer_view(&text));
	copy->fresh_us = wall_us;
	buffer_clear(&text);
}

/* --- the end of a transaction --- */

void copy_rollback(struct copy *copy)
{
	copy->error = 0;
	if (copy->is_open && sqlite3_get_autocommit(copy->database) == 0)
		copy_run(copy, copy->statements[COPY_ROLLBACK]);
	copy->error = 0;
	copy->is_open = false;
	copy->counts = (struct copy_counts){0};
	buffer_reset(&copy->cookie);
	buffer_append_str(&copy->cookie, buffer_view(&copy->cookie_kept));
}

int copy_commit(struct copy *copy, struct copy_counts *counts)
{
	int error;

	if (copy->is_open) {
		copy_derive(copy);
		copy_run(copy, copy->statements[COPY_COMMIT]);
	}
	error = copy->error;
	if (error < 0) {
		copy_rollback(copy);
		return error;
	}
	copy->is_open = false;
	keep_cookie(copy);
	counts->entries += copy->counts.entries;
	counts->deleted += copy->counts.deleted;
	counts->records += copy->counts.records;
	copy->counts = (struct copy_counts){0};
	return 0;
}

const char *copy_error_text(const struct copy *copy)
{
	return copy->error_text;
}
