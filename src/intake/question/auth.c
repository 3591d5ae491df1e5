// SPDX-License-Identifier: ISC
/* Passes the messages of AUTH to the process "auth", and what is known of the client with the
 * first of them. */
#include "intake/internal.h"
#include "log/event.h"

static const char over[] = "This login is not valid any more: the user or the password has changed";

static bool is_secured(const struct intake_session *session)
{
	return session->tls.stream.tls != NULL ||
	       intake_security_allows_clear_auth(session->tls.security,
						 intake_session_is_local(session));
}

/* The client's own; NULL: none, or a proxy's, which has named it. */
static const struct tls_connection *own_tls(const struct intake_session *session)
{
	return session->is_claimed ? NULL : session->tls.stream.tls;
}

static bool has_certificate(const struct intake_session *session)
{
	const struct tls_connection *tls = own_tls(session);

	return tls != NULL && tls_connection_is_verified(tls);
}

/* To which the client may bind; NULL: to none, and nothing with -PLUS is offered. */
static const struct tls_connection *bound_tls(const struct intake_session *session)
{
	return intake_security_offers_binding(session->tls.security) ? own_tls(session) : NULL;
}

/* Before TLS there is nothing, unless the listener allows that. */
struct str intake_auth_mechanisms(void *context)
{
	const struct intake_session *session = context;
	unsigned char binding[TLS_BINDING_MAX];
	const struct tls_connection *tls = bound_tls(session);
	bool has_binding = tls != NULL && (tls_connection_exporter(tls, binding) > 0 ||
					   tls_connection_end_point(tls, binding) > 0);

	if (session->intake->auth == NULL || !is_secured(session))
		return STR("");
	return auth_mechanisms(session->intake->auth, true, has_binding, has_certificate(session));
}

/* Whether the exchange that the client has cancelled was a failure is known. */
static void settle_left_exchange(struct intake_session *session, bool has_succeeded)
{
	if (session->intake->auth != NULL)
		auth_settle(session->intake->auth, session->login.left_exchange, has_succeeded);
	session->login.left_exchange = 0;
}

/* --- the login, once it has succeeded --- */

static void refuse_mail(struct intake_session *session, const char *status, const char *text)
{
	struct mail_verdict verdict;

	mail_verdict_set(&verdict, status, "%s", text);
	session->question.is_asking = false;
	smtp_server_answer(session->server, &verdict);
}

static void answer_mail(struct intake_session *session, enum auth_login_state state)
{
	if (state == AUTH_LOGIN_VALID)
		session->login.after_login(session);
	else if (state == AUTH_LOGIN_ENDED)
		refuse_mail(session, "4.7.0", over);
	else
		refuse_mail(session, "4.3.0", "Whether you still may send is not known now");
}

/* The session of a user who may not log in any more ends, at once or when a message that it has
 * sent is decided. */
static void on_login(void *context, enum auth_login_state state, bool is_answer)
{
	struct intake_session *session = context;
	const bool was_pumping = session->is_pumping;

	if (state == AUTH_LOGIN_ENDED && session->limits.farewell != over) {
		session->limits.farewell = over;
		log_event(EVENT_LOGIN_ENDED, INTAKE_LOG_CLIENT(session),
			  log_str(user, intake_session_user(session)));
	}
	/* what comes of the answer may be known at once, too: it must not end the session here */
	session->is_pumping = true;
	if (is_answer)
		answer_mail(session, state);
	session->is_pumping = was_pumping;
	if ((is_answer || state == AUTH_LOGIN_ENDED) && !was_pumping)
		session->pump(session);
}

void intake_auth_ask(struct intake_session *session, void (*then)(struct intake_session *session))
{
	session->login.after_login = then;
	if (session->login.followed == NULL) {
		then(session);
		return;
	}
	session->question.is_asking = true;
	auth_login_ask(session->login.followed);
}

void intake_auth_forget(struct intake_session *session)
{
	auth_login_free(session->login.followed);
	session->login.followed = NULL;
}

