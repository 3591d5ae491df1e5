// SPDX-License-Identifier: ISC
#include "filing/record/sqlite/rebuild.h"
#include "base/panic.h"
#include "filing/record/sqlite/internal.h"
#include "filing/record/sqlite/sqlite.h"
#include "os/file/aside.h"
#include "os/file/file.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct record_rebuild {
	char *path, *locks;         /* of the old file */
	char *made;                 /* of the new one */
	sqlite3 *database;          /* the old one; NULL: it cannot be opened */
	struct buffer problem;      /* with a NUL */
	bool is_there, is_readable; /* the old one */
	bool is_finished;
};

static char *path_with(const char *path, const char *end)
{
	struct buffer text CLEANUP(buffer_clear) = {0};

	buffer_append_format(&text, "%s%s%c", path, end, '\0');
	return memory_copy_string(buffer_data(&text));
}

static void remove_made(const struct record_rebuild *rebuild)
{
	static const char *const ends[] = {"", "-wal", "-shm", "-lock"};

	for (size_t i = 0; i < COUNT_OF(ends); i++) {
		char *path = path_with(rebuild->made, ends[i]);

		(void)!os_file_unlink(OS_FILE_HERE, path);
		free(path);
	}
}

void record_rebuild_free(struct record_rebuild *rebuild)
{
	if (rebuild == NULL)
		return;
	(void)sqlite3_close(rebuild->database);
	if (!rebuild->is_finished)
		remove_made(rebuild);
	buffer_clear(&rebuild->problem);
	free(rebuild->path);
	free(rebuild->locks);
	free(rebuild->made);
	free(rebuild);
}

const char *record_rebuild_problem(const struct record_rebuild *rebuild)
{
	return rebuild->problem.length > 0 ? buffer_data(&rebuild->problem) : "";
}

/* ---- what is wrong ---- */

static void set_problem(struct record_rebuild *rebuild, const char *text)
{
	if (rebuild->problem.length > 0)
		return; /* what follows from the first says less */
	buffer_append_string(&rebuild->problem, text);
	buffer_append_byte(&rebuild->problem, '\0');
}

static int take_first_text(void *context, int columns, char **texts, char **names)
{
	struct buffer *text = context;

	(void)columns;
	(void)names;
	if (text->length == 0 && texts[0] != NULL)
		buffer_append_string(text, texts[0]);
	return 0;
}

/* The first text of the result of SQL, or what the database says instead. */
static void ask_old_record_file(struct record_rebuild *rebuild, const char *sql,
				struct buffer *text_out)
{
	if (sqlite3_exec(rebuild->database, sql, take_first_text, text_out, NULL) != SQLITE_OK &&
	    text_out->length == 0)
		buffer_append_string(text_out, sqlite3_errmsg(rebuild->database));
}

static void check_content(struct record_rebuild *rebuild)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	bool is_other = false;

	ask_old_record_file(rebuild, "PRAGMA integrity_check(1)", &text);
	buffer_append_byte(&text, '\0');
	if (strcmp(buffer_data(&text), "ok") != 0)
		set_problem(rebuild, buffer_data(&text));
	buffer_reset(&text);
	ask_old_record_file(rebuild,
			    "SELECT count(*) FROM sqlite_schema WHERE name = 'record_meta'", &text);
	if (str_equal(buffer_view(&text), STR("0")))
		set_problem(rebuild, "it has no record");
	if (record_sqlite_identify(rebuild->database, rebuild->locks, &is_other) == 0 && is_other) {
		set_problem(rebuild, "this is the record of another site");
		rebuild->is_readable = false; /* what it has is theirs */
	}
}

static int open_old_record_file(struct record_rebuild *rebuild, struct buffer *why)
{
	int error = sqlite3_open_v2(
		rebuild->path, &rebuild->database,
		SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);

	if (rebuild->database == NULL)
		panic("no memory for SQLite");
	if (error == SQLITE_OK) /* its log may be another file's by then */
		error = sqlite3_db_config(rebuild->database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1,
					  NULL);
	if (error == SQLITE_OK)
		error = sqlite3_busy_timeout(rebuild->database, RECORD_SQLITE_PATIENCE_MS);
	if (error == SQLITE_OK)
		error = sqlite3_exec(rebuild->database, "SELECT count(*) FROM sqlite_schema", NULL,
				     NULL, NULL);
	if ((error & 0xff) == SQLITE_NOTADB || (error & 0xff) == SQLITE_CORRUPT) {
		set_problem(rebuild, sqlite3_errmsg(rebuild->database));
		/* texts that cannot be understood are passed over, and so is the size */
		error = sqlite3_exec(rebuild->database, "PRAGMA writable_schema = ON", NULL, NULL,
				     NULL);
		rebuild->is_readable = error == SQLITE_OK;
		return 0;
	}
	rebuild->is_readable = error == SQLITE_OK;
	if (error == SQLITE_OK)
		return 0;
	buffer_append_format(why, "%s: %s", rebuild->path, sqlite3_errmsg(rebuild->database));
	return (error & 0xff) == SQLITE_BUSY ? -EBUSY : -EIO;
}

