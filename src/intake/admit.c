// SPDX-License-Identifier: ISC
/* The first step of a session: whether the client may have it, and its greeting. */
#include "intake/internal.h"

/* Whether it may have one more session. */
static bool count_client(struct intake_session *session, const union os_socket_address *peer,
			 const struct in6_addr *mapped)
{
	uint32_t limit = session->intake->config->maxsessions_client;

	if (session->may_relay || limit == 0 || peer->any.sa_family == AF_UNIX)
		return true;
	session->client = intake_client_enter(&session->intake->clients, mapped, limit);
	return session->client != NULL;
}

void intake_session_greet(struct intake_session *session, struct str early)
{
	session->engine->start(session, early);
}

bool intake_session_admit(struct intake_session *session, const union os_socket_address *peer,
			  struct str early)
{
	bool is_implicit = intake_security_is_implicit(session->security);
	const char *text;

	if (!intake_security_admits(session->security, &session->mapped)) {
		session->engine->turn_away(session, "The address is not in clients");
		return false;
	}
	if (!count_client(session, peer, &session->mapped)) {
		session->engine->turn_away(session, "You have too many connections to this server");
		return !is_implicit;
	}
	if (!intake_rate_admits(session, &text)) {
		session->engine->turn_away(session, text);
		return !is_implicit;
	}
	if (!intake_session_is_local(session))
		intake_lookup_name(session, &session->mapped);
	if (is_implicit)
		return intake_secure_begin(session, early);
	intake_session_greet(session, early);
	return true;
}
