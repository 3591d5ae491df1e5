// SPDX-License-Identifier: ISC
/*
 * smtp/server/internal.h - what the files of the server engine share.
 */
#ifndef SMTP_SERVER_INTERNAL_H
#define SMTP_SERVER_INTERNAL_H

#include "smtp/server/recipients.h"
#include "smtp/server/server.h"
#include "smtp/text.h"

/* One bit each, so that a verb can be allowed in several. */
enum smtp_state {
	SMTP_STATE_NEW = 1 << 0,        /* before the banner */
	SMTP_STATE_CONNECTED = 1 << 1,  /* banner sent, no greeting from the client yet */
	SMTP_STATE_GREETED = 1 << 2,    /* not in a transaction */
	SMTP_STATE_SENDER = 1 << 3,     /* MAIL accepted, no recipient yet */
	SMTP_STATE_RECIPIENTS = 1 << 4, /* some accepted */
	SMTP_STATE_DATA = 1 << 5,       /* receiving the message */
	SMTP_STATE_CHUNK = 1 << 6,      /* receiving the bytes of a BDAT */
	SMTP_STATE_BETWEEN = 1 << 7,    /* a BDAT was accepted, another must follow */
	SMTP_STATE_FAILED = 1 << 8,     /* a BDAT was refused: only RSET or BDAT until LAST */
	SMTP_STATE_END = 1 << 9,        /* the message is complete and being decided */
	SMTP_STATE_CLOSED = 1 << 10,
	SMTP_STATE_STARTTLS = 1 << 11,  /* accepted; the handshake follows */
	SMTP_STATE_AUTH = 1 << 12,      /* amid an exchange: lines are responses */
	SMTP_STATE_AUTH_LAST = 1 << 13, /* it is accepted: an empty line must follow */
};

enum smtp_step {
	SMTP_STEP_DONE, /* a reply was given, or will be after a chunk */
	SMTP_STEP_WAIT, /* a question is pending; the handler runs again with the answer */
};

enum { SMTP_AUTH_LINE_MAX = 12288 }; /* bytes with CRLF, RFC 4954 section 4 */

/* State that exists only from MAIL to the end of the message. */
struct smtp_transaction {
	struct mail_envelope *envelope;
	uint64_t declared_size; /* MAIL's SIZE; 0: none */
	uint64_t trace_size;    /* bytes of our own headers */
	struct smtp_text text;  /* without trace headers */
	size_t accepted;        /* RCPT commands; more than recipients if some were repeated */
	struct smtp_recipients recipients;
	const struct mail_verdict *refusal; /* why the message is refused, or NULL */
	bool has_judged;                    /* the authors, or they need not be */
	size_t judged_authors;              /* of them, so far */
	struct str refused_field;           /* struct smtp_refusal */
	struct str refused_address;
};

/* An exchange of AUTH. */
struct smtp_exchange {
	char mechanism[SMTP_MECHANISM_MAX]; /* upper case */
	size_t mechanism_length;
	bool has_begun;        /* the driver knows of it */
	bool has_initial;      /* AUTH came with an initial response */
	struct buffer message; /* the client's, decoded; secret */
	char *user;            /* owned; accepted, but not said yet */
};

struct smtp_server {
	struct smtp_server_head head;
	const struct smtp_service *service;
	enum smtp_state state;
	/* after a skipped chunk */
	enum smtp_state state_after_chunk;

