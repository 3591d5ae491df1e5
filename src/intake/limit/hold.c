// SPDX-License-Identifier: ISC
/*
 * Holds a question of the engine back, or refuses it, when a rate says so. A session that is held
 * back, also before its greeting, is slowed in its class, and the first to go when there is no
 * place for another client: it waits because of what its client did, not for us.
 */
#include "intake/internal.h"
#include <utlist.h>

enum { HOLD_FIRST_LOOKS = 64 }; /* at sessions of other classes */

/* What came before is judged first: then a message that it refuses is not counted. */
static const struct intake_charge message_charges[] = {{CONFIG_RATE_BYTES, 0},
						       {CONFIG_RATE_REFUSALS, 0},
						       {CONFIG_RATE_FAILED_LOGINS, 0},
						       {CONFIG_RATE_MESSAGES, 1}};
static const struct intake_charge recipient_charges[] = {{CONFIG_RATE_RECIPIENTS, 1}};
static const struct intake_charge login_charges[] = {{CONFIG_RATE_FAILED_LOGINS, 0}};

static struct limit_ruling judge_question(struct intake_session *session)
{
	static const struct limit_ruling passed = {LIMIT_PASS, NULL, 0};
	struct intake_asked asked = {.type = SMTP_QUESTION_COMMIT};

	(void)session->engine->asks(session, &asked);
	switch (asked.type) {
	case SMTP_QUESTION_RECIPIENT:
		return intake_rate_judge(session, recipient_charges, COUNT_OF(recipient_charges));
	case SMTP_QUESTION_OPEN:
		return intake_rate_judge(session, message_charges, COUNT_OF(message_charges));
	case SMTP_QUESTION_AUTH:
		return asked.goes_on
			       ? passed
			       : intake_rate_judge(session, login_charges, COUNT_OF(login_charges));
	default:
		return passed;
	}
}

static void let_through(struct intake_session *session)
{
	session->limits.is_let_through = true;
	session->pump(session);
}

static void refuse_question(struct intake_session *session, const char *text)
{
	struct intake_asked asked = {.type = SMTP_QUESTION_COMMIT};
	struct mail_verdict verdict;

	(void)session->engine->asks(session, &asked);
	if (asked.type == SMTP_QUESTION_AUTH) {
		intake_auth_refuse(session);
		return;
	}
	mail_verdict_set(&verdict, "4.7.1", "%s", text);
	session->engine->answer(session, &verdict);
}

bool intake_hold_question(struct intake_session *session)
{
	struct limit_ruling ruling;

	if (session->intake->rates == NULL || session->limits.is_let_through) {
		session->limits.is_let_through = false;
		return false;
	}
	ruling = judge_question(session);
	if (ruling.answer == LIMIT_PASS)
		return false;
	if (ruling.answer == LIMIT_SLOW) {
		intake_slow_begin(session, ruling.wait_us, let_through);
		return true;
	}
	if (ruling.answer == LIMIT_CLOSE)
		session->limits.farewell = intake_rate_texts[ruling.rule->count];
	refuse_question(session, intake_rate_texts[ruling.rule->count]);
	return true;
}

void intake_hold_give_up(struct intake_session *session, const char *text)
{
	if (!session->limits.is_slowed)
		return;
	intake_slow_end(session);
	if (intake_session_has_question(session))
		refuse_question(session, text);
	else if (intake_security_is_implicit(session->tls.security)) /* it waits for a handshake */
		buffer_clear(&session->head->output);
}
