// SPDX-License-Identifier: ISC
/* What a trusted proxy says of its client, and who else may ask for more than to deliver mail. */
#include "base/panic.h"
#include "intake/internal.h"
#include "log/event.h"
#include <stdio.h>
#include <stdlib.h>

void intake_claim_grant(const struct intake_session *session, const struct in6_addr *address,
			struct smtp_peer *peer)
{
	const struct config *config = session->intake->config;
	bool has_address = intake_session_has_address(session) && !session->is_stranger;

	peer->may_etrn = has_address && config_may_etrn(config, address);
	peer->may_xclient = has_address && config_may_xclient(config, address);
	peer->may_xforward = has_address && config_may_xforward(config, address);
}

/* One that the proxy does not know must not pass for the client before it. */
static void take_claimed_address(struct intake_session *session, const struct smtp_claim *claim)
{
	if (!session->is_claimed)
		session->proxy = session->mapped;
	session->is_claimed = true;
	session->is_stranger = claim->is_unknown;
	if (claim->is_unknown) {
		session->mapped = session->proxy;
		os_socket_address_format_mapped(&session->proxy, session->address);
	} else if (*claim->address != '\0') {
		session->mapped = claim->mapped;
		snprintf(session->address, sizeof session->address, "%s", claim->address);
	}
	session->port = claim->port;
}

/* What the client's address may do, the client may: not what the proxy's may, if that does not know
 * it. */
static void grant_client_rights(struct intake_session *session, struct smtp_peer *peer)
{
	const struct config *config = session->intake->config;
	const struct in6_addr *address = &session->mapped;
	bool is_known = !session->is_stranger;

	session->may_relay = is_known && config_may_relay(config, address);
	peer->is_ours = session->may_relay;
	peer->may_etrn = is_known && config_may_etrn(config, address);
	peer->may_xforward = is_known && config_may_xforward(config, address);
}

/* The proxy stays trusted. */
void intake_claim_take(struct intake_session *session, const struct smtp_claim *claim)
{
	struct smtp_peer peer = {.address = session->address,
				 .port = claim->port,
				 .context = session,
				 .may_xclient = true,
				 .may_tls = intake_secure_is_possible(session)};
	struct mail_verdict verdict;

	intake_auth_forget(session);
	names_request_cancel(&session->name_request);
	free(session->name);
	session->name = *claim->name != '\0' ? memory_copy_string(claim->name) : NULL;
	peer.name = session->name != NULL ? session->name : "";
	take_claimed_address(session, claim);
	grant_client_rights(session, &peer);
	smtp_server_set_peer(session->server, peer);
	log_event(EVENT_SESSION_CLAIMED, INTAKE_LOG_CLIENT(session), log_string(name, claim->name),
		  log_string(user, claim->login));
	if (!intake_session_count(session))
		mail_verdict_set(&verdict, "4.7.0", "%s", intake_too_many);
	else if (intake_limit_move(session))
		mail_verdict_set(&verdict, "2.0.0", "Ok");
	else
		mail_verdict_set(&verdict, "4.7.0", "Too many sessions, try again later");
	smtp_server_answer(session->server, &verdict);
}

void intake_claim_release(struct intake_session *session, struct str node)
{
	struct mail_verdict verdict;

	if (queue_client_release(session->intake->queue, node)) {
		log_event(EVENT_MAIL_REQUESTED, INTAKE_LOG_CLIENT(session), log_str(domain, node),
			  log_str(user, intake_session_user(session)));
		mail_verdict_set(&verdict, "2.0.0", "Ok");
	} else {
		mail_verdict_set(&verdict, "4.3.0", "The queue does not answer");
	}
	smtp_server_answer(session->server, &verdict);
}
