// SPDX-License-Identifier: ISC
/* When an attempt may begin sessions and transactions (shape/shape.h). */
#include "base/timestamp.h"
#include "deliver/remote/attempt/internal.h"
#include "os/clock.h"

static const int64_t HOLD_US = 2 * SECOND_US; /* a session and its place are kept so long */

static void keep_wait(struct remote_attempt *attempt, const struct shape_wait *wait)
{
	if (attempt->busy.us == 0 || wait->us < attempt->busy.us)
		attempt->busy = *wait;
}

/* How many recipients the next transaction has at most. */
static size_t next_count(const struct remote_attempt *attempt)
{
	size_t rest = attempt->recipients.end - attempt->recipients.first;

	return rest < REMOTE_RECIPIENTS_MAX ? rest : REMOTE_RECIPIENTS_MAX;
}

bool remote_attempt_may_meet(struct remote_attempt *attempt, struct shape_hold *hold_out)
{
	const struct shape_subject subject = {attempt->job->destination,
					      str_from(attempt->server->host),
					      os_socket_address_port(&attempt->server->address)};
	struct shape_wait wait;

	*hold_out = (struct shape_hold){0};
	if (attempt->carrier->shape == NULL)
		return true;
	do {
		attempt->is_allowed =
			shape_enter(attempt->carrier->shape, &subject, next_count(attempt),
				    os_clock_monotonic_us(), hold_out, &wait);
	} while (!attempt->is_allowed && wait.place != NULL &&
		 remote_pool_close_one(attempt->carrier->pool, wait.place));
	if (!attempt->is_allowed)
		keep_wait(attempt, &wait);
	return attempt->is_allowed;
}

enum remote_attempt_turn remote_attempt_turn(struct remote_attempt *attempt)
{
	int64_t now_us = os_clock_monotonic_us();
	bool is_allowed = attempt->is_allowed || attempt->carrier->shape == NULL;
	struct shape_wait wait;

	attempt->is_allowed = false;
	attempt->begun_us = now_us;
	if (is_allowed ||
	    shape_next(attempt->carrier->shape, remote_session_hold(attempt->session),
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

void remote_attempt_learn_speed(struct remote_attempt *attempt, enum remote_outcome outcome)
{
	int64_t now_us = os_clock_monotonic_us();
	struct shape_hold *hold = remote_session_hold(attempt->session);
	struct shape_wait wait = {0};
	struct smtp_client_slower slower;
	struct shape_complaint complaint;

	attempt->is_slowed = false;
	if (attempt->carrier->shape == NULL)
		return;
	if (outcome == REMOTE_UNREACHABLE)
		shape_unsent(hold);
	else
		shape_ended(hold, now_us);
	if (!remote_session_take_slower(attempt->session, &slower))
		return;
	complaint =
		(struct shape_complaint){attempt->begun_us, slower.wait_us, slower.is_connection};
	shape_slow(hold, &complaint, now_us, &wait);
	/* what it complains of may be long over: then it has refused like any other */
	attempt->is_slowed = wait.us > 0;
	if (attempt->is_slowed)
		keep_wait(attempt, &wait);
}