	struct smtp_tls tls;  /* no version: none */
	bool is_extended;     /* greeted with EHLO or LHLO */
	bool has_tried_auth;  /* what is no command may be a password from now on */
	bool line_has_more;   /* the client sent more before it was answered */
	bool line_is_long;    /* the current line is too long; only its verb is kept */
	bool message_is_open; /* the driver has a file for it */
	bool is_asking;       /* question is pending */
	bool has_opened;      /* OPEN was answered: opened_id is valid */
	bool is_draining;     /* no transaction may begin */
	bool is_stopping;     /* close when the question is answered */
	bool chunk_is_last;
	bool chunk_is_skipped;     /* its message is already refused */
	enum smtp_limit limit : 8; /* at which the next reply refuses */
	uint32_t errors;
	uint32_t deferrals;  /* 4yz replies to commands */
	uint32_t commands;   /* commands without progress towards a message */
	uint64_t chunk_left; /* bytes of the chunk still to come */
	struct smtp_question question;
	struct str sender;                          /* of a MAIL that is asked about; in LINE */
	const struct mail_verdict *answer;          /* only while a handler runs with it */
	const struct smtp_auth_answer *auth_answer; /* likewise */
	struct smtp_exchange *exchange;             /* owned; NULL: none */
	struct smtp_claim *claim;                   /* owned: of XCLIENT so far; NULL: none */
	char *node; /* owned: that RELEASE is about; NULL: none so far */
	struct mail_id opened_id;
	size_t shown; /* bytes of LINE that may be told, the rest may hold a password; SIZE_MAX: all
		       */
	struct buffer line; /* the current command line, or the one that waits for its answer */
	struct buffer completed; /* the address, if it is not as the client wrote it */
	struct buffer body;
	struct smtp_transaction *transaction; /* in its envelope's arena */
};

/* A parsed argument. The views point into the line or the transaction's arena. */
struct smtp_argument {
	struct str text;               /* all of it */
	struct mail_address address;   /* of MAIL or RCPT */
	uint64_t size;                 /* of MAIL; 0: not given. Or of a BDAT */
	bool is_last;                  /* of a BDAT */
	bool is_utf8;                  /* of MAIL: SMTPUTF8 was given; of RCPT: it was given in
					* MAIL */
	bool is_binary;                /* of MAIL: BODY=BINARYMIME was given */
	bool requires_tls;             /* of MAIL: REQUIRETLS was given */
	int priority;                  /* of MAIL: MT-PRIORITY; 0: not given */
	int64_t hold_us;               /* of MAIL, HOLDFOR; 0: not given */
	int64_t release_us;            /* of MAIL, HOLDUNTIL or when HOLDFOR ends, in whole seconds;
					* 0: neither was given */
	struct mail_deadline deadline; /* of MAIL: BY */
	int64_t by_seconds;            /* of MAIL: until then, when it came */
	enum mail_ret ret;             /* of MAIL */
	struct str envid;              /* of MAIL, xtext; empty: not given */
	unsigned notify;               /* of RCPT, enum mail_notify */
	struct str original;           /* of RCPT, ORCPT; empty: not given */
	struct str initial;            /* of AUTH, base64 or "="; empty: not given */
};

enum { SMTP_SHOWN_SIZE = 32 }; /* of a command that is not shown whole, with the NUL */
/* reply.c: the command without what may be a password; in SPACE if something is left out. */
struct str smtp_command_shown(const struct smtp_server *s, char space[SMTP_SHOWN_SIZE]);

/* reply.c: whether the client may say REQUIRETLS: inside TLS (RFC 8689 section 2), and not to who
 * delivers. */
bool smtp_offers_requiretls(const struct smtp_server *s);
/* Whether the client may say how urgent its message is (RFC 6710). */
bool smtp_offers_priority(const struct smtp_server *s);
/* Whether the client may say when its message is to be released (RFC 4865). */
bool smtp_offers_future_release(const struct smtp_server *s);
/* Whether the client may say by when its message is to be delivered (RFC 2852). */
bool smtp_offers_deliver_by(const struct smtp_server *s);
/* The mechanisms of AUTH that the client may use now, separated by a space; empty: none. */
struct str smtp_offers_mechanisms(const struct smtp_server *s);

/* transaction.c: the only place where the state changes. */
void smtp_server_enter(struct smtp_server *s, enum smtp_state state);
/* Whether the client is ours, or has authenticated. */
bool smtp_peer_is_trusted(const struct smtp_server *s);
void smtp_transaction_begin(struct smtp_server *s, const struct smtp_argument *mail);
void smtp_transaction_end(struct smtp_server *s);

