// SPDX-License-Identifier: ISC
/*
 * intake/internal.h - one session: what the files of this folder share.
 *
 * What a session does next is the first line of this table that applies (session.c, next_step()):
 *
 *   a handshake of TLS is under way                      go on with the HANDSHAKE
 *   the engine has a question that was not passed on     ASK it
 *   bytes are kept, and the engine is ready              FEED it
 *   replies, and the socket may accept some              SEND them
 *   the engine wants TLS, and no replies are left        begin a HANDSHAKE
 *   the engine is closed, and no replies are left        END
 *   no replies are left, no commit is pending,
 *     and the client closed its side                     END
 *   TLS has decrypted more than was read                 READ it
 *   otherwise                                            WAIT
 *
 * So kept bytes are fed again as soon as replies are sent, and a client that has closed its own
 * side still gets its replies. A session that WAITs has something to wait for:
 *
 *   replies that the socket does not accept              until it is writable
 *   a question or a commit that was passed on            for the answer
 *   an engine that is ready, nothing kept, not closed    until there is something to read
 *   a handshake                                          for what TLS wants, or a signature
 *
 * and a timer in any case. The end of input is read only when nothing is kept and no question is
 * open, so that it is handled after everything the client sent. There are no other cases: an engine
 * that is not ready is closed, has a question, has too many replies, or has more of a message than
 * it keeps in memory; and that was written or dropped before (spool_body() of the engine).
 */
#ifndef INTAKE_INTERNAL_H
#define INTAKE_INTERNAL_H

#include "auth/login.h"
#include "directory/lookup/post.h"
#include "directory/lookup/sender.h"
#include "intake/accounts.h"
#include "intake/engine.h"
#include "intake/limit/pace.h"
#include "intake/session.h"
#include "tls/stream.h"
#include <string.h>

enum {
	INTAKE_REFUSALS_LOGGED = 50, /* commands of a session */
	INTAKE_NO_CLASS = -1,
	INTAKE_MARK_SIZE = MAIL_ID_SIZE, /* "4711:63f1a2b3c4d5e": process and beginning; no other
					  * session of the machine has the same */
};

/* The first fields of each line about the session THIS. */
#define INTAKE_LOG_CLIENT(this)                                                       \
	log_string(client, (this)->address), log_positive(client_port, (this)->port), \
		log_string(session, (this)->mark)

/* A limit, for the log. */
struct intake_bound {
	const char *setting; /* NULL: none */
	uint64_t value;
};

