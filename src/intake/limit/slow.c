// SPDX-License-Identifier: ISC
/*
 * The sessions that a rate holds back, also before their greeting. Each is slowed in its class, and
 * the first to go when there is no place for another client: it waits because of what its client
 * did, not for us.
 */
#include "intake/internal.h"
#include <utlist.h>

enum { SLOW_FIRST_LOOKS = 64 }; /* at sessions of other classes */

static void on_slowing_ended(void *context)
{
	struct intake_session *session = context;

	intake_slow_end(session);
	session->limits.after_hold(session);
}

void intake_slow_begin(struct intake_session *session, int64_t wait_us,
		       void (*then)(struct intake_session *session))
{
	struct intake *intake = session->intake;

	session->limits.after_hold = then;
	if (session->limits.held == NULL)
		session->limits.held = os_timer_new(intake->loop, on_slowing_ended, session);
	session->question.is_asking = true;
	session->limits.is_slowed = true;
	DL_APPEND2(intake->slowed, session, limits.slowed_previous, limits.slowed_next);
	if (session->limits.class >= 0)
		limit_slow_in(intake->counter, (size_t)session->limits.class);
	os_timer_start(session->limits.held, wait_us);
}

void intake_slow_end(struct intake_session *session)
{
	struct intake *intake = session->intake;

	if (!session->limits.is_slowed)
		return;
	os_timer_stop(session->limits.held);
	session->question.is_asking = false;
	session->limits.is_slowed = false;
	DL_DELETE2(intake->slowed, session, limits.slowed_previous, limits.slowed_next);
	if (session->limits.class >= 0)
		limit_hasten_in(intake->counter, (size_t)session->limits.class);
}

struct intake_session *intake_slow_first(const struct intake *intake, ptrdiff_t class)
{
	struct intake_session *session = intake->slowed;

	for (unsigned i = 0; i < SLOW_FIRST_LOOKS && session != NULL;
	     i++, session = session->limits.slowed_next)
		if (session->commits == 0 &&
		    (class == INTAKE_NO_CLASS || session->limits.class == class))
			return session;
	return NULL;
}
