// SPDX-License-Identifier: ISC
/*
 * directory/store/postgresql/internal.h - shared by the parts of the PostgreSQL store.
 *
 *   database.c  connection strings
 *   link.c      one connection: made, lost and made again
 *   pipeline.c  requests and results on it
 *   setup.c     prepares a new connection, the tables included
 *   table.c     the statements, and rows as records
 *   count.c     counts records
 *   read.c      pending questions
 *   round.c     many gets at once, lists
 *   follow.c    changes by others
 *   change.c    changes of ours, until they are answered
 *   batch.c     many of these as one transaction
 */
#ifndef DIRECTORY_STORE_POSTGRESQL_INTERNAL_H
#define DIRECTORY_STORE_POSTGRESQL_INTERNAL_H

#include "base/buffer.h"
#include "base/timestamp.h"
#include "directory/record/key.h"
#include "directory/record/schema.h"
#include "directory/store/postgresql/postgresql.h"
#include "directory/store/store.h"
#include "dns/search.h"
#include "os/loop.h"
#include <libpq-fe.h>

/* ---- databases: one host each ---- */

struct postgresql_database {
	const char **names; /* of libpq's parameters; NULL after the last */
	const char **values;
	size_t address_slot; /* of hostaddr in NAMES */
	const char *label;   /* for the log: "db1.example.org:5432/mail" */
	const char *host;    /* to look up; NULL: none */
	uint16_t port;
};

struct postgresql_databases {
	struct arena *arena;
	struct postgresql_database *list;
	size_t count;
	struct dns_resolver *resolver; /* NULL: there are no names to look up */
};

MUST_CHECK int postgresql_databases_parse(struct os_loop *loop, const char *const *texts,
					  size_t count, struct postgresql_databases *out);
void postgresql_databases_clear(struct postgresql_databases *databases);

/* ---- a connection ---- */

struct postgresql_failure {
	int error;      /* -errno as in store.h; 0: none */
	bool is_lost;   /* the connection was lost: whether it took effect is unknown */
	char state[6];  /* SQLSTATE */
	char text[400]; /* one line */
};

/* A sequence of statements and their results. Storage of the caller until DONE. */
struct postgresql_request {
	/* Called for each result. STATEMENT: from 0. May be NULL. */
	void (*result)(struct postgresql_request *request, unsigned statement,
		       const PGresult *result);
	/* FAILURE: the first one; statements after it were not executed. DONE may free REQUEST. */
	void (*done)(struct postgresql_request *request, const struct postgresql_failure *failure);
	void *context;
	unsigned statement; /* of the next result */
	unsigned statements;
	struct postgresql_failure failure;
	struct postgresql_request *next, *prev;
};

struct postgresql_parameter {
	struct str value; /* a text without NULs */
	bool is_binary;
	const char *text; /* used instead of VALUE */
};

/* Implemented by directory/store/postgresql/change.c and directory/store/postgresql/read.c. */
struct postgresql_link_handler {
	void (*connected)(void *context); /* to prepare it, then call postgresql_link_accept() */
	void (*lost)(void *context);      /* after each pending request has failed */
	void (*notified)(void *context);
};

struct postgresql_link;

enum {
	/* In one statement. A field that may be repeated makes a row for each value, with all the
	 * other columns: a record of 64 KiB with 998 targets may be 500 KiB of rows. */
	POSTGRESQL_RECORDS_MAX = 200,
};

/* NAME: "read" or "change", for the log. MAY_WAIT_US: the longest pause between attempts. */
struct postgresql_link *postgresql_link_new(struct os_loop *loop,
					    const struct postgresql_databases *databases,
					    const char *name, int64_t may_wait_us,
					    const struct postgresql_link_handler *handler,
					    void *context);
void postgresql_link_free(struct postgresql_link *link);
/* Statements of one request, followed by end, which passes on REQUEST. */
void postgresql_link_prepare(struct postgresql_link *link, struct str name, struct str sql);
void postgresql_link_query(struct postgresql_link *link, const char *sql,
			   const struct postgresql_parameter *parameters, size_t count);
void postgresql_link_execute(struct postgresql_link *link, const char *name,
			     const struct postgresql_parameter *parameters, size_t count);
void postgresql_link_end(struct postgresql_link *link, struct postgresql_request *request);

/* For the handler of a result that does not make sense. REQUEST fails (-EIO, "later" for clients),
 * unless it has failed already. */
void postgresql_link_doubt(struct postgresql_request *request, const char *text);

/* A value of RESULT and its length: "" if the server's result does not have the row, the column or
 * the value. */
