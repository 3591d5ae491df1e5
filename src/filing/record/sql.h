// SPDX-License-Identifier: ISC
/*
 * filing/record/sql.h - what all backends have in common: the tables, the statements, and what is
 * done with them. A backend has the connection, its transactions and its locks, and runs
 * statements.
 *
 * Texts are written once, for all: parameters are ?1, ?2 and so on, and may be repeated; words in
 * braces stand for what differs (struct record_dialect). All values are bound to parameters.
 */
#ifndef FILING_RECORD_SQL_H
#define FILING_RECORD_SQL_H

#include "base/arena.h"
#include "base/buffer.h"
#include "filing/record/record.h"

enum {
	RECORD_DOMAIN_MAX = 255,
	RECORD_WORD_MAX = 255,       /* bytes of a part's number, type, charset, disposition */
	RECORD_VALUES_MAX = 16,      /* columns of a result, parameters of a statement */
	RECORD_PLACEHOLDER_MAX = 32, /* in one statement */
};

enum record_statement {
	RECORD_MESSAGE_FIND,
	RECORD_MESSAGE_INSERT,
	RECORD_PARTICIPANT_INSERT,
	RECORD_PART_INSERT,
	RECORD_DECISION_FIND,
	RECORD_DECISION_INSERT,
	RECORD_DECISION_MOVE,
	RECORD_MAILBOX_FIND,
	RECORD_MAILBOX_INSERT,
	RECORD_MAILBOX_NEW,
	RECORD_FILING_FIND,
	RECORD_FILING_LOOK,
	RECORD_FILING_INSERT,
	RECORD_FILING_FILED,
	RECORD_FILING_REMOVE,
	RECORD_ATTEMPT_INSERT,
	RECORD_ATTEMPT_REMOVE,
	RECORD_ATTEMPT_SETTLE,
	RECORD_PRUNE_FIND,
	RECORD_PRUNE_REMOVE,
	RECORD_LIST_PARTICIPANTS,
	RECORD_LIST_PARTS,
	RECORD_LIST_FILINGS,
	RECORD_STATEMENTS, /* also: a text that is used once */
};

enum record_kind { RECORD_NULL, RECORD_NUMBER, RECORD_TEXT, RECORD_BYTES };

struct record_value {
	enum record_kind kind;
	int64_t number;
	struct str bytes; /* TEXT: valid UTF-8 without NUL */
};

/* Calls of backends that are only about one of these. */
struct record_dialect {
	bool has_numbers;  /* of parameters: "?1" or "$1"; otherwise "?", in order */
	char parameter;    /* '?' or '$' */
	const char *words; /* "\0"-separated pairs of word and meaning */
};

/* The values of a row are valid during the call. */
typedef void record_row(void *context, const struct record_value *values, size_t count);

struct record_outcome {
	int64_t changed;  /* rows */
	int64_t inserted; /* the number of a row with {serial}; 0: none */
};

struct record_call {
	enum record_statement statement;
	const char *text;                  /* of RECORD_STATEMENTS, as written for all */
	const struct record_value *values; /* ROWS times COLUMNS */
	size_t columns;
	size_t rows;     /* the statement is run for each */
	record_row *row; /* or NULL */
	void *context;
	size_t at;                       /* during ROW: of which of ROWS the values are a result */
	struct record_outcome *outcomes; /* out: of each of ROWS; NULL: not wanted */
};

/* The values of the row I of CALL; NULL if it has none. */
static inline const struct record_value *record_call_values(const struct record_call *call,
							    size_t i)
{
	return call->columns > 0 ? call->values + i * call->columns : NULL;
}

/* A call of TEXT, once, with the COUNT VALUES. */
static inline struct record_call record_call_of(const char *text, const struct record_value *values,
						size_t count, record_row *row, void *context)
{
	return (struct record_call){.statement = RECORD_STATEMENTS,
				    .text = text,
				    .values = values,
				    .columns = count,
				    .rows = 1,
				    .row = row,
				    .context = context};
}

/* The context of record_take_text(). */
struct record_taken {
	struct arena *arena;
	struct str text;
};

/* A record_row: keeps the row's first value, a text. */
void record_take_text(void *context, const struct record_value *values, size_t count);

struct record_sql;

