// SPDX-License-Identifier: ISC
/*
 * store/postgresql/internal.h - between the parts of the PostgreSQL store.
 *
 *   database.c  what the connection strings say
 *   link.c      one connection: made, lost and made again
 *   pipeline.c  what is said on it
 *   setup.c     what is done on a new connection, the tables included
 *   table.c     which table has what of a record; the statements
 *   count.c     how many records there are
 *   read.c      what is asked, until it is answered
 *   round.c     many gets at once, lists
 *   follow.c    changes that others made
 *   change.c    changes of ours, until they are answered
 *   batch.c     many of them as one transaction
 */
#ifndef STORE_POSTGRESQL_INTERNAL_H
#define STORE_POSTGRESQL_INTERNAL_H

#include "base/buffer.h"
#include "base/timestamp.h"
#include "directory/record/key.h"
#include "directory/record/schema.h"
#include "dns/search.h"
#include "os/loop.h"
#include "store/postgresql/postgresql.h"
#include "store/store.h"
#include <libpq-fe.h>

/* ---- databases: one host each ---- */

struct postgresql_database {
	const char **names; /* of libpq's parameters; ends with NULL */
	const char **values;
	size_t address_slot; /* of hostaddr among them */
	const char *label;   /* for the log: "db1.example.org:5432/mail" */
	const char *host;    /* to be looked up; NULL: nothing is */
	uint16_t port;
};

struct postgresql_databases {
	struct arena *arena;
	struct postgresql_database *list;
	size_t count;
	struct dns_resolver *resolver; /* NULL: no host is a name */
};

MUST_CHECK int postgresql_databases_parse(struct os_loop *loop, const char *const *texts,
					  size_t count, struct postgresql_databases *out);
void postgresql_databases_clear(struct postgresql_databases *databases);

/* ---- a connection ---- */

struct postgresql_failure {
	int error;      /* -errno as store.h has it; 0: none */
	bool is_lost;   /* with the connection: what it did is not known */
	char state[6];  /* SQLSTATE */
	char text[400]; /* one line */
};

/* Some statements, one after the other, and what came of them. Storage of the caller
 * until DONE. */
struct postgresql_request {
	/* STATEMENT: from 0 on. May be NULL. */
	void (*result)(struct postgresql_request *request, unsigned statement,
		       const PGresult *result);
	/* The first failure; those behind it were not tried. DONE frees REQUEST if anybody does. */
	void (*done)(struct postgresql_request *request, const struct postgresql_failure *failure);
	void *context;
	unsigned statement; /* whose result comes next */
	unsigned statements;
	struct postgresql_failure failure;
	struct postgresql_request *next, *prev;
};

struct postgresql_parameter {
	struct str value; /* text: without NUL */
	bool is_binary;
	const char *text; /* instead of VALUE */
};

struct postgresql_link_handler {
	void (*connected)(void *context); /* say what is wanted, then postgresql_link_accept() */
	void (*lost)(void *context);      /* after each request that was under way failed */
	void (*notified)(void *context);
};

struct postgresql_link;

enum {
	/* Asked for by one statement. Each field that may come more than once makes a row with all
	 * the others: a record of 64 KiB with 998 targets may be 500 KiB of rows. */
	POSTGRESQL_RECORDS_MAX = 200,
};

/* NAME: "read" or "change", for the log. MAY_WAIT_US: between attempts at most. */
struct postgresql_link *postgresql_link_new(struct os_loop *loop,
					    const struct postgresql_databases *databases,
					    const char *name, int64_t may_wait_us,
					    const struct postgresql_link_handler *handler,
					    void *context);
void postgresql_link_free(struct postgresql_link *link);
/* Statements of one request, then end: which hands over REQUEST. */
void postgresql_link_prepare(struct postgresql_link *link, struct str name, struct str sql);
void postgresql_link_query(struct postgresql_link *link, const char *sql,
			   const struct postgresql_parameter *parameters, size_t count);
void postgresql_link_execute(struct postgresql_link *link, const char *name,
			     const struct postgresql_parameter *parameters, size_t count);
void postgresql_link_end(struct postgresql_link *link, struct postgresql_request *request);

/* What was answered is nothing that may be asked for: for the handler of a result. REQUEST fails
 * (-EIO, "later" to who asked), where it has not failed yet. */
