// SPDX-License-Identifier: ISC
/* directory/store/sqlite/internal.h - shared by the parts of directory/store/sqlite/sqlite.h. */
#ifndef DIRECTORY_STORE_SQLITE_INTERNAL_H
#define DIRECTORY_STORE_SQLITE_INTERNAL_H

#include "directory/store/sqlite/sqlite.h"
#include "directory/store/sqlite/statement.h"
#include "os/file/watch.h"
#include <sqlite3.h>

enum {
	SQLITE_STORE_BUSY_MS = 100, /* a read's wait while another process recovers the log */
	SQLITE_STORE_TOLD_MAX = 20, /* log lines of a kind: what is bad may be much */
};

/* What is said of a record without a row; and what ends each sentence about damage. */
#define SQLITE_STORE_LOST   "it is lost, and its checksum is there"
#define SQLITE_STORE_ADVICE ": run \"stagepost directory repair\""

enum data_statement {
	DATA_BEGIN,
	DATA_BEGIN_WRITE,
	DATA_COMMIT,
	DATA_ROLLBACK,
	DATA_VERSION,
	DATA_META,
	DATA_SET_VERSION, /* unless it is lower; and adds to the total */
	DATA_LOG,
	DATA_CHANGES,
	DATA_OLDEST,
	DATA_HAS_CHANGED, /* whether a key has, or perhaps, since a version */
	DATA_PRUNE,
	DATA_LIST_MEMBERS,     /* of one list */
	DATA_LIST_MEMBERSHIPS, /* of one member */
	DATA_COUNT,            /* domains and addresses */
	DATA_SUM,              /* of a key's record */
	DATA_SUM_SET,          /**/
	DATA_SUM_REMOVE,       /**/
	DATA_SUMS_MISSING,     /* the keys of the next ones */
	DATA_TOTAL_IS_RIGHT,
	DATA_STATEMENTS,
};

struct sqlite_change;

struct sqlite_location {
	uint64_t device, inode;
};

struct sqlite_store {
	struct directory_store base;
	struct os_loop *loop;
	char *path;
	sqlite3 *database; /* NULL: there is no usable file */
	bool is_followed;  /* see file.c */
	struct sqlite_location location,
		log_location; /* of the file and its log, when they were opened */
	struct buffer away;   /* why there is no file, as logged */
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
	bool lacks_sums;                   /* perhaps: others have changed records */
	bool could_not_sum;                /* what it has tried is written, and so reported */
	unsigned told_count;               /* bad records logged since the last poll */
	bool has_failed_read, has_failed_change;     /* logged, and none has succeeded since */
	uint64_t damage_count;                       /* records whose damage was met */
	uint32_t damage_told[SQLITE_STORE_TOLD_MAX]; /* checksums of the keys that were logged */
	size_t damage_told_count;
	bool is_damage_told; /* that of the file, since it was opened */
	struct buffer scratch;
	struct arena *spare;           /* for one answer at a time; others create their own */
	struct os_task first;          /* tells the handler that the store is up */
	struct os_task commit;         /* at the end of the turn */
	struct os_timer *retry;        /* of the commit, while another process writes */
	int64_t retry_until_us;        /* 0: not retrying */
	struct sqlite_change *waiting; /* calls, in order */
};

/* sqlite.c: with nothing open. To be freed by BASE's operation. */
struct sqlite_store *sqlite_new(struct os_loop *loop, const char *path);

/* schema.c: creates the schema if the file is empty, else checks that the file is ours. */
MUST_CHECK int sqlite_schema_prepare(struct sqlite_store *store, struct buffer *why);
/* Whether the header says that the file is ours, and of this version. */
bool sqlite_schema_is_marked(struct sqlite_store *store);

/* checksum.c: what a disk has changed, or lost, is recognised. */

/* The columns of a record's key as its table has them: views. */
struct sqlite_columns {
	struct str table, key, member; /* MEMBER: "" but in the table of members */
};

/* The checksum of a record. */
struct sqlite_sum {
	bool is_there; /* it, or a place for it */
	bool is_known; /* else others have changed the record, and nobody has looked since */
	uint32_t value;
};

struct sqlite_columns sqlite_columns_of(const struct sqlite_store *store,
					const struct directory_key *key);
/* Of a record with the COUNT FIELDS, in any order of those that may be repeated among the others.
 */
uint32_t sqlite_sum_of(const struct directory_schema *schema, const struct sqlite_columns *columns,
		       const struct directory_field *fields, size_t count);
MUST_CHECK int sqlite_sum_find(struct sqlite_store *store, const struct sqlite_columns *columns,
			       struct sqlite_sum *sum_out);
/* What is wrong with a record, for people; NULL: nothing. *READ is the checksum of what was read;
 * NULL: there is no record. */
const char *sqlite_sum_judge(const struct sqlite_sum *sum, const uint32_t *read);
/* What is wrong with the record that was read of COLUMNS, whose checksum is *READ; NULL: there is
 * none. *DAMAGE_OUT: a text, or NULL if nothing is. SQLITE_OK or an error. */
MUST_CHECK int sqlite_sum_check(struct sqlite_store *store, const struct sqlite_columns *columns,
				const uint32_t *read, const char **damage_out);