/* All that differs between the backends. */
struct record_driver {
	struct record_operations operations; /* with RECORD_SQL_OPERATIONS */
	const struct record_dialect *dialect;
	/* Runs CALL: 0, or -errno after record_sql_fail(). */
	int (*run)(struct record_sql *sql, struct record_call *call);
	/* Begins and ends the transaction in which tables are made; only one at a time does that.
	 * 0, or -errno after record_sql_fail(). */
	int (*begin_schema)(struct record_sql *sql);
	int (*end_schema)(struct record_sql *sql);
	/* Makes the connection if there is none, and checks its tables. */
	int (*connect)(struct record_sql *sql);
};

/* The first member of each backend's struct. */
struct record_sql {
	struct record base;
	const struct record_driver *driver;
	struct arena *arena; /* texts of the last result */
	bool is_begun;       /* a transaction */
	int failed;          /* why it is over: -errno; 0: it is not */
};

void record_sql_init(struct record_sql *sql, const struct record_driver *driver);
void record_sql_clear(struct record_sql *sql);

/* Sets the words of the failure, of which what is not printable is replaced, ends the transaction,
 * and returns ERROR. */
int record_sql_fail(struct record_sql *sql, int error, const char *format, ...) PRINTF_LIKE(3, 4);

/* The transaction ended. */
void record_sql_ended(struct record_sql *sql);
/* Whether CALL may run: 0 within a transaction that is not over; else why not. */
MUST_CHECK int record_sql_check(const struct record_sql *sql);

/* Makes the tables, or those of a newer version, if they are missing: for connect(). -EPROTO: they
 * are too new, or another program's. */
MUST_CHECK int record_sql_prepare(struct record_sql *sql);

/* TEXT (or the text of STATEMENT) as DIALECT has it, with a NUL. ORDER[i]: which value the
 * placeholder i has, if they have no numbers; returns their count. */
size_t record_sql_write(const struct record_dialect *dialect, enum record_statement statement,
			const char *text, struct buffer *out,
			unsigned order[RECORD_PLACEHOLDER_MAX]);

/* Whether a row of CALL that is there already is no failure: nothing is inserted then. */
bool record_sql_is_once(const struct record_call *call);

/* The operations that are the same for all. record_begin() connects, and marks the transaction as
 * begun. */
MUST_CHECK int record_sql_begin(struct record *record);
int record_sql_put(struct record *record, struct record_entry *entries, size_t count);
int record_sql_decide(struct record *record, struct record_attempt **attempts, size_t count);
int record_sql_move(struct record *record, struct record_attempt **attempts, size_t count);
int record_sql_new_folders(struct record *record, const struct record_mailbox *mailbox,
			   int64_t since_us, unsigned *count_out);
int record_sql_open(struct record *record, struct record_attempt **attempts, size_t count,
		    int64_t now_us);
int record_sql_look(struct record *record, struct record_attempt **attempts, size_t count);
int record_sql_filed(struct record *record, struct record_attempt **attempts, size_t count,
		     int64_t now_us);
int record_sql_end(struct record *record, struct record_attempt **attempts, size_t count);
int record_sql_settle(struct record *record, int64_t filing, int64_t before_us);
int record_sql_unfile(struct record *record, int64_t filing);
int record_sql_list(struct record *record, const struct record_query *query, record_listed_one *one,
		    void *context);
int record_sql_prune(struct record *record, int64_t before_us, unsigned limit, unsigned *count_out);

/* They, in the backends' struct record_operations. */
#define RECORD_SQL_OPERATIONS                                                                    \
	.begin = record_sql_begin, .put = record_sql_put, .decide = record_sql_decide,           \
	.move = record_sql_move, .open = record_sql_open, .new_folders = record_sql_new_folders, \
	.look = record_sql_look, .filed = record_sql_filed, .end = record_sql_end,               \
	.settle = record_sql_settle, .list = record_sql_list, .unfile = record_sql_unfile,       \
	.prune = record_sql_prune

/* ---- values ---- */

static inline struct record_value record_number(int64_t number)
{
	return (struct record_value){.kind = RECORD_NUMBER, .number = number};
}
static inline struct record_value record_bytes(const void *bytes, size_t length)
{
	return (struct record_value){.kind = RECORD_BYTES, .bytes = {bytes, length}};
}
/* TEXT as a database can have it: characters that are not valid, and NUL, become U+FFFD, and what
 * is beyond MAX bytes is cut. In ARENA if it has to be changed. */
struct record_value record_text(struct str text, size_t max, struct arena *arena);
/* Whether TEXT can be in a database as it is. */
bool record_text_is_valid(struct str text, size_t max);

#endif
