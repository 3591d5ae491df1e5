// SPDX-License-Identifier: ISC
/* The file's tables: made, recognised, and refused when they are not ours. */
#include "os/random.h"
#include "store/sqlite/internal.h"
#include <errno.h>
#include <stdio.h>

enum { APPLICATION = 0x53746744 }; /* "StgD": file(1) and we know the file by it */

/* What the triggers do when a row with KEY of TABLE changes. */
#define NOTE(table, key)                                \
	" UPDATE meta SET version = version + 1;"       \
	" INSERT INTO change(version, table_name, key)" \
	" SELECT version, '" table "', " key " FROM meta;"

/* Triggers of the table NAME, whose rows belong to the record KEY of TABLE; REMOVED and RENAMED
 * are more that is done then. */
#define TRIGGERS(name, table, key_old, key_new, removed, renamed)                                 \
	"CREATE TRIGGER " name "_inserted AFTER INSERT ON \"" name                                \
	"\" BEGIN" NOTE(table, key_new) " END;"                                                   \
					"CREATE TRIGGER " name "_removed AFTER DELETE ON \"" name \
					"\" BEGIN" removed                                        \
					NOTE(table, key_old) " END;"                              \
							     "CREATE TRIGGER " name               \
							     "_updated AFTER UPDATE ON \"" name   \
							     "\" BEGIN" renamed                   \
							     NOTE(table, key_old)                 \
								     NOTE(table, key_new) " END;"

static const char SCHEMA[] =
	"CREATE TABLE meta(version INTEGER NOT NULL, identity TEXT NOT NULL,"
	" schema INTEGER NOT NULL);"
	"CREATE TABLE change(version INTEGER PRIMARY KEY, table_name TEXT NOT NULL,"
	" key TEXT NOT NULL, at INTEGER NOT NULL"
	" DEFAULT (CAST(strftime('%s', 'now') AS INTEGER)));"
	"CREATE TABLE domain(name TEXT PRIMARY KEY NOT NULL, kind TEXT NOT NULL, target TEXT,"
	" service TEXT) WITHOUT ROWID;"
	"CREATE TABLE address(address TEXT PRIMARY KEY NOT NULL, kind TEXT NOT NULL,"
	" service TEXT, \"user\" TEXT, mailbox TEXT, owner TEXT, verp TEXT, text TEXT,"
	" status TEXT, source TEXT) WITHOUT ROWID;"
	"CREATE TABLE target(address TEXT NOT NULL, position INTEGER NOT NULL DEFAULT 0,"
	" target TEXT NOT NULL, PRIMARY KEY(address, position)) WITHOUT ROWID;"
	"CREATE TABLE member(list TEXT NOT NULL, member TEXT NOT NULL,"
	" PRIMARY KEY(list, member)) WITHOUT ROWID;"
	"CREATE TABLE \"user\"(name TEXT PRIMARY KEY NOT NULL, server TEXT, fullname TEXT)"
	" WITHOUT ROWID;"
	"CREATE TABLE password(name TEXT NOT NULL, position INTEGER NOT NULL DEFAULT 0,"
	" password TEXT NOT NULL, PRIMARY KEY(name, position)) WITHOUT ROWID;"
	"CREATE TABLE server(name TEXT PRIMARY KEY NOT NULL, service TEXT NOT NULL)"
	" WITHOUT ROWID;"
	/* targets and passwords go where their record goes */
	TRIGGERS("domain", "domain", "OLD.name", "NEW.name", "",
		 "") TRIGGERS("address", "address", "OLD.address", "NEW.address",
			      " DELETE FROM target WHERE address = OLD.address;",
			      " UPDATE target SET address = NEW.address WHERE address = OLD.address"
			      " AND NEW.address <> OLD.address;")
		TRIGGERS("target", "address", "OLD.address", "NEW.address", "", "") TRIGGERS(
			"member", "member", "OLD.list || ' ' || OLD.member",
			"NEW.list || ' ' || NEW.member", "",
			"") TRIGGERS("user", "user", "OLD.name", "NEW.name",
				     " DELETE FROM password WHERE name = OLD.name;",
				     " UPDATE password SET name = NEW.name WHERE name = OLD.name"
				     " AND NEW.name <> OLD.name;")
			TRIGGERS("password", "user", "OLD.name", "NEW.name", "", "")
				TRIGGERS("server", "server", "OLD.name", "NEW.name", "", "");

