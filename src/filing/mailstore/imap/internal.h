// SPDX-License-Identifier: ISC
/*
 * filing/mailstore/imap/internal.h - an IMAP connection: libcurl makes it, with TLS and the login,
 * then the dialogue is ours.
 *
 * A server may stall, close or send anything: every command has a limit of time and of bytes that
 * are read for it. Functions return 0 or -errno: -ETIMEDOUT, -ENOTCONN (closed, or BYE), -EPROTO
 * (it does not speak IMAP), -EMSGSIZE (more than is read); after each of these the connection is
 * broken, and its problem says why.
 */
#ifndef FILING_MAILSTORE_IMAP_INTERNAL_H
#define FILING_MAILSTORE_IMAP_INTERNAL_H

#include "filing/mailstore/imap.h"
#include "filing/mailstore/internal.h"
#include <curl/curl.h>

enum {
	IMAP_LINE_MAX = 1 << 20,      /* bytes of a response without its literals */
	IMAP_ANSWERS_MAX = 16 << 20,  /* bytes that are read for one command, but for a message */
	IMAP_MESSAGE_MAX = 256 << 20, /* of a message that is read to be compared */
	IMAP_FOUND_MAX = 1000,        /* messages with one Message-ID that are looked at */
	IMAP_SLOWEST = 64 << 10,      /* bytes a second: a larger message has more time */
	IMAP_PROBLEM_SIZE = 256,
	IMAP_PREFIX_SIZE = 101, /* with its NUL; longer ones are not taken from servers */
};

/* A copy of what was set, with defaults. */
struct imap_settings {
	char *host;
	char *address;
	char *authorities;
	char *login;
	char *password;
	char *prefix;
	uint16_t port;
	enum mailstore_imap_tls tls;
	int64_t timeout_us;
};

struct imap_connection {
	CURL *easy;
	int socket;
	char *login;
	const struct imap_settings *settings;
	struct buffer in;      /* read from the server and not used */
	struct buffer text;    /* of the last response */
	struct buffer literal; /* of the last response: its last literal */
	struct buffer words;   /* while it is being made: the server's last line */
	int64_t deadline_us;   /* of the command, by the monotonic clock */
	size_t left;           /* bytes that may be read for the command */
	unsigned tag;
	char separator; /* of the levels of folders; 0: there are none */
	bool has_uidplus;
	bool has_namespace;
	bool has_quota;
	char prefix[IMAP_PREFIX_SIZE]; /* of a user's folders, as its NAMESPACE says (RFC 2342) */
	bool is_broken;
	bool was_used;   /* a command has succeeded */
	int64_t used_us; /* when last, by the monotonic clock */
	char problem[IMAP_PROBLEM_SIZE];
	char curl_error[CURL_ERROR_SIZE];
};

/* Connects and logs in as LOGIN. Always a connection in *OUT, to be closed: on errors (also
 * -EACCES: the login was refused; -EKEYREJECTED: there is no TLS, or the certificate is not valid),
 * for its problem. */
MUST_CHECK int imap_connection_open(const struct imap_settings *settings, const char *login,
				    struct imap_connection **out);
/* NULL is allowed. */
void imap_connection_close(struct imap_connection *connection);

/* Notes why the connection is broken, and returns ERROR. */
int imap_connection_break(struct imap_connection *connection, int error, const char *format, ...)
	PRINTF_LIKE(3, 4);
/* Gives the command that begins now its time, more for SIZE bytes, and its bytes to be read. */
void imap_connection_allow(struct imap_connection *connection, uint64_t size);
MUST_CHECK int imap_connection_send(struct imap_connection *connection, struct str bytes);

/* One response without its CRLF. Literals are in TEXT as "{}"; LITERAL is the last of them, without
 * data if there is none. Valid until the next call. */
struct imap_response {
	struct str text;
	struct str literal;
};
MUST_CHECK int imap_connection_read(struct imap_connection *connection, struct imap_response *out);

/* ---- commands (command.c) ---- */

enum imap_status { IMAP_OK, IMAP_NO, IMAP_BAD };

/* Valid until the next command. */
struct imap_answer {
	enum imap_status status;
	struct str code;     /* of "[CODE ARGUMENT]"; "": none */
	struct str argument; /* likewise */
	struct str text;     /* for people */
};

/* An untagged response, without "* ". */
typedef void imap_untagged(void *context, const struct imap_response *response);

/* Sends COMMAND, text without a tag and CRLF, and reads responses until its own. EACH may be NULL.
 * SIZE: the message that is to be read. */
MUST_CHECK int imap_command(struct imap_connection *connection, const char *command, uint64_t size,
			    imap_untagged *each, void *context, struct imap_answer *out);
