// SPDX-License-Identifier: ISC
/* The login of a session by SMTP: the mechanism's messages between the engine and auth/login/. */
#include "base/panic.h"
#include "deliver/remote/session/internal.h"
#include "log/event.h"
#include "mail/text/text.h"
#include "os/random.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NONCE_SIZE = 33 }; /* 16 bytes in hexadecimal, and NUL */

static void give_up_login(struct remote_session *session, const char *reason)
{
	login_exchange_free(session->login.exchange);
	session->login.exchange = NULL;
	smtp_client_login_cancel(session->engine.smtp, reason);
}

/* Writes the connection's channel binding to DATA; its name, or NULL: there is none. */
static const char *find_binding(const struct remote_session *session,
				unsigned char data[TLS_BINDING_MAX], size_t *length_out)
{
	const struct tls_connection *tls = session->stream.tls;

	if (tls == NULL || !session->login.wanted.may_bind)
		return NULL;
	if (strcmp(tls_connection_version(tls), "TLSv1.3") == 0) {
		*length_out = tls_connection_exporter(tls, data);
		return *length_out > 0 ? "tls-exporter" : NULL;
	}
	*length_out = tls_connection_end_point(tls, data);
	return *length_out > 0 ? "tls-server-end-point" : NULL;
}

static struct login_exchange *new_exchange(const struct remote_session *session,
					   const char *password)
{
	const struct remote_session_login *login = &session->login;
	unsigned char data[TLS_BINDING_MAX];
	char nonce[NONCE_SIZE];
	struct login_setup setup = {.user = login->wanted.user, .password = password};
	size_t length = 0;

	snprintf(nonce, sizeof nonce, "%016" PRIx64 "%016" PRIx64, os_random_u64(),
		 os_random_u64());
	setup.nonce = str_from(nonce);
	setup.binding = find_binding(session, data, &length);
	setup.binding_data = str_slice((const char *)data, length);
	return login_exchange_new(&login->choice, &setup);
}

static void on_password(void *context, struct str password, struct str problem)
{
	struct remote_session *session = context;
	struct remote_session_login *login = &session->login;
	char copy[LOGIN_PASSWORD_MAX + 1];

	login->is_asking = false;
	if (problem.length > 0 || password.length > LOGIN_PASSWORD_MAX) {
		give_up_login(session, "the password cannot be used");
	} else {
		memcpy(copy, password.data, password.length);
		copy[password.length] = '\0';
		login->exchange = new_exchange(session, copy);
		explicit_bzero(copy, sizeof copy);
	}
	login->resume(session);
}

/* It offers nothing that may be used. */
static void give_up_all(struct remote_session *session, struct str offered)
{
	enum login_strength weakest = session->login.wanted.weakest;
	struct buffer reason CLEANUP(buffer_clear) = {0};

	if (weakest == LOGIN_BY_LOGIN) {
		give_up_login(session, "it offers no mechanism that is known here");
		return;
	}
	buffer_append_string(&reason, "it offers \"");
	mail_text_append(&reason, offered, MAIL_TEXT_ASCII);
	buffer_append_format(&reason, "\", and login_weakest is %s", login_strength_name(weakest));
	if (weakest >= LOGIN_BY_SCRAM_SHA_1_PLUS && !session->login.wanted.may_bind)
		buffer_append_string(&reason, ", for which login_binding must be yes");
	buffer_append_byte(&reason, '\0');
	give_up_login(session, buffer_data(&reason));
}

/* False: the password has to be asked for. */
static bool prepare_login(struct remote_session *session, struct str offered)
{
	struct remote_session_login *login = &session->login;
	unsigned char data[TLS_BINDING_MAX];
	size_t length;

	login->choice = login_choose(offered, find_binding(session, data, &length) != NULL,
				     login->wanted.weakest);
	if (login->choice.mechanism == NULL) {
		give_up_all(session, offered);
		return true;
	}
	if (session->settings.logins == NULL) {
		give_up_login(session, "there are no passwords here");
		return true;
	}
	login->question = (struct keys_password_question){.answered = on_password,
							  .context = session,
							  .relay = login->wanted.relay,
							  .user = login->wanted.user,
							  .port = login->wanted.port};
	login->is_asking = true;
	session->settings.logins->ask(session->settings.logins, &login->question);
	return false;
}

static void begin_login(struct remote_session *session)
{
	struct remote_session_login *login = &session->login;
	struct buffer message = {.is_secret = true};
	const char *problem = NULL;
	struct str initial;

	if (!login_begins(login->choice.mechanism)) {
		smtp_client_login_begin(session->engine.smtp, login->choice.mechanism, NULL);
		return;
	}
	problem = login_exchange_step(login->exchange, STR(""), &message);
	initial = buffer_view(&message);
	if (problem == NULL)
		smtp_client_login_begin(session->engine.smtp, login->choice.mechanism, &initial);
	else
		give_up_login(session, problem);
	buffer_clear(&message);
}

static void respond_to_login_challenge(struct remote_session *session, struct str challenge)
{
	struct buffer message = {.is_secret = true};
	const char *problem = login_exchange_step(session->login.exchange, challenge, &message);

	if (problem == NULL)
		smtp_client_login_respond(session->engine.smtp, buffer_view(&message));
	else
		give_up_login(session, problem);
	buffer_clear(&message);
}

static void conclude_login(struct remote_session *session)
{
	if (!login_exchange_is_complete(session->login.exchange)) {
		give_up_login(session, "it has not proved that it knows the password");
		return;
	}
	login_exchange_free(session->login.exchange);
	session->login.exchange = NULL;
	smtp_client_login_accept(session->engine.smtp);
}

bool remote_session_log_in(struct remote_session *session, void (*resume)(void *context))
{
	struct str text;

	session->login.resume = resume;
	while (smtp_client_status(session->engine.smtp) == SMTP_CLIENT_WANTS_LOGIN) {
		switch (smtp_client_login(session->engine.smtp, &text)) {
		case SMTP_CLIENT_LOGIN_BEGIN:
			if (session->login.is_asking)
				return false;
			if (session->login.exchange != NULL)
				begin_login(session);
			else if (!prepare_login(session, text))
				return false;
			break;
		case SMTP_CLIENT_LOGIN_CHALLENGE:
			respond_to_login_challenge(session, text);
			break;
		case SMTP_CLIENT_LOGIN_SUCCESS:
			conclude_login(session);
			break;
		}
	}
	return true;
}

void remote_session_log_refusal(const struct remote_session *session, const char *peer)
{
	log_event_rated(EVENT_LOGIN_REFUSED, log_string(host, peer),
			log_string(user, session->login.wanted.user),
			log_string(text, smtp_client_failure(session->engine.smtp)->text));
}

void remote_session_want_login(struct remote_session *session, const struct remote_login *wanted)
{
	struct remote_session_login *login = &session->login;

	login->wanted = *wanted;
	login->wanted.relay = login->relay = memory_copy_string(wanted->relay);
	login->wanted.user = login->user = memory_copy_string(wanted->user);
}

void remote_session_forget_login(struct remote_session *session)
{
	if (session->login.is_asking)
		session->settings.logins->cancel(&session->login.question);
	login_exchange_free(session->login.exchange);
	free(session->login.relay);
	free(session->login.user);
}
