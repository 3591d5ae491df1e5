// SPDX-License-Identifier: ISC
/* When an attempt may begin sessions and transactions (shape/shape.h). */
#include "base/hash.h"
#include "base/timestamp.h"
#include "deliver/remote/attempt/internal.h"
#include "os/clock.h"

static const int64_t HOLD_US = 2 * SECOND_US; /* a session and its place are kept so long */

static void keep_wait(struct remote_attempt *attempt, const struct shape_wait *wait)
{
	if (attempt->busy.us == 0 || wait->us < attempt->busy.us)
		attempt->busy = *wait;
}

uint32_t remote_attempt_recipients_most(const struct remote_attempt *attempt)
{
	const struct shape_hold *hold = remote_session_hold(attempt->session);
	struct shape_subject subject;

	if (hold->server == NULL)
		return 0;
	subject = shape_subject_of(hold, attempt->job->destination);
	return shape_recipients_most(attempt->client->shape, &subject, hold,
				     os_clock_monotonic_us());
}

bool remote_attempt_may_meet(struct remote_attempt *attempt, struct shape_hold *hold_out)
{
	const struct shape_subject subject = {attempt->job->destination,
					      str_from(attempt->server->host),
					      os_socket_address_port(&attempt->server->address)};
	struct shape *shape = attempt->client->shape;
	int64_t now_us = os_clock_monotonic_us();
	struct shape_wait wait;
	size_t count;

	*hold_out = (struct shape_hold){0};
	if (shape == NULL)
		return true;
	count = remote_recipients_next(&attempt->recipients,
				       shape_recipients_most(shape, &subject, NULL, now_us));
	do {
		attempt->is_allowed = shape_enter(shape, &subject, count, now_us, hold_out, &wait);
	} while (!attempt->is_allowed && wait.place != NULL &&
		 remote_pool_close_one(attempt->client->pool, wait.place));
	if (!attempt->is_allowed)
		keep_wait(attempt, &wait);
	return attempt->is_allowed;
}

enum remote_attempt_turn remote_attempt_turn(struct remote_attempt *attempt)
{
	int64_t now_us = os_clock_monotonic_us();
	bool is_allowed = attempt->is_allowed || attempt->client->shape == NULL;
	struct shape_wait wait;

	attempt->is_allowed = false;
	attempt->begun_us = now_us;
	if (is_allowed ||
	    shape_next(attempt->client->shape, remote_session_hold(attempt->session),
		       attempt->job->destination, attempt->recipients.count, now_us, &wait))
		return REMOTE_ATTEMPT_NOW;
	if (wait.us <= HOLD_US || wait.is_delay) {
		attempt->held_until_us = now_us + wait.us;
		return REMOTE_ATTEMPT_SOON;
	}
	keep_wait(attempt, &wait);
	return REMOTE_ATTEMPT_BUSY;
}

bool remote_attempt_is_unwanted(struct remote_attempt *attempt)
{
	struct shape_wait wait;

	if (attempt->session == NULL || !remote_session_is_before_mail(attempt->session) ||
	    !shape_is_paused(remote_session_hold(attempt->session), os_clock_monotonic_us(), &wait))
		return false;
	keep_wait(attempt, &wait);
	return true;
}

/* --- what servers say --- */

static uint64_t hash_of_told_text(struct str text)
{
	return hash_own(text.data, text.length);
}

/* At RCPT the recipient that it was said of; from then on the first one stands for all. */
static struct str recipient_of_slower_reply(const struct remote_attempt *attempt,
					    const struct smtp_client_slower *slower)
{
	bool is_rcpt = slower->refusal.phase == SMTP_CLIENT_AT_RECIPIENT;

	return attempt->recipients.transaction[is_rcpt ? slower->recipient : 0].address;
}