/* question.c: false when the question is now pending; true with the answer. */
bool smtp_ask_recipient(struct smtp_server *s, const struct mail_address *address,
			const struct mail_verdict **answer_out);
/* The answer NULL means that the file is open; then opened_id is the message's id. */
bool smtp_ask_open(struct smtp_server *s, const struct mail_verdict **answer_out);
/* Whether who has authenticated may send as SENDERS. */
bool smtp_ask_senders(struct smtp_server *s, const struct str *senders, size_t count,
		      const struct mail_verdict **answer_out);
/* The client's message of an exchange. */
bool smtp_ask_auth(struct smtp_server *s, const struct smtp_auth_answer **answer_out);
/* The answer, if the handler runs with one. */
bool smtp_take_auth_answer(struct smtp_server *s, const struct smtp_auth_answer **answer_out);
bool smtp_ask_client(struct smtp_server *s, const struct smtp_claim *claim,
		     const struct mail_verdict **answer_out);
bool smtp_ask_release(struct smtp_server *s, struct str node,
		      const struct mail_verdict **answer_out);
bool smtp_ask_commit(struct smtp_server *s, const struct mail_verdict **answer_out);

/* smtp/server/command/line.c: takes bytes up to the end of a command line; returns whether the line
 * is complete. */
bool smtp_line_take(struct smtp_server *s, const char *data, size_t length, size_t *taken_out);
/* Whether it may have a password, by its first word: of this protocol, and of others that are tried
 * on this port. */
bool smtp_line_has_credentials(struct str line);
bool smtp_line_is_http(struct str line);
/* MAIL or RCPT. */
bool smtp_line_has_path(struct str line);
/* The first bytes of a handshake (RFC 8446 section 5.1), from a client that should have used
 * another port, or STARTTLS. */
bool smtp_line_is_tls(struct str line);
/* Whether a first word looks like the name of a command, and not like base64. */
bool smtp_line_is_word(struct str name);

/* smtp/server/command/verbs.c: s->line, without its CRLF, is complete: decides what of it is shown,
 * and passes that to the watch. */
void smtp_command_came(struct smtp_server *s);
/* Executes it; called again after each answer to one of its questions. */
enum smtp_step smtp_command(struct smtp_server *s);

/* smtp/server/command/argument.c: false when the argument is wrong; then an error was replied. */
bool smtp_argument_none(struct smtp_server *s, struct smtp_argument *argument);
bool smtp_argument_any(struct smtp_server *s, struct smtp_argument *argument);
bool smtp_argument_text(struct smtp_server *s, struct smtp_argument *argument);
bool smtp_argument_helo(struct smtp_server *s, struct smtp_argument *argument);
bool smtp_argument_sender(struct smtp_server *s, struct smtp_argument *argument);
bool smtp_argument_recipient(struct smtp_server *s, struct smtp_argument *argument);
/* A wrong argument closes the session, because the end of the chunk is unknown. */
bool smtp_argument_chunk(struct smtp_server *s, struct smtp_argument *argument);

/* Leaves the mechanism in s->exchange. */
bool smtp_argument_auth(struct smtp_server *s, struct smtp_argument *argument);

/* authors.c: whether the client may not name every sender, and every author in the header. */
bool smtp_sender_is_held(const struct smtp_server *s);
bool smtp_authors_are_held(const struct smtp_server *s);
/* At the end of the message: whether all its authors are the user's own addresses: class OK; or
 * else why not, and which field it is. False: it is being asked. */
bool smtp_authors_judge(struct smtp_server *s, struct mail_verdict *verdict_out);

