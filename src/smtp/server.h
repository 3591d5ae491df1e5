// SPDX-License-Identifier: ISC
/*
 * smtp/server.h - the server's side of SMTP (RFC 5321), submission (RFC 6409)
 * and LMTP (RFC 2033), as an engine without I/O. Extensions: 8BITMIME (RFC
 * 6152), CHUNKING without BINARYMIME (RFC 3030), SMTPUTF8 (RFC 6531), DSN (RFC
 * 3461), SIZE (RFC 1870), PIPELINING, ENHANCEDSTATUSCODES.
 *
 * Bytes from the client go in through smtp_server_input(), replies gather in
 * smtp_server_output(), the message in smtp_server_body(). At most one question
 * is pending; while it is, nothing is consumed. A session, seen from the driver:
 *
 *   smtp_server_new(), smtp_server_start()
 *   whenever bytes arrive or something below changed:
 *     while (kept bytes and smtp_server_is_ready()) drop what smtp_server_input() consumed
 *     a file is at hand and !smtp_server_message_is_open(): abandon the file
 *     smtp_server_body() over SMTP_SERVER_BODY_MAX, or COMMIT is asked: write it to the file
 *     smtp_server_question(): see to it, smtp_server_answer*(), perhaps at once; again from the top
 *     flush smtp_server_output(); then close if smtp_server_is_closed()
 *     read on only while smtp_server_is_ready(), for smtp_server_timeout_seconds()
 *   smtp_server_free()
 *
 * Trace headers are written here, so the file holds the message as it will be
 * sent: CRLF lines, without dot-stuffing, the Received header first.
 */
#ifndef SMTP_SERVER_H
#define SMTP_SERVER_H

#include "base/buffer.h"
#include "mail/address.h"
#include "mail/envelope.h"
#include "mail/verdict.h"
#include "smtp/watch.h"

enum {
	SMTP_SERVER_BODY_MAX = 65536,   /* nothing is consumed while the body holds this much */
	SMTP_SERVER_OUTPUT_MAX = 16384, /* nor while the client has so many replies to read */
};

struct in6_addr; /* <netinet/in.h> */

enum smtp_protocol { SMTP_PROTOCOL_SMTP, SMTP_PROTOCOL_SUBMISSION, SMTP_PROTOCOL_LMTP };

struct smtp_server_limits {
	uint64_t message_size;    /* bytes, without our trace header; 0: no bound */
	uint32_t recipients;      /* of one transaction */
	uint32_t errors;          /* 5yz replies since the last message; the next one becomes 421 */
	uint32_t commands;        /* that bring no message nearer (NOOP, RSET, greetings, ...)
				   * since the last one; the next becomes 421. 0: no bound */
	uint32_t hops;            /* Received header lines */
	uint32_t line;            /* bytes of a command line with its CRLF; 4096 is sensible */
	uint32_t command_timeout; /* seconds */
	uint32_t data_timeout;    /* seconds, for each part of a message */
};

/* What becomes of a message with CRs or LFs alone, which others may read as line ends. */
enum smtp_bare_newline {
	SMTP_BARE_NEWLINE_AUTO,      /* normalized for submission and peers that are ours */
	SMTP_BARE_NEWLINE_REJECT,    /* 550 5.6.11 */
	SMTP_BARE_NEWLINE_NORMALIZE, /* an LF alone ends a line; a CR alone becomes a space, or
				      * nothing before a line end. Only CRLF.CRLF ends the
				      * message all the same, and only after a CRLF is a dot
				      * stuffing */
};

/* How clients are borne with that do not keep to the letter of the RFCs. */
struct smtp_server_rules {
	enum smtp_bare_newline bare_newline;
	bool ends_early;       /* sessions of clients that send commands before they may, with 554
				* 5.5.0; peers that are ours only for HTTP */
	bool strict_addresses; /* false: also what real clients make of paths and greetings */
	bool removes_nul;      /* from messages; otherwise they are refused with 550 5.6.0 */
};

/* A reply 4yz or 5yz. */
struct smtp_refusal {
	unsigned code;
	const char *status; /* enhanced status code, or NULL */
	const char *text;
	struct str command; /* as it came, any bytes; empty when it is about none */
	bool is_message;    /* the reply to a message, after its data */
	const struct mail_envelope *envelope; /* of the transaction so far; NULL: there is none */
	struct str message_id; /* the message's own, as far as it came; empty: none */
};

/* What the sessions of one listener share. Outlives them. */
struct smtp_service {
	enum smtp_protocol protocol;
	enum mail_stage stage;
	const char *hostname;
	struct smtp_server_limits limits;
	struct smtp_server_rules rules;
	/* Told of refusals, for the log: of every 5yz, and of as many 4yz to commands as 5yz
	 * are allowed. It must not call the engine. NULL: nobody. */
	void (*on_refusal)(void *context, const struct smtp_refusal *refusal);
	/* Whether ADDRESS (IPv4 mapped) is one of this host's, where USER@[ADDRESS] is local
	 * (RFC 5321 section 4.1.3). It must not call the engine. NULL: none is. */
	bool (*is_our_address)(void *context, const struct in6_addr *address);
	const char *local_domain; /* of such recipients; NULL only without is_our_address */
	struct smtp_watch watch;
};

