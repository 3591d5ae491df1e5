// SPDX-License-Identifier: ISC
/* A message that is, or will be, with a decoder (filing/decode/internal_client.h). */
#include "base/panic.h"
#include "filing/decode/internal_client.h"
#include <stdlib.h>
#include <utlist.h>

void decode_question_remove(struct decode_question *question)
{
	struct decode_link *link = question->link;

	if (link == NULL) {
		DL_DELETE2(question->client->waiting, question, previous, next);
	} else {
		DL_DELETE2(link->questions, question, previous, next);
		link->asked--;
	}
	free(question);
}

void decode_question_answer(struct decode_question *question, const struct decode_message *message)
{
	decode_done *done = question->done;
	void *context = question->context;

	decode_question_remove(question);
	if (done != NULL)
		done(context, message);
}

void decode_question_problem(struct decode_question *question, struct str problem)
{
	const struct decode_message message = {.subject = STR(""), .problem = problem};

	decode_question_answer(question, &message);
}

void decode_question_forget(struct decode_question *question)
{
	question->done = NULL;
	question->context = NULL;
	question->content = NULL;
}

void decode_question_ask_again(struct decode_question *question)
{
	struct decode_link *link = question->link;
	struct decode_question *left = memory_alloc_zero(1, sizeof *left);

	*left = *question;
	decode_question_forget(left);
	DL_REPLACE_ELEM2(link->questions, question, left, previous, next);
	question->link = NULL;
	DL_PREPEND2(question->client->waiting, question, previous, next);
}
