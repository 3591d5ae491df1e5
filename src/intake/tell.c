// SPDX-License-Identifier: ISC
/* Passes a session's lines to whoever watches its client. */
#include "intake/internal.h"
#include "transcript/transcript.h"

void intake_tell_line(void *context, enum smtp_said by, struct str line)
{
	static const enum transcript_side sides[] = {
		[SMTP_SAID_BY_CLIENT] = TRANSCRIPT_CLIENT,
		[SMTP_SAID_BY_SERVER] = TRANSCRIPT_SERVER,
		[SMTP_SAID_NOTHING] = TRANSCRIPT_NOTE,
	};
	struct intake_session *session = context;
	const struct transcript_peer peer = {
		.shown = session->address[0] != '\0' ? session->address : "local",
		.address = session->address[0] != '\0' ? &session->mapped : NULL,
		.names = {session->name != NULL ? str_from(session->name) : STR(""),
			  intake_session_helo(session)},
	};

	transcript_line(&session->told, &peer, sides[by], line);
}

void intake_tell_end(struct intake_session *session)
{
	if (*transcript_is_on())
		intake_tell_line(session, SMTP_SAID_NOTHING, STR("(the end)"));
}
