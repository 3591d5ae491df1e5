// SPDX-License-Identifier: ISC
/*
 * filing/record/record.h - the database of messages: what was recorded of each, in which mailboxes
 *it is filed, and the named locks that order the work on a message; over one connection, which
 *blocks: each thread that files has its own. Backends: filing/record/sqlite,
 *filing/record/postgresql, filing/record/mariadb.
 *
 * A message is known by its Message-ID and the digest of its content (filing/decode/identity.h).
 *What decides that it is filed once is a unique row for message and mailbox. A copy is filed in two
 * transactions, each under the lock of the Message-ID:
 *
 *	open   record the message, make the row "filing", note an attempt with a token of its own
 *	close  look at the row again; append to the mailbox unless it is "filed"; write "filed",
 *	       and remove the attempt
 *
 * Before that, the first transaction that comes to a copy decides its folder, once: whoever comes
 * later files it there, even if his configuration says another one.
 *
 * So whoever finds the row "filing" knows from the attempts whether another one may have appended:
 * then it looks into the mailbox first. An attempt whose process has died stays, as a sign of
 * doubt, until somebody has looked into the mailbox long after it could still append.
 *
 * The lock belongs to the transaction: commit and rollback release it, and it vanishes with the
 * connection. Who has lost the connection has lost the turn: the next call says so (-ENOTCONN), and
 * nothing of the transaction holds.
 *
 * Functions return 0 or -errno: -ENOTCONN (no connection; after record_commit() it is unknown
 * whether it was committed), -EDEADLK (deadlock or serialization: the transaction is to be tried
 * again), -ENOSPC, -EROFS, -EUSERS (too many connections), -EACCES, -ETIMEDOUT, -EPROTO (a schema
 * that is newer, or is not ours; a file that is damaged), -EIO (others). After each of these the
 *transaction is over, only record_rollback() may follow, and record_error() has the database's
 *words. The connection is made again by record_begin().
 */
#ifndef FILING_RECORD_RECORD_H
#define FILING_RECORD_RECORD_H

#include "base/arena.h"
#include "base/attributes.h"
#include "filing/decode/message.h"
#include "filing/lock/name.h"

enum {
	RECORD_SCHEMA = 2, /* the version of the tables */
	RECORD_ADDRESS_MAX = 320,
	RECORD_FOLDER_MAX = 255,
	RECORD_COPY_MAX = 255,
	RECORD_PURPOSE_MAX = 320,
	RECORD_RULE_MAX = 32,
	RECORD_TOKEN_SIZE = 16, /* random bytes */
};

/* Any token is used for one attempt only. */
struct record_token {
	unsigned char bytes[RECORD_TOKEN_SIZE];
};

struct record_message {
	struct str id;                            /* as decode_identity.id */
	bool is_derived;                          /* likewise */
	unsigned char digest[DECODE_DIGEST_SIZE]; /* likewise */
	uint64_t size;                            /* bytes, as it came */
	int64_t recorded_us;                      /* since 1970 */
	struct str sender;                        /* of the envelope; "": the null sender */
	const struct decode_message *decoded;
};

/* A mailbox. */
struct record_mailbox {
	struct str user;   /* LOCAL@DOMAIN in canonical form */
	struct str folder; /* "INBOX", "Sent", "Lists/dev": UTF-8, '/' between levels */
};

enum record_state { RECORD_FILING, RECORD_FILED };

struct record_filing {
	int64_t number; /* of the row */
	enum record_state state;
	bool is_new;     /* made by this call */
	bool is_ours;    /* the attempt of this token is still noted */
	unsigned others; /* attempts of other tokens that have begun and not ended */
	int64_t last_us; /* when the last of those began; 0: none */
	struct str
		copy; /* RECORD_FILED: where, in the store's words (filing/mailstore/mailstore.h) */
	int64_t filed_us; /* RECORD_FILED */
};

/* What a message is asked for by record_list(): all that are not NULL or 0 must fit. */
struct record_query {
	const char *id;                       /* the whole Message-ID */
	const char *from;                     /* an address, or a domain if it has no '@' */
	const char *to;                       /* likewise, of To, Cc and Bcc */
	const char *subject;                  /* a part of it, ignoring case of ASCII */
	int64_t since_us, until_us;           /* recorded */
	const struct record_mailbox *mailbox; /* filed, or filing there */
	int64_t after;                        /* number: later ones only, for pages */
	unsigned limit;                       /* 1 to 1000 */
};

