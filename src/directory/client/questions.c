// SPDX-License-Identifier: ISC
/* The list of pending questions. */
#include "directory/client/internal.h"
#include "os/clock.h"
#include <stdlib.h>

static const int64_t PATIENCE_STEP_US = SECOND_US / 10;

void client_add(struct directory_client *client, struct directory_question_private *pending)
{
	pending->previous = client->last;
	*(client->last != NULL ? &client->last->next : &client->first) = pending;
	client->last = pending;
	HASH_ADD(hh, client->by_id, id, sizeof pending->id, pending);
}

void client_remove(struct directory_client *client, struct directory_question_private *pending)
{
	HASH_DEL(client->by_id, pending);
	*(pending->previous != NULL ? &pending->previous->next : &client->first) = pending->next;
	*(pending->next != NULL ? &pending->next->previous : &client->last) = pending->previous;
	if (pending->question != NULL)
		pending->question->private = NULL;
	buffer_clear(&pending->parts);
	free(pending);
}

struct directory_question_private *client_find(struct directory_client *client, struct str id)
{
	struct directory_question_private *pending = NULL;
	uint64_t number;

	if (str_to_u64(id, &number))
		HASH_FIND(hh, client->by_id, &number, sizeof number, pending);
	return pending;
}

void client_answer(struct directory_client *client, struct directory_question_private *pending,
		   const struct directory_answer_text *answer)
{
	struct directory_question *question = pending->question;

	client_remove(client, pending);
	if (question != NULL && answer != NULL)
		question->answered(question->context, answer);
}

void client_answer_error(struct directory_client *client,
			 struct directory_question_private *pending, enum directory_error error,
			 const char *text)
{
	const struct directory_answer_text answer = {
		.error = error, .error_text = text, .version = client->version};

	client_answer(client, pending, &answer);
}

void client_arm_patience(struct directory_client *client)
{
	bool is_waiting = client->first != NULL || client->state == CLIENT_CONNECTING ||
			  client->unheard_us != 0;

	os_timer_start(client->patience, is_waiting ? PATIENCE_STEP_US : CLIENT_PING_US);
}
