// SPDX-License-Identifier: ISC
/* Ending all sessions, at once or with the next message. */
#include "intake/internal.h"
#include "intake/proxy.h"
#include <utlist.h>

void intake_stop(struct intake *intake)
{
	struct intake_session *session;
	struct intake_session *next;

	intake_proxy_stop(intake);
	DL_FOREACH_SAFE2 (intake->sessions, session, next, next) {
		session->engine->shutdown(session);
		intake_hold_give_up(session, "The service is stopping, try again later");
		if (!session->question.is_asking)
			intake_session_pump(session);
	}
}

void intake_drain(struct intake *intake, bool is_draining)
{
	struct intake_session *session;
	struct intake_session *next;

	intake->is_draining = is_draining;
	DL_FOREACH_SAFE2 (intake->sessions, session, next, next)
		if (is_draining) {
			session->engine->drain(session);
			if (!session->question.is_asking) /* a reply may have been made */
				intake_session_pump(session);
		}
}
