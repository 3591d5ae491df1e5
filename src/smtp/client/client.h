// SPDX-License-Identifier: ISC
/*
 * smtp/client/client.h - the client's side of an SMTP session, without I/O.
 *
 * The driver gives the engine what the server sent, and sends the engine's output. One transaction
 * at a time: smtp_client_begin() (also before the greeting has come), then until the status is
 * READY or CLOSED: bytes in, bytes out, and the message's bytes when it asks for them. Then every
 * recipient has a verdict. A READY client accepts the next transaction or a QUIT.
 *
 * MAIL, RCPT and DATA are sent together when the server offers PIPELINING (RFC 2920). A bare CR or
 * LF is never sent: the session is cut before the end of the data instead, and the message is
 * refused with 5.6.11.
 *
 * Where the server offers CHUNKING (RFC 3030) and PIPELINING, a message of up to
 * SMTP_CLIENT_CHUNKED_MAX bytes is sent by BDAT, without dot-stuffing: each piece that the driver
 * gives is a chunk, and no reply is waited for between them. Larger ones go by DATA: many chunks
 * gain nothing. At most as many recipients and transactions are tried as the server has LIMITS for
 * (RFC 9422).
 *
 * With SMTP a line over 998 bytes is sent as several, and those after the first begin with a space
 * (RFC 5321 section 4.5.3.1.6); LMTP servers, which store the message, get it unchanged. If a
 * message is_8bit and the server does not offer 8BITMIME, the driver is asked to convert it.
 *
 * What the sender requested by DSN (RFC 3461) is passed to a server that offers it. A message that
 * needs SMTPUTF8 is refused with 5.6.7 before its data when the server does not offer that; for one
 * that requires TLS, the session ends with 5.7.30 if the server does not offer REQUIRETLS, since
 * another server may.
 *
 * A binary message (BINARYMIME, RFC 3030) goes by BDAT whatever its size, byte for byte,
 * where the server offers that, CHUNKING and PIPELINING; for any other the driver is asked to
 * convert it, and never gets it otherwise.
 *
 * A message that its sender wants returned after a time (RFC 2852) goes to no server that does not
 * offer DELIVERBY, or needs longer: there the session ends with 5.4.7. One whose delay is to be
 * reported goes everywhere. LMTP servers deliver at once: only that it is not too late counts.
 *
 * If the settings want TLS, STARTTLS (RFC 3207) comes before the first transaction: the driver is
 * asked for the handshake, and after it everything that the server said before is forgotten.
 *
 * If they want a login, AUTH (RFC 4954) comes before the first transaction, too: the driver chooses
 * the mechanism and answers the server's challenges, of which the engine understands nothing.
 * Without TLS, or where the server offers no AUTH, there is neither login nor mail. What the server
 * answers to AUTH is not repeated if it has parts of what was sent.
 *
 * The same engine speaks LMTP (RFC 2033).
 */
#ifndef SMTP_CLIENT_CLIENT_H
#define SMTP_CLIENT_CLIENT_H

#include "base/attributes.h"
#include "base/str.h"
#include "mail/envelope.h"
#include "mail/verdict.h"
#include "smtp/client/scope.h"
#include "smtp/watch.h"

struct smtp_client;

enum { SMTP_CLIENT_CHUNKED_MAX = 65536 };
enum { SMTP_CLIENT_NAME_SIZE = 256 }; /* of a server; what is longer is cut */

enum smtp_client_protocol {
	SMTP_CLIENT_SMTP,
	SMTP_CLIENT_LMTP,
	SMTP_CLIENT_QMTP, /* qmtp/client.h */
};

enum smtp_client_tls {
	SMTP_CLIENT_TLS_NEVER,
	SMTP_CLIENT_TLS_MAY,  /* where the server offers it and then begins it */
	SMTP_CLIENT_TLS_MUST, /* else no transaction begins: 4.7.x */
};

