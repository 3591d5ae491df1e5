// SPDX-License-Identifier: ISC
/*
 * intake/internal.h - one session, between the files of this folder.
 *
 * What a session does next follows from what its parts lack; the first line that fits
 * (session.c, next_step()):
 *
 *   the engine asks, and nobody was asked yet            ASK whoever knows
 *   bytes are kept, and the engine is ready              FEED it
 *   replies, and the socket may take some                SEND them
 *   the engine is closed, and no replies are left        END
 *   no replies are left, and the client's end came       END
 *   otherwise                                            WAIT
 *
 * Kept bytes are so fed again as soon as replies are on their way, and what the client was
 * told reaches it also when it has closed its own side. Whoever WAITs has something to wait
 * for:
 *
 *   replies that the socket does not take                until it can be written
 *   a question that somebody else was asked              for the answer
 *   an engine that is ready, nothing kept, no end yet    until there is something to read
 *
 * and a timer in any case. The client's end is read only when nothing is kept and nobody was
 * asked, so that it comes after all that it said. Nothing else can be: an engine that is not ready
 * is closed, asks, has too many replies, or more of a message than is kept in memory; and that was
 * written or dropped before (intake_question_see_to_body()).
 */
#ifndef INTAKE_INTERNAL_H
#define INTAKE_INTERNAL_H

#include "directory/lookup/post.h"
#include "intake/client.h"
#include "intake/pace.h"
#include "intake/session.h"

enum { INTAKE_REFUSALS_LOGGED = 50 }; /* commands of a session */

struct intake_session {
	struct intake *intake;
	void (*pump)(struct intake_session *session); /* when an answer comes */
	struct smtp_server *server;
	struct os_watch *watch;
	struct os_timer *timer;
	struct buffer kept;                 /* read, but not consumed yet */
	struct directory_request recipient; /* while the directory is asked for one */
	struct directory_post_request post; /* and then whether the sender may post there */
	struct names_request name_request;  /* while it is asked for */
	char *name;                         /* of the client; NULL: none is known */
	struct queue_client_message message;
	struct mail_id id;            /* of that message */
	int64_t message_began_us;     /* monotonic: when it got its number */
	struct intake_client *client; /* NULL: it is not counted */
	struct intake_pace pace;
	struct intake_pace idle; /* the same, but only a message ends it */
	int64_t deadline_us;     /* monotonic; the client must have been heard by then */
	int64_t timer_us;        /* when the timer fires */
	uint64_t refusals;       /* of commands, so far */
	size_t unsent;           /* bytes of replies that the client did not take yet */
	const char *reason;      /* of a refusal, for the log alone; NULL: the reply says it */
	int socket;
	bool may_relay;
	bool is_asking;  /* a question is with somebody else */
	bool is_unnamed; /* and it is the client's name that OPEN waits for */
	bool is_blocked; /* the socket takes no more */
	bool is_pumping;
	bool is_receiving; /* a message */
	bool is_at_end;    /* the client closed its side */
	uint64_t told;     /* transcript_line() knows it by this */
	struct in6_addr mapped;
	char address[OS_SOCKET_TEXT_SIZE]; /* "" on a UNIX socket */
	struct intake_session *next, *previous;
};

/* session.c: lets the engine go on as far as it can, then waits for what it lacks. May
 * free the session. */
void intake_session_pump(struct intake_session *session);

/* tell.c: a session that is watched ends. */
void intake_tell_end(struct intake_session *session);

/* question.c */
void intake_question_init(struct intake_session *session);
/* Asks for the name of the client, at ADDRESS. */
void intake_question_ask_name(struct intake_session *session, const struct in6_addr *address);
/* The session ends: nobody waits for an answer, and its message is given up. */
void intake_question_cancel(struct intake_session *session);
/* Asks whoever knows; the answer comes perhaps at once. */
void intake_question_see_to(struct intake_session *session, const struct smtp_question *question);
/* Writes the message to its file when enough of it has come, and gives the file up when
 * the engine did. */
void intake_question_see_to_body(struct intake_session *session);

#endif
