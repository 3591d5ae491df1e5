// SPDX-License-Identifier: ISC
/* How many messages servers take in a session, and recipients in a transaction: that shows when
 * they refuse the next one, and take it in a new session, or in the next transaction. */
#include "deliver/remote/attempt/internal.h"
#include "os/clock.h"

static const struct smtp_client_recipient *
find_recipient(const struct remote_attempt *attempt, enum smtp_client_again again, bool is_asked)
{
	const struct remote_recipients *recipients = &attempt->recipients;

	for (size_t i = 0; i < recipients->count; i++)
		if (recipients->transaction[i].again == again &&
		    recipients->transaction[i].is_asked >= is_asked)
			return &recipients->transaction[i];
	return NULL;
}

static bool has_accepted_recipient(const struct remote_attempt *attempt)
{
	for (size_t i = 0; i < attempt->recipients.count; i++)
		if (attempt->recipients.transaction[i].verdict->class == MAIL_OK)
			return true;
	return false;
}

/* It is known to be about the session only once the new one has taken it. */
static void note_served(struct remote_attempt *attempt)
{
	const struct smtp_client_recipient *to = find_recipient(attempt, SMTP_CLIENT_ANEW, true);
	const struct shape_hold *hold = remote_session_hold(attempt->session);
	struct shape_said said;

	if (to == NULL)
		return;
	attempt->served = arena_alloc(attempt->job->arena, sizeof *attempt->served);
	*attempt->served = (struct remote_served){
		.messages = remote_session_transactions(attempt->session) - 1,
		.server = *remote_session_address(attempt->session),
		.verdict = *to->verdict,
		.to = to->address,
	};
	said = remote_attempt_said(attempt, to->address, to->verdict);
	if (hold->server != NULL)
		shape_renewed(hold, attempt->served->messages, &said);
}

static void learn_messages(struct remote_attempt *attempt, struct shape_hold *hold)
{
	const struct remote_served *served = attempt->served;
	struct shape_said said;

	if (served == NULL || remote_session_transactions(attempt->session) != 1)
		return;
	said = remote_attempt_said(attempt, served->to, &served->verdict);
	if (served->messages > 0 && has_accepted_recipient(attempt) &&
	    os_socket_address_is_equal(&served->server, remote_session_address(attempt->session)))
		shape_learn_messages(hold, served->messages, &said, os_clock_monotonic_us());
	attempt->served = NULL;
}

static void learn_recipients(const struct remote_attempt *attempt, struct shape_hold *hold)
{
	const struct smtp_client_recipient *to = find_recipient(attempt, SMTP_CLIENT_HERE, true);
	const struct smtp_client_recipient *first = attempt->recipients.transaction;
	struct shape_said said;
	uint32_t count = 0;

	if (to == NULL)
		return;
	for (; first < to; first++)
		count += first->is_accepted;
	said = remote_attempt_said(attempt, to->address, to->verdict);
	shape_learn_recipients(hold, count, &said, os_clock_monotonic_us());
}

void remote_attempt_learn_limits(struct remote_attempt *attempt)
{
	struct shape_hold *hold = remote_session_hold(attempt->session);

	if (hold->server != NULL) {
		learn_messages(attempt, hold);
		learn_recipients(attempt, hold);
		remote_session_limit(attempt->session,
				     shape_messages_most(attempt->client->shape, hold,
							 attempt->job->destination,
							 os_clock_monotonic_us()));
	}
	note_served(attempt);
}
