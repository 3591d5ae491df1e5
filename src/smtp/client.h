// SPDX-License-Identifier: ISC
/*
 * smtp/client.h - the client's side of an SMTP session, without I/O.
 *
 * The driver gives the engine what the server sent and sends what stands in
 * its output. One transaction at a time: smtp_client_begin() (also before the
 * greeting came), then until the status is READY or CLOSED: bytes in, bytes
 * out, and the message's bytes when it wants them. Then every recipient has a
 * verdict. A READY client takes the next transaction or a QUIT.
 *
 * MAIL, RCPT and DATA go out together when the server offers PIPELINING
 * (RFC 2920). No bare CR or LF ever leaves: the session is cut instead, before
 * the end of the data, and the message is refused with 5.6.11.
 *
 * By SMTP a line over 998 bytes goes out as several, of which the others begin with a space
 * (RFC 5321 section 4.5.3.1.6); LMTP servers, who store the message, get it as it is. A message
 * that is_8bit is asked for in another form where the server does not offer 8BITMIME.
 *
 * What the sender asked for by DSN (RFC 3461) goes to a server that offers it.
 * What only SMTPUTF8 can transmit is refused with 5.6.7 before its data when the
 * server does not offer that.
 *
 * The same engine speaks LMTP (RFC 2033).
 */
#ifndef SMTP_CLIENT_H
#define SMTP_CLIENT_H

#include "base/attributes.h"
#include "base/str.h"
#include "mail/envelope.h"
#include "mail/verdict.h"
#include "smtp/watch.h"

struct smtp_client;

enum smtp_client_protocol { SMTP_CLIENT_SMTP, SMTP_CLIENT_LMTP };

struct smtp_client_settings {
	enum smtp_client_protocol protocol;
	const char *hostname; /* ours, for EHLO */
	const char *peer;     /* "mx.example.org[192.0.2.7]", for verdicts */
	int64_t timeout_us;   /* for a reply; twice as long for the last one */
	struct smtp_watch watch;
	void *watch_context;
};

/* What may be done at once for a recipient whose verdict is MAIL_WAIT. */
enum smtp_client_again {
	SMTP_CLIENT_LATER, /* nothing: perhaps the server took the message, or it is our fault */
	SMTP_CLIENT_ELSEWHERE, /* another server may be asked: this one did not take it */
	SMTP_CLIENT_HERE,      /* too many for this transaction: the server takes it in the next */
};

struct smtp_client_recipient {
	struct str address;  /* the engine's from then on: it may be told in A-labels */
	struct str original; /* ORCPT; empty: none */
	unsigned notify;     /* enum mail_notify */
	const struct mail_verdict *verdict; /* NULL: undecided; valid until the next transaction */
	bool is_asked;                      /* the engine's: RCPT was or will be sent */
	bool is_accepted;                   /* the engine's: RCPT was answered with 2yz */
	enum smtp_client_again again;       /* the engine's; of a verdict that is MAIL_WAIT */
	bool is_passed_on; /* the engine's: notify went to the server, who answers for it */
};

/* Borrowed until the transaction is over. */
struct smtp_client_message {
	struct str sender; /* "" : the null sender */
	uint64_t size;     /* bytes, with what the breaks of long lines add */
	bool is_8bit;      /* may hold bytes over 127 */
	bool is_utf8;      /* SMTPUTF8 was asked for (RFC 6531) */
	bool needs_utf8;   /* its header cannot do without */
	enum mail_ret ret;
	struct str envid; /* as xtext; empty: none */
	struct smtp_client_recipient *recipients;
	size_t recipient_count; /* at least 1 */
};

enum smtp_client_status {
	SMTP_CLIENT_WAITING,    /* for the server */
	SMTP_CLIENT_WANTS_FORM, /* smtp_client_form() or smtp_client_refuse_form() */
	SMTP_CLIENT_WANTS_DATA, /* smtp_client_data(), once its output was sent */
	SMTP_CLIENT_READY,      /* no transaction */
	SMTP_CLIENT_CLOSED,     /* close the connection, once its output was sent */
};

/* Copies SETTINGS and its strings. The status is WAITING for the greeting. */
struct smtp_client *smtp_client_new(const struct smtp_client_settings *settings);
void smtp_client_free(struct smtp_client *client);

enum smtp_client_status smtp_client_status(const struct smtp_client *client);
/* How long the server may take for what it is waited for. */
int64_t smtp_client_timeout_us(const struct smtp_client *client);

/* While no transaction is under way and the client is not CLOSED. */
void smtp_client_begin(struct smtp_client *client, const struct smtp_client_message *message);
/* When the client is READY: QUIT goes out, then it is CLOSED. */
void smtp_client_quit(struct smtp_client *client);

/* What the server sent. */
void smtp_client_input(struct smtp_client *client, struct str input);
/* The connection ended, for the reason given ("connection reset"). */
void smtp_client_lost(struct smtp_client *client, const char *reason);
/* The server took longer than it may. */
void smtp_client_timed_out(struct smtp_client *client);

/* Ends the session at once for a reason of ours, which the undecided
 * recipients' verdicts tell. */
void smtp_client_abandon(struct smtp_client *client, const char *status, const char *reason);

/* The message will be given in 7 bits, or as it is after all; that is SIZE bytes, with breaks. */
void smtp_client_form(struct smtp_client *client, uint64_t size);
/* There is no such form, for the reason given ("its parts cannot be told apart"): every recipient
 * has STATUS. */
void smtp_client_refuse_form(struct smtp_client *client, const char *status, const char *reason);

/* The next bytes of the message, in any pieces; IS_LAST with the last of them. */
void smtp_client_data(struct smtp_client *client, struct str data, bool is_last);

/* What is to be sent, and that COUNT bytes of it were. */
struct str smtp_client_output(const struct smtp_client *client);
void smtp_client_sent(struct smtp_client *client, size_t count);

/* The server has the whole message, and its reply is awaited: who ends the session now does
 * not know whether the message was taken. Before that nothing was. */
bool smtp_client_is_deciding(const struct smtp_client *client);
/* How many replies were acted upon: grows with the server's progress. */
unsigned smtp_client_reply_count(const struct smtp_client *client);
/* Whether the client is CLOSED because the session ended before the server had decided
 * about any recipient or was sent the message: another server may be asked at once. */
bool smtp_client_is_unserved(const struct smtp_client *client);
/* Whether the client is CLOSED because a server that had served an earlier
 * transaction ended the session, or could not reset it, before it answered any command
 * of this one: nothing was decided, a new connection may do better. */
bool smtp_client_is_stale(const struct smtp_client *client);

#endif
