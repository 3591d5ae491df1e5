// SPDX-License-Identifier: ISC
/*
 * deliver/shape/shape.h - how much mail goes where, and when more may. Pure but for the log.
 *
 * For each bearer of a section destination there are counters (meter.h), and for each server a
 * throttle (throttle.h), its room for connections (room.h), what it has refused lately (alike.h)
 * and its limits as far as they are known (learnt.h), all in this process's memory: the least
 * recently used are forgotten. So a new process begins anew; what it does not know any more is an
 * interval at most.
 *
 * Asked are, in this order: shape_enter() before a connection is made, for the first message, too;
 * shape_next() before each other one, after shape_ended() of the one before; shape_leave() when the
 * connection is closed. All times are monotonic.
 *
 * When the server sees a message is known only to lie between the question and its end. So that in
 * no interval it sees more than the limit, a message that is under way counts whenever it began,
 * and one that has ended counts from its end; likewise a connection, whose end for that is the end
 * of its first message.
 */
#ifndef DELIVER_SHAPE_SHAPE_H
#define DELIVER_SHAPE_SHAPE_H

#include "base/attributes.h"
#include "deliver/shape/alike.h"
#include "deliver/shape/rules.h"
#include "mail/envelope.h"
#include "mail/verdict.h"

enum { SHAPE_REASON_SIZE = MAIL_TEXT_SIZE };

struct shape;
struct shape_entry;

struct shape *shape_new(void);
void shape_free(struct shape *shape);
/* CONFIG is borrowed until the next call. What was counted stays. */
void shape_configure(struct shape *shape, const struct config *config);

/* Why something may not be begun now. */
struct shape_wait {
	int64_t us;                     /* for so long; more than 0 */
	struct shape_entry *place;      /* a connection there must be closed before, US is a guess;
					 * or NULL */
	bool is_delay;                  /* between messages of a connection, which must stay open */
	char reason[SHAPE_REASON_SIZE]; /* "example.org: 60 messages in 1m" */
};

/* What a connection has of a shape. Zeros: nothing. */
struct shape_hold {
	struct shape_entry *place; /* where it is counted; NULL: nowhere */
	struct shape_entry *server;
	int64_t ended_us; /* its last message; 0: none yet */

	/* What is under way: */
	struct shape_entry *bearer; /* of the message; NULL: none, or not counted */
	int64_t interval_us;
	uint32_t recipients;
	bool is_new; /* the connection, too */
};

/* Whether a connection for SUBJECT may be made now, and a message for so many RECIPIENTS be sent
 * over it. If so both count, and HOLD_OUT must be given to shape_leave(). */
MUST_CHECK bool shape_enter(struct shape *shape, const struct shape_subject *subject,
			    size_t recipients, int64_t now_us, struct shape_hold *hold_out,
			    struct shape_wait *wait_out);
/* Whether another message may be sent over HOLD's connection; if so it counts. */
MUST_CHECK bool shape_next(struct shape *shape, struct shape_hold *hold, struct str domain,
			   size_t recipients, int64_t now_us, struct shape_wait *wait_out);
/* A message over it has ended. */
void shape_ended(struct shape_hold *hold, int64_t now_us);
/* The message that is under way has ended before any of it was sent: it does not count. */
void shape_unsent(struct shape_hold *hold);
/* The connection is closed. */
void shape_leave(struct shape_hold *hold, int64_t now_us);
/* The connection was not even begun: nothing of it counts. */
void shape_cancel(struct shape_hold *hold);

/* --- what servers say --- */

enum shape_news {               /* what follows for a server from what it says, with an amount */
		  SHAPE_SLOWER, /* milliseconds between messages */
		  SHAPE_CONNECTIONS, /* at once */
		  SHAPE_MESSAGES,    /* of a session */
		  SHAPE_RECIPIENTS,  /* of a transaction */
		  SHAPE_RENEWED,     /* messages before a session that has served enough */
};

/* A reply, and what it is about: for the log, and for those who ask why mail waits. */
struct shape_said {
	struct mail_id id;
	struct str to; /* one of the recipients */
	const struct mail_verdict *verdict;
	/* Is told what follows from it for HOST; NULL: nobody is. */
	void (*tell)(void *context, const char *host, uint16_t port, enum shape_news news,
		     uint32_t amount, const struct shape_said *said);
	void *context;
};

/* HOLD's server has refused TOLD. Whom it has told so. */
enum shape_told_whom shape_refused(struct shape_hold *hold, const struct shape_told *told,
				   int64_t now_us);
/* It has taken a message. */
void shape_taken(struct shape_hold *hold);

/* A server has said that it gets too much. */
struct shape_complaint {
	int64_t began_us;   /* of what began then */
	int64_t wait_us;    /* it wants nothing for so long; 0: it did not say */
	bool is_connection; /* of a connection, which it refuses; else of mail */
	struct shape_said said;
};

/* HOLD's server has made COMPLAINT. A refused connection beside others is one too many; otherwise
 * it is sent less. WAIT_OUT: in how long it may be sent more. */
void shape_slow(const struct shape_hold *hold, const struct shape_complaint *complaint,
		int64_t now_us, struct shape_wait *wait_out);
/* Whether HOLD's server has said that it wants nothing now, for as long as WAIT_OUT says. It means
 * us, not a connection: mail that was on the way to it must turn back as well. */
MUST_CHECK bool shape_is_paused(const struct shape_hold *hold, int64_t now_us,
				struct shape_wait *wait_out);

/* It has taken COUNT messages in a session, more than 0, or recipients in a transaction, and said
 * SAID to the next one. */
void shape_learn_messages(struct shape_hold *hold, uint32_t count, const struct shape_said *said,
			  int64_t now_us);
void shape_learn_recipients(struct shape_hold *hold, uint32_t count, const struct shape_said *said,
			    int64_t now_us);

/* HOLD's server is asked again, in a new session, after COUNT messages. */
void shape_renewed(const struct shape_hold *hold, uint32_t count, const struct shape_said *said);

/* What HOLD's connection is for. */
struct shape_subject shape_subject_of(const struct shape_hold *hold, struct str domain);
/* How many messages for DOMAIN the session of HOLD may have: as its section says, or as its server
 * has shown. 0: any number. */
uint32_t shape_messages_most(struct shape *shape, const struct shape_hold *hold, struct str domain,
			     int64_t now_us);
/* The same of recipients of a transaction for SUBJECT. HOLD: its connection's; NULL: there is none
 * yet. */
uint32_t shape_recipients_most(struct shape *shape, const struct shape_subject *subject,
			       const struct shape_hold *hold, int64_t now_us);

#endif