struct smtp_client_settings {
	enum smtp_client_protocol protocol;
	const char *hostname; /* ours, for EHLO */
	const char *peer;     /* "mx.example.org[192.0.2.7]", for verdicts */
	int64_t timeout_us;   /* for a reply; twice as long for the final one */
	enum smtp_client_tls tls;
	int64_t tls_timeout_us; /* for the reply to STARTTLS, and for the handshake */
	bool wants_login;
	bool may_login_plainly; /* also without TLS */
	bool avoids_chunks;     /* never BDAT */
	struct smtp_watch watch;
	void *watch_context;
};

/* What may be done at once with a recipient whose verdict is not MAIL_OK. */
enum smtp_client_again {
	SMTP_CLIENT_LATER,     /* nothing: the server may have accepted the message, or the fault is
				* ours, or it is refused for good */
	SMTP_CLIENT_ELSEWHERE, /* ask another server: this one did not accept it */
	SMTP_CLIENT_HERE,      /* too many for this transaction: this server may accept it in the
				* next one */
	SMTP_CLIENT_ANEW,      /* the session has served enough: this server may accept it in a new
				* one, whatever the verdict is (scope.h) */
};

struct smtp_client_recipient {
	struct str address;  /* owned by the engine from then on: it may be converted to A-labels */
	struct str original; /* ORCPT; empty: none */
	unsigned notify;     /* enum mail_notify */
	const struct mail_verdict *verdict; /* NULL: undecided; valid until the next transaction */
	bool is_asked;                      /* the engine's: RCPT was or will be sent */
	bool is_accepted;                   /* the engine's: RCPT was answered with 2yz */
	enum smtp_client_again again;       /* by the engine */
	bool is_slower;    /* by the engine: it would be accepted if less came; with ELSEWHERE */
	bool is_passed_on; /* by the engine: NOTIFY was passed to the server, which will report */
	bool is_timed;     /* by the engine: the server was told of the deadline */
};

/* Where a message came from, for XFORWARD (Postfix); what is empty is unknown. */
struct smtp_client_origin {
	struct str name;     /* of the client, confirmed */
	struct str address;  /* "192.0.2.7", "2001:db8::7" */
	struct str port;     /* "53112" */
	struct str protocol; /* "ESMTP" */
	struct str helo;
	struct str ident; /* in the log */
	bool is_local;    /* of a user, or of this machine */
};

/* Borrowed until the transaction is finished. */
struct smtp_client_message {
	struct str sender;   /* "" : the null sender */
	uint64_t size;       /* bytes, including breaks of long lines */
	bool has_long_lines; /* perhaps: by SMTP they are broken */
	bool is_8bit;        /* may contain bytes over 127 */
	bool is_binary;      /* the sender used BINARYMIME (RFC 3030) */
	bool is_utf8;        /* the sender used SMTPUTF8 (RFC 6531) */
	bool needs_utf8;     /* its header needs SMTPUTF8, unless it is converted */
	bool requires_tls;   /* REQUIRETLS (RFC 8689): to no server that does not offer it */
	int priority;        /* MT-PRIORITY (RFC 6710), if the server offers it; 0: not said */
	struct mail_deadline deadline; /* that the sender has set (DELIVERBY, RFC 2852) */
	int64_t deadline_left;         /* seconds until then */
	enum mail_ret ret;
	struct str envid;                        /* as xtext; empty: none */
	const struct smtp_client_origin *origin; /* told to a server that offers XFORWARD; NULL: not
						  * told */
	struct smtp_client_recipient *recipients;
	size_t recipient_count; /* at least 1 */
};

/* A reply that says that the server gets too much (slower.h). */
struct smtp_client_slower {
	int64_t wait_us; /* for how long it wants nothing; 0: it did not say */
	unsigned code;
	struct smtp_client_refusal refusal; /* not is_of_others, which the engine cannot know */
	const struct mail_verdict *verdict; /* of it; valid until the next transaction */
	size_t recipient;                   /* of the transaction, at RCPT */
};