/* Who is connected. The strings outlive the session. */
struct smtp_peer {
	const char *address; /* "192.0.2.7", "2001:db8::7"; "" on a UNIX socket */
	const char *name;    /* confirmed by reverse and forward DNS, or "" */
	uint16_t port;
	void *context; /* for the calls of the service */
	bool is_ours;  /* a machine of our users, which may relay */
};

struct smtp_server;

struct smtp_server *smtp_server_new(const struct smtp_service *service, struct smtp_peer peer);
/* At any time, also with a question pending (which must not be answered then). */
void smtp_server_free(struct smtp_server *server);

/* The name of the peer is known now; NAME outlives the session. For messages that begin later. */
void smtp_server_set_peer_name(struct smtp_server *server, const char *name);

/* Says the banner: the session begins. */
void smtp_server_start(struct smtp_server *server);
/* Instead of smtp_server_start(), when the client sent bytes before it: 554, closed. */
void smtp_server_early_talker(struct smtp_server *server);

/* Takes LENGTH bytes from the client; how many were consumed. The driver keeps
 * the others and brings them again, first, when smtp_server_is_ready(). */
MUST_CHECK size_t smtp_server_input(struct smtp_server *server, const char *data, size_t length);
/* False while a question is pending, the body or the output is over its bound,
 * and once closed: smtp_server_input() would consume nothing. */
bool smtp_server_is_ready(const struct smtp_server *server);

/* The replies. The driver consumes what it has sent; buffer_clear() when all is
 * sent saves memory in idle sessions. */
struct buffer *smtp_server_output(struct smtp_server *server);
/* Close the connection once the output is flushed. Never true with a question pending. */
bool smtp_server_is_closed(const struct smtp_server *server);
/* It is closed because the client said QUIT, and so will say no more. */
bool smtp_server_has_quit(const struct smtp_server *server);

/* From DATA or the first BDAT to the end of the message: replies say little now
 * about whether it gets on. */
bool smtp_server_is_receiving(const struct smtp_server *server);
/* How long to wait for the client; 0 while it is not the client we wait for. */
uint32_t smtp_server_timeout_seconds(const struct smtp_server *server);
/* The client took longer: 421 4.4.2, closed. Nothing while a question is pending. */
void smtp_server_timeout(struct smtp_server *server);
/* The daemon stops: 421 4.3.2, closed; at once, or when the pending question
 * has been answered and that answer was told. */
void smtp_server_shutdown(struct smtp_server *server);
/* Its place is wanted, or it may have none: 421 with TEXT, closed. At any time, also
 * instead of smtp_server_start(), but not while a question is pending. */
void smtp_server_turn_away(struct smtp_server *server, const char *text);

enum smtp_question_type {
	SMTP_QUESTION_RECIPIENT, /* may ADDRESS receive mail from here? MAIL_OK: yes */
	SMTP_QUESTION_OPEN,      /* a data file for a message with this envelope */
	SMTP_QUESTION_COMMIT,    /* the message is whole: queue it. MAIL_OK: it is durable, and
				  * the verdict's text goes to the client ("queued as 457-63f1...") */
};

struct smtp_question {
	enum smtp_question_type type;
	struct mail_address address;          /* RECIPIENT only */
	const struct mail_envelope *envelope; /* complete (size, id, recipients) at COMMIT */
	struct str message_id; /* COMMIT: the header's Message-ID, any bytes; empty: none */
};

/* The pending question or NULL. Valid until it is answered. */
const struct smtp_question *smtp_server_question(const struct smtp_server *server);

/* Answers RECIPIENT or COMMIT; refuses OPEN (VERDICT is not MAIL_OK then). The reply code
 * follows from the verdict's status: 4.3.1 is 452, 5.1.1 is 550 and so on. */
void smtp_server_answer(struct smtp_server *server, const struct mail_verdict *verdict);
/* Answers OPEN: the message is called ID, and was received when ID was born. */
void smtp_server_answer_open(struct smtp_server *server, struct mail_id id);

/* The bytes for the data file, in order; the driver consumes what it has written. */
struct buffer *smtp_server_body(struct smtp_server *server);
/* From smtp_server_answer_open() until COMMIT is answered, or the message is refused. When
 * it turns false without COMMIT, the file is to be abandoned. False whenever OPEN is asked. */
bool smtp_server_message_is_open(const struct smtp_server *server);
/* The file of the open message cannot be written: abandon it. The rest of the
 * message, or of the chunk, is read and thrown away, then VERDICT (not MAIL_OK) is
 * the reply. Not when COMMIT is asked: answer that instead. */
void smtp_server_data_failed(struct smtp_server *server, const struct mail_verdict *verdict);

/* What the client called itself, made safe for headers and logs; "" before it did. */
struct str smtp_server_helo(const struct smtp_server *server);

#endif