/* Its two halves. Between them a command with a literal waits for "+": 0; 1: the command has been
 * answered already. */
MUST_CHECK int imap_command_begin(struct imap_connection *connection, const char *command,
				  uint64_t size);
MUST_CHECK int imap_command_continue(struct imap_connection *connection, struct imap_answer *out);
MUST_CHECK int imap_command_end(struct imap_connection *connection, imap_untagged *each,
				void *context, struct imap_answer *out);
/* Asks what the server can do: the first of all commands. */
MUST_CHECK int imap_command_ask(struct imap_connection *connection);

/* ---- the store (store.c) ---- */

enum { IMAP_CONNECTIONS = 8 }; /* that a store keeps, for logins that differ */

struct imap_store {
	struct mailstore store; /* the first member */
	struct imap_settings settings;
	struct imap_connection *connections[IMAP_CONNECTIONS];
};

/* What is done on a connection. May be called a second time, on a new one, if the first was one
 * that was kept and turns out to be closed. */
typedef int imap_store_run(struct imap_connection *connection, void *context);

/* Calls RUN with a connection for USER, and returns what it does; if there can be no connection,
 * -errno as from imap_connection_open(); -EINVAL: USER can have no login. The store's error then
 * says why. */
MUST_CHECK int imap_store_with(struct imap_store *store, struct str user, imap_store_run *run,
			       void *context);
/* After imap_store_with() has returned RESULT: sets whether the store is away, which one connection
 * that was lost does not tell: then a new one is tried. */
void imap_store_judge(struct imap_store *store, struct str user, int result);
/* Appends the quoted name of LOCATION's mailbox. -EINVAL: there can be none, with a problem. */
MUST_CHECK int imap_store_name(struct imap_connection *connection,
			       const struct mailstore_location *location, struct buffer *out);
/* Notes a refusal as the connection's problem, which stays usable, and returns ERROR. */
int imap_store_refuse(struct imap_connection *connection, int error, const char *what,
		      const struct imap_answer *answer);

/* ---- mailboxes (mailbox.c) ---- */

/* Opens LOCATION's mailbox by COMMAND, SELECT or EXAMINE. -ENOENT: there is none. */
struct imap_mailbox {
	uint64_t validity;
	uint64_t messages;
};
MUST_CHECK int imap_mailbox_open(struct imap_connection *connection, const char *command,
				 const struct mailstore_location *location,
				 struct imap_mailbox *out);
/* Whether there is the mailbox with the quoted NAME, or one that the server takes for it: 1, also
 * if it does not say, 0 or -errno. */
MUST_CHECK int imap_mailbox_exists(struct imap_connection *connection, struct str name);
/* The UID in an untagged FETCH; 0: it is no FETCH with one. */
uint64_t imap_mailbox_fetched(struct str text);
/* Messages that a search has found, from UID FROM to UID TO. */
typedef void imap_mailbox_range(void *context, uint64_t from, uint64_t to);
/* Calls EACH for all UIDs in an untagged SEARCH or, as servers of IMAP4rev2 answer, ESEARCH (RFC
 * 9051 section 7.3.4). */
void imap_mailbox_found(struct str text, imap_mailbox_range *each, void *context);

/* ---- refusals (refusal.c) ---- */

/* An answer other than OK to an APPEND, or to the CREATE of its mailbox; a copy. */
struct imap_refusal {
	bool is_of_create;
	bool is_no; /* not BAD */
	char code[32];
	char text[IMAP_PROBLEM_SIZE];
};
void imap_refusal_take(const struct imap_answer *answer, bool is_of_create,
		       struct imap_refusal *out);
/* Sets APPEND's verdict, and whether it is its folder that is refused: by the response code (RFC
 * 5530), else by what the server says of the quota (RFC 9208), of the mailbox with the quoted NAME
 * and SIZE bytes more, else by words that servers are known to have. 0 or -errno. */
MUST_CHECK int imap_refusal_judge(struct imap_connection *connection,
				  const struct imap_refusal *refusal,
				  struct mailstore_append *append, uint64_t size, struct str name);

/* ---- the store's operations ---- */

void imap_append_all(struct mailstore *store, struct mailstore_append *appends, size_t count,
		     const struct mailstore_gate *gate);
MUST_CHECK int imap_find(struct mailstore *store, const struct mailstore_location *location,
			 struct arena *arena, struct mailstore_found **found_out,
			 size_t *count_out);
MUST_CHECK int imap_remove(struct mailstore *store, const struct mailstore_location *location,
			   const char *copy);

/* The next word of *TEXT up to a space or ')': an atom or number. */
struct str imap_word(struct str *text);
/* Whether CODE is NAME, without case. */
bool imap_is(struct str code, const char *name);

#endif