const char *postgresql_link_value(const PGresult *result, int row, int column);
size_t postgresql_link_length(const PGresult *result, int row, int column);
/* The database can be used: logs that, and resets the pause after a loss. */
void postgresql_link_accept(struct postgresql_link *link);
/* The database cannot be used; REASON is logged if it differs from the last one (NULL: not logged).
 * Tries the next one. */
void postgresql_link_refuse(struct postgresql_link *link, const char *reason);
/* Tries the database at POSITION first, at once. */
void postgresql_link_move(struct postgresql_link *link, size_t position, const char *reason);
/* Connects at once if it is pausing. */
void postgresql_link_hurry(struct postgresql_link *link);
bool postgresql_link_is_accepted(const struct postgresql_link *link);
size_t postgresql_link_position(const struct postgresql_link *link);
const char *postgresql_link_label(const struct postgresql_link *link);

/* ---- on a new connection ---- */

struct postgresql_about { /* a connected database */
	bool is_standby;
	char identity[64];
	uint64_t version;
	uint64_t oldest; /* version in "change"; 0: it is empty */
	char newest_mark[40];
	char seen_mark[40]; /* of the version asked for; "": it is not there */
};

struct postgresql_store;

/* Why data are held. */
#define POSTGRESQL_OLDER "an older copy of the data is in their place"

struct postgresql_setup {
	struct postgresql_request request;
	struct postgresql_link *link;
	bool may_change;    /* otherwise prepares only to read */
	bool must_find;     /* data were seen: missing tables must not be created */
	const char *missed; /* why they are missing, which was logged; NULL: they are not */
	bool has_tables;
	bool is_complete; /* the tables have their triggers */
	const struct directory_schema *schemas;
	char shape[120]; /* the first column of POSTGRESQL_SHAPE_STATEMENT */
	uint64_t schema;
	uint64_t seen;
	struct postgresql_about about;
	/* Everything is prepared; not called if the link was refused. */
	void (*ready)(void *context, const struct postgresql_about *about);
	void *context;
};

/* Prepares LINK for STORE. SEEN: the version whose mark is requested. */
void postgresql_setup_begin(struct postgresql_setup *setup, struct postgresql_link *link,
			    const struct postgresql_store *store, uint64_t seen);
/* Refuses the link, and returns true, if ABOUT is of an older copy of the data that STORE has seen.
 */
bool postgresql_setup_refuses_older(struct postgresql_setup *setup,
				    const struct postgresql_store *store,
				    const struct postgresql_about *about);

/* Creates the tables, or upgrades those of an earlier version. */
extern const char postgresql_schema[];

enum { POSTGRESQL_SCHEMA = 6 };

/* A mark of a change: databases whose changes of the same version have different marks have
 * diverged. SQL, for a row of "change". */
#define POSTGRESQL_MARK "md5(table_name || ' ' || key || ' ' || extract(epoch FROM at))"

/* The statement that identifies the tables: recreated ones have other OIDs, even if they have the
 * same rows. Its second column is the version of the data. */
#define POSTGRESQL_SHAPE_STATEMENT "shape"

/* ---- tables ---- */

enum postgresql_statement {
	POSTGRESQL_GET,    /* keys */
	POSTGRESQL_LIST,   /* prefix, after, limit */
	POSTGRESQL_REMOVE, /* keys; returns them */
	POSTGRESQL_PUT,    /* key columns, columns; returns keys and whether they existed */
	POSTGRESQL_REMOVE_CHILDREN, /* keys */
	POSTGRESQL_PUT_CHILDREN,    /* keys, positions, values */
	POSTGRESQL_STATEMENTS,
};

/* The number of columns in the rows of its records. */
int postgresql_table_width(const struct directory_schema *schema);
/* Converts a key of "change"; false: not one of our tables. */
bool postgresql_change_key(const char *table, struct str key, struct directory_key *key_out);
/* "get_address" */
const char *postgresql_statement_name(enum postgresql_statement statement,
				      enum directory_table table, char name[40]);
/* False if SCHEMA's table does not have that statement. */
bool postgresql_statement_sql(enum postgresql_statement statement,
			      const struct directory_schema *schema, struct buffer *out);
/* Appends the OIDs of the tables as expressions, separated by commas, child tables after their
 * parent: for an array or a call. */
void postgresql_tables_write(const struct directory_schema schemas[DIRECTORY_TABLES],
			     struct buffer *out);
/* Appends the number of triggers that postgresql_schema creates on those of them that are there, as
 * an expression: tables of an earlier version are complete without those that came later. */
void postgresql_trigger_count_write(const struct directory_schema schemas[DIRECTORY_TABLES],
				    struct buffer *out);
/* Reads the record at *ROW, and advances *ROW. False: it is malformed, which is logged; then it has
 * only a key, and *REASON_OUT says why. In memory of ARENA or of RESULT. */