/* A message as it was recorded. Valid during the call that it is passed to. */
struct record_listed {
	int64_t number;
	struct record_message message; /* DECODED without parts, unless one Message-ID was asked */
	const struct record_mailbox *mailboxes;
	const struct record_filing *filings; /* of PLACES[i] */
	size_t place_count;
};
typedef void record_listed_one(void *context, const struct record_listed *listed);

/* Of a group, in which a database is asked for all at once. */

struct record_turn {
	const struct lock_name *name;
	bool is_taken; /* out; false: another one has it */
};

struct record_entry {
	const struct record_message *message;
	int64_t number;     /* out */
	bool is_new;        /* out: recorded by this call */
	unsigned different; /* out: how many other messages have its Message-ID */
};

/* Which copy of a message it is, and what is decided about it. */
struct record_decision {
	struct str purpose; /* unique for a message and a user */
	struct str rule;    /* of the configuration: its name; "": none */
	unsigned flags;     /* enum mailstore_flags, for the copy that is appended */
};

/* One to file a message in a mailbox. */
struct record_attempt {
	int64_t message; /* its number */
	bool is_new;     /* the message was recorded in this transaction */
	struct record_mailbox mailbox;
	struct record_decision decision;
	struct record_token token;
	struct str copy;          /* where it was filed */
	struct record_filing row; /* out: as it was opened or looked at */
};

struct record;

/* The first member of each backend's struct. */
struct record_operations {
	int (*begin)(struct record *record);
	int (*lock)(struct record *record, struct record_turn *turns, size_t count);
	int (*put)(struct record *record, struct record_entry *entries, size_t count);
	int (*decide)(struct record *record, struct record_attempt **attempts, size_t count);
	int (*move)(struct record *record, struct record_attempt **attempts, size_t count);
	int (*new_folders)(struct record *record, const struct record_mailbox *mailbox,
			   int64_t since_us, unsigned *count_out);
	int (*open)(struct record *record, struct record_attempt **attempts, size_t count,
		    int64_t now_us);
	int (*look)(struct record *record, struct record_attempt **attempts, size_t count);
	int (*filed)(struct record *record, struct record_attempt **attempts, size_t count,
		     int64_t now_us);
	int (*end)(struct record *record, struct record_attempt **attempts, size_t count);
	int (*settle)(struct record *record, int64_t filing, int64_t before_us);
	int (*check)(struct record *record);
	int (*commit)(struct record *record);
	void (*rollback)(struct record *record);
	int (*holder)(struct record *record, const struct lock_name *name, struct arena *arena,
		      struct str *holder_out);
	int (*list)(struct record *record, const struct record_query *query, record_listed_one *one,
		    void *context);
	int (*unfile)(struct record *record, int64_t filing);
	int (*prune)(struct record *record, int64_t before_us, unsigned limit, unsigned *count_out);
	void (*free)(struct record *record);
};

struct record {
	const struct record_operations *operations;
	char error[256]; /* of the last call that failed, for people: one line */
};

/* Begins a transaction; connects first if there is no connection, and makes or upgrades the tables
 * if they are of an older version. */
MUST_CHECK int record_begin(struct record *record);
/* Takes the lock NAME for this transaction, without waiting: -EAGAIN: another one has it, and the
 * transaction goes on. Several may be taken; one that this transaction has already is no error. */
MUST_CHECK int record_lock(struct record *record, const struct lock_name *name);
/* Records MESSAGE with its participants and parts unless it is there. DIFFERENT_OUT: how many other
 * messages have its Message-ID. -EINVAL: that is longer than DECODE_ID_MAX, or no valid UTF-8; the
 * transaction goes on. */
MUST_CHECK int record_put(struct record *record, const struct record_message *message,
			  int64_t *number_out, bool *is_new_out, unsigned *different_out);
/* The row of MESSAGE (by number) and MAILBOX, made if it is missing; notes the attempt TOKEN unless
 * it is filed and nobody else's attempt is left. Texts of OUT are valid until the next call.
 * -EINVAL: MAILBOX is too long, or no valid UTF-8; the transaction goes on. */
MUST_CHECK int record_open(struct record *record, int64_t message,
			   const struct record_mailbox *mailbox, const struct record_token *token,
			   int64_t now_us, struct record_filing *out);
