// SPDX-License-Identifier: ISC
/* The handshake of a session, and what came of it. */
#include "deliver/remote/session/internal.h"
#include "os/socket/socket.h"
#include "transcript/transcript.h"
#include <errno.h>
#include <string.h>

enum begun { BEGUN, BEGUN_LATER, BEGUN_NEVER };

/* There is none, which the log says. Where even plain text would do, TLS without it does, too. */
static enum begun do_without_tls(const struct remote_session *session)
{
	return session->policy.level == CONFIG_TLS_MAY ? BEGUN : BEGUN_NEVER;
}

/* The certificate that the policy wants us to present. */
static enum begun find_certificate(struct remote_session *session, void (*resume)(void *context),
				   const struct tls_client_certificate **certificate_out)
{
	struct remote_certificates *certificates = session->settings.certificates;

	*certificate_out = NULL;
	if (session->policy.certificate == NULL || session->policy.certificate[0] == '\0')
		return BEGUN;
	if (certificates == NULL)
		return do_without_tls(session);
	if (certificates->find(certificates, session->policy.certificate, certificate_out))
		return *certificate_out != NULL ? BEGUN : do_without_tls(session);
	session->waiter.ready = resume;
	session->waiter.context = session;
	remote_certificates_wait(certificates, &session->waiter);
	return BEGUN_LATER;
}

static enum begun begin_tls_handshake(struct remote_session *session, void (*resume)(void *context))
{
	char peer[OS_SOCKET_TEXT_SIZE];
	const struct remote_policy *policy = &session->policy;
	struct tls_client_request request = {
		.host = policy->server_name != NULL ? policy->server_name : session->host,
		.peer = peer,
		.verify = policy->verify};
	enum begun begun = find_certificate(session, resume, &request.certificate);

	if (begun != BEGUN)
		return begun;
	if (policy->level > CONFIG_TLS_MAY)
		request.strength = policy->strength;
	os_socket_address_format(&session->address, peer);
	session->stream.tls =
		tls_client_connect(session->settings.tls, session->stream.socket, &request);
	tls_connection_on_resume(session->stream.tls, resume, session);
	return BEGUN;
}

static void learn_tls_details(struct remote_session *session)
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

static void finish_tls_handshake(struct remote_session *session, int result)
{
	if (result == 0) {
		learn_tls_details(session);
		remote_engine_secured(&session->engine);
	} else {
		remote_session_blame(session);
		remote_engine_insecure(&session->engine,
				       tls_connection_reason(session->stream.tls));
	}
}

void remote_session_blame(struct remote_session *session)
{
	const struct tls_connection *tls = session->stream.tls;

	session->is_ours = tls != NULL ? tls_connection_lacks_signature(tls)
				       : session->waiter.certificates != NULL;
}

bool remote_session_secure(struct remote_session *session, void (*resume)(void *context),
			   unsigned *events_out)
{
	enum begun begun =
		session->stream.tls == NULL ? begin_tls_handshake(session, resume) : BEGUN;
	int result;

	*events_out = OS_WATCH_NONE;
	if (begun == BEGUN_LATER)
		return false;
	if (begun == BEGUN_NEVER) {
		session->is_ours = true;
		remote_engine_insecure(&session->engine, "our certificate cannot be used now");
		return true;
	}
	result = tls_connection_handshake(session->stream.tls);
	if (result == -EAGAIN) {
		*events_out = tls_connection_wants(session->stream.tls, false);
		return false;
	}
	finish_tls_handshake(session, result);
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

bool remote_session_own_address(const struct remote_session *session, union os_socket_address *out)
{
	return os_socket_local_address(session->stream.socket, out) == 0;
}

const char *remote_session_server_name(const struct remote_session *session)
{
	return remote_engine_server_name(&session->engine);
}

bool remote_session_is_injected(const struct remote_session *session)
{
	return remote_engine_is_injected(&session->engine);
}

bool remote_session_is_tls_refused(const struct remote_session *session)
{
	return remote_engine_is_tls_refused(&session->engine);
}

bool remote_session_is_silent(const struct remote_session *session)
{
	return session->is_unmet || remote_engine_is_silent(&session->engine);
}

bool remote_session_is_broken(const struct remote_session *session)
{
	return remote_engine_is_broken(&session->engine);
}

bool remote_session_is_unanswered(const struct remote_session *session)
{
	return remote_engine_is_unanswered(&session->engine);
}
