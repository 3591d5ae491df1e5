// SPDX-License-Identifier: ISC
/* The log lines of refused commands and messages. */
#include "intake/internal.h"
#include "log/event.h"

static struct str first_line(struct str text)
{
	struct str line;

	return str_split(&text, '\n', &line) ? line : text;
}

static void log_command(struct intake_session *session, const struct smtp_refusal *refusal,
			const char *text)
{
	const struct log_field none = {LOG_FIELD_END};
	const struct mail_envelope *envelope = refusal->envelope;
	struct str user = intake_session_user(session);
	struct log_field from = envelope != NULL ? log_str("from", envelope->sender) : none;

	if (session->is_turned_away) /* as logged */
		return;
	/* two bytes from the client cause a line of a hundred: so a session has a limit */
	if (session->refusals++ >= INTAKE_REFUSALS_LOGGED)
		return;
	log_event(EVENT_COMMAND_REFUSED, log_string("client", session->address),
		  log_str("helo", session->engine->helo(session)),
		  log_number("code", refusal->code),
		  log_string("status", refusal->status != NULL ? refusal->status : "-"),
		  log_string("text", text), log_str("command", first_line(refusal->command)),
		  user.length > 0 ? log_str("user", user) : from, user.length > 0 ? from : none);
}

/* Only one recipient is logged, because the length of a line is limited. */
static void log_message(const struct intake_session *session, const struct smtp_refusal *refusal,
			const char *text)
{
	const struct log_field none = {LOG_FIELD_END};
	const struct mail_envelope *envelope = refusal->envelope;
	struct str user = intake_session_user(session);
	struct log_field name = session->name != NULL ? log_string("name", session->name) : none;

	log_event(EVENT_MESSAGE_REFUSED, log_string("client", session->address),
		  log_str("helo", session->engine->helo(session)),
		  log_number("code", refusal->code), log_string("status", refusal->status),
		  log_string("text", text), log_str("from", envelope->sender),
		  log_str("to", envelope->recipients[0].address),
		  log_number("recipients", (int64_t)envelope->recipient_count),
		  log_str("message_id", refusal->message_id),
		  user.length > 0 ? log_str("user", user) : name, user.length > 0 ? name : none);
}

void intake_log_refusal(void *context, const struct smtp_refusal *refusal)
{
	struct intake_session *session = context;
	const char *text = session->reason != NULL ? session->reason : refusal->text;

	intake_rate_note(session, CONFIG_RATE_REFUSALS, 1);
	if (refusal->is_message)
		log_message(session, refusal, text);
	else
		log_command(session, refusal, text);
}
