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

#include "intake/engine.h"
#include "intake/limit/limits.h"
#include "intake/limit/pace.h"
#include "intake/question/question.h"
#include "intake/security/secure.h"
#include "intake/session.h"
#include <string.h>

enum {
	INTAKE_REFUSALS_LOGGED = 50,     /* commands of a session */
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

/* What a folder below this one keeps of a session is in a struct of its header, and for nobody else
 * to change. */
struct intake_session {
	struct intake *intake;
	void (*pump)(struct intake_session *session); /* when an answer comes */
	/* Ends the session because another client needs its place. */
	void (*yield_place)(struct intake_session *session);
	/* When the client's name is known, for which its class waits, and its greeting; NULL: they
	 * wait for nothing. May free the session. */
	void (*named)(struct intake_session *session);
	const struct intake_engine *engine;
	struct smtp_server_head *head;    /* the engine's; NULL: it has not begun */
	struct smtp_server *server;       /* engine_smtp.c */
	struct intake_packages *packages; /* qmtp/engine.c */
	struct os_watch *watch;
	struct os_timer *timer;
	struct buffer kept; /* read, but not consumed yet */
	struct intake_session_question question;
	struct intake_session_login login;
	struct intake_session_message message;
	struct intake_session_limits limits;
	struct intake_session_tls tls;
	struct names_request name_request; /* in use while the name is looked up */
	char *name; /* of the client, perhaps as a proxy says; NULL: unknown */
	struct intake_pace pace;
	struct intake_pace idle;   /* the same, but only a message resets it */
	int64_t deadline_us;       /* monotonic; the client must send something before */
	int64_t timer_us;          /* when the timer fires */
	uint64_t refusals;         /* of commands, so far */
	size_t unsent;             /* bytes of replies that the client has not accepted yet */
	const char *reason;        /* of a refusal, for the log only; NULL: the reply says it */
	struct intake_bound bound; /* at which the session is refused */
	bool may_relay;
	bool is_claimed;  /* a proxy has named it by XCLIENT: TLS and its certificate are the
			   * proxy's */
	bool is_stranger; /* a proxy does not know its address: then it has no rights by that */
	unsigned commits; /* that were passed on while the engine goes on */
	bool is_name_asked;
	bool is_unnamed;     /* and OPEN waits for the client's name */
	bool is_turned_away; /* by its class or a rate; that is in the log already */
	bool is_blocked;     /* the socket accepts no more */
	bool is_pumping;
	bool is_at_end; /* the client closed its side */
	uint64_t told;  /* identifies the session for transcript_line() */
	struct in6_addr mapped;
	struct in6_addr proxy;             /* that has named the client */
	char address[OS_SOCKET_TEXT_SIZE]; /* OS_SOCKET_UNIX on a UNIX socket */
	uint16_t port;                     /* 0: a UNIX socket, or a proxy does not say it */
	char mark[INTAKE_MARK_SIZE];       /* session= in the log */
	struct intake_session *next, *previous;
};

/* session.c: lets the engine work as far as it can, then waits. May free the session. */
void intake_session_pump(struct intake_session *session);

static inline bool intake_session_shakes_hands(const struct intake_session *session)
{
	return session->tls.handshake_until_us > 0;
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

/* Whether the client is on this machine, by loopback or a UNIX socket. */
bool intake_session_is_local(const struct intake_session *session);
/* Whether the client, or the one that a proxy names, has an IP address. */
static inline bool intake_session_has_address(const struct intake_session *session)
{
	return strcmp(session->address, OS_SOCKET_UNIX) != 0;
}

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

/* Whether the engine has a question. */
static inline bool intake_session_has_question(const struct intake_session *session)
{
	struct intake_asked asked;

	return session->engine->asks(session, &asked);
}

/* The user that the client has authenticated as; empty: none. */
static inline struct str intake_session_user(const struct intake_session *session)
{
	return session->head != NULL && session->head->user != NULL ? str_from(session->head->user)
								    : STR("");
}

/* The name that the client gave; empty: none. */
static inline struct str intake_session_helo(const struct intake_session *session)
{
	return session->head != NULL && session->head->helo != NULL ? str_from(session->head->helo)
								    : STR("");
}

/* Whether the client may relay, by itself or as a user. */
static inline bool intake_session_may_relay(const struct intake_session *session)
{
	return session->may_relay || intake_session_user(session).length > 0;
}

/* tell.c: a watched session ends. */
void intake_tell_end(struct intake_session *session);

#endif