static int look_at_file(struct record_rebuild *rebuild, struct buffer *why)
{
	struct os_file_info info;
	int error = os_file_info_at(OS_FILE_HERE, rebuild->path, &info);
	struct os_file_info locks;

	rebuild->is_there = error == 0;
	if (error == -ENOENT) {
		if (os_file_info_at(OS_FILE_HERE, rebuild->locks, &locks) == 0)
			set_problem(rebuild, "the file is gone");
		return 0;
	}
	if (error < 0) {
		buffer_append_format(why, "%s: %s", rebuild->path, strerror(-error));
		return error;
	}
	if (info.size == 0) {
		set_problem(rebuild, "the file is empty");
		return 0;
	}
	error = open_old_record_file(rebuild, why);
	if (error == 0 && rebuild->problem.length == 0)
		check_content(rebuild);
	return error;
}

/* So that nothing is filed that the new record would not know. */
static int lock_old(struct record_rebuild *rebuild, struct buffer *why)
{
	int error = SQLITE_OK;

	if (rebuild->database != NULL && rebuild->problem.length > 0)
		error = sqlite3_exec(rebuild->database, "BEGIN IMMEDIATE", NULL, NULL, NULL);
	if ((error & 0xff) != SQLITE_BUSY)
		return 0; /* what cannot be locked for its damage, nobody can write */
	buffer_append_format(why, "%s: somebody writes to it", rebuild->path);
	return -EBUSY;
}

int record_rebuild_new(const char *path, struct record_rebuild **out, struct buffer *why)
{
	struct record_rebuild *rebuild = memory_alloc_zero(1, sizeof *rebuild);
	int error;

	rebuild->path = memory_copy_string(path);
	rebuild->locks = path_with(path, "-lock");
	rebuild->made = path_with(path, ".rebuilt");
	error = look_at_file(rebuild, why);
	if (error == 0)
		error = lock_old(rebuild, why);
	if (error < 0) {
		rebuild->is_finished = true; /* the new one may be another command's */
		record_rebuild_free(rebuild);
		return error;
	}
	*out = rebuild;
	return 0;
}

/* ---- the rows that can be read ---- */

static const char *const TABLES[] = {"mailbox",  "message", "participant", "part",
				     "decision", "filing",  "attempt"};

/* What refers to rows that were not saved, and what cannot be as it is. */
static const char ORPHANS[] =
	"DELETE FROM message WHERE typeof(message_id) <> 'text' OR typeof(digest) <> 'blob'"
	" OR length(digest) <> 32;"
	"DELETE FROM filing WHERE state NOT IN ('filing', 'filed')"
	" OR message NOT IN (SELECT number FROM message)"
	" OR mailbox NOT IN (SELECT number FROM mailbox);"
	"DELETE FROM participant WHERE message NOT IN (SELECT number FROM message);"
	"DELETE FROM part WHERE message NOT IN (SELECT number FROM message);"
	"DELETE FROM decision WHERE message NOT IN (SELECT number FROM message);"
	"DELETE FROM attempt WHERE filing NOT IN (SELECT number FROM filing);";

static int insert_row(sqlite3 *made, const char *table, sqlite3_stmt *row, sqlite3_stmt **insert)
{
	int columns = sqlite3_column_count(row);
	struct buffer sql CLEANUP(buffer_clear) = {0};
	int error = SQLITE_OK;

	if (*insert == NULL) {
		buffer_append_format(&sql, "INSERT OR IGNORE INTO %s VALUES(", table);
		for (int i = 1; i <= columns; i++)
			buffer_append_format(&sql, "%s?%d", i > 1 ? ", " : "", i);
		buffer_append_format(&sql, ")%c", '\0');
		error = sqlite3_prepare_v2(made, buffer_data(&sql), -1, insert, NULL);
	}
	for (int i = 0; i < columns && error == SQLITE_OK; i++)
		error = sqlite3_bind_value(*insert, i + 1, sqlite3_column_value(row, i));
	if (error == SQLITE_OK)
		error = sqlite3_step(*insert);
	(void)sqlite3_reset(*insert);
	return error == SQLITE_DONE ? SQLITE_OK : error;
}

/* The old file's error; *MADE_ERROR is the new one's. */
static int copy_one_way(struct record_rebuild *rebuild, sqlite3 *made, const char *table,
			const char *order, int *made_error)
{
	struct buffer sql CLEANUP(buffer_clear) = {0};
	sqlite3_stmt *row = NULL;
	sqlite3_stmt *insert = NULL;
	int error;

	buffer_append_format(&sql, "SELECT * FROM %s ORDER BY rowid %s%c", table, order, '\0');
	error = sqlite3_prepare_v2(rebuild->database, buffer_data(&sql), -1, &row, NULL);
	while (error == SQLITE_OK && *made_error == SQLITE_OK &&
	       (error = sqlite3_step(row)) == SQLITE_ROW) {
		*made_error = insert_row(made, table, row, &insert);
		error = SQLITE_OK;
	}
	(void)sqlite3_finalize(row);
	(void)sqlite3_finalize(insert);
	return error == SQLITE_DONE ? SQLITE_OK : error;
}

