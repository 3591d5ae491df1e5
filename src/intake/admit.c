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

bool intake_session_is_local(const struct intake_session *session)
{
	const struct in6_addr *mapped = &session->mapped;

	return IN6_IS_ADDR_LOOPBACK(mapped) || IN6_IS_ADDR_UNSPECIFIED(mapped) ||
	       (IN6_IS_ADDR_V4MAPPED(mapped) && mapped->s6_addr[12] == IN_LOOPBACKNET);
}

void intake_session_greet(struct intake_session *session, bool has_spoken)
{
	char early;

	if (has_spoken || tls_stream_read(&session->stream, &early, 1) > 0)
		smtp_server_early_talker(session->server);
	else
		smtp_server_start(session->server);
}

bool intake_session_admit(struct intake_session *session, const union os_socket_address *peer,
			  struct str early)
{
	bool is_implicit = intake_security_is_implicit(session->security);

	if (!count_client(session, peer, &session->mapped)) {
		smtp_server_turn_away(session->server,
				      "You have too many connections to this server");
		return !is_implicit;
	}
	if (!intake_session_is_local(session))
		intake_question_ask_name(session, &session->mapped);
	if (is_implicit)
		return intake_secure_begin(session, early);
	intake_session_greet(session, early.length > 0);
	return true;
}