/* The row FILING again. -ENOENT: it was removed; the transaction goes on. */
MUST_CHECK int record_look(struct record *record, int64_t filing, const struct record_token *token,
			   struct record_filing *out);
/* It is filed as COPY: to be called after the copy is durable in the store. The attempt TOKEN ends.
 * -ENOENT: the row was removed; the transaction goes on. */
MUST_CHECK int record_filed(struct record *record, int64_t filing, const struct record_token *token,
			    struct str copy, int64_t now_us);
/* The attempt TOKEN ends, and it is known that it left no copy, or the one that is recorded. */
MUST_CHECK int record_end(struct record *record, int64_t filing, const struct record_token *token);
/* Attempts of anybody that began before BEFORE_US end: they cannot append any more, and the mailbox
 * was looked into. */
MUST_CHECK int record_settle(struct record *record, int64_t filing, int64_t before_us);
/* Whether the connection, and with it every lock, is still there, by asking the database: the last
 * thing before a copy is appended. */
MUST_CHECK int record_check(struct record *record);
/* Durable when it returns 0. */
MUST_CHECK int record_commit(struct record *record);
void record_rollback(struct record *record);

/* The same for COUNT of them (0: nothing is done), of which no two are equal, but for locks. An
 * error that a single one would meet is that of all: then nothing is known of the others, and where
 * the transaction goes on, it is to be rolled back. */
MUST_CHECK int record_lock_all(struct record *record, struct record_turn *turns, size_t count);
MUST_CHECK int record_put_all(struct record *record, struct record_entry *entries, size_t count);
/* Decides in which folder, by which rule and with which flags the copy for each purpose is filed:
 * as was decided before, which replaces that in ATTEMPTS, else as it is there. Two purposes may
 * have one mailbox. Texts are valid until the next call. -EINVAL: a text is too long, or no valid
 * UTF-8; the transaction goes on. */
MUST_CHECK int record_decide_all(struct record *record, struct record_attempt **attempts,
				 size_t count);
/* Decides anew: the folder of each attempt's mailbox replaces what was decided for its purpose, as
 * the store refuses that. Under the lock of the message, and when no attempt to file it there is
 * left that could still take effect. -EINVAL: likewise. */
MUST_CHECK int record_move_all(struct record *record, struct record_attempt **attempts,
			       size_t count);
/* 1: MAILBOX is one that the record knows; 0: it is not, and COUNT_OUT folders of its user have
 * their first mail, as far as the record goes back, since SINCE_US. -EINVAL: likewise. */
MUST_CHECK int record_new_folders(struct record *record, const struct record_mailbox *mailbox,
				  int64_t since_us, unsigned *count_out);
/* Texts of the rows are valid until the next call. */
MUST_CHECK int record_open_all(struct record *record, struct record_attempt **attempts,
			       size_t count, int64_t now_us);
MUST_CHECK int record_look_all(struct record *record, struct record_attempt **attempts,
			       size_t count);
MUST_CHECK int record_filed_all(struct record *record, struct record_attempt **attempts,
				size_t count, int64_t now_us);
MUST_CHECK int record_end_all(struct record *record, struct record_attempt **attempts,
			      size_t count);

/* Outside of transactions: */

/* Who has the lock NAME, for people ("process 311 of 192.0.2.7 since ..."); "": nobody. */
MUST_CHECK int record_holder(struct record *record, const struct lock_name *name,
			     struct arena *arena, struct str *holder_out);
/* Calls ONE for each message that fits QUERY, in the order of their numbers. */
MUST_CHECK int record_list(struct record *record, const struct record_query *query,
			   record_listed_one *one, void *context);
/* Within a transaction and its lock: removes the row FILING with its attempts (repair). */
MUST_CHECK int record_unfile(struct record *record, int64_t filing);
/* Removes messages that were recorded before BEFORE_US, with all that belongs to them: of the LIMIT
 * oldest that have no row "filing" and no attempt since BEFORE_US, those whose lock no other one
 * has. */
MUST_CHECK int record_prune(struct record *record, int64_t before_us, unsigned limit,
			    unsigned *count_out);
/* The words for the last call that failed. */
const char *record_error(const struct record *record);
/* NULL is allowed. Closes the connection. */
void record_free(struct record *record);

#endif
