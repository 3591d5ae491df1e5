// SPDX-License-Identifier: ISC
/* The statements, and what each of them is given and gives. */
#include "directory/record/key.h"
#include "directory/store/sqlite/internal.h"
#include "log/event.h"
#include <errno.h>
#include <string.h>

static const char *const DATA[DATA_STATEMENTS] = {
	[DATA_BEGIN] = "BEGIN",
	[DATA_BEGIN_WRITE] = "BEGIN IMMEDIATE",
	[DATA_COMMIT] = "COMMIT",
	[DATA_ROLLBACK] = "ROLLBACK",
	[DATA_VERSION] = "PRAGMA data_version",
	[DATA_META] = "SELECT version, identity FROM meta",
	[DATA_SET_VERSION] = "UPDATE meta SET version = max(version, ?1), total = total + ?2",
	[DATA_LOG] = "INSERT INTO change(version, table_name, key) VALUES(?1, ?2, ?3)",
	[DATA_CHANGES] = "SELECT version, table_name, key FROM change WHERE version > ?1"
			 " ORDER BY version LIMIT ?2",
	[DATA_OLDEST] = "SELECT coalesce(min(version), 0) FROM change",
	[DATA_HAS_CHANGED] = "SELECT EXISTS (SELECT 1 FROM change WHERE version > ?1"
			     " AND key = ?3 AND table_name = ?2)"
			     " OR (SELECT coalesce(min(version), 0) FROM change) > ?1 + 1",
	/* keeps the last 100,000, and those of 7 days up to a million; examines only the
	 * oldest */
	[DATA_PRUNE] = "DELETE FROM change WHERE version IN (SELECT version FROM"
		       " (SELECT version, at FROM change ORDER BY version LIMIT 3000)"
		       " WHERE version <= ?1 - 100000 AND (version <= ?1 - 1000000"
		       " OR at < CAST(strftime('%s', 'now', '-7 days') AS INTEGER)))",
	[DATA_LIST_MEMBERS] = "SELECT list, member FROM member WHERE list = ?1"
			      " AND member >= ?2 AND member < ?3 ORDER BY member LIMIT ?4",
	[DATA_LIST_MEMBERSHIPS] = "SELECT member, list FROM member WHERE member = ?1"
				  " AND list >= ?2 AND list < ?3 ORDER BY list LIMIT ?4",
	[DATA_COUNT] = "SELECT (SELECT count(*) FROM domain) + (SELECT count(*) FROM address)",
	[DATA_SUM] = "SELECT sum FROM checksum WHERE table_name = ?1 AND key = ?2 AND member = ?3",
	[DATA_SUM_SET] = "INSERT OR REPLACE INTO checksum VALUES(?1, ?2, ?3, ?4)",
	[DATA_SUM_REMOVE] =
		"DELETE FROM checksum WHERE table_name = ?1 AND key = ?2 AND member = ?3",
	[DATA_SUMS_MISSING] = "SELECT table_name, key, member FROM checksum WHERE sum IS NULL"
			      " LIMIT ?1",
	[DATA_TOTAL_IS_RIGHT] =
		"SELECT (SELECT total FROM meta) = (SELECT coalesce(sum(sum), 0) FROM checksum)",
};

static int prepare_persistent_statement(struct sqlite_store *store, const char *sql,
					sqlite3_stmt **statement)
{
	return sqlite3_prepare_v3(store->database, sql, -1, SQLITE_PREPARE_PERSISTENT, statement,
				  NULL);
}

static int prepare_statement_for_rows(struct sqlite_store *store, enum directory_table table,
				      enum sqlite_statement which)
{
	struct buffer sql CLEANUP(buffer_clear) = {0};

	if (table == DIRECTORY_MEMBERSHIP && which != SQLITE_STATEMENT_LIST &&
	    which != SQLITE_STATEMENT_LIST_LOST)
		return SQLITE_OK;
	if (!sqlite_statement_write(which, &store->schemas[table], &sql))
		return SQLITE_OK;
	buffer_append_byte(&sql, '\0');
	return prepare_persistent_statement(store, buffer_data(&sql), &store->rows[table][which]);
}