/* smtp/server/command/auth.c: whether the next line is a response. */
bool smtp_auth_is_under_way(const struct smtp_server *s);
/* Whether the client must authenticate before it sends mail. */
bool smtp_auth_is_missing(const struct smtp_server *s);
/* The reply to who must authenticate and has not. */
enum smtp_step smtp_auth_demand(struct smtp_server *s);
/* The AUTH command. */
enum smtp_step smtp_auth_begin(struct smtp_server *s, const struct smtp_argument *argument);
/* SMTP_STATE_AUTH and SMTP_STATE_AUTH_LAST: a line is complete, or a question answered. */
enum smtp_step smtp_auth_go_on(struct smtp_server *s);
/* Nobody has authenticated any more. */
void smtp_auth_forget(struct smtp_server *s);
/* A trusted proxy says that USER has authenticated. */
void smtp_auth_set_user(struct smtp_server *s, const char *user);

/* smtp/server/command/parameter.c: parses TEXT after the address; false when it is wrong; then an
 * error was replied. */
bool smtp_parameters_of_mail(struct smtp_server *s, struct str text,
			     struct smtp_argument *argument);
bool smtp_parameters_of_rcpt(struct smtp_server *s, struct str text,
			     struct smtp_argument *argument);

/* smtp/server/command/claim.c: commands of trusted proxies, and ETRN. */
enum smtp_step smtp_on_xclient(struct smtp_server *s, const struct smtp_argument *argument);
enum smtp_step smtp_on_xforward(struct smtp_server *s, const struct smtp_argument *argument);
enum smtp_step smtp_on_etrn(struct smtp_server *s, const struct smtp_argument *argument);

/* message.c */
void smtp_message_begin(struct smtp_server *s);
/* The message is complete: refuses it, or asks to commit it, and replies. */
enum smtp_step smtp_message_end(struct smtp_server *s);
/* Drops the message; the rest of it is not kept. */
void smtp_message_discard(struct smtp_server *s);
/* The same, with VERDICT as the reply. */
void smtp_message_refuse(struct smtp_server *s, const struct mail_verdict *verdict);
/* Why the message must be refused as received so far, or NULL. */
const struct mail_verdict *smtp_message_refusal(const struct smtp_server *s);

/* data.c: takes bytes up to the end of the message; returns whether it is complete. */
bool smtp_data_take(struct smtp_server *s, const char *data, size_t length, size_t *taken_out);
/* Takes all bytes, with BDAT, whose end is known by counting. */
void smtp_data_take_all(struct smtp_server *s, const char *data, size_t length);
/* A message sent by BDAT is complete: ends its last line. */
void smtp_data_end(struct smtp_server *s);

/* smtp/server/command/chunk.c: the BDAT command. */
enum smtp_step smtp_chunk_begin(struct smtp_server *s, const struct smtp_argument *argument);
/* Takes bytes up to the end of a chunk; returns whether it is complete. */
bool smtp_chunk_take(struct smtp_server *s, const char *data, size_t length, size_t *taken_out);
/* The chunk is complete: decides what follows. */
enum smtp_step smtp_chunk_end(struct smtp_server *s);

/* reply.c: each gives one complete reply. A 5yz reply counts as an error. STATUS may be NULL. */
enum smtp_step smtp_reply(struct smtp_server *s, unsigned code, const char *status,
			  const char *text);
enum smtp_step smtp_reply_verdict(struct smtp_server *s, const struct mail_verdict *verdict);
/* The reply to a message: once, or with LMTP once for each recipient. */
enum smtp_step smtp_reply_message(struct smtp_server *s, const struct mail_verdict *verdict);
void smtp_reply_banner(struct smtp_server *s);
/* To HELO; to EHLO and LHLO with the extensions that we offer. */
enum smtp_step smtp_reply_greeting(struct smtp_server *s);
/* 221, 421 or 554, then the session is closed. */
enum smtp_step smtp_reply_last(struct smtp_server *s, unsigned code, const char *status,
			       const char *text);
/* Mail without TLS where it is required (RFC 3207 section 4). */
enum smtp_step smtp_reply_no_tls(struct smtp_server *s);
/* 334 with MESSAGE in base64. */
enum smtp_step smtp_reply_challenge(struct smtp_server *s, struct str message);
/* To a command that is not allowed in this state. */
enum smtp_step smtp_reply_misplaced(struct smtp_server *s, bool is_mail);

#endif
