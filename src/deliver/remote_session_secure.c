// SPDX-License-Identifier: ISC
/* The handshake of a session, and what came of it. */
#include "deliver/remote_session_internal.h"
#include "transcript/transcript.h"
#include <errno.h>
#include <string.h>

static void begin(struct remote_session *session, void (*resume)(void *context))
{
	char peer[OS_SOCKET_TEXT_SIZE];
	const struct tls_client_request request = {
		.host = session->host, .peer = peer, .verify = session->policy.verify};

	os_socket_address_format(&session->address, peer);
	session->stream.tls =
		tls_client_connect(session->settings.tls, session->stream.socket, &request);
	tls_connection_on_resume(session->stream.tls, resume, session);
}

static void learn(struct remote_session *session)
{
	const struct tls_connection *tls = session->stream.tls;
	struct buffer text = {0};

	session->tls = (struct ipc_job_tls){
		str_from(tls_connection_version(tls)),
		str_from(tls_connection_cipher(tls)),
		str_from(remote_policy_level_name(session->policy.level)),
		str_from(tls_verified_name(tls_connection_verified(tls))),
	};
	if (*transcript_is_on()) {
		buffer_append_format(
			&text,
			"(" STR_FORMAT ", " STR_FORMAT ", policy " STR_FORMAT
			", verified: " STR_FORMAT "%s)",
			STR_ARGUMENTS(session->tls.version), STR_ARGUMENTS(session->tls.cipher),
			STR_ARGUMENTS(session->tls.policy), STR_ARGUMENTS(session->tls.verified),
			tls_connection_is_resumed(tls) ? ", resumed" : "");
		remote_tell_line(session->told, SMTP_SAID_NOTHING, buffer_view(&text));
	}
	buffer_clear(&text);
}

bool remote_session_secure(struct remote_session *session, void (*resume)(void *context),
			   unsigned *events_out)
{
	int error;

	if (session->stream.tls == NULL)
		begin(session, resume);
	error = tls_connection_handshake(session->stream.tls);
	if (error == -EAGAIN) {
		*events_out = tls_connection_wants(session->stream.tls, false);
		return false;
	}
	if (error < 0) {
		smtp_client_insecure(session->client, tls_connection_reason(session->stream.tls));
	} else {
		learn(session);
		smtp_client_secured(session->client);
	}
	return true;
}

const struct ipc_job_tls *remote_session_tls(const struct remote_session *session)
{
	return session->tls.version.length > 0 ? &session->tls : NULL;
}

const struct tls_connection *remote_session_connection(const struct remote_session *session)
{
	return session->stream.tls;
}

bool remote_session_is_tls_refused(const struct remote_session *session)
{
	return smtp_client_is_tls_refused(session->client);
}
