// SPDX-License-Identifier: ISC
/* Holds clients to the configuration's rates (limit/rate.h). */
#include "base/panic.h"
#include "intake/internal.h"
#include "log/event.h"
#include "os/clock.h"

static const struct intake_charge connection_charges[] = {
	{CONFIG_RATE_REFUSALS, 0}, {CONFIG_RATE_FAILED_LOGINS, 0}, {CONFIG_RATE_CONNECTIONS, 1}};
const char *const intake_rate_texts[CONFIG_RATE_COUNTS] = {
	[CONFIG_RATE_CONNECTIONS] = "You connect too often, try again later",
	[CONFIG_RATE_MESSAGES] = "You send too many messages, try again later",
	[CONFIG_RATE_RECIPIENTS] = "You send to too many recipients, try again later",
	[CONFIG_RATE_BYTES] = "You send too much, try again later",
	[CONFIG_RATE_REFUSALS] = "Too many of your commands were refused, try again later",
	[CONFIG_RATE_FAILED_LOGINS] = "Too many logins have failed, try again later",
};

static const char *const answers[] = {
	[LIMIT_SLOW] = "slow", [LIMIT_DEFER] = "defer", [LIMIT_CLOSE] = "close"};

static struct str domain_of_sender(struct str address)
{
	ptrdiff_t at = str_find_last(address, '@');

	return at >= 0 ? str_skip(address, (size_t)at + 1) : STR("");
}

static struct limit_subject subject_of_session(const struct intake_session *session)
{
	struct intake_asked asked;
	struct limit_subject subject = {
		.class_mask = session->limits.class >= 0
				      ? limit_classes_at(session->intake->classes,
							 (size_t)session->limits.class)
						->mask
				      : NULL,
		.address = intake_session_has_address(session) ? &session->mapped : NULL,
		.user = intake_session_user(session),
		.sender_domain = STR(""),
	};

	if (session->engine->asks(session, &asked) && asked.envelope != NULL)
		subject.sender_domain = domain_of_sender(asked.envelope->sender);
	return subject;
}

/* One line for each section and session: a client may be over a limit with each command. WRITE:
 * log_write() or log_write_rated(). */
static void log_ruling(struct intake_session *session, const struct limit_ruling *ruling,
		       void (*write)(enum log_name name, const struct log_field *fields))
{
	const struct config_rate *rule = ruling->rule;
	size_t number = (size_t)(rule - session->intake->config->rates);
	uint64_t bit = UINT64_C(1) << number % 64;
	struct limit_subject subject = subject_of_session(session);

	if ((session->limits.rates_logged & bit) != 0)
		return;
	session->limits.rates_logged |= bit;
	log_event_by(write, EVENT_RATE_EXCEEDED, INTAKE_LOG_CLIENT(session),
		     log_string(rate, rule->name),
		     log_string(counts, config_rate_count_word(rule->count)),
		     log_number(limit, (int64_t)rule->limit),
		     log_string(answer, answers[ruling->answer]),
		     log_number(wait, ruling->wait_us / SECOND_US), log_str(user, subject.user),
		     log_str(sender_domain, subject.sender_domain));
}

/* The strictest that the rates say of any of the CHARGES. */
static struct limit_ruling judge_charges(struct intake_session *session,
					 const struct intake_charge *charges, size_t count)
{
	struct limit_subject subject = subject_of_session(session);
	struct limit_ruling strictest = {LIMIT_PASS, NULL, 0};
	int64_t now_us = os_clock_monotonic_us();

	for (size_t i = 0; i < count && strictest.answer < LIMIT_DEFER; i++) {
		struct limit_ruling ruling =
			limit_rates_take(session->intake->rates, charges[i].count, &subject,
					 charges[i].amount, now_us);

		if (limit_ruling_is_stricter(&ruling, &strictest))
			strictest = ruling;
	}
	return strictest;
}

struct limit_ruling intake_rate_judge(struct intake_session *session,
				      const struct intake_charge *charges, size_t count)
{
	struct limit_ruling ruling = judge_charges(session, charges, count);

	if (ruling.answer != LIMIT_PASS)
		log_ruling(session, &ruling, log_write);
	return ruling;
}

enum intake_rate intake_rate_of_connection(struct intake_session *session,
					   void (*then)(struct intake_session *session),
					   const char **text_out)
{
	struct limit_ruling ruling;

	if (session->intake->rates == NULL)
		return INTAKE_RATE_PASSES;
	ruling = judge_charges(session, connection_charges, COUNT_OF(connection_charges));
	if (ruling.answer == LIMIT_PASS)
		return INTAKE_RATE_PASSES;
	/* who only connects can do that as often as it likes */
	log_ruling(session, &ruling, log_write_rated);
	*text_out = intake_rate_texts[ruling.rule->count];
	if (ruling.answer != LIMIT_SLOW)
		return INTAKE_RATE_REFUSES;
	intake_slow_begin(session, ruling.wait_us, then);
	return INTAKE_RATE_WAITS;
}

void intake_rate_note(struct intake_session *session, enum config_rate_count count, uint64_t amount)
{
	struct limit_subject subject;
	struct limit_ruling ruling;

	if (session->intake->rates == NULL)
		return;
	subject = subject_of_session(session);
	ruling = limit_rates_note(session->intake->rates, count, &subject, amount,
				  os_clock_monotonic_us());
	if (ruling.answer == LIMIT_PASS)
		return;
	log_ruling(session, &ruling, log_write);
	if (ruling.answer == LIMIT_CLOSE)
		session->limits.farewell = intake_rate_texts[count];
}

void intake_rate_end_session(struct intake_session *session)
{
	if (session->limits.farewell == NULL || session->question.is_asking ||
	    session->commits > 0 || intake_session_has_question(session) ||
	    session->engine->is_closed(session))
		return;
	session->engine->refuse_session(session, session->limits.farewell);
}