void postgresql_link_doubt(struct postgresql_request *request, const char *text);

/* A value of RESULT and its length: "" where a server that says anything left the row, the column
 * or the value out. */
const char *postgresql_link_value(const PGresult *result, int row, int column);
size_t postgresql_link_length(const PGresult *result, int row, int column);
/* This database can be used: log it, begin at the shortest wait when it is lost. */
void postgresql_link_accept(struct postgresql_link *link);
/* This one cannot, for a REASON that is logged when it is another one than last time (NULL: not
 * worth a line); the next. */
void postgresql_link_refuse(struct postgresql_link *link, const char *reason);
/* The one at POSITION is to be tried first, now. */
void postgresql_link_move(struct postgresql_link *link, size_t position, const char *reason);
/* Tries at once, if it waits. */
void postgresql_link_hurry(struct postgresql_link *link);
bool postgresql_link_is_accepted(const struct postgresql_link *link);
size_t postgresql_link_position(const struct postgresql_link *link);
const char *postgresql_link_label(const struct postgresql_link *link);

/* ---- on a new connection ---- */

struct postgresql_about { /* a database that is connected */
	bool is_standby;
	char identity[64];
	uint64_t version;
	uint64_t oldest; /* of what "change" has; 0: nothing */
	char newest_mark[40];
	char seen_mark[40]; /* of the version that was asked about; "": it is not there */
};

struct postgresql_store;

struct postgresql_setup {
	struct postgresql_request request;
	struct postgresql_link *link;
	bool may_change; /* else only reading is prepared */
	bool must_find;  /* data were seen: tables that are gone are not made anew */
	bool was_missed; /* that was logged */
	bool has_tables;
	bool is_complete; /* they have their triggers */
	const struct directory_schema *schemas;
	char shape[120]; /* what POSTGRESQL_SHAPE_STATEMENT tells */
	uint64_t schema;
	uint64_t seen;
	struct postgresql_about about;
	/* All is prepared; otherwise the link was refused. */
	void (*ready)(void *context, const struct postgresql_about *about);
	void *context;
};

/* For STORE on LINK. SEEN: the version to tell the mark of. */
void postgresql_setup_begin(struct postgresql_setup *setup, struct postgresql_link *link,
			    const struct postgresql_store *store, uint64_t seen);
/* Refuses the link where ABOUT is of an older copy of the data that STORE has seen: whether it was
 * one. */
bool postgresql_setup_refuses_older(struct postgresql_setup *setup,
				    const struct postgresql_store *store,
				    const struct postgresql_about *about);

/* Makes the tables, or those of an earlier version what they are now. */
extern const char postgresql_schema[];

enum { POSTGRESQL_SCHEMA = 4 };

/* Marks a change among all: two databases whose changes of the same version have not the
 * same mark have parted. SQL, of a row of "change". */
#define POSTGRESQL_MARK "md5(table_name || ' ' || key || ' ' || extract(epoch FROM at))"

/* The statement that tells which tables these are: others that come in their place have other
 * numbers, even if they have the same rows. */
#define POSTGRESQL_SHAPE_STATEMENT "shape"

/* ---- tables ---- */

enum postgresql_statement {
	POSTGRESQL_GET,    /* keys */
	POSTGRESQL_LIST,   /* prefix, after, limit */
	POSTGRESQL_REMOVE, /* keys; returns them */
	POSTGRESQL_PUT,    /* key columns, columns; returns keys and whether they were there */
	POSTGRESQL_REMOVE_CHILDREN, /* keys */
	POSTGRESQL_PUT_CHILDREN,    /* keys, positions, values */
	POSTGRESQL_STATEMENTS,
};

/* How many columns the rows of its records have. */
int postgresql_table_width(const struct directory_schema *schema);
/* "get_address" */
const char *postgresql_statement_name(enum postgresql_statement statement,
				      enum directory_table table, char name[40]);
/* False when SCHEMA's table has no such statement. */
bool postgresql_statement_sql(enum postgresql_statement statement,
			      const struct directory_schema *schema, struct buffer *out);
/* Appends the numbers of the tables as expressions, with commas between them, those of children
 * behind their records': for an array or a call. */
