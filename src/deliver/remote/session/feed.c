// SPDX-License-Identifier: ISC
/* The message of a session's transaction, as the server takes it. */
#include "deliver/remote/session/internal.h"
#include <stdio.h>
#include <string.h>

static void give_up_message(struct remote_session *session, int error)
{
	char text[128];

	snprintf(text, sizeof text, "the message cannot be read: %s", strerror(-error));
	remote_engine_abandon(&session->engine, "4.3.0", text);
}

static int read_message(struct remote_session *session, struct str *part_out, bool *is_last_out)
{
	const struct ipc_content *content = &session->transaction.content;
	int error;

	if (session->form != NULL)
		return remote_form_read(session->form, session->settings.chunk, part_out,
					is_last_out);
	error = ipc_content_read(content, session->position, session->settings.chunk,
				 REMOTE_CHUNK_SIZE, part_out);
	if (error < 0)
		return error;
	session->position += part_out->length;
	*is_last_out = session->position == content->size;
	return 0;
}

void remote_session_feed(struct remote_session *session)
{
	struct str part;
	bool is_last;
	int error = read_message(session, &part, &is_last);

	if (error < 0)
		give_up_message(session, error);
	else
		remote_engine_data(&session->engine, part, is_last);
}

void remote_session_form(struct remote_session *session)
{
	const struct remote_transaction *transaction = &session->transaction;
	enum remote_form_state state;
	int error;

	if (!session->settings.converts_8bit && transaction->message.is_binary) {
		remote_engine_refuse_form(&session->engine, "5.6.3",
					  "nothing is converted here (convert_8bit)");
		return;
	}
	if (!session->settings.converts_8bit) {
		remote_engine_form(&session->engine, transaction->message.size);
		return;
	}
	if (session->form == NULL)
		session->form = remote_form_new(&transaction->content,
						session->settings.protocol == SMTP_CLIENT_SMTP,
						transaction->message.is_binary);
	error = remote_form_look(session->form, session->settings.chunk, &state);
	if (error < 0)
		give_up_message(session, error);
	else if (state == REMOTE_FORM_SEALED)
		remote_engine_refuse_form(&session->engine, "5.6.3",
					  "what is signed or encrypted must not be converted");
	else if (state == REMOTE_FORM_UNPARSED)
		remote_engine_refuse_form(&session->engine, "5.6.3",
					  "the parts of the message cannot be told apart");
	else if (state == REMOTE_FORM_READY)
		remote_engine_form(&session->engine, remote_form_size(session->form));
}
