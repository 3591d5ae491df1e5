// SPDX-License-Identifier: ISC
/* What a trusted proxy says of its client, and who else may ask for more than to deliver mail. */
#include "intake/internal.h"
#include "log/event.h"
#include <stdio.h>
#include <stdlib.h>

void intake_claim_grant(const struct intake_session *session, const struct in6_addr *address,
			struct smtp_peer *peer)
{
	const struct config *config = session->intake->config;
	bool has_address = *session->address != '\0';

	peer->may_etrn = has_address && config_may_etrn(config, address);
	peer->may_xclient = has_address && config_may_xclient(config, address);
	peer->may_xforward = has_address && config_may_xforward(config, address);
}

static void forget_name(struct intake_session *session)
{
	names_request_cancel(&session->name_request);
	free(session->name);
	session->name = NULL;
}

/* A client without an address must not have the rights of the address of the proxy. */
static void take_address(struct intake_session *session, const struct smtp_claim *claim)
{
	static const struct in6_addr nowhere = {.s6_addr = {[10] = 0xff, [11] = 0xff}};

	if (claim->is_anonymous) {
		session->mapped = nowhere;
		snprintf(session->address, sizeof session->address, "0.0.0.0");
	} else if (*claim->address != '\0') {
		session->mapped = claim->mapped;
		snprintf(session->address, sizeof session->address, "%s", claim->address);
	}
}

/* The proxy stays trusted; what its client may do is what the client's address may. */
void intake_claim_take(struct intake_session *session, const struct smtp_claim *claim)
{
	struct smtp_peer peer = {.name = session->proxy_name,
				 .address = session->address,
				 .port = claim->port,
				 .context = session,
				 .may_xclient = true,
				 .may_tls = intake_secure_is_possible(session)};
	struct mail_verdict verdict;

	forget_name(session);
	snprintf(session->proxy_name, sizeof session->proxy_name, "%s", claim->name);
	take_address(session, claim);
	session->may_relay = config_may_relay(session->intake->config, &session->mapped);
	peer.is_ours = session->may_relay;
	peer.may_etrn = config_may_etrn(session->intake->config, &session->mapped);
	peer.may_xforward = config_may_xforward(session->intake->config, &session->mapped);
	smtp_server_set_peer(session->server, peer);
	log_event(EVENT_SESSION_CLAIMED, log_string("client", session->address),
		  log_string("name", claim->name), log_string("user", claim->login));
	mail_verdict_set(&verdict, "2.0.0", "Ok");
	smtp_server_answer(session->server, &verdict);
}

void intake_claim_release(struct intake_session *session, struct str node)
{
	struct mail_verdict verdict;

	if (queue_client_release(session->intake->queue, node)) {
		log_event(EVENT_MAIL_REQUESTED, log_string("client", session->address),
			  log_str("domain", node));
		mail_verdict_set(&verdict, "2.0.0", "Ok");
	} else {
		mail_verdict_set(&verdict, "4.3.0", "The queue does not answer");
	}
	smtp_server_answer(session->server, &verdict);
}
