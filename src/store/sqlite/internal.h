// SPDX-License-Identifier: ISC
/* store/sqlite/internal.h - between the parts of store/sqlite/sqlite.h. */
#ifndef STORE_SQLITE_INTERNAL_H
#define STORE_SQLITE_INTERNAL_H

#include "os/file_watch.h"
#include "store/sqlite/sqlite.h"
#include "store/sqlite/statement.h"
#include <sqlite3.h>

enum {
	SQLITE_STORE_SCHEMA = 4,
	SQLITE_STORE_BUSY_MS = 100, /* that a read waits where another process recovers the log */
};

enum data_statement {
	DATA_BEGIN,
	DATA_BEGIN_WRITE,
	DATA_COMMIT,
	DATA_ROLLBACK,
	DATA_VERSION,
	DATA_META,
	DATA_SET_VERSION,
	DATA_LOG,
	DATA_CHANGES,
	DATA_OLDEST,
	DATA_PRUNE,
	DATA_LIST_MEMBERS,     /* of one list */
	DATA_LIST_MEMBERSHIPS, /* of one member */
	DATA_COUNT,            /* domains and addresses */
	DATA_STATEMENTS,
};

struct sqlite_change;

struct sqlite_place {
	uint64_t device, inode;
};

struct sqlite_store {
	struct directory_store base;
	struct os_loop *loop;
	char *path;
	sqlite3 *database;                    /* NULL: the file is away */
	bool is_followed;                     /* file.c */
	struct sqlite_place place, log_place; /* of the file and its log, when they were open */
	struct buffer away;                   /* why, as it was logged */
	struct directory_schema schemas[DIRECTORY_LISTED_TABLES];
	sqlite3_stmt *rows[DIRECTORY_LISTED_TABLES][SQLITE_STATEMENTS]; /* or NULL */
	sqlite3_stmt *data[DATA_STATEMENTS];
	struct os_timer *poll;
	struct os_file_watch *watch; /* of the log: somebody writes; NULL: that is not told */
	struct os_timer *soon;       /* to look whether that is committed */
	int64_t soon_us;             /* between two looks */
	int64_t soon_until_us;       /* monotonic */
	int64_t data_version;        /* of the file, when it was followed last */
	uint64_t pruned_version;     /* when the log was cut */
	bool is_batch;               /* between begin and end */
	bool is_reading;             /* in a transaction for that */
	unsigned told_count;         /* bad records that were logged since the last poll */
	bool has_failed_read, has_failed_change; /* that was logged, and none has succeeded since */
	struct buffer scratch;
	struct arena *spare;           /* for one answer at a time; others make their own */
	struct os_task first;          /* tells the handler that we are up */
	struct os_task commit;         /* at the end of the turn */
	struct os_timer *retry;        /* of the commit, while others write */
	int64_t retry_until_us;        /* 0: not begun */
	struct sqlite_change *waiting; /* calls, in their order */
};

/* schema.c: makes the schema where there is none, else checks whose it is. */
MUST_CHECK int sqlite_schema_prepare(struct sqlite_store *store, struct buffer *why);

/* schema_write.c */

/* Of a new file. */
void sqlite_schema_write_tables(const struct sqlite_store *store, struct buffer *out);
/* In place of those that an earlier version made. */
void sqlite_schema_write_triggers(const struct sqlite_store *store, struct buffer *out);

/* open.c: the file, which is made where that is allowed, and all that is prepared on it. 0; or as
 * store_sqlite_open(), and then nothing is open. */
MUST_CHECK int sqlite_open(struct sqlite_store *store, struct buffer *why);
void sqlite_close(struct sqlite_store *store);

/* place.c */

/* Of the file at PATH; zeroed: there is none. */
struct sqlite_place sqlite_place_of(const char *path);
bool sqlite_place_is_same(const struct sqlite_place *a, const struct sqlite_place *b);
/* Of the log; PATH is where. */
struct sqlite_place sqlite_place_of_log(const struct sqlite_store *store, struct buffer *path);
/* Of a file that is not the one of before: SQLite would take it for that of this one. */
void sqlite_place_remove_log(const struct sqlite_store *store);
/* Why there is no file to open that has data, or may be made. */
MUST_CHECK int sqlite_file_check(const struct sqlite_store *store, struct buffer *why);
/* It is open: remembers which it is. */
void sqlite_file_opened(struct sqlite_store *store);
/* Logs, once, why the file cannot be opened. */
void sqlite_file_away(struct sqlite_store *store, const struct buffer *why);

