// SPDX-License-Identifier: ISC
/* The end of a session, for a reason that this node has. */
#include "node/receive/internal.h"

void node_session_end(struct node_session *session, const char *reason)
{
	node_server_end(&session->server, reason);
	node_link_end(session->link);
}