struct intake_session {
	struct intake *intake;
	void (*pump)(struct intake_session *session); /* when an answer comes */
	/* Ends the session because another client needs its place. */
	void (*yield_place)(struct intake_session *session);
	/* When the client's name is known, for which its class waits, and its greeting; NULL: they
	 * wait for nothing. May free the session. */
	void (*named)(struct intake_session *session);
	const struct intake_engine *engine;
	struct smtp_server *server;       /* engine_smtp.c */
	struct intake_packages *packages; /* qmtp/engine.c */
	struct os_watch *watch;
	struct os_timer *timer;
	struct buffer kept;                    /* read, but not consumed yet */
	struct directory_request recipient;    /* in use while the directory is asked */
	struct directory_post_request post;    /* and then whether the sender may post there */
	struct intake_account_request account; /* or whether one of OWNERS is on this machine */
	struct buffer owners; /* names that were not looked for yet, each with a NUL */
	struct directory_sender_request senders; /* in use while a user's senders are judged */
	struct auth_exchange exchange;           /* in use while the client authenticates */
	struct auth_login *login; /* that the client has authenticated by; NULL: none is followed */
	uint32_t left_exchange;   /* that the client has cancelled, for auth_settle(); 0: none */
	struct names_request name_request; /* in use while the name is looked up */
	struct os_timer *held;             /* NULL, or runs while a rate holds a question back */
	void (*after_hold)(struct intake_session *session);
	void (*after_login)(struct intake_session *session); /* once it is known to be valid */
	const char *farewell;  /* a rate ends the session: what the client is told; or NULL */
	uint64_t rates_logged; /* a bit for each section rate */
	bool is_let_through;   /* the question was held back, and may be passed on now */
	char *name;            /* of the client, perhaps as a proxy says; NULL: unknown */
	struct queue_client_message message;
	struct mail_id id;           /* of the current message */
	int64_t message_began_us;    /* monotonic: when it got its number */
	struct limit_client *client; /* NULL: not counted */
	uint64_t unfinished;         /* bytes of its messages, as counted for the client */
	ptrdiff_t class;     /* of hosts, in which it is counted; INTAKE_NO_CLASS: it is not */
	struct buffer early; /* what was read before it had a class */
	struct intake_pace pace;
	struct intake_pace idle;    /* the same, but only a message resets it */
	int64_t deadline_us;        /* monotonic; the client must send something before */
	int64_t timer_us;           /* when the timer fires */
	int64_t handshake_until_us; /* monotonic; 0: none is under way */
	uint64_t refusals;          /* of commands, so far */
	size_t unsent;              /* bytes of replies that the client has not accepted yet */
	struct str sender;          /* while a recipient is looked up */
	struct str address_asked;   /* likewise: the recipient */
	const char *reason;         /* of a refusal, for the log only; NULL: the reply says it */
	struct intake_bound bound;  /* at which the session is refused */
	const struct intake_security *security;
	struct tls_stream stream;
	bool may_relay;
	bool is_claimed;  /* a proxy has named it by XCLIENT: TLS and its certificate are the
			   * proxy's */
	bool is_stranger; /* a proxy does not know its address: then it has no rights by that */
	unsigned commits; /* that were passed on while the engine goes on */
	bool is_asking;   /* a question was passed on, and the engine waits for its answer */
	bool is_slowed;   /* it is among the sessions that a rate holds back */
	bool is_name_asked;
	bool is_unnamed;     /* and OPEN waits for the client's name */
	bool is_turned_away; /* by its class or a rate; that is in the log already */
	bool is_blocked;     /* the socket accepts no more */
	bool is_pumping;
	bool is_receiving; /* a message */
	bool is_at_end;    /* the client closed its side */
	uint64_t told;     /* identifies the session for transcript_line() */
	struct in6_addr mapped;
	struct in6_addr proxy;             /* that has named the client */
	char address[OS_SOCKET_TEXT_SIZE]; /* OS_SOCKET_UNIX on a UNIX socket */
	uint16_t port;                     /* 0: a UNIX socket, or a proxy does not say it */
	char mark[INTAKE_MARK_SIZE];       /* session= in the log */
	struct intake_session *next, *previous;
	struct intake_session *slowed_next, *slowed_previous;
};

/* session.c: lets the engine work as far as it can, then waits. May free the session. */
void intake_session_pump(struct intake_session *session);

static inline bool intake_session_shakes_hands(const struct intake_session *session)
{
	return session->handshake_until_us > 0;
}

/* deadline.c: how long the session waits for its client. */
/* Replies were made or sent, or a message has begun or ended. */
void intake_deadline_follow(struct intake_session *session);
/* The client has sent COUNT bytes. */
void intake_deadline_receive(struct intake_session *session, uint64_t count);
/* The session waits: until when. */
void intake_deadline_set(struct intake_session *session);
/* The timer has fired. False: it runs on, as the client has time left, or waits for us. */
bool intake_deadline_has_passed(struct intake_session *session);

/* intake/security/secure.c: begins a handshake; EARLY was read already. False: it cannot begin, the
 * session ends.
 */
bool intake_secure_begin(struct intake_session *session, struct str early);
/* Logs that a listener which is to have TLS has no certificate for it. */
void intake_secure_log_lacking(const struct intake_session *session);
enum intake_secure { INTAKE_SECURE_WAIT, INTAKE_SECURE_DONE, INTAKE_SECURE_FAILED };
/* Goes on with it. When it is done, the engine knows; when it has failed, the log does. */
enum intake_secure intake_secure_go_on(struct intake_session *session);
/* It took too long: logs that. */
void intake_secure_timeout(struct intake_session *session);
/* Whether the client is on this machine, by loopback or a UNIX socket. */
bool intake_session_is_local(const struct intake_session *session);
/* Whether the client, or the one that a proxy names, has an IP address. */
static inline bool intake_session_has_address(const struct intake_session *session)
{
	return strcmp(session->address, OS_SOCKET_UNIX) != 0;
}