/* Within a transaction; SUM is for the table only. */
MUST_CHECK int sqlite_sum_set(struct sqlite_store *store, const struct sqlite_columns *columns,
			      uint32_t sum);
MUST_CHECK int sqlite_sum_remove(struct sqlite_store *store, const struct sqlite_columns *columns);
/* Within a transaction: notes the checksum of RECORD, which is put or removed; adds to *TOTAL. */
MUST_CHECK int sqlite_sum_change(struct sqlite_store *store, const struct directory_record *record,
				 bool is_removal, int64_t *total);
/* After opening: 0, or -EIO and a sentence if the total of the checksums is not what it was. */
MUST_CHECK int sqlite_sum_check_total(struct sqlite_store *store, struct buffer *why);
/* Logs, once, that the record of KEY is damaged. */
void sqlite_sum_tell(struct sqlite_store *store, const struct directory_key *key,
		     const char *damage);
/* Whether ERROR says that the file is damaged. */
static inline bool sqlite_is_damage(int error)
{
	return (error & 0xff) == SQLITE_CORRUPT || (error & 0xff) == SQLITE_NOTADB;
}

/* schema_write.c */

/* For a new file. */
void sqlite_schema_write_tables(const struct sqlite_store *store, struct buffer *out);
/* The table of checksums, unless it is there. */
void sqlite_schema_write_sums(struct buffer *out);
/* Has all records get checksums, as if others had changed them. */
void sqlite_schema_write_resum(const struct sqlite_store *store, struct buffer *out);
/* Replaces those of an earlier version. */
void sqlite_schema_write_triggers(const struct sqlite_store *store, struct buffer *out);

/* open.c: opens the file, creating it if allowed, and prepares it. 0; or, with nothing open, an
 * error as of store_sqlite_open(). */
MUST_CHECK int sqlite_open(struct sqlite_store *store, struct buffer *why);
void sqlite_close(struct sqlite_store *store);

/* location.c */

/* Of the file at PATH; zeroed: there is no file. */
struct sqlite_location sqlite_location_of(const char *path);
bool sqlite_location_is_same(const struct sqlite_location *a, const struct sqlite_location *b);
/* Of the log, whose path is appended to PATH. */
struct sqlite_location sqlite_location_of_log(const struct sqlite_store *store,
					      struct buffer *path);
/* Removes a log that belongs to a previous file: SQLite would apply it to this one. */
void sqlite_location_remove_log(const struct sqlite_store *store);
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

/* Prepares all statements that it can: SQLITE_OK or the first error. */
int sqlite_table_prepare(struct sqlite_store *store);
/* Converts an SQLite error on this connection to -errno. */
int sqlite_errno(const struct sqlite_store *store, int error);
/* What the database says of ERROR; of one that it has forgotten, since another call succeeded, only
 * what kind it is. */
const char *sqlite_reason(const struct sqlite_store *store, int error);
/* Likewise, and logs it; OPERATION: "get". */
int sqlite_failed(struct sqlite_store *store, int error, const char *operation);
void sqlite_bind(sqlite3_stmt *statement, int place, struct str text);
/* Binds the one or two columns of the key from PLACE on; returns the next place. */
int sqlite_bind_key(sqlite3_stmt *statement, int place, const struct directory_key *key);
struct str sqlite_column(sqlite3_stmt *statement, int column);
/* Runs a statement that returns no rows, and resets it: SQLITE_OK or an error. */
MUST_CHECK int sqlite_run(sqlite3_stmt *statement);

/* row.c */

/* Reads the record of KEY, which was asked for, from STATEMENT's present row, with its children,
 * into ARENA; KEY's name is not copied. SQLITE_OK, with *RECORD_OUT NULL if the record is
 * malformed, which is logged; or an error. */
MUST_CHECK int sqlite_row(struct sqlite_store *store, sqlite3_stmt *statement,
			  const struct directory_key *key, struct arena *arena,
			  const struct directory_record **record_out);
/* The record of COLUMNS, of TABLE, as it is there, malformed or damaged; but its key, where that
 * has two columns, is only the first. False in *IS_THERE_OUT: there is none. */
MUST_CHECK int sqlite_row_raw(struct sqlite_store *store, enum directory_table table,
			      const struct sqlite_columns *columns, struct arena *arena,
			      bool *is_there_out, struct directory_record *record_out);
/* Likewise for a row whose first columns are the key, *FOUND_OUT; with the reason if NULL. */
MUST_CHECK int sqlite_listed_row(struct sqlite_store *store, sqlite3_stmt *statement,
				 enum directory_table table, struct arena *arena,
				 const struct directory_record **record_out,
				 struct directory_malformed *found_out);

/* lacking_sum.c */

/* Notes the checksums of records that others have changed, unless somebody writes now. True:
 * there may be more of them. */
bool sqlite_sum_add_missing(struct sqlite_store *store);

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
/* Within a transaction: makes or replaces RECORD, without its checksum, version and note. */
MUST_CHECK int sqlite_put(struct sqlite_store *store, const struct directory_record *record,
			  bool *existed_out);

#endif
