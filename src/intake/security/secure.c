// SPDX-License-Identifier: ISC
/* A session's TLS: the handshake, and what its outcome changes. */
#include "intake/internal.h"
#include "log/event.h"
#include "os/clock.h"
#include <errno.h>

bool intake_secure_is_possible(const struct intake_session *session)
{
	return intake_security_context(session->tls.security) != NULL;
}

bool intake_session_is_local(const struct intake_session *session)
{
	const struct in6_addr *mapped = &session->mapped;

	if (session->is_stranger)
		return false;
	return IN6_IS_ADDR_LOOPBACK(mapped) || IN6_IS_ADDR_UNSPECIFIED(mapped) ||
	       (IN6_IS_ADDR_V4MAPPED(mapped) && mapped->s6_addr[12] == IN_LOOPBACKNET);
}

static void resume_handshake(void *context)
{
	struct intake_session *session = context;

	session->pump(session);
}

void intake_secure_log_lacking(const struct intake_session *session)
{
	log_event_rated(EVENT_TLS_FAILED, INTAKE_LOG_CLIENT(session),
			log_string(text, "no certificate can be used now"));
}

bool intake_secure_begin(struct intake_session *session, struct str early)
{
	const struct tls_context *context = intake_security_context(session->tls.security);

	if (context == NULL) {
		intake_secure_log_lacking(session);
		return false;
	}
	session->tls.stream.tls = tls_connection_new(context, session->tls.stream.socket, NULL);
	tls_connection_on_resume(session->tls.stream.tls, resume_handshake, session);
	tls_connection_preload(session->tls.stream.tls, early);
	session->tls.handshake_until_us =
		os_clock_monotonic_us() + session->intake->config->tls_timeout * SECOND_US;
	return true;
}

static void learn_rights(struct intake_session *session)
{
	if (session->is_claimed ||
	    !intake_security_may_relay(session->tls.security, session->tls.stream.tls))
		return;
	session->may_relay = true;
	session->head->peer.is_ours = true;
}

static void conclude_handshake(struct intake_session *session)
{
	const struct tls_connection *tls = session->tls.stream.tls;
	const struct smtp_tls negotiated = {tls_connection_version(tls),
					    tls_connection_cipher(tls)};

	session->tls.handshake_until_us = 0;
	learn_rights(session);
	session->engine->set_tls(session, &negotiated);
	log_event(EVENT_TLS_BEGUN, INTAKE_LOG_CLIENT(session), log_string(tls, negotiated.version),
		  log_string(cipher, negotiated.cipher));
}

enum intake_secure intake_secure_go_on(struct intake_session *session)
{
	int error = tls_connection_handshake(session->tls.stream.tls);

	if (error == -EAGAIN)
		return INTAKE_SECURE_WAIT;
	if (error == 0) {
		conclude_handshake(session);
		return INTAKE_SECURE_DONE;
	}
	log_event_rated(EVENT_TLS_FAILED, INTAKE_LOG_CLIENT(session),
			log_string(text, tls_connection_reason(session->tls.stream.tls)));
	return INTAKE_SECURE_FAILED;
}

void intake_secure_timeout(struct intake_session *session)
{
	log_event_rated(EVENT_TLS_FAILED, INTAKE_LOG_CLIENT(session),
			log_string(text, "the handshake took too long"));
}