static int execute(struct sqlite_store *store, const char *sql)
{
	return sqlite3_exec(store->database, sql, NULL, NULL, NULL);
}

/* The first number that SQL gives. */
static int number_of(struct sqlite_store *store, const char *sql, int64_t *number_out)
{
	sqlite3_stmt *statement = NULL;
	int error = sqlite3_prepare_v2(store->database, sql, -1, &statement, NULL);

	if (error == SQLITE_OK)
		error = sqlite3_step(statement);
	if (error == SQLITE_ROW) {
		*number_out = sqlite3_column_int64(statement, 0);
		error = SQLITE_OK;
	} else if (error == SQLITE_DONE) {
		error = SQLITE_CORRUPT;
	}
	(void)sqlite3_finalize(statement);
	return error;
}

struct file_marks {
	int64_t application;
	int64_t schema;
	int64_t objects; /* tables and others */
};

static int read_marks(struct sqlite_store *store, struct file_marks *marks)
{
	int error = number_of(store, "PRAGMA application_id", &marks->application);

	if (error == SQLITE_OK)
		error = number_of(store, "PRAGMA user_version", &marks->schema);
	if (error == SQLITE_OK)
		error = number_of(store, "SELECT count(*) FROM sqlite_schema", &marks->objects);
	return error;
}

/* A random one of version 4 (RFC 9562). */
static void make_identity(char identity[40])
{
	uint64_t high = os_random_u64();
	uint64_t low = os_random_u64();

	snprintf(identity, 40, "%08x-%04x-4%03x-%04x-%012llx", (unsigned)(high >> 32),
		 (unsigned)(high >> 16 & 0xffff), (unsigned)(high & 0xfff),
		 (unsigned)(low >> 48 & 0x3fff) | 0x8000,
		 (unsigned long long)(low & 0xffffffffffff));
}

/* Within a transaction, and again a look at what is there: somebody may have been faster. */
static int make(struct sqlite_store *store, struct file_marks *marks)
{
	char identity[40];
	char sql[200];
	int error = execute(store, "BEGIN IMMEDIATE");

	if (error != SQLITE_OK)
		return error;
	error = read_marks(store, marks);
	if (error == SQLITE_OK && marks->objects == 0) {
		make_identity(identity);
		error = execute(store, SCHEMA);
		snprintf(sql, sizeof sql,
			 "INSERT INTO meta VALUES(0, '%s', %d); PRAGMA application_id = %d;"
			 "PRAGMA user_version = %d",
			 identity, SQLITE_STORE_SCHEMA, APPLICATION, SQLITE_STORE_SCHEMA);
		if (error == SQLITE_OK)
			error = execute(store, sql);
		marks->application = APPLICATION;
		marks->schema = SQLITE_STORE_SCHEMA;
	}
	if (error == SQLITE_OK)
		error = execute(store, "COMMIT");
	if (error != SQLITE_OK)
		(void)execute(store, "ROLLBACK");
	return error;
}

static int say(struct sqlite_store *store, int error, struct buffer *why)
{
	buffer_append_format(why, "%s: %s", store->path,
			     error == SQLITE_NOTADB ? "this is no SQLite database"
						    : sqlite3_errmsg(store->database));
	return error == SQLITE_NOTADB ? -EINVAL : sqlite_errno(store, error);
}

int sqlite_schema_prepare(struct sqlite_store *store, struct buffer *why)
{
	struct file_marks marks = {0};
	int error = read_marks(store, &marks);

	if (error == SQLITE_OK && marks.objects == 0 && marks.application == 0)
		error = make(store, &marks);
	if (error != SQLITE_OK)
		return say(store, error, why);
	if (marks.application != APPLICATION) {
		buffer_append_format(why, "%s: this is another program's SQLite database",
				     store->path);
		return -EINVAL;
	}
	if (marks.schema != SQLITE_STORE_SCHEMA) {
		buffer_append_format(why, "%s: the data have schema %lld; this program knows %d",
				     store->path, (long long)marks.schema, SQLITE_STORE_SCHEMA);
		return -EINVAL;
	}
	return 0;
}