static int copy_rows(struct record_rebuild *rebuild, sqlite3 *made)
{
	int error =
		sqlite3_exec(made, "PRAGMA foreign_keys = OFF; BEGIN IMMEDIATE", NULL, NULL, NULL);

	for (size_t i = 0; i < COUNT_OF(TABLES) && error == SQLITE_OK; i++)
		if (copy_one_way(rebuild, made, TABLES[i], "ASC", &error) != SQLITE_OK)
			(void)copy_one_way(rebuild, made, TABLES[i], "DESC", &error);
	if (error == SQLITE_OK)
		error = sqlite3_exec(made, ORPHANS, NULL, NULL, NULL);
	return error == SQLITE_OK ? sqlite3_exec(made, "COMMIT", NULL, NULL, NULL) : error;
}

static int take_count_of_rows(void *context, int columns, char **texts, char **names)
{
	(void)columns;
	(void)names;
	*(uint64_t *)context = strtoull(texts[0], NULL, 10);
	return 0;
}

/* The new one is the record of the locks that are there. */
static int give_identity(struct record_rebuild *rebuild, sqlite3 *made)
{
	char identity[RECORD_SQLITE_IDENTITY_SIZE];
	sqlite3_stmt *statement = NULL;
	int error;

	if (record_sqlite_read_identity(rebuild->locks, identity) < 0 || identity[0] == '\0')
		return SQLITE_OK;
	error = sqlite3_prepare_v2(
		made, "UPDATE record_meta SET program = ?1 WHERE program LIKE 'site %'", -1,
		&statement, NULL);
	if (error == SQLITE_OK)
		error = sqlite3_bind_text(statement, 1, identity, -1, SQLITE_STATIC);
	if (error == SQLITE_OK)
		error = sqlite3_step(statement);
	(void)sqlite3_finalize(statement);
	return error == SQLITE_DONE ? SQLITE_OK : error;
}

static int save_rows(struct record_rebuild *rebuild, uint64_t *messages_out, struct buffer *why)
{
	sqlite3 *made = NULL;
	int error = sqlite3_open_v2(rebuild->made, &made,
				    SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);

	if (error == SQLITE_OK && rebuild->is_readable)
		error = copy_rows(rebuild, made);
	if (error == SQLITE_OK)
		error = sqlite3_exec(made, "SELECT count(*) FROM message", take_count_of_rows,
				     messages_out, NULL);
	if (error == SQLITE_OK)
		error = give_identity(rebuild, made);
	if (error != SQLITE_OK)
		buffer_append_format(why, "%s: %s", rebuild->made, sqlite3_errmsg(made));
	(void)sqlite3_close(made);
	return error == SQLITE_OK ? 0 : -EIO;
}

int record_rebuild_make(struct record_rebuild *rebuild, struct record **record_out,
			uint64_t *messages_out, struct buffer *why)
{
	struct record *record = record_sqlite_new(rebuild->made);
	int error;

	remove_made(rebuild);         /* of a rebuild that was broken off */
	error = record_begin(record); /* makes its tables */
	if (error < 0)
		buffer_append_string(why, record_error(record));
	record_rollback(record);
	if (error == 0)
		error = save_rows(rebuild, messages_out, why);
	if (error < 0) {
		record_free(record);
		return error;
	}
	*record_out = record;
	return 0;
}

/* ---- its place ---- */

static int sync_made(const struct record_rebuild *rebuild)
{
	int file = os_file_open(OS_FILE_HERE, rebuild->made, OS_FILE_WRITE);
	int error = file < 0 ? file : os_file_sync(file);

	os_file_close(file);
	return error;
}

/* Where there is no old file, what is left of it must not be taken for the new one's. */
static int take_place_of_old_file(struct record_rebuild *rebuild)
{
	static const char *const ends[] = {"-wal", "-shm"};

	for (size_t i = 0; i < COUNT_OF(ends); i++) {
		char *path = path_with(rebuild->path, ends[i]);

		(void)!os_file_unlink(OS_FILE_HERE, path);
		free(path);
	}
	return os_file_rename(OS_FILE_HERE, rebuild->made, rebuild->path);
}

int record_rebuild_finish(struct record_rebuild *rebuild, struct buffer *kept, struct buffer *why)
{
	int error = sync_made(rebuild);

	if (error == 0)
		error = rebuild->is_there ? os_file_set_aside(rebuild->path, rebuild->made, kept)
					  : take_place_of_old_file(rebuild);
	if (error < 0) {
		buffer_append_format(why, "%s: %s", rebuild->made, strerror(-error));
		return error;
	}
	remove_made(rebuild); /* its locks */
	rebuild->is_finished = true;
	return 0;
}
