// SPDX-License-Identifier: ISC
/* The log lines of refused commands and messages. */
#include "intake/internal.h"
#include "log/event.h"

static struct str first_line_of_reply(struct str text)
{
	struct str line;

	return str_split(&text, '\n', &line) ? line : text;
}

/* The setting that has the limit at which a command, or the session, is refused. */
static struct intake_bound bound_of(const struct intake_session *session, enum smtp_limit limit)
{
	const struct config *config = session->intake->config;

	switch (limit) {
	case SMTP_LIMIT_MESSAGE_SIZE:
		return (struct intake_bound){"maxsize", config->maxsize};
	case SMTP_LIMIT_RECIPIENTS:
		return (struct intake_bound){"maxrecipients", config->maxrecipients};
	case SMTP_LIMIT_ERRORS:
		return (struct intake_bound){"maxerrors", config->maxerrors};
	case SMTP_LIMIT_COMMANDS:
		return (struct intake_bound){"maxcommands", config->maxcommands};
	case SMTP_LIMIT_NONE:
		break;
	}
	return session->bound;
}

static void log_command(struct intake_session *session, const struct smtp_refusal *refusal,
			const char *text)
{
	const struct mail_envelope *envelope = refusal->envelope;
	struct intake_bound bound = bound_of(session, refusal->limit);

	if (session->is_turned_away) /* as logged */
		return;
	/* two bytes from the client cause a line of a hundred: so a session has a limit */
	if (session->refusals++ >= INTAKE_REFUSALS_LOGGED)
		return;
	log_event(EVENT_COMMAND_REFUSED, INTAKE_LOG_CLIENT(session),
		  log_str(helo, intake_session_helo(session)), log_number(code, refusal->code),
		  log_string(status, refusal->status != NULL ? refusal->status : ""),
		  log_string(text, text), log_str(command, first_line_of_reply(refusal->command)),
		  log_string(setting, bound.setting != NULL ? bound.setting : ""),
		  log_positive(limit, (int64_t)bound.value),
		  log_str(user, intake_session_user(session)),
		  envelope != NULL ? log_from(envelope->sender) : log_none());
}

/* Only one recipient is logged, because the length of a line is limited. */
static void log_message(const struct intake_session *session, const struct smtp_refusal *refusal,
			const char *text)
{
	const struct mail_envelope *envelope = refusal->envelope;

	log_event(EVENT_MESSAGE_REFUSED, INTAKE_LOG_CLIENT(session),
		  log_str(helo, intake_session_helo(session)), log_number(code, refusal->code),
		  log_string(status, refusal->status), log_string(text, text),
		  log_from(envelope->sender), log_str(to, envelope->recipients[0].address),
		  log_number(recipients, (int64_t)envelope->recipient_count),
		  log_str(message_id, refusal->message_id), log_str(field, refusal->field),
		  log_str(address, refusal->address), log_str(user, intake_session_user(session)),
		  log_string(name, session->name != NULL ? session->name : ""));
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
