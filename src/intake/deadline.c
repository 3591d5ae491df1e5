// SPDX-License-Identifier: ISC
/* How long a session waits for its client, and which client may lose its place to another. */
#include "base/timestamp.h"
#include "intake/internal.h"
#include "os/clock.h"
#include <utlist.h>

enum { IDLE_LOOKS = 16 };

/* A client idle for this long, since it connected or sent a message, may lose its place to
 * another: on a busy server no honest client is that slow. */
static const int64_t IDLE_US = SECOND_US;

/* It waits for us, and not we for it. */
static bool is_waiting_for_us(const struct intake_session *session)
{
	return session->question.is_asking || session->commits > 0;
}

/* With a reply the client has done its part; but with BDAT chunk after chunk it gains no time:
 * then only the whole message counts. */
void intake_deadline_follow(struct intake_session *session)
{
	bool is_receiving = session->engine->is_receiving(session);
	size_t unsent = session->head->output.length;

	if (is_receiving != session->message.is_receiving ||
	    (unsent > session->unsent && !is_receiving))
		intake_pace_reset(&session->pace);
	session->message.is_receiving = is_receiving;
	session->unsent = unsent;
}

void intake_deadline_receive(struct intake_session *session, uint64_t count)
{
	int64_t now_us = os_clock_monotonic_us();

	intake_pace_receive(&session->pace, now_us, count);
	intake_pace_receive(&session->idle, now_us, count);
}

void intake_deadline_set(struct intake_session *session)
{
	const struct config *config = session->intake->config;
	uint32_t seconds =
		session->question.is_asking ? 0 : session->engine->timeout_seconds(session);
	int64_t now_us = os_clock_monotonic_us();
	int64_t left_us;

	if (seconds > 0 && session->kept.length == 0)
		intake_pace_wait(&session->pace, now_us);
	if ((seconds > 0 && session->kept.length == 0) || session->unsent > 0)
		intake_pace_wait(&session->idle, now_us);
	if (seconds == 0) /* not the client's turn, but it must accept our reply */
		seconds = config->smtp_timeout;
	left_us = intake_pace_left_us(&session->pace, seconds * SECOND_US, config->smtp_min_rate);
	session->deadline_us = now_us + left_us;
	if (intake_session_shakes_hands(session)) {
		session->deadline_us = session->tls.handshake_until_us;
		left_us = session->deadline_us - now_us;
	}
	if (os_timer_is_running(session->timer) && session->timer_us <= session->deadline_us)
		return;
	session->timer_us = session->deadline_us;
	os_timer_start(session->timer, left_us > 0 ? left_us : 0);
}

/* It moves with every byte; the timer is restarted only when it fires. */
bool intake_deadline_has_passed(struct intake_session *session)
{
	int64_t left_us = session->deadline_us - os_clock_monotonic_us();

	if (left_us <= 0 && !is_waiting_for_us(session))
		return true;
	if (left_us <= 0)
		left_us = SECOND_US;
	session->timer_us = os_clock_monotonic_us() + left_us;
	os_timer_start(session->timer, left_us);
	return false;
}

struct intake_session *intake_session_find_idle(struct intake *intake)
{
	uint32_t rate = intake->config->smtp_min_rate;
	int64_t now_us = os_clock_monotonic_us();
	struct intake_session *slowed = intake_slow_first(intake, INTAKE_NO_CLASS);

	if (slowed != NULL)
		return slowed;
	for (unsigned i = 0; i < IDLE_LOOKS && intake->sessions != NULL; i++) {
		struct intake_session *session = intake->sessions;

		if (!is_waiting_for_us(session) &&
		    intake_pace_is_over(&session->idle, IDLE_US, rate, now_us))
			return session;
		if (!is_waiting_for_us(session) &&
		    intake_pace_waited_us(&session->idle, now_us) < IDLE_US)
			return NULL; /* nor are those after it, which are younger */
		/* it is busy sending a message at a good rate: look at others first next time */
		DL_DELETE2(intake->sessions, session, previous, next);
		DL_APPEND2(intake->sessions, session, previous, next);
	}
	return NULL;
}
