// SPDX-License-Identifier: ISC
/*
 * smtp/server/server.h - the server's side of SMTP (RFC 5321), submission (RFC 6409) and LMTP (RFC
 * 2033), as an engine without I/O. Extensions: 8BITMIME (RFC 6152), CHUNKING and BINARYMIME (RFC
 * 3030), SMTPUTF8 (RFC 6531), DSN (RFC 3461), SIZE (RFC 1870), PIPELINING, ENHANCEDSTATUSCODES,
 * ETRN (RFC 1985), XCLIENT and XFORWARD (Postfix), STARTTLS (RFC 3207), AUTH (RFC 4954), REQUIRETLS
 * (RFC 8689), MT-PRIORITY (RFC 6710), FUTURERELEASE (RFC 4865, submission only), DELIVERBY (RFC
 * 2852, not for strangers).
 *
 * Bytes from the client go in through smtp_server_input(), replies are collected in
 * smtp_server_output(), the message in smtp_server_body(). At most one question is pending;
 * meanwhile nothing is consumed. The driver's side of a session:
 *
 *   smtp_server_new(), smtp_server_start()
 *   whenever bytes arrive or something below changed:
 *     while (kept bytes and smtp_server_is_ready()) drop what smtp_server_input() consumed
 *     a file is open and !smtp_server_message_is_open(): abandon the file
 *     smtp_server_body() over SMTP_SERVER_BODY_MAX, or COMMIT is pending: write it to the file
 *     smtp_server_question(): smtp_server_answer*(), perhaps at once; then start again from the top
 *     flush smtp_server_output(); then close if smtp_server_is_closed(),
 *       or begin TLS if smtp_server_wants_tls()
 *     read on only while smtp_server_is_ready(), for smtp_server_timeout_seconds()
 *   smtp_server_free()
 *
 * TLS lies beneath: the engine only learns what was negotiated. Bytes that the driver still keeps
 * when TLS begins were injected, or sent by a client that does not wait: the driver must close.
 *
 * Trace headers are written here, so the file contains the message as it will be sent: CRLF lines,
 * without dot-stuffing, the Received header first.
 */
#ifndef SMTP_SERVER_SERVER_H
#define SMTP_SERVER_SERVER_H

#include "base/buffer.h"
#include "base/hash.h"
#include "mail/address.h"
#include "mail/envelope.h"
#include "mail/verdict.h"
#include "smtp/watch.h"
#include <netinet/in.h>

enum {
	SMTP_SERVER_BODY_MAX = 65536,   /* nothing is consumed while the body has this many bytes */
	SMTP_SERVER_OUTPUT_MAX = 16384, /* nor while this many bytes of replies are unsent */
	SMTP_MECHANISM_MAX = 20,        /* bytes of a mechanism's name, RFC 4422 section 3.1 */
};

enum smtp_protocol {
	SMTP_PROTOCOL_SMTP,
	SMTP_PROTOCOL_SUBMISSION,
	SMTP_PROTOCOL_LMTP,
	SMTP_PROTOCOL_QMTP, /* these two: qmtp/server.h */
	SMTP_PROTOCOL_QMQP,
};

struct smtp_server_limits {
	uint64_t message_size;    /* bytes, without our trace header; 0: no limit */
	uint32_t recipients;      /* of one transaction */
	uint32_t errors;          /* 5yz replies since the last message; the next one becomes 421 */
	uint32_t commands;        /* commands without progress (NOOP, RSET, greetings, ...) since
				   * the last message; the next one becomes 421. 0: no limit */
	uint32_t hops;            /* Received header lines */
	uint32_t line;            /* bytes of a command line with its CRLF; 4096 is sensible */
	uint32_t command_timeout; /* seconds */
	uint32_t data_timeout;    /* seconds, for each part of a message */
};