int sqlite_table_prepare(struct sqlite_store *store)
{
	int first = SQLITE_OK;
	int error;

	for (unsigned table = DIRECTORY_NO_TABLE + 1; table < DIRECTORY_LISTED_TABLES; table++)
		for (unsigned i = 0; i < SQLITE_STATEMENTS; i++) {
			error = prepare_statement_for_rows(store, table, i);
			first = first == SQLITE_OK ? error : first;
		}
	for (int i = 0; i < DATA_STATEMENTS; i++) {
		error = prepare_persistent_statement(store, DATA[i], &store->data[i]);
		first = first == SQLITE_OK ? error : first;
	}
	return first;
}

const char *sqlite_reason(const struct sqlite_store *store, int error)
{
	return sqlite3_errcode(store->database) == SQLITE_OK ? sqlite3_errstr(error)
							     : sqlite3_errmsg(store->database);
}

int sqlite_errno(const struct sqlite_store *store, int error)
{
	int system = sqlite3_system_errno(store->database);

	switch (error & 0xff) {
	case SQLITE_OK:
		return 0;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_READONLY:
		return -EROFS;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -ETIMEDOUT;
	case SQLITE_IOERR:
	case SQLITE_CANTOPEN:
		return system == ENOSPC || system == EDQUOT              ? -ENOSPC
		       : system > 0 && (error & 0xff) == SQLITE_CANTOPEN ? -system
									 : -EIO;
	default:
		return -EIO;
	}
}

/* Once, until it is opened again. */
static void tell_damage(struct sqlite_store *store, int error)
{
	struct buffer reason CLEANUP(buffer_clear) = {0};

	if (store->is_damage_told)
		return;
	store->is_damage_told = true;
	buffer_append_format(&reason, "%s" SQLITE_STORE_ADVICE, sqlite3_errstr(error));
	log_event(EVENT_STORE_DAMAGED, log_string(path, store->path),
		  log_str(reason, buffer_view(&reason)));
}

int sqlite_failed(struct sqlite_store *store, int error, const char *operation)
{
	bool *has_failed = strcmp(operation, "change") == 0 ? &store->has_failed_change
							    : &store->has_failed_read;

	if (sqlite_is_damage(error))
		tell_damage(store, error);
	else if (!*has_failed)
		log_event(EVENT_STORE_ERROR, log_string(operation, operation),
			  log_string(path, store->path),
			  log_string(error, sqlite3_errmsg(store->database)));
	*has_failed = true;
	return sqlite_errno(store, error);
}

void sqlite_bind(sqlite3_stmt *statement, int place, struct str text)
{
	(void)sqlite3_bind_text(statement, place, text.length > 0 ? text.data : "",
				(int)text.length, SQLITE_STATIC);
}

int sqlite_bind_key(sqlite3_stmt *statement, int place, const struct directory_key *key)
{
	struct str list;
	struct str member;

	if (!directory_table_has_pairs(key->table)) {
		sqlite_bind(statement, place, key->name);
		return place + 1;
	}
	directory_key_member(key->name, &list, &member);
	sqlite_bind(statement, place, list);
	sqlite_bind(statement, place + 1, member);
	return place + 2;
}

struct str sqlite_column(sqlite3_stmt *statement, int column)
{
	/* as a blob, the bytes are not copied; as a text, they would be, to add a NUL */
	const char *text = sqlite3_column_blob(statement, column);

	if (text == NULL)
		return str_slice("", 0);
	return str_slice(text, (size_t)sqlite3_column_bytes(statement, column));
}

int sqlite_run(sqlite3_stmt *statement)
{
	int error = sqlite3_step(statement);

	(void)sqlite3_reset(statement);
	return error == SQLITE_DONE || error == SQLITE_ROW ? SQLITE_OK : error;
}