/* Whether TLS can begin now. */
bool intake_secure_is_possible(const struct intake_session *session);

/* admit.c: whether the client may have SESSION: then it is greeted, or a handshake has begun, for
 * which EARLY was read already; or it is told why not. False: the session ends, nothing can be said
 * to who waits for a handshake. */
bool intake_session_admit(struct intake_session *session, struct str early);
/* Counts the session for its client, who may have become another one. False: the client has too
 * many, and is told intake_too_many. */
MUST_CHECK bool intake_session_count(struct intake_session *session);
/* It is nobody's any more. */
void intake_session_leave(struct intake_session *session);
extern const char intake_too_many[];
/* The session begins, after what was read EARLY. */
void intake_session_greet(struct intake_session *session, struct str early);

/* intake/question/auth.c: passes a message of the client's mechanism on; the answer may come at
 * once. */
void intake_auth_handle(struct intake_session *session, const struct smtp_question *question);
/* Answers that the client cannot be judged now. Does not go on with the session. */
void intake_auth_refuse(struct intake_session *session);
/* Forgets an exchange that the client has given up. */
void intake_auth_handle_end(struct intake_session *session);
/* At MAIL: whether the user still may, and then THEN; or the question is answered. */
void intake_auth_ask(struct intake_session *session, void (*then)(struct intake_session *session));
/* The client is another one from now on, or begins anew. */
void intake_auth_forget(struct intake_session *session);
/* The session ends. */
void intake_auth_end(struct intake_session *session);

/* Whether the engine has a question. */
static inline bool intake_session_has_question(const struct intake_session *session)
{
	struct intake_asked asked;

	return session->engine->asks(session, &asked);
}

/* The user that the client has authenticated as; empty: none. */
static inline struct str intake_session_user(const struct intake_session *session)
{
	return session->engine->user != NULL ? session->engine->user(session) : STR("");
}

/* Whether the client may relay, by itself or as a user. */
static inline bool intake_session_may_relay(const struct intake_session *session)
{
	return session->may_relay || intake_session_user(session).length > 0;
}

/* intake/limit/rate.c: what the configuration's rates say. */
/* What a connection or a question is judged by. */
struct intake_charge {
	enum config_rate_count count;
	unsigned amount; /* 0: only what came before counts */
};
/* The strictest answer of the rates for any of the CHARGES, which are counted until one is refused;
 * logged. */
struct limit_ruling intake_rate_judge(struct intake_session *session,
				      const struct intake_charge *charges, size_t count);
/* What the client is told. */
extern const char *const intake_rate_texts[CONFIG_RATE_COUNTS];
enum intake_rate {
	INTAKE_RATE_PASSES,
	INTAKE_RATE_WAITS, /* THEN is called later */
	INTAKE_RATE_REFUSES,
};
/* Whether a client that has connected may have a session; refused: *TEXT_OUT tells it why. */
enum intake_rate intake_rate_of_connection(struct intake_session *session,
					   void (*then)(struct intake_session *session),
					   const char **text_out);
/* AMOUNT of COUNT has happened. */
void intake_rate_note(struct intake_session *session, enum config_rate_count count,
		      uint64_t amount);
/* Ends the session if a rate says so, as soon as no question is pending. */
void intake_rate_end_session(struct intake_session *session);

/* intake/limit/slow.c: sessions that a rate holds back. */
/* Calls THEN after WAIT_US; until then the session waits as for an answer. */
void intake_slow_begin(struct intake_session *session, int64_t wait_us,
		       void (*then)(struct intake_session *session));
/* It is held back no more. Does nothing if it was not. */
void intake_slow_end(struct intake_session *session);
/* The first session that is held back, in CLASS or in any (INTAKE_NO_CLASS), and may lose its place
 * to another client: no accepted message waits for its reply. NULL: there is none. */
