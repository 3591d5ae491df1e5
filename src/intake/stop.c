// SPDX-License-Identifier: ISC
/* Ending all sessions. */
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
		if (!session->is_asking)
			intake_session_pump(session);
	}
}
