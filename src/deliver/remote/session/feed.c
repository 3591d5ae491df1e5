// SPDX-License-Identifier: ISC
/* The message of a session's transaction, as the server takes it. */
#include "deliver/remote/session/internal.h"
#include "os/file/reason.h"
#include <stdio.h>

static void give_up_message(struct remote_session *session, int error)
{
	char text[128];

	snprintf(text, sizeof text, "the message cannot be read: %s", os_file_reason(error));
	remote_engine_abandon(&session->engine, "4.3.0", text);
}

static int read_message_part(struct remote_session *session, struct str *part_out,
			     bool *is_last_out)
{
	const struct ipc_content *content = &session->transaction.content;
	int error;

	if (session->form != NULL)
		return remote_form_read(session->form, session->settings.chunk, part_out,
					is_last_out);
	error = ipc_content_next(content, &session->pass, session->settings.chunk,
				 REMOTE_CHUNK_SIZE, part_out);
	*is_last_out = ipc_content_is_passed(content, &session->pass);
	return error;
}

void remote_session_feed(struct remote_session *session)
{
	struct str part;
	bool is_last;
	int error = read_message_part(session, &part, &is_last);

	if (error < 0)
		give_up_message(session, error);
	else
		remote_engine_data(&session->engine, part, is_last);
}

/* As configured; false: it is dealt with. */
static bool may_convert(struct remote_session *session, unsigned wanted)
{
	const struct remote_transaction *transaction = &session->transaction;
	bool is_utf8 = wanted & SMTP_CLIENT_FORM_ASCII_HEADER;

	if (session->settings.converts_8bit)
		return true;
	if (transaction->message.is_binary || is_utf8)
		remote_engine_refuse_form(&session->engine, is_utf8 ? "5.6.7" : "5.6.3",
					  "nothing is converted here (convert_8bit)");
	else
		remote_engine_form(&session->engine, transaction->message.size);
	return false;
}

static void end_form(struct remote_session *session, enum remote_form_state state)
{
	struct remote_engine *engine = &session->engine;

	switch (state) {
	case REMOTE_FORM_UNKNOWN:
		break;
	case REMOTE_FORM_READY:
		remote_engine_form(engine, remote_form_size(session->form));
		break;
	case REMOTE_FORM_SEALED:
		remote_engine_refuse_form(engine, "5.6.3",
					  "what is signed or encrypted must not be converted");
		break;
	case REMOTE_FORM_UNPARSED:
		remote_engine_refuse_form(engine, "5.6.3",
					  "the parts of the message cannot be told apart");
		break;
	case REMOTE_FORM_ADDRESS:
		remote_engine_refuse_form(engine, "5.6.7", "an address in the header needs it");
		break;
	}
}

void remote_session_form(struct remote_session *session)
{
	const struct remote_transaction *transaction = &session->transaction;
	const struct remote_form_rules rules = {
		.breaks_lines = session->settings.protocol == SMTP_CLIENT_SMTP,
		.is_binary = transaction->message.is_binary,
		.wanted = remote_engine_wanted_form(&session->engine),
	};
	enum remote_form_state state;
	int error;

	if (!may_convert(session, rules.wanted))
		return;
	if (session->form == NULL)
		session->form = remote_form_new(&transaction->content, &rules);
	error = remote_form_look(session->form, session->settings.chunk, &state);
	if (error < 0)
		give_up_message(session, error);
	else
		end_form(session, state);
}