/* How to handle a message with bare CRs or LFs, which other systems may read as line ends. */
enum smtp_bare_newline {
	SMTP_BARE_NEWLINE_AUTO,      /* normalized for submission and for trusted peers */
	SMTP_BARE_NEWLINE_REJECT,    /* 550 5.6.11 */
	SMTP_BARE_NEWLINE_NORMALIZE, /* a bare LF ends a line; a bare CR becomes a space, or
				      * nothing before a line end. The end of the message is
				      * still only CRLF.CRLF, and a dot is stuffing only after
				      * CRLF */
};

/* How tolerant to be towards clients that violate the RFCs. */
struct smtp_server_rules {
	enum smtp_bare_newline bare_newline;
	bool ends_early;       /* end sessions of clients that send commands before they may,
				* with 554 5.5.0; of trusted peers only for HTTP */
	bool strict_addresses; /* false: also accept what real clients send as paths and
				* greetings */
	bool removes_nul;      /* from messages; otherwise they are refused with 550 5.6.0 */
};

enum smtp_tls_rule {
	SMTP_TLS_NONE,     /* unknown to this service; or before the session: smtp_server_set_tls()
			    */
	SMTP_TLS_OFFERED,  /* STARTTLS */
	SMTP_TLS_REQUIRED, /* the same; without it no mail: 530 5.7.0 */
};

/* Whether clients authenticate (RFC 4954). */
enum smtp_auth_rule {
	SMTP_AUTH_NONE, /* unknown to this service */
	SMTP_AUTH_OFFERED,
	SMTP_AUTH_REQUIRED, /* the same; without it no mail but from peers that are ours: 530 5.7.0,
			     * or 454 4.7.0 while nobody can authenticate */
};

/* What a user who has authenticated may name as the sender. */
enum smtp_sender_rule {
	SMTP_SENDER_ANY,
	SMTP_SENDER_ENVELOPE, /* MAIL FROM is asked about */
	SMTP_SENDER_STRICT,   /* also From and Sender */
};

/* What was negotiated. The strings must outlive the session. */
struct smtp_tls {
	const char *version; /* "TLSv1.3" */
	const char *cipher;  /* "TLS_AES_256_GCM_SHA384" */
};

/* The limit of struct smtp_server_limits that a command is refused at. */
enum smtp_limit {
	SMTP_LIMIT_NONE,
	SMTP_LIMIT_MESSAGE_SIZE,
	SMTP_LIMIT_RECIPIENTS,
	SMTP_LIMIT_ERRORS,
	SMTP_LIMIT_COMMANDS,
};

/* A reply 4yz or 5yz. */
struct smtp_refusal {
	unsigned code;
	const char *status; /* enhanced status code, or NULL */
	const char *text;
	struct str command; /* as received, any bytes; empty if not caused by a command */
	bool is_message;    /* it is the reply to a message, after its data */
	const struct mail_envelope *envelope; /* of the transaction so far; NULL: none */
	struct str message_id; /* the message's own, as far as received; empty: none */
	/* If it is the header's fault, or an author's: the name of the field, and the address in
	 * it; empty: none. */
	struct str field, address;
	enum smtp_limit limit;
};

/* The reply code for VERDICT, RFC 5321 section 4.2.2. */
unsigned smtp_verdict_code(const struct mail_verdict *verdict);

