// SPDX-License-Identifier: ISC
/* store/sqlite/internal.h - shared by the parts of store/sqlite/sqlite.h. */
#ifndef STORE_SQLITE_INTERNAL_H
#define STORE_SQLITE_INTERNAL_H

#include "os/file/watch.h"
#include "store/sqlite/sqlite.h"
#include "store/sqlite/statement.h"
#include <sqlite3.h>

enum {
	SQLITE_STORE_SCHEMA = 5,
	SQLITE_STORE_BUSY_MS = 100, /* a read's wait while another process recovers the log */
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
	sqlite3 *database;                    /* NULL: there is no usable file */
	bool is_followed;                     /* see file.c */
	struct sqlite_place place, log_place; /* of the file and its log, when they were opened */
	struct buffer away;                   /* why there is no file, as logged */
	struct directory_schema schemas[DIRECTORY_LISTED_TABLES];
	sqlite3_stmt *rows[DIRECTORY_LISTED_TABLES][SQLITE_STATEMENTS]; /* or NULL */
	sqlite3_stmt *data[DATA_STATEMENTS];
	struct os_timer *poll;
	struct os_file_watch *watch;       /* of the log: reports writers; NULL: not supported */
	struct os_file_watch *place_watch; /* of the file and its name; likewise */
	int64_t written_us;                /* monotonic: when anybody was last seen to write */
	struct os_timer *soon;             /* for the next poll after a write */
	int64_t soon_us;                   /* between two polls */
	int64_t soon_until_us;             /* monotonic */
	int64_t data_version;              /* of the file, when changes were last looked for */
	uint64_t pruned_version;           /* when the table "change" was last pruned */
	bool is_batch;                     /* between begin and end */
	bool is_reading;                   /* in a read transaction */
	unsigned told_count;               /* bad records logged since the last poll */
	bool has_failed_read, has_failed_change; /* logged, and none has succeeded since */
	struct buffer scratch;
	struct arena *spare;           /* for one answer at a time; others create their own */
	struct os_task first;          /* tells the handler that the store is up */
	struct os_task commit;         /* at the end of the turn */
	struct os_timer *retry;        /* of the commit, while another process writes */
	int64_t retry_until_us;        /* 0: not retrying */
	struct sqlite_change *waiting; /* calls, in order */
};

/* schema.c: creates the schema if the file is empty, else checks that the file is ours. */
MUST_CHECK int sqlite_schema_prepare(struct sqlite_store *store, struct buffer *why);

/* schema_write.c */

/* For a new file. */
void sqlite_schema_write_tables(const struct sqlite_store *store, struct buffer *out);
/* Replaces those of an earlier version. */
void sqlite_schema_write_triggers(const struct sqlite_store *store, struct buffer *out);

/* open.c: opens the file, creating it if allowed, and prepares it. 0; or, with nothing open, an
 * error as of store_sqlite_open(). */
MUST_CHECK int sqlite_open(struct sqlite_store *store, struct buffer *why);
void sqlite_close(struct sqlite_store *store);

/* place.c */

/* Of the file at PATH; zeroed: there is no file. */
struct sqlite_place sqlite_place_of(const char *path);
bool sqlite_place_is_same(const struct sqlite_place *a, const struct sqlite_place *b);
/* Of the log, whose path is appended to PATH. */
struct sqlite_place sqlite_place_of_log(const struct sqlite_store *store, struct buffer *path);
/* Removes a log that belongs to a previous file: SQLite would apply it to this one. */
void sqlite_place_remove_log(const struct sqlite_store *store);
/* Fails, with the reason, unless there is a file with data, or one may be created. */
MUST_CHECK int sqlite_file_check(const struct sqlite_store *store, struct buffer *why);
/* After opening: remembers which file it is. */
void sqlite_file_opened(struct sqlite_store *store);
/* Logs, once, why the file cannot be opened. */
void sqlite_file_away(struct sqlite_store *store, const struct buffer *why);

/* file.c */

/* If the open file has lost its name or its contents, closes it, tells the handler and returns
 * true. */
bool sqlite_file_leave(struct sqlite_store *store);
/* Opens the file that is now at the path, if there is one. */
void sqlite_file_return(struct sqlite_store *store);

/* table.c */

int sqlite_table_prepare(struct sqlite_store *store); /* SQLITE_OK or an error */
/* Converts an SQLite error on this connection to -errno. */
int sqlite_errno(const struct sqlite_store *store, int error);
/* Likewise, and logs it; OPERATION: "get". */
int sqlite_failed(struct sqlite_store *store, int error, const char *operation);
void sqlite_bind(sqlite3_stmt *statement, int place, struct str text);
/* Binds the one or two columns of the key from PLACE on; returns the next place. */
int sqlite_bind_key(sqlite3_stmt *statement, int place, const struct directory_key *key);
struct str sqlite_column(sqlite3_stmt *statement, int column);
/* Runs a statement that returns no rows, and resets it: SQLITE_OK or an error. */
MUST_CHECK int sqlite_run(sqlite3_stmt *statement);
/* Reads the record of KEY, which was asked for, from STATEMENT's present row, with its children,
 * into ARENA; KEY's name is not copied. SQLITE_OK, with *RECORD_OUT NULL if the record is
 * malformed, which is logged; or an error. */
MUST_CHECK int sqlite_row(struct sqlite_store *store, sqlite3_stmt *statement,
			  const struct directory_key *key, struct arena *arena,
			  const struct directory_record **record_out);
/* Likewise for a row whose first columns are the key, *FOUND_OUT; with the reason if NULL. */
MUST_CHECK int sqlite_listed_row(struct sqlite_store *store, sqlite3_stmt *statement,
				 enum directory_table table, struct arena *arena,
				 const struct directory_record **record_out,
				 struct directory_malformed *found_out);

/* transaction.c */

/* Begins a write transaction; SQLITE_BUSY at once if another process writes. */
MUST_CHECK int sqlite_begin_write(struct sqlite_store *store);
void sqlite_roll_back(struct sqlite_store *store);
/* Ends the read transaction; a new one begins when needed. */
void sqlite_end_reading(struct sqlite_store *store);
/* An arena for one answer. */
struct arena *sqlite_take_arena(struct sqlite_store *store);
void sqlite_give_arena(struct sqlite_store *store, struct arena *arena);
/* Version and identity in the file: SQLITE_OK or an error. */
MUST_CHECK int sqlite_meta(struct sqlite_store *store, uint64_t *version_out,
			   struct str *identity_out, struct arena *arena);
/* Stops watching, as the file is closed. */
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
/* Reports all changes since base.version. */
void sqlite_follow(struct sqlite_store *store);
/* Likewise if others have changed something; within the present read transaction. SQLITE_OK or an
 * error: then some changes are not reported, until a later call. */
MUST_CHECK int sqlite_notice(struct sqlite_store *store);
void sqlite_poll(void *context);
/* Polls for a while after somebody has begun to write. */
void sqlite_look(void *context);

/* change.c */

void sqlite_change(struct directory_store *base, const struct directory_change *changes,
		   size_t count, directory_changed *changed, void *context);
void sqlite_commit(void *context);

#endif