/* What the client is told; the session is not freed. */
static void tell_auth_answer(struct intake_session *session, const struct auth_answer *answer)
{
	static const enum smtp_auth_outcome refusals[] = {
		[AUTH_FAILED] = SMTP_AUTH_FAILED,       [AUTH_TEMPORARY] = SMTP_AUTH_TEMPORARY,
		[AUTH_MALFORMED] = SMTP_AUTH_MALFORMED, [AUTH_UNKNOWN] = SMTP_AUTH_UNKNOWN,
		[AUTH_INSECURE] = SMTP_AUTH_INSECURE,   [AUTH_TOO_WEAK] = SMTP_AUTH_TOO_WEAK,
	};
	struct smtp_auth_answer said = {.message = answer->message, .user = answer->user};

	if (answer->outcome == AUTH_REFUSED)
		said.outcome = refusals[answer->refusal];
	else
		said.outcome =
			answer->outcome == AUTH_ACCEPTED ? SMTP_AUTH_ACCEPTED : SMTP_AUTH_CHALLENGE;
	session->question.is_asking = false;
	if (answer->outcome == AUTH_ACCEPTED) {
		settle_left_exchange(session, true);
		if (answer->stamp.length > 0)
			session->login.followed =
				auth_login_new(session->intake->auth, answer->user, answer->stamp,
					       on_login, session);
	}
	if (answer->is_failure)
		intake_rate_note(session, CONFIG_RATE_FAILED_LOGINS, 1);
	smtp_server_answer_auth(session->server, &said);
}

static void on_session_auth_answer(void *context, const struct auth_answer *answer)
{
	struct intake_session *session = context;

	tell_auth_answer(session, answer);
	if (!session->is_pumping)
		session->pump(session);
}

/* Of the client's certificate: an e-mail address, or else its first name. */
static struct str certificate_name(const struct tls_connection *tls)
{
	const char *email = tls_connection_email(tls);
	size_t count;
	const char *const *names = tls_connection_names(tls, &count);

	if (email != NULL)
		return str_from(email);
	return count > 0 ? str_from(names[0]) : STR("");
}

static void leave_auth_exchange(struct intake_session *session)
{
	if (session->login.exchange.auth == NULL)
		return;
	settle_left_exchange(session, false);
	session->login.left_exchange = auth_exchange_leave(&session->login.exchange);
}

static void begin_session_auth(struct intake_session *session, const struct smtp_question *question)
{
	const struct tls_connection *tls = bound_tls(session);
	unsigned char exporter[TLS_BINDING_MAX];
	unsigned char end_point[TLS_BINDING_MAX];
	char certificate[TLS_FINGERPRINT_SIZE];
	char key[TLS_FINGERPRINT_SIZE];
	struct auth_peer peer = {
		.address = session->mapped,
		.is_secured = is_secured(session),
		.protocol = str_from(intake_security_protocol(session->tls.security)),
		.port = session->port,
		.session = str_from(session->mark),
	};

	if (tls != NULL) {
		peer.exporter =
			str_slice((const char *)exporter, tls_connection_exporter(tls, exporter));
		peer.end_point = str_slice((const char *)end_point,
					   tls_connection_end_point(tls, end_point));
	}
	if (has_certificate(session) &&
	    tls_connection_fingerprints(own_tls(session), certificate, key)) {
		peer.certificate = str_from(certificate);
		peer.certificate_name = certificate_name(own_tls(session));
	}
	/* that may have been accepted, and given up at its last word */
	intake_auth_forget(session);
	leave_auth_exchange(session); /* one that the client gave up just now */
	session->login.exchange =
		(struct auth_exchange){.answered = on_session_auth_answer, .context = session};
	auth_exchange_begin(session->intake->auth, &peer, question->mechanism,
			    question->has_response, question->response, &session->login.exchange);
}

void intake_auth_refuse(struct intake_session *session)
{
	tell_auth_answer(session,
			 &(struct auth_answer){.outcome = AUTH_REFUSED, .refusal = AUTH_TEMPORARY});
}

void intake_auth_handle(struct intake_session *session, const struct smtp_question *question)
{
	session->question.is_asking = true;
	if (question->mechanism.length == 0)
		auth_exchange_respond(&session->login.exchange, question->response);
	else if (session->intake->auth != NULL)
		begin_session_auth(session, question);
	else /* a reload has taken it away */
		intake_auth_refuse(session);
}

void intake_auth_handle_end(struct intake_session *session)
{
	if (!smtp_server_is_authenticating(session->server))
		leave_auth_exchange(session);
}

void intake_auth_end(struct intake_session *session)
{
	auth_exchange_cancel(&session->login.exchange);
	settle_left_exchange(session, false);
	intake_auth_forget(session);
}
