// SPDX-License-Identifier: ISC
/*
 * intake/limit/limits.h - what holds one session back, and what it is counted in: classes of hosts,
 * rates, and its client's share of sessions and of the queue's disk.
 */
#ifndef INTAKE_LIMIT_LIMITS_H
#define INTAKE_LIMIT_LIMITS_H

#include "base/buffer.h"
#include "intake/session.h"
#include "limit/client.h"
#include "limit/rate.h"

struct intake_session;
struct os_timer;

enum { INTAKE_NO_CLASS = -1 };

struct intake_session_limits {
	struct limit_client *client; /* NULL: not counted */
	uint64_t unfinished;         /* bytes of its messages, as counted for the client */
	ptrdiff_t class;       /* of hosts, in which it is counted; INTAKE_NO_CLASS: it is not */
	struct buffer early;   /* what was read before it had a class */
	struct os_timer *held; /* NULL, or runs while a rate holds a question back */
	void (*after_hold)(struct intake_session *session);
	bool is_let_through;   /* the question was held back, and may be passed on now */
	const char *farewell;  /* a rate ends the session: what the client is told; or NULL */
	uint64_t rates_logged; /* a bit for each section rate */
	bool is_slowed;        /* it is among the sessions that a rate holds back */
	struct intake_session *slowed_next, *slowed_previous;
};

/* --- limit.c: classes of hosts --- */

/* Whether the machine has too much to do for it (setting load_refuse). */
bool intake_limit_is_overloaded(const struct intake_session *session);
/* Looks up the client's name if its class depends on it. True: the answer must be awaited. */
bool intake_limit_ask_name(struct intake_session *session);
/* Counts the session in its class, if there are classes. False: that is full; logged. */
bool intake_limit_enter(struct intake_session *session);
/* Its client is another one now: likewise in the class of that one. False: that is full. */
bool intake_limit_move(struct intake_session *session);
void intake_limit_leave(struct intake_session *session);

/* --- rate.c: what the configuration's rates say --- */

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

/* --- slow.c: sessions that a rate holds back --- */

/* Calls THEN after WAIT_US; until then the session waits as for an answer. */
void intake_slow_begin(struct intake_session *session, int64_t wait_us,
		       void (*then)(struct intake_session *session));
/* It is held back no more. Does nothing if it was not. */
void intake_slow_end(struct intake_session *session);
/* The first session that is held back, in CLASS or in any (INTAKE_NO_CLASS), and may lose its place
 * to another client: no accepted message waits for its reply. NULL: there is none. */
struct intake_session *intake_slow_first(const struct intake *intake, ptrdiff_t class);

/* --- hold.c: a question that waits --- */

/* Whether the pending question need not be passed on now: it was answered, or will be asked again
 * later. */
bool intake_hold_question(struct intake_session *session);
/* Nothing is held back any more: a question is refused, with TEXT. */
void intake_hold_give_up(struct intake_session *session, const char *text);

/* --- share.c: what the client has on the queue's disk that is not complete --- */

/* Whether MESSAGE, which is called ID and has a file, may have BYTES more: 0, or -EUSERS, which is
 * logged. */
int intake_share_check(const struct intake_session *session,
		       const struct queue_client_message *message, const struct mail_id *id,
		       size_t bytes);
/* Messages have begun, grown or ended. */
void intake_share_follow(struct intake_session *session);

#endif