/* file.c */

/* Whether the open file has lost its name, or what was in it; then it is closed and the handler
 * told. */
bool sqlite_file_leave(struct sqlite_store *store);
/* Opens what is at the path now, if anything is. */
void sqlite_file_return(struct sqlite_store *store);

/* table.c */

int sqlite_table_prepare(struct sqlite_store *store); /* SQLITE_OK or an error */
/* -errno for an error of SQLite on this connection. */
int sqlite_errno(const struct sqlite_store *store, int error);
/* The same, said in the log; OPERATION: "get". */
int sqlite_failed(struct sqlite_store *store, int error, const char *operation);
void sqlite_bind(sqlite3_stmt *statement, int place, struct str text);
/* The first one or two places, from PLACE on; the number of the next. */
int sqlite_bind_key(sqlite3_stmt *statement, int place, const struct directory_key *key);
struct str sqlite_column(sqlite3_stmt *statement, int column);
/* Runs a statement that has no rows, and resets it: SQLITE_OK or an error. */
MUST_CHECK int sqlite_run(sqlite3_stmt *statement);
/* The record of KEY, that was asked for, in the row where STATEMENT stands: its children with
 * it, in memory of ARENA, but KEY's name, which is not copied. SQLITE_OK and *RECORD_OUT, or
 * NULL: it is malformed, and was logged; or an error. */
MUST_CHECK int sqlite_row(struct sqlite_store *store, sqlite3_stmt *statement,
			  const struct directory_key *key, struct arena *arena,
			  const struct directory_record **record_out);
/* The same of a row whose first columns are the key, *FOUND_OUT's, with the reason for NULL. */
MUST_CHECK int sqlite_listed_row(struct sqlite_store *store, sqlite3_stmt *statement,
				 enum directory_table table, struct arena *arena,
				 const struct directory_record **record_out,
				 struct directory_malformed *found_out);

/* transaction.c */

/* Begins a transaction that writes, or SQLITE_BUSY at once. */
MUST_CHECK int sqlite_begin_write(struct sqlite_store *store);
void sqlite_roll_back(struct sqlite_store *store);
/* Ends the transaction of reading, which begins again where it is needed. */
void sqlite_end_reading(struct sqlite_store *store);
/* For one answer. */
struct arena *sqlite_take_arena(struct sqlite_store *store);
void sqlite_give_arena(struct sqlite_store *store, struct arena *arena);
/* Version and identity as they stand in the file: SQLITE_OK or an error. */
MUST_CHECK int sqlite_meta(struct sqlite_store *store, uint64_t *version_out,
			   struct str *identity_out, struct arena *arena);
/* The file is closed: nothing of it is watched. */
void sqlite_unwatch(struct sqlite_store *store);

/* read.c */

void sqlite_get(struct directory_store *base, const struct directory_key *keys, size_t count,
		directory_got *got, void *context);
void sqlite_list(struct directory_store *base, enum directory_table table, struct str prefix,
		 struct str after, size_t limit, directory_listed *listed, void *context);
void sqlite_begin(struct directory_store *base);
void sqlite_end(struct directory_store *base);
void sqlite_count(struct directory_store *base, directory_counted *counted, void *context);

/* follow.c */

void sqlite_missed(struct directory_store *base, uint64_t version, size_t limit,
		   directory_missed *missed, void *context);
/* Tells of all changes since base.version, up to now. */
void sqlite_follow(struct sqlite_store *store);
/* The same if others have changed something; in the state that is read. */
void sqlite_notice(struct sqlite_store *store);
void sqlite_poll(void *context);
/* While somebody writes: looks again and again, for a while. */
void sqlite_look(void *context);

/* change.c */

void sqlite_change(struct directory_store *base, const struct directory_change *changes,
		   size_t count, directory_changed *changed, void *context);
void sqlite_commit(void *context);

#endif