struct intake_session *intake_slow_first(const struct intake *intake, ptrdiff_t class);

/* intake/limit/hold.c */
/* Whether the pending question need not be passed on now: it was answered, or will be asked again
 * later. */
bool intake_hold_question(struct intake_session *session);
/* Nothing is held back any more: a question is refused, with TEXT. */
void intake_hold_give_up(struct intake_session *session, const char *text);

/* intake/question/claim.c */
/* What a client at ADDRESS (IPv4 mapped), from whom the connection comes, may do by the
 * configuration. */
void intake_claim_grant(const struct intake_session *session, const struct in6_addr *address,
			struct smtp_peer *peer);
/* The session is from now on that of the client in CLAIM: answers the question. */
void intake_claim_take(struct intake_session *session, const struct smtp_claim *claim);
/* Mail for the domain NODE is to be tried now: answers the question. */
void intake_claim_release(struct intake_session *session, struct str node);

/* intake/limit/limit.c */
/* Whether the machine has too much to do for it (setting load_refuse). */
bool intake_limit_is_overloaded(const struct intake_session *session);
/* Looks up the client's name if its class depends on it. True: the answer must be awaited. */
bool intake_limit_ask_name(struct intake_session *session);
/* Counts the session in its class, if there are classes. False: that is full; logged. */
bool intake_limit_enter(struct intake_session *session);
/* Its client is another one now: likewise in the class of that one. False: that is full. */
bool intake_limit_move(struct intake_session *session);
void intake_limit_leave(struct intake_session *session);

/* tell.c: a watched session ends. */
void intake_tell_end(struct intake_session *session);

/* intake/question/question.c: SMTP's questions. */
void intake_question_init(struct intake_session *session);
void intake_question_open(struct intake_session *session);
/* Passes the question on; the answer may come at once. */
void intake_question_handle(struct intake_session *session);
void intake_question_spool_body(struct intake_session *session);

/* intake/question/lookup.c: what is asked about clients and addresses. */
void intake_lookup_init(struct intake_session *session);
/* Looks up the name of the client, once, unless it is on this machine or a proxy has named it.
 * Called when the client speaks: many connect and never do. */
void intake_lookup_name(struct intake_session *session);
/* Whether a message must wait for it: then the engine's open() is called once it is known. */
bool intake_lookup_awaits_name(struct intake_session *session);
/* Whether ADDRESS may have mail from SENDER; both stay valid until the engine's
 * answer(), which may come at once. */
void intake_lookup_recipient(struct intake_session *session, struct str address, struct str sender);
/* The session ends: drops what is open. */
void intake_lookup_cancel(struct intake_session *session);

/* intake/question/message.c: a message at the queue. */
/* The reply when the queue cannot accept it. */
void intake_message_verdict(struct mail_verdict *verdict, int error);
/* Whether it began, at that monotonic time, longer ago than a message may take. */
bool intake_message_is_late(int64_t began_us);
/* OPERATION on it failed; ID: NULL: it has none. */
void intake_message_log_error(const struct intake_session *session, const struct mail_id *id,
			      const char *operation, int error);
/* It is in the queue: logs that, and the client is the last to lose its place. */
void intake_message_accepted(struct intake_session *session, struct mail_id id,
			     const struct mail_envelope *envelope, struct str message_id);
/* Writes BODY to the file of a message too large to go by value, and consumes it. False: the file
 * was requested first, which may come at once; otherwise *ERROR_OUT is what the write came to;
 * -EUSERS: the client has too much that is unfinished. */
bool intake_message_write(struct intake_session *session, struct queue_client_message *message,
			  const struct mail_id *id, struct buffer *body, int *error_out);

/* intake/limit/share.c: what the client has on the queue's disk that is not complete. */
/* Whether MESSAGE, which is called ID and has a file, may have BYTES more: 0, or -EUSERS, which is
 * logged. */
int intake_share_check(const struct intake_session *session,
		       const struct queue_client_message *message, const struct mail_id *id,
		       size_t bytes);
/* Messages have begun, grown or ended. */
void intake_share_follow(struct intake_session *session);

#endif
