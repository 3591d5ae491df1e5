// SPDX-License-Identifier: ISC
/*
 * filing/decode/internal_client.h - what the files of the decoders' client share.
 */
#ifndef FILING_DECODE_INTERNAL_CLIENT_H
#define FILING_DECODE_INTERNAL_CLIENT_H

#include "filing/decode/client.h"
#include "filing/decode/protocol.h"
#include "ipc/channel.h"

struct decode_question {
	struct decode_client *client;
	const struct ipc_content *content;
	decode_done *done; /* NULL: nobody waits for the answer, but it is still asked: if the
			    * process dies now, it may be over this one */
	void *context;
	uint64_t size;            /* of the content */
	bool is_by_value;         /* it was, or will be, sent through the connection */
	unsigned deaths;          /* of processes over it */
	unsigned ticks;           /* since decode_client_ask() */
	struct decode_link *link; /* NULL: it waits in the client's list; else in that one's */
	uint32_t tag;
	struct decode_question *next, *previous;
};

/* The connection to one of the processes. */
struct decode_link {
	struct decode_client *client;
	const char *name; /* of its socket */
	struct ipc_client *ipc;
	struct decode_question
		*questions; /* that were asked, in order: it is busy with the first */
	unsigned asked;
	unsigned ticks; /* since it has been busy with the first one */
	bool is_silent; /* is to be replaced: has no questions, and gets none on this connection */
	bool is_ending; /* has said so */
	struct buffer answer;
};

struct decode_client {
	struct buffer token;
	void (*replace)(const char *socket);
	void (*changed)(struct decode_client *client); /* something more may be asked now */
	struct os_timer *timer;                        /* runs while there are questions */
	struct decode_question *waiting;               /* in order */
	unsigned ticks; /* since somebody has answered, connected, or nothing waited */
	uint32_t tag;   /* of the last question that was asked */
	struct decode_link links[DECODE_PROCESSES];
};

/* question.c: */

/* The end of QUESTION, which is in a list. */
void decode_question_answer(struct decode_question *question, const struct decode_message *message);
void decode_question_problem(struct decode_question *question, struct str problem);
void decode_question_remove(struct decode_question *question);
/* It was asked, and nobody waits for the answer any more. */
void decode_question_forget(struct decode_question *question);
/* It was asked, and waits again, before all others. Where it was asked, one that nobody waits for
 * takes its place: the answer is still due there. */
void decode_question_ask_again(struct decode_question *question);

/* link.c: */

void decode_link_init(struct decode_link *link, struct os_loop *loop, struct decode_client *client,
		      const char *run, const char *name);
void decode_link_clear(struct decode_link *link);
/* Whether there is a connection, to a process that is not to be replaced. */
bool decode_link_is_usable(const struct decode_link *link);
/* Whether it has been busy with one question for more than a second. */
bool decode_link_is_late(const struct decode_link *link);
/* It is late: what was asked behind the first question is to be asked of another one. */
void decode_link_ask_elsewhere(struct decode_link *link);
/* Whether QUESTION may be asked there now. */
bool decode_link_has_room(const struct decode_link *link, const struct decode_question *question);
/* QUESTION is in no list. */
void decode_link_ask(struct decode_link *link, struct decode_question *question);
/* A tick has passed: looks whether it is silent. */
void decode_link_tick(struct decode_link *link);

#endif