/* What the sessions of one listener share. Outlives them. */
struct smtp_service {
	enum smtp_protocol protocol;
	enum mail_stage stage;
	const char *hostname;
	struct smtp_server_limits limits;
	struct smtp_server_rules rules;
	enum smtp_tls_rule tls;
	enum smtp_auth_rule auth;
	bool has_etrn; /* some clients may send it */
	enum smtp_sender_rule sender_rule;
	bool offers_binary;       /* BINARYMIME (RFC 3030) */
	bool completes;           /* messages of users' programs: header/edit.h */
	bool repairs;             /* likewise */
	int64_t release_max_us;   /* how far ahead a submitted message may be released; 0: at once
				   * only. In whole seconds */
	struct hash_key site_key; /* of marks against loops (header/loop.h); zeros: none */
	int64_t deliver_by_min;   /* the fewest seconds within which a sender may want its message
				   * delivered or returned; 0: DELIVERBY is not offered */
	/* The time of day. NULL only without these two. */
	int64_t (*now_us)(void);
	bool shows_user;   /* the Received field has the name of who has authenticated */
	bool hides_client; /* and does not say from where that user's message came */
	/* The mechanisms that the client may use now, in upper case, separated by a space; empty:
	 * none. Valid until the next call. It must not call the engine. NULL only without AUTH. */
	struct str (*mechanisms)(void *context);
	/* Called for refusals, for the log: for every 5yz, and for as many 4yz replies to
	 * commands as 5yz are allowed. It must not call the engine. May be NULL. */
	void (*on_refusal)(void *context, const struct smtp_refusal *refusal);
	/* Whether ADDRESS (IPv4 mapped) belongs to this host, so that USER@[ADDRESS] is local
	 * (RFC 5321 section 4.1.3). It must not call the engine. NULL: none does. */
	bool (*is_our_address)(void *context, const struct in6_addr *address);
	const char *local_domain; /* of such recipients, and of addresses without a domain in header
				   * fields and from trusted clients; NULL: there is none */
	struct smtp_watch watch;
};

enum { SMTP_CLAIM_TEXT_SIZE = 256 };

/* What a trusted proxy says of its client: text without spaces and control characters, "" where
 * nothing is known. */
struct smtp_claim {
	char name[SMTP_CLAIM_TEXT_SIZE];
	char address[SMTP_CLAIM_TEXT_SIZE]; /* "192.0.2.7", "2001:db8::7" */
	struct in6_addr mapped;             /* the same, IPv4 mapped; only with an address */
	bool is_unknown;                    /* the proxy does not know the address: "" */
	uint16_t port;
	char helo[SMTP_CLAIM_TEXT_SIZE];
	char login[SMTP_CLAIM_TEXT_SIZE]; /* who has authenticated */
	char ident[SMTP_CLAIM_TEXT_SIZE]; /* of the message, at the proxy */
};

/* The connected client. The strings must outlive the session. */
struct smtp_peer {
	const char *address; /* "192.0.2.7", "2001:db8::7"; "" on a UNIX socket */
	const char *name;    /* confirmed by reverse and forward DNS, or "" */
	uint16_t port;
	void *context;     /* passed to the service's functions */
	bool is_ours;      /* trusted: a machine of our users, which may relay */
	bool may_etrn;     /* may ask for the mail of domains (RFC 1985) */
	bool may_xclient;  /* a trusted proxy: XCLIENT */
	bool may_xforward; /* XFORWARD */
	bool may_tls;      /* TLS can begin: else STARTTLS is not offered, and deferred (454) */
};

struct smtp_server;

struct smtp_server *smtp_server_new(const struct smtp_service *service, struct smtp_peer peer);
/* Allowed at any time, even with a question pending (which must not be answered then). */
void smtp_server_free(struct smtp_server *server);

/* What the engines of all protocols of the server's side begin with: the driver reads and writes it
 * without asking which it is. */
struct smtp_server_head {
	struct buffer output;  /* replies: the driver consumes what it has sent; buffer_clear() when
				* everything is sent saves memory in idle sessions */
	struct smtp_peer peer; /* the driver may set the name, once it is known, for messages that
				* begin later; and is_ours, if the client's certificate shows it */
	/* Set by the engine only: */
	char *user;                   /* who has authenticated; NULL: nobody, or not since TLS
				       * began */
	char *helo;                   /* the name that the client gave, made safe for headers and
				       * logs; NULL: none yet */
	struct smtp_claim *forwarded; /* what a proxy has said by XFORWARD of the message's client;
				       * NULL: nothing */
	bool has_quit;                /* it is closed because the client sent QUIT, so that no more
				       * input follows */
};
/* Valid as long as SERVER. */
struct smtp_server_head *smtp_server_head(struct smtp_server *server);