/* Whom SLOWER concerns, now that others are known. */
static enum smtp_client_scope scope_of(struct remote_attempt *attempt,
				       const struct smtp_client_slower *slower, int64_t now_us)
{
	const struct mail_verdict *verdict = slower->verdict;
	struct smtp_client_refusal refusal = slower->refusal;
	const uint64_t said[] = {refusal.phase, slower->code,
				 hash_of_told_text(str_from(verdict->status))};
	const struct shape_told told = {
		.reply = hash_own(said, sizeof said),
		.sender = hash_of_told_text(attempt->job->sender),
		.recipient =
			refusal.phase > SMTP_CLIENT_AT_MAIL
				? hash_of_told_text(recipient_of_slower_reply(attempt, slower)) | 1
				: 0,
	};
	enum shape_told_whom whom = SHAPE_TOLD_ONE;

	if (refusal.phase > SMTP_CLIENT_AT_OPENING)
		whom = shape_refused(remote_session_hold(attempt->session), &told, now_us);
	refusal.is_of_others = whom == SHAPE_TOLD_OTHERS;
	refusal.is_only = whom == SHAPE_TOLD_ONLY;
	return smtp_client_scope_of(&refusal);
}

static void note_taken(const struct remote_attempt *attempt)
{
	for (size_t i = 0; i < attempt->recipients.count; i++)
		if (attempt->recipients.transaction[i].verdict->class == MAIL_OK) {
			shape_taken(remote_session_hold(attempt->session));
			return;
		}
}

static void tell_news_of_server(void *context, const char *host, uint16_t port,
				enum shape_news news, uint32_t amount,
				const struct shape_said *said)
{
	static const enum ipc_job_said_what whats[] = {
		[SHAPE_SLOWER] = IPC_JOB_SAID_SLOWER,
		[SHAPE_CONNECTIONS] = IPC_JOB_SAID_CONNECTIONS,
		[SHAPE_MESSAGES] = IPC_JOB_SAID_MESSAGES,
		[SHAPE_RECIPIENTS] = IPC_JOB_SAID_RECIPIENTS,
		[SHAPE_RENEWED] = IPC_JOB_SAID_RENEWED,
	};

	deliver_helper_tell_said(context, &(struct ipc_job_said){
						  .host = str_from(host),
						  .port = port,
						  .what = whats[news],
						  .amount = amount,
						  .to = said->to,
						  .status = str_from(said->verdict->status),
						  .text = str_from(said->verdict->text),
					  });
}

struct shape_said remote_attempt_said(const struct remote_attempt *attempt, struct str to,
				      const struct mail_verdict *verdict)
{
	return (struct shape_said){attempt->job->id, to, verdict, tell_news_of_server,
				   attempt->job};
}

/* The server has said that it gets too much: it is sent less, if that is not about this message. */
static void slow_server_down(struct remote_attempt *attempt,
			     const struct smtp_client_slower *slower)
{
	int64_t now_us = os_clock_monotonic_us();
	bool is_opening = slower->refusal.phase == SMTP_CLIENT_AT_OPENING;
	const struct shape_complaint complaint = {
		attempt->begun_us,
		slower->wait_us,
		is_opening,
		remote_attempt_said(attempt, recipient_of_slower_reply(attempt, slower),
				    slower->verdict),
	};
	struct shape_wait wait;

	if (scope_of(attempt, slower, now_us) != SMTP_CLIENT_OF_HOST)
		return;
	shape_slow(remote_session_hold(attempt->session), &complaint, now_us, &wait);
	/* what it complains of may be long over: then it has refused like any other */
	attempt->is_slowed = wait.us > 0;
	attempt->has_complained |= attempt->is_slowed && !is_opening;
	if (attempt->is_slowed)
		keep_wait(attempt, &wait);
}

void remote_attempt_learn_speed(struct remote_attempt *attempt, enum remote_outcome outcome)
{
	struct shape_hold *hold = remote_session_hold(attempt->session);
	struct smtp_client_slower slower;

	attempt->is_slowed = false;
	if (attempt->client->shape == NULL)
		return;
	if (outcome == REMOTE_UNREACHABLE)
		shape_unsent(hold);
	else
		shape_ended(hold, os_clock_monotonic_us());
	if (outcome == REMOTE_DECIDED)
		note_taken(attempt);
	if (remote_session_take_slower(attempt->session, &slower))
		slow_server_down(attempt, &slower);
}
