// SPDX-License-Identifier: ISC
/* Questions from the frame to the answer. Those under way keep the server, and unused ones are kept
 * for the next. */
#include "base/panic.h"
#include "directory/server/internal.h"
#include <stdlib.h>
#include <string.h>

static void listing_free(struct listing *listing)
{
	if (listing == NULL)
		return;
	buffer_clear(&listing->after);
	free(listing);
}

struct question *question_new(struct session *session, enum question_kind kind, struct str id,
			      void (*ask)(struct question *question))
{
	struct directory_server *server = session->server;
	struct question *question = server->unused;

	if (question != NULL)
		server->unused = question->next;
	else
		question = memory_alloc(sizeof *question);
	question->server = server;
	question->session = session;
	question->kind = kind;
	question->table = DIRECTORY_NO_TABLE;
	question->key = STR("");
	question->is_removal = false;
	question->listing = NULL;
	question->ask = ask;
	memcpy(question->id, id.data, id.length);
	question->id_length = id.length;
	question->next = session->questions;
	question->previous = &session->questions;
	if (question->next != NULL)
		question->next->previous = &question->next;
	session->questions = question;
	session->question_count++;
	session->list_count += kind == QUESTION_LIST || kind == QUESTION_SINCE;
	server->questions_under_way++;
	return question;
}

void server_free_whole(struct directory_server *server)
{
	while (server->unused != NULL) {
		struct question *question = server->unused;

		server->unused = question->next;
		free(question);
	}
	directory_expander_free(server->expander);
	server->free_lacking(server);
	answer_clear(&server->answer);
	buffer_clear(&server->scratch);
	free(server);
}

void question_free(struct question *question)
{
	struct directory_server *server = question->server;
	struct session *session = question->session;

	if (session != NULL) {
		*question->previous = question->next;
		if (question->next != NULL)
			question->next->previous = question->previous;
		session->question_count--;
		session->list_count -=
			question->kind == QUESTION_LIST || question->kind == QUESTION_SINCE;
		pause_resumed(question);
		session_wake(session);
	}
	listing_free(question->listing);
	question->next = server->unused;
	server->unused = question;
	server->questions_under_way--;
	if (server->is_freed && server->questions_under_way == 0)
		server_free_whole(server);
}