/* Instead of that given before; PEER's strings must outlive the session. */
void smtp_server_set_peer(struct smtp_server *server, struct smtp_peer peer);
/* TLS was negotiated before the session, or after smtp_server_wants_tls(): then nothing of what the
 * client said before counts any more (RFC 3207 section 4.2). */
void smtp_server_set_tls(struct smtp_server *server, const struct smtp_tls *tls);
/* The client was told to begin TLS. Nothing is consumed until smtp_server_set_tls(); if the
 * handshake fails, the session is over. */
bool smtp_server_wants_tls(const struct smtp_server *server);

/* Sends the banner: the session begins. */
void smtp_server_start(struct smtp_server *server);
/* Instead of smtp_server_start(), when the client sent bytes before it: 554, closed. IS_TLS: they
 * begin a handshake. */
void smtp_server_early_talker(struct smtp_server *server, bool is_tls);
#define SMTP_TLS_TOO_EARLY "The client begins with TLS, and this port without: use STARTTLS here"

/* Takes LENGTH bytes from the client; returns how many were consumed. The driver keeps the
 * others and passes them again, first, when smtp_server_is_ready(). */
MUST_CHECK size_t smtp_server_input(struct smtp_server *server, const char *data, size_t length);
/* False while a question is pending, while the body or the output is over its limit, and after
 * the session is closed: smtp_server_input() would consume nothing. */
bool smtp_server_is_ready(const struct smtp_server *server);

/* That of the head. */
struct buffer *smtp_server_output(struct smtp_server *server);
/* Close the connection once the output is flushed. Never true with a question pending. */
bool smtp_server_is_closed(const struct smtp_server *server);
/* From DATA or the first BDAT to the end of the message: during this time replies do not show
 * progress. */
bool smtp_server_is_receiving(const struct smtp_server *server);
/* How long to wait for the client; 0 while it is not the client's turn. */
uint32_t smtp_server_timeout_seconds(const struct smtp_server *server);
/* The client was too slow: 421 4.4.2, closed. Does nothing while a question is pending. */
void smtp_server_timeout(struct smtp_server *server);
/* The daemon takes in no more mail: MAIL gets 421 4.3.2, closed; a transaction that has begun goes
 * on to its end. */
void smtp_server_drain(struct smtp_server *server);
/* The daemon stops: 421 4.3.2, closed; at once, or after the pending question was answered and
 * the client got its reply. */
void smtp_server_shutdown(struct smtp_server *server);
/* The session's place is needed, or there is none for it: 421 with TEXT, closed. At any time,
 * also instead of smtp_server_start(), but not while a question is pending. */
void smtp_server_refuse_session(struct smtp_server *server, const char *text);

enum smtp_question_type {
	SMTP_QUESTION_RECIPIENT, /* may ADDRESS receive mail? MAIL_OK: yes */
	SMTP_QUESTION_OPEN,      /* a data file for a message with this envelope */
	SMTP_QUESTION_SENDERS,   /* may the user (of the head) send as all of SENDERS? MAIL_OK:
				  * yes. At MAIL, when there is no envelope, there may be none of
				  * them: may the user still send at all? */
	SMTP_QUESTION_AUTH,      /* a message of the client's mechanism. While the exchange goes on:
				  * smtp_server_is_authenticating() */
	SMTP_QUESTION_CLIENT,  /* the session is from now on that of the client in CLAIM (XCLIENT):
				* the driver calls smtp_server_set_peer(), then MAIL_OK; or
				* there is no place for that client: 421, closed */
	SMTP_QUESTION_RELEASE, /* mail for NODE, a domain as A-labels, is to be tried now (ETRN) */
	SMTP_QUESTION_COMMIT,  /* the message is complete: queue it. MAIL_OK: it is durable,
				* and the verdict's text is sent to the client ("queued as
				* 457-63f1...") */
};