enum smtp_client_status {
	SMTP_CLIENT_WAITING,     /* for the server */
	SMTP_CLIENT_WANTS_TLS,   /* begin the handshake, once its output was sent; then call
				  * smtp_client_secured() or smtp_client_insecure() */
	SMTP_CLIENT_WANTS_LOGIN, /* do what smtp_client_login() says */
	SMTP_CLIENT_WANTS_FORM,  /* call smtp_client_form() or smtp_client_refuse_form() */
	SMTP_CLIENT_WANTS_DATA,  /* call smtp_client_data(), once its output was sent */
	SMTP_CLIENT_READY,       /* no transaction is running */
	SMTP_CLIENT_CLOSED,      /* close the connection, once its output was sent */
};

/* Copies SETTINGS and its strings. The status is WAITING for the greeting. */
struct smtp_client *smtp_client_new(const struct smtp_client_settings *settings);
void smtp_client_free(struct smtp_client *client);

enum smtp_client_status smtp_client_status(const struct smtp_client *client);
/* The time the server may take for what is now expected from it. */
int64_t smtp_client_timeout_us(const struct smtp_client *client);

/* Begins a transaction. None must be running, and the client must not be CLOSED. */
void smtp_client_begin(struct smtp_client *client, const struct smtp_client_message *message);
/* Whether the server has said in the last transaction that it gets too much mail (slower.h), and
 * not only that the session or the transaction has served enough; once. The last such reply is
 * returned, with the longest time. */
bool smtp_client_take_slower(struct smtp_client *client, struct smtp_client_slower *slower_out);
/* When the client is READY: sends QUIT, then it is CLOSED. */
void smtp_client_quit(struct smtp_client *client);

/* Takes what the server sent. */
void smtp_client_input(struct smtp_client *client, struct str input);
/* The connection ended, for REASON ("connection reset"). */
void smtp_client_lost(struct smtp_client *client, const char *reason);
/* The server exceeded its time. */
void smtp_client_timed_out(struct smtp_client *client);

/* Ends the session at once because of a fault of ours, which becomes the verdict of the
 * undecided recipients. */
void smtp_client_abandon(struct smtp_client *client, const char *status, const char *reason);

/* The handshake is done: from now on all bytes come and go by TLS. */
void smtp_client_secured(struct smtp_client *client);
/* It failed, for REASON ("certificate has expired"): the client is CLOSED. */
void smtp_client_insecure(struct smtp_client *client, const char *reason);

enum smtp_client_login {
	SMTP_CLIENT_LOGIN_BEGIN,     /* choose one of the mechanisms: smtp_client_login_begin() */
	SMTP_CLIENT_LOGIN_CHALLENGE, /* smtp_client_login_respond() */
	SMTP_CLIENT_LOGIN_SUCCESS, /* smtp_client_login_accept(), if the server has proved itself */
};

/* When the client WANTS_LOGIN: what the driver has to do; in any case it may call
 * smtp_client_login_cancel() instead. *TEXT_OUT is the mechanisms offered, separated by spaces, or
 * the challenge, decoded; valid until the driver has answered. */
enum smtp_client_login smtp_client_login(const struct smtp_client *client, struct str *text_out);
/* Copies MECHANISM and INITIAL, its first message; NULL: the server begins. */
void smtp_client_login_begin(struct smtp_client *client, const char *mechanism,
			     const struct str *initial);
/* Copies RESPONSE. */
void smtp_client_login_respond(struct smtp_client *client, struct str response);
void smtp_client_login_accept(struct smtp_client *client);
/* There can be no login, because of REASON: the client is CLOSED. */
void smtp_client_login_cancel(struct smtp_client *client, const char *reason);

enum smtp_client_form {
	SMTP_CLIENT_FORM_SEVEN_BIT = 1 << 0,
	SMTP_CLIENT_FORM_ASCII_HEADER = 1 << 1, /* its header needs SMTPUTF8 */
};