bool postgresql_record_take(const struct directory_schema *schema, const PGresult *result, int *row,
			    struct arena *arena, struct directory_record *record_out,
			    const char **reason_out);

/* A text[] in PostgreSQL's binary format; an element without DATA is NULL. */
struct postgresql_array {
	struct buffer buffer;
	uint32_t count;
};
void postgresql_array_add(struct postgresql_array *array, struct str element);
struct postgresql_parameter postgresql_array_end(struct postgresql_array *array);
void postgresql_array_clear(struct postgresql_array *array);

/* ---- the store ---- */

struct postgresql_batch;
struct postgresql_read; /* a pending get, list or missed */
struct postgresql_edit; /* a pending change */

struct postgresql_reader {
	struct postgresql_link *link;
	struct postgresql_setup setup;
	struct postgresql_read *waiting; /* in the order of asking */
	struct postgresql_read *again;   /* were pending on a connection that was lost */
	unsigned under_way;
	bool is_ready;         /* for questions */
	bool has_failed;       /* logged, and nothing was read since */
	bool has_failed_count; /* likewise for counts */
	bool is_older;         /* the last database had fewer changes than were seen */
	struct os_task pump;
	struct os_timer *grace;
};

/* Implemented by directory/store/postgresql/read.c. */
struct postgresql_follow_handler {
	/* After the first poll of a connection: answers are now in sync with reported changes. */
	void (*followed)(struct postgresql_store *store);
	/* The data are too old: the store is down until FOLLOWED. */
	void (*stale)(struct postgresql_store *store);
};

struct postgresql_follower {
	const struct postgresql_follow_handler *handler;
	struct postgresql_request request;
	struct os_timer *timer;
	struct arena *arena; /* of one poll */
	bool is_asking, ask_again;
	bool is_standby;
	int64_t asked_us;
	struct postgresql_about about;
	bool has_replayed;  /* a standby has replayed all that it received from the primary */
	int64_t silence_us; /* since the primary last reported its position; -1: unknown */
	uint64_t awaited;   /* the primary's version at AWAITED_US; 0 us: none */
	int64_t awaited_us;
	struct directory_key *keys;
	uint64_t *versions;
	size_t count;
	bool is_full;       /* more changes to read */
	bool is_everything; /* has changed */
	char mark[40];      /* of the last version reported */
	int64_t cut_off_us; /* since when the data are too old; 0: they are not */
};

struct postgresql_writer {
	struct postgresql_link *link;
	struct postgresql_setup setup;
	struct postgresql_edit *waiting, *unseen;
	struct postgresql_batch *batch; /* pending */
	bool is_stopping;
	struct os_task pump;
	struct os_timer *timer;
	struct postgresql_request beat;
	bool is_beating, is_ready;
	unsigned failures; /* of the first transaction */
	bool has_failed;   /* logged, and none has succeeded since; */
	char failed_state[6];
	unsigned alone;   /* so many edits get a transaction of their own */
	uint64_t version; /* of the primary, when last asked */
	int64_t asked_us; /* when that was */
	int64_t beat_us;  /* when the pending heartbeat was sent */
};

struct postgresql_store {
	struct directory_store base;
	struct os_loop *loop;
	int64_t ttl_us;
	struct directory_schema schemas[DIRECTORY_LISTED_TABLES];
	struct postgresql_databases databases;
	struct postgresql_reader reader;
	struct postgresql_follower follower;
	struct postgresql_writer writer;
};

void postgresql_reader_start(struct postgresql_store *store);
void postgresql_reader_stop(struct postgresql_store *store);
void postgresql_get(struct directory_store *store, const struct directory_key *keys, size_t count,
		    directory_got *got, void *context);
void postgresql_list(struct directory_store *store, enum directory_table table, struct str prefix,
		     struct str after, size_t limit, directory_listed *listed, void *context);
void postgresql_count(struct directory_store *store, directory_counted *counted, void *context);
void postgresql_missed(struct directory_store *store, uint64_t version, size_t limit,
		       directory_missed *missed, void *context);

/* HANDLER is borrowed. */
void postgresql_follow_prepare(struct postgresql_store *store,
			       const struct postgresql_follow_handler *handler);
/* Polls at once. */
void postgresql_follow_start(struct postgresql_store *store, const struct postgresql_about *about);
void postgresql_follow_stop(struct postgresql_store *store);
void postgresql_follow_notified(struct postgresql_store *store);

void postgresql_writer_start(struct postgresql_store *store);
void postgresql_writer_stop(struct postgresql_store *store);
void postgresql_change(struct directory_store *store, const struct directory_change *changes,
		       size_t count, directory_changed *changed, void *context);
/* The reader has reported all changes up to its version, or is down. */
void postgresql_writer_seen(struct postgresql_store *store);

#endif