void postgresql_tables_write(const struct directory_schema schemas[DIRECTORY_TABLES],
			     struct buffer *out);
/* The triggers that postgresql_schema puts on them. */
unsigned postgresql_trigger_count(const struct directory_schema schemas[DIRECTORY_TABLES]);
/* The record at *ROW, which is moved behind it. False: it is malformed, which is logged, and has a
 * key only; *REASON_OUT says why. In ARENA, or the result's. */
bool postgresql_record_take(const struct directory_schema *schema, const PGresult *result, int *row,
			    struct arena *arena, struct directory_record *record_out,
			    const char **reason_out);

/* A text[] in PostgreSQL's binary form; an element without DATA is NULL. */
struct postgresql_array {
	struct buffer buffer;
	uint32_t count;
};
void postgresql_array_add(struct postgresql_array *array, struct str element);
struct postgresql_parameter postgresql_array_end(struct postgresql_array *array);
void postgresql_array_clear(struct postgresql_array *array);

/* ---- the store ---- */

struct postgresql_batch;
struct postgresql_read; /* a get, list or missed that waits */
struct postgresql_edit; /* a change that waits */

struct postgresql_reader {
	struct postgresql_link *link;
	struct postgresql_setup setup;
	struct postgresql_read *waiting; /* in the order they were asked */
	struct postgresql_read *again;   /* were under way on a connection that was lost */
	unsigned under_way;
	bool is_ready;         /* to ask */
	bool has_failed;       /* that was logged, and nothing was read since */
	bool has_failed_count; /* the same of counts */
	bool is_older;         /* what was found last has fewer changes than were seen */
	struct os_task pump;
	struct os_timer *grace;
};

struct postgresql_follower {
	struct postgresql_request request;
	struct os_timer *timer;
	struct arena *arena; /* of one poll */
	bool is_asking, ask_again;
	bool is_standby;
	int64_t asked_us;
	struct postgresql_about about;
	bool has_replayed;  /* a standby, all that it knows the primary to have */
	int64_t silence_us; /* since the primary told it that; -1: not known */
	uint64_t awaited;   /* version that the primary had at AWAITED_US; 0 us: none */
	int64_t awaited_us;
	struct directory_key *keys;
	uint64_t *versions;
	size_t count;
	bool is_full;       /* more wait */
	bool is_everything; /* changed */
	char mark[40];      /* of the version that was told last */
	int64_t cut_off_us; /* since when it is too old; 0: it is not */
};

struct postgresql_writer {
	struct postgresql_link *link;
	struct postgresql_setup setup;
	struct postgresql_edit *waiting, *unseen;
	struct postgresql_batch *batch; /* under way */
	bool is_stopping;
	struct os_task pump;
	struct os_timer *timer;
	struct postgresql_request beat;
	bool is_beating, is_ready;
	unsigned failures; /* of the transaction that is first */
	bool has_failed;   /* that was logged, and none has succeeded since; */
	char failed_state[6];
	unsigned alone;   /* so many are not to share one */
	uint64_t version; /* of the primary, when it was asked last */
	int64_t asked_us; /* when that was */
	int64_t beat_us;  /* when what is under way was asked */
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

void postgresql_follow_prepare(struct postgresql_store *store);
/* Asked at once. */
void postgresql_follow_start(struct postgresql_store *store, const struct postgresql_about *about);
void postgresql_follow_stop(struct postgresql_store *store);
void postgresql_follow_notified(struct postgresql_store *store);
/* The first poll of a connection is over: what it reads is in line with what was told. */
void postgresql_reader_followed(struct postgresql_store *store);
/* What it reads is too old: until the above is called again nothing is up. */
void postgresql_reader_stale(struct postgresql_store *store);
/* A key of "change" as it is told; false: it is none of ours. */
bool postgresql_change_key(const char *table, struct str key, struct directory_key *key_out);

void postgresql_writer_start(struct postgresql_store *store);
void postgresql_writer_stop(struct postgresql_store *store);
void postgresql_change(struct directory_store *store, const struct directory_change *changes,
		       size_t count, directory_changed *changed, void *context);
/* The reader has seen all up to its version, or is down. */
void postgresql_writer_seen(struct postgresql_store *store);

#endif