/* When the client WANTS_FORM: what the server demands of the message, enum smtp_client_form. */
unsigned smtp_client_wanted_form(const struct smtp_client *client);
/* The driver will give the message so, or in 7 bits if it is binary, or, if it only has to be
 * SEVEN_BIT, unchanged after all; it has SIZE bytes, including breaks. */
void smtp_client_form(struct smtp_client *client, uint64_t size);
/* The message cannot be converted, for the reason given ("its parts cannot be told apart"):
 * every recipient gets STATUS. */
void smtp_client_refuse_form(struct smtp_client *client, const char *status, const char *reason);

/* The next bytes of the message, in any pieces; IS_LAST with the last of them. */
void smtp_client_data(struct smtp_client *client, struct str data, bool is_last);

/* The bytes to send; and how to say that COUNT bytes of them were sent. */
struct str smtp_client_output(const struct smtp_client *client);
void smtp_client_sent(struct smtp_client *client, size_t count);

/* A transaction has begun of which the server has not been told yet. */
bool smtp_client_is_before_mail(const struct smtp_client *client);
/* The server has the complete message, and its reply is pending: if the session ends now, nobody
 * knows whether the message was accepted. Before that it was not. */
bool smtp_client_is_deciding(const struct smtp_client *client);
/* Whether the server takes no further transaction in this session: RFC 9422, MAILMAX. */
bool smtp_client_is_used_up(const struct smtp_client *client);
/* The number of replies handled: grows as the server makes progress. */
unsigned smtp_client_reply_count(const struct smtp_client *client);
/* Whether the client is CLOSED because the session ended before the server had decided about any
 * recipient and before the message was sent: another server may be asked at once. */
bool smtp_client_is_unserved(const struct smtp_client *client);
/* Whether the client is CLOSED because a server that had served an earlier transaction ended the
 * session, or could not reset it, before it answered any command of this one, or, if it had taken a
 * message, before the data: nothing was decided, and a new connection may do better. */
bool smtp_client_is_stale(const struct smtp_client *client);
/* Why the client is CLOSED; NULL: it was told to quit, or is not. */
const struct mail_verdict *smtp_client_failure(const struct smtp_client *client);
/* Whether the client is CLOSED because TLS failed: it is demanded, and the server does not offer or
 * refuses it; the server did not answer STARTTLS, or 421; the handshake failed; or, since a server
 * may reject it last, no reply came after it. */
bool smtp_client_is_insecure(const struct smtp_client *client);
/* Whether the client is CLOSED because the connection was lost in its first transaction, before the
 * server had the complete message, so that nobody can have accepted it. */
bool smtp_client_is_broken(const struct smtp_client *client);
/* Whether the server has not decided about the first MAIL of the session yet, and a reply is
 * expected from it, but for what belongs to TLS and logins. */
bool smtp_client_is_beginning(const struct smtp_client *client);
/* Whether the client is CLOSED because the server exceeded its time then. */
bool smtp_client_is_silent(const struct smtp_client *client);
/* Whether the client is CLOSED because the server did not answer the complete message: it may have
 * accepted it. */
bool smtp_client_is_unanswered(const struct smtp_client *client);
/* Whether the client is CLOSED because of replies in plain text that nobody can have sent who waits
 * for a handshake: somebody between the server and us has. That is no reason for plain text. */
bool smtp_client_is_injected(const struct smtp_client *client);
/* What the server calls itself in its last greeting or reply to EHLO: visible characters; "": it
 * has not said anything. */
const char *smtp_client_server_name(const struct smtp_client *client);
/* Whether the client is CLOSED because there was no login: the server offers none, or has refused
 * it, or the driver has cancelled it. */
bool smtp_client_is_login_refused(const struct smtp_client *client);
/* Whether the server offered STARTTLS in plain text, and refused it then. */
bool smtp_client_is_tls_refused(const struct smtp_client *client);

#endif
