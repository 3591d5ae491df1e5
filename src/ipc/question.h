// SPDX-License-Identifier: ISC
/*
 * ipc/question.h - questions to another process, each with one answer.
 *
 * A lost connection is no answer: questions wait for the next one, and are sent again over it. So
 * this is for what may be asked twice. Nor is it said of a process that is away: a question ends
 * with its answer, or with what its owner makes of the deadline. While there was no connection at
 * all, it is the same.
 *
 *   state     answer          deadline       connection lost    cancelled
 *   (none)    -               -              -                  -
 *   asked     none, ANSWERED  late, LATE     asked, sent again  none
 *   late      none, ANSWERED  -              late, sent again   none
 *
 * What a question is about, and how many may be open, is its owner's matter.
 */
#ifndef IPC_QUESTION_H
#define IPC_QUESTION_H

#include "base/buffer.h"
#include "base/table.h"
#include "ipc/channel.h"

/* Those to one process. */
struct ipc_questions;

/* Storage of the owner, which finds its own by CONTAINER_OF; all zero at first. */
struct ipc_question {
	struct ipc_questions *questions; /* NULL: it is not open */
	uint32_t tag;                    /* never 0 while it is open */
	bool is_late;
	int64_t until_us;
	UT_hash_handle hh;
};

/* None of these calls is made before ipc_question_ask() returns. Each may ask and cancel
 * questions. */
struct ipc_question_kind {
	uint16_t type;        /* of a message with a question */
	uint16_t answer_type; /* of one with an answer, which has the question's tag */
	bool is_secret;       /* what passes through (ipc_channel_set_secret()) */
	/* Appends what is asked. */
	void (*pack)(const struct ipc_question *question, struct buffer *body);
	/* BODY is the answer; QUESTION is NULL if it was cancelled. Ends QUESTION by
	 * ipc_question_cancel() before it tells anybody. False: malformed; then nothing was done.
	 * The connection ends, and the question is asked again. */
	bool (*answered)(struct ipc_question *question, struct str body);
	/* The deadline has passed: once for each question. It stays open if it is not cancelled. */
	void (*late)(struct ipc_question *question);
	/* Another message. False: refused. NULL: each is. */
	bool (*other)(const struct ipc_message *message);
};

/* PATH: the socket of the process. All questions have the same PATIENCE_US. KIND must outlive what
 * is returned. */
struct ipc_questions *ipc_questions_new(struct os_loop *loop, const char *path,
					const struct ipc_question_kind *kind, int64_t patience_us);
/* Those that are open are cancelled. NULL is allowed. */
void ipc_questions_free(struct ipc_questions *questions);
/* For other messages, and who waits for the connection. */
struct ipc_client *ipc_questions_client(const struct ipc_questions *questions);
/* How many are open, late ones too. */
size_t ipc_questions_count(const struct ipc_questions *questions);

/* The one that was asked first of those that are open; NULL: none is. */
struct ipc_question *ipc_questions_first(const struct ipc_questions *questions);

/* QUESTION must not be open. */
void ipc_question_ask(struct ipc_questions *questions, struct ipc_question *question);
/* Nothing is called for it any more. Does nothing if it is not open. */
void ipc_question_cancel(struct ipc_question *question);

#endif
