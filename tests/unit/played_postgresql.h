// SPDX-License-Identifier: ISC
/*
 * tests/unit/played_postgresql.h - the server's side of PostgreSQL's protocol (version 3.0), at a
 * UNIX socket, for the real libpq. It never waits: who waits for it calls played_postgresql_turn(),
 * in which it takes what has come, and answers.
 *
 * What a statement does is the test's: the handler answers it by the functions below.
 */
#ifndef TESTS_UNIT_PLAYED_POSTGRESQL_H
#define TESTS_UNIT_PLAYED_POSTGRESQL_H

#include "base/buffer.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PLAYED_POSTGRESQL_PARAMETERS = 32, PLAYED_POSTGRESQL_SESSIONS = 8 };

struct played_postgresql_statement {
	struct str text, name; /* NAME: under which it was prepared; "" if it was not */
	struct str values[PLAYED_POSTGRESQL_PARAMETERS];
	bool is_null[PLAYED_POSTGRESQL_PARAMETERS], is_binary[PLAYED_POSTGRESQL_PARAMETERS];
	uint32_t types[PLAYED_POSTGRESQL_PARAMETERS];
	size_t count;
	bool wants_binary; /* results */
};

struct played_postgresql_session;

enum played_postgresql_fault {
	PLAYED_POSTGRESQL_FINE,
	PLAYED_POSTGRESQL_REFUSES,        /* the statement, with FAULT_STATE */
	PLAYED_POSTGRESQL_CLOSES,         /* instead of doing it */
	PLAYED_POSTGRESQL_DOES_IT_CLOSES, /* and does not say so */
	PLAYED_POSTGRESQL_IS_SILENT,      /* from then on: nothing is done any more */
	PLAYED_POSTGRESQL_BABBLES,        /* sends what is no message */
	PLAYED_POSTGRESQL_FAULTS,
};

struct played_postgresql {
	/* Answers a statement. */
	void (*answer)(struct played_postgresql_session *session,
		       const struct played_postgresql_statement *statement);
	void (*opened)(struct played_postgresql_session *session); /* or NULL */
	void (*closed)(struct played_postgresql_session *session); /* or NULL */
	const char *refuses_login;                                 /* SQLSTATE; NULL: it does not */
	/* The statement of this number from now on, 1 the next one; 0: none. Those of the same
	 * words one after the other count once, and the first of them fails. */
	unsigned fails_at;
	enum played_postgresql_fault fault;
	const char *fault_state;
	bool is_silent; /* as if it were frozen: accepts no one either */
	bool is_deaf;   /* takes nothing, but may send */
	/* what was done */
	unsigned statements, accepted, open;
	struct buffer startup; /* "NAME=VALUE\n" of the last session's beginning */
	struct buffer last;    /* the words of the last statement */
	struct buffer heard;   /* texts of statements, and "sync"; each a line */
};

extern struct played_postgresql played_postgresql;

/* Listens in FOLDER, which libpq takes as a host, port 5432. */
void played_postgresql_begin(const char *folder);
void played_postgresql_end(void);
/* Whether anything was done. */
bool played_postgresql_turn(void);
/* Loses all connections: the words of an administrator come first, or nothing. */
void played_postgresql_lose_all(bool with_words);
/* No one can connect, or again. */
void played_postgresql_stop_listening(void);
void played_postgresql_listen_again(void);

/* The handler's own of SESSION. */
void played_postgresql_set_context(struct played_postgresql_session *session, void *context);
void *played_postgresql_context(const struct played_postgresql_session *session);

/* Answers: rows, each of COUNT values; then TAG ("SELECT 2"). TYPES: OIDs. */
void played_postgresql_columns(struct played_postgresql_session *session, const uint32_t *types,
			       size_t count);
void played_postgresql_row(struct played_postgresql_session *session, const struct str *values,
			   const bool *is_null, size_t count);
void played_postgresql_complete(struct played_postgresql_session *session, const char *tag);
void played_postgresql_refuse(struct played_postgresql_session *session, const char *state,
			      const char *text);
/* A NOTIFY, and a notice, that come by themselves. */
void played_postgresql_notify(const char *channel);
void played_postgresql_notice(const char *text);
/* BYTES that are no answer to anything, to all. */
void played_postgresql_send(struct str bytes);

#endif
