// SPDX-License-Identifier: ISC
/*
 * Questions of a client that does not read its answers fast enough. Results that the store found
 * for them are dropped: they are asked again, one after the other, as the client reads.
 */
#include "directory/server/internal.h"
#include <utlist.h>

static bool has_room_for_output(const struct session *session)
{
	return session->output.length <= SERVER_BACKLOG_MAX;
}

bool pause_is_due(const struct question *question)
{
	return question->session != NULL && !question->session->is_broken &&
	       !has_room_for_output(question->session);
}

void pause_question(struct question *question)
{
	struct session *session = question->session;

	DL_APPEND2(session->paused, question, paused_previous, paused_next);
	pause_resumed(question);
	session_wake(session);
}

void pause_resume(struct session *session)
{
	struct directory_store *store = session->server->store;

	if (session->paused == NULL)
		return;
	directory_store_begin(store);
	while (session->paused != NULL && session->resumed == NULL &&
	       has_room_for_output(session)) {
		struct question *question = session->paused;

		DL_DELETE2(session->paused, question, paused_previous, paused_next);
		session->resumed = question;
		question->ask(question);
	}
	directory_store_end(store);
}

void pause_drop(struct session *session)
{
	while (session->paused != NULL) {
		struct question *question = session->paused;

		DL_DELETE2(session->paused, question, paused_previous, paused_next);
		question_free(question);
	}
}