struct smtp_question {
	enum smtp_question_type type;
	const struct mail_envelope *envelope;      /* complete (size, id, recipients) at COMMIT */
	union {                                    /* by the type */
		struct mail_address address;       /* RECIPIENT */
		const struct smtp_claim *claim;    /* CLIENT */
		struct str node;                   /* RELEASE */
		struct {                           /* SENDERS */
			const struct str *senders; /* addresses */
			size_t sender_count;
		};
		struct {                      /* AUTH */
			struct str mechanism; /* its name in upper case; empty: it goes on */
			struct str response;  /* the message, decoded; secret */
			bool has_response;    /* at the beginning: perhaps empty */
		};
		struct str message_id; /* COMMIT: the header's, any bytes; empty: none */
	};
};

/* The pending question or NULL. Valid until it is answered. */
const struct smtp_question *smtp_server_question(const struct smtp_server *server);

/* Answers RECIPIENT, SENDERS or COMMIT; refuses OPEN (then VERDICT is not MAIL_OK). The reply code
 * is derived from the verdict's status: 4.3.1 gives 452, 5.1.1 gives 550 and so on. */
void smtp_server_answer(struct smtp_server *server, const struct mail_verdict *verdict);
/* Answers OPEN: the message has the id ID, and was received at ID's birth. */
void smtp_server_answer_open(struct smtp_server *server, struct mail_id id);

enum smtp_auth_outcome {
	SMTP_AUTH_CHALLENGE, /* 334: the client responds */
	SMTP_AUTH_ACCEPTED,  /* 235 */
	SMTP_AUTH_FAILED,    /* 535 5.7.8: wrong user, password or token */
	SMTP_AUTH_TEMPORARY, /* 454 4.7.0: cannot be judged now */
	SMTP_AUTH_MALFORMED, /* 501 5.5.2: not a message of this mechanism */
	SMTP_AUTH_UNKNOWN,   /* 504 5.5.4: no such mechanism, or not for this client */
	SMTP_AUTH_INSECURE,  /* 538 5.7.11: the mechanism needs TLS */
	SMTP_AUTH_TOO_WEAK,  /* 534 5.7.9: the user cannot use this mechanism */
};

struct smtp_auth_answer {
	enum smtp_auth_outcome outcome;
	struct str message; /* CHALLENGE; ACCEPTED: the mechanism's last, or empty */
	struct str user;    /* ACCEPTED: who it is, without NULs, not empty */
};

/* Answers AUTH. */
void smtp_server_answer_auth(struct smtp_server *server, const struct smtp_auth_answer *answer);
/* From the first question AUTH of an exchange to its outcome. When it becomes false without one,
 * the client has given up: the driver forgets the exchange; likewise when another one
 * begins. */
bool smtp_server_is_authenticating(const struct smtp_server *server);

/* The bytes for the data file, in order; the driver consumes what it has written. */
struct buffer *smtp_server_body(struct smtp_server *server);
/* From smtp_server_answer_open() until COMMIT is answered, or the message is refused. When it
 * becomes false without COMMIT, the driver must abandon the file. False while OPEN is pending. */
bool smtp_server_message_is_open(const struct smtp_server *server);
/* The file of the open message cannot be written: the driver abandons it. The rest of the
 * message, or of the chunk, is read and discarded, then VERDICT (not MAIL_OK) is the reply. Not
 * while COMMIT is pending: answer that instead. */
void smtp_server_data_failed(struct smtp_server *server, const struct mail_verdict *verdict);

/* At COMMIT: the message was signed, and was repaired: its signature is not valid any more. */
bool smtp_server_has_broken_signature(const struct smtp_server *server);

#endif
