// SPDX-License-Identifier: ISC
/* Logins of a session, step by step: what a server offers and says, what the connection can be
 * bound to, and how the password comes. */
#include "deliver/remote/session/internal.h"
#include "heard.h"
#include "test.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What happens: "offer WORDS", "challenge TEXT", "success"; and, when the password is asked for:
 * "password TEXT" or "problem TEXT". */
static struct play {
	enum login_strength weakest;
	bool may_bind;
	const char *version; /* of TLS; NULL: none */
	size_t bound;        /* bytes of its binding */
	bool has_no_logins;
	const char *events[5];
	const char *said; /* a random nonce is "NONCE" */
} PLAYS[] = {
	{.events = {"offer LOGIN PLAIN", "password geheim", "success"},
	 .said = "ask relay:587 ann; resume; begin PLAIN [?ann?geheim]; accept"},
	{.events = {"offer LOGIN", "password geheim",
		    "challenge User:", "challenge Pass:", "success"},
	 .said = "ask relay:587 ann; resume; begin LOGIN; respond ann; respond geheim; accept"},
	{.events = {"offer LOGIN", "password geheim", "success"},
	 .said = "ask relay:587 ann; resume; begin LOGIN; cancel it has not proved that it knows "
		 "the password"},
	{.events = {"offer LOGIN", "password geheim",
		    "challenge User:", "challenge Pass:", "challenge More:"},
	 .said = "ask relay:587 ann; resume; begin LOGIN; respond ann; respond geheim; cancel it "
		 "goes on after the end"},
	{.events = {"offer SCRAM-SHA-256 PLAIN", "password geheim",
		    "challenge r=wrong,s=c2FsdA==,i=4096"},
	 .said = "ask relay:587 ann; resume; begin SCRAM-SHA-256 [n,,n=ann,r=NONCE]; cancel its "
		 "nonce is of another conversation"},
	{.events = {"offer SCRAM-SHA-1", "password geheim", "success"},
	 .said = "ask relay:587 ann; resume; begin SCRAM-SHA-1 [n,,n=ann,r=NONCE]; cancel it has "
		 "not proved that it knows the password"},
	{.events = {"offer CRAM-MD5 GSSAPI"},
	 .said = "cancel it offers no mechanism that is known here"},
	{.weakest = LOGIN_BY_SCRAM_SHA_1,
	 .events = {"offer PLAIN X\xff"},
	 .said = "cancel it offers \"PLAIN X?\", and login_weakest is SCRAM-SHA-1"},
	{.weakest = LOGIN_BY_SCRAM_SHA_1_PLUS,
	 .events = {"offer SCRAM-SHA-1-PLUS"},
	 .said = "cancel it offers \"SCRAM-SHA-1-PLUS\", and login_weakest is SCRAM-SHA-1-PLUS, "
		 "for "
		 "which login_binding must be yes"},
	{.weakest = LOGIN_BY_SCRAM_SHA_256_PLUS,
	 .may_bind = true,
	 .version = "TLSv1.3",
	 .bound = 32,
	 .events = {"offer SCRAM-SHA-1-PLUS"},
	 .said = "cancel it offers \"SCRAM-SHA-1-PLUS\", and login_weakest is SCRAM-SHA-256-PLUS"},
	{.may_bind = true,
	 .version = "TLSv1.3",
	 .bound = 32,
	 .events = {"offer SCRAM-SHA-256-PLUS SCRAM-SHA-256", "password x"},
	 .said = "ask relay:587 ann; resume; begin SCRAM-SHA-256-PLUS "
		 "[p=tls-exporter,,n=ann,r=NONCE]"},
	{.may_bind = true,
	 .version = "TLSv1.2",
	 .bound = 48,
	 .events = {"offer SCRAM-SHA-256-PLUS SCRAM-SHA-256", "password x"},
	 .said = "ask relay:587 ann; resume; begin SCRAM-SHA-256-PLUS "
		 "[p=tls-server-end-point,,n=ann,r=NONCE]"},
	{.may_bind = true,
	 .version = "TLSv1.2",
	 .bound = 48,
	 .events = {"offer SCRAM-SHA-256", "password x"},
	 .said = "ask relay:587 ann; resume; begin SCRAM-SHA-256 [y,,n=ann,r=NONCE]"},
	{.may_bind = true,
	 .version = "TLSv1.3",
	 .bound = 0,
	 .events = {"offer SCRAM-SHA-256-PLUS SCRAM-SHA-256", "password x"},
	 .said = "ask relay:587 ann; resume; begin SCRAM-SHA-256 [n,,n=ann,r=NONCE]"},
	{.may_bind = true,
	 .version = "TLSv1.2",
	 .bound = 0,
	 .events = {"offer SCRAM-SHA-256-PLUS SCRAM-SHA-256", "password x"},
	 .said = "ask relay:587 ann; resume; begin SCRAM-SHA-256 [n,,n=ann,r=NONCE]"},
	{.version = "TLSv1.3",
	 .bound = 32,
	 .events = {"offer SCRAM-SHA-256-PLUS SCRAM-SHA-256", "password x"},
	 .said = "ask relay:587 ann; resume; begin SCRAM-SHA-256 [n,,n=ann,r=NONCE]"},
	{.has_no_logins = true,
	 .events = {"offer PLAIN"},
	 .said = "cancel there are no passwords here"},
	{.events = {"offer PLAIN", "problem no such file"},
	 .said = "ask relay:587 ann; cancel the password cannot be used; resume"},
	{.events = {"offer PLAIN"}, .said = "ask relay:587 ann; forgotten"},
};

static const struct play *play;
static size_t next_event;
static bool is_over;
static char said[2000];
static struct keys_password_question *asked;
static struct remote_session *session;

static void note(const char *format, ...) PRINTF_LIKE(1, 2);

static void note(const char *format, ...)
{
	size_t length = strlen(said);
	va_list arguments;

	if (length > 0)
		length += (size_t)snprintf(said + length, sizeof said - length, "; ");
	va_start(arguments, format);
	vsnprintf(said + length, sizeof said - length, format, arguments);
	va_end(arguments);
}

/* Of a message: NULs as '?', and what is random. */
static void note_message(const char *before, struct str message, const char *after)
{
	char text[LOGIN_PASSWORD_MAX + 100] = "", *nonce;

	for (size_t i = 0; i < message.length; i++)
		text[i] = message.data[i] == '\0' ? '?' : message.data[i];
	nonce = strstr(text, "r=");
	if (nonce != NULL) {
		assert_int_equal(strspn(nonce + 2, "0123456789abcdef"), 32);
		assert_int_equal(strlen(nonce), 34);
		strcpy(nonce, "r=NONCE");
	}
	note("%s%s%s", before, text, after);
}

/* --- the engine --- */

static const char *event_of(const char *kind)
{
	size_t length = strlen(kind);

	if (next_event >= COUNT_OF(play->events) || play->events[next_event] == NULL ||
	    strncmp(play->events[next_event], kind, length) != 0)
		return NULL;
	return play->events[next_event] + length;
}

enum smtp_client_status smtp_client_status(const struct smtp_client *client)
{
	(void)client;
	return is_over || (event_of("offer ") == NULL && event_of("challenge ") == NULL &&
			   event_of("success") == NULL)
		       ? SMTP_CLIENT_WAITING
		       : SMTP_CLIENT_WANTS_LOGIN;
}

enum smtp_client_login smtp_client_login(const struct smtp_client *client, struct str *text_out)
{
	(void)client;
	if (event_of("offer ") != NULL) {
		*text_out = str_from(event_of("offer "));
		return SMTP_CLIENT_LOGIN_BEGIN;
	}
	if (event_of("challenge ") != NULL) {
		*text_out = str_from(event_of("challenge "));
		return SMTP_CLIENT_LOGIN_CHALLENGE;
	}
	return SMTP_CLIENT_LOGIN_SUCCESS;
}

void smtp_client_login_begin(struct smtp_client *client, const char *mechanism,
			     const struct str *initial)
{
	char before[64];

	(void)client;
	snprintf(before, sizeof before, "begin %s%s", mechanism, initial != NULL ? " [" : "");
	note_message(before, initial != NULL ? *initial : STR(""), initial != NULL ? "]" : "");
	next_event += 2;
}

void smtp_client_login_respond(struct smtp_client *client, struct str response)
{
	(void)client;
	note_message("respond ", response, "");
	next_event++;
}

void smtp_client_login_accept(struct smtp_client *client)
{
	(void)client;
	note("accept");
	is_over = true;
}

void smtp_client_login_cancel(struct smtp_client *client, const char *reason)
{
	(void)client;
	note("cancel %s", reason);
	is_over = true;
}

const struct mail_verdict *smtp_client_failure(const struct smtp_client *client)
{
	static const struct mail_verdict failure = {.text = "535 no"};

	(void)client;
	return &failure;
}

/* --- TLS --- */

const char *tls_connection_version(const struct tls_connection *connection)
{
	(void)connection;
	return play->version;
}

size_t tls_connection_exporter(const struct tls_connection *connection,
			       unsigned char out[TLS_BINDING_MAX])
{
	(void)connection;
	assert_string_equal(play->version, "TLSv1.3");
	memset(out, 'e', play->bound);
	return play->bound;
}

size_t tls_connection_end_point(const struct tls_connection *connection,
				unsigned char out[TLS_BINDING_MAX])
{
	(void)connection;
	assert_string_equal(play->version, "TLSv1.2");
	memset(out, 'p', play->bound);
	return play->bound;
}

/* --- passwords --- */

static void ask_password(struct remote_logins *logins, struct keys_password_question *question)
{
	(void)logins;
	asked = question;
	note("ask %s:%u %s", question->relay, question->port, question->user);
}

static void cancel_password(struct keys_password_question *question)
{
	assert_ptr_equal(question, asked);
	note("forgotten");
}

static void resume(void *context)
{
	assert_ptr_equal(context, session);
	note("resume");
	assert_true(remote_session_log_in(session, resume));
}

static void answer_password(size_t at)
{
	const char *event = play->events[at];
	struct keys_password_question *question = asked;

	asked = NULL;
	if (event != NULL && strncmp(event, "password ", 9) == 0)
		question->answered(question->context, str_from(event + 9), STR(""));
	else if (event != NULL)
		question->answered(question->context, STR(""), str_from(event + 8));
	else
		asked = question;
}

static void each_login(void **state)
{
	struct remote_logins logins = {.ask = ask_password, .cancel = cancel_password};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(PLAYS); i++) {
		play = &PLAYS[i];
		next_event = 0;
		is_over = false;
		said[0] = '\0';
		asked = NULL;
		session = calloc(1, sizeof *session);
		assert_non_null(session);
		session->settings.logins = play->has_no_logins ? NULL : &logins;
		session->stream.tls =
			play->version != NULL ? (struct tls_connection *)session : NULL;
		remote_session_want_login(session,
					  &(struct remote_login){.relay = "relay",
								 .user = "ann",
								 .port = 587,
								 .may_bind = play->may_bind,
								 .weakest = play->weakest});
		if (remote_session_log_in(session, resume))
			assert_null(asked);
		else
			assert_false(remote_session_log_in(session, resume));
		if (asked != NULL)
			answer_password(1);
		remote_session_forget_login(session);
		if (strcmp(said, play->said) != 0)
			fail_msg("%zu: \"%s\" and not \"%s\"", i, said, play->said);
		free(session);
	}
}

/* One that is too long is none. */
static void the_longest_password(void **state)
{
	static char password[LOGIN_PASSWORD_MAX + 2];
	struct remote_logins logins = {.ask = ask_password, .cancel = cancel_password};

	(void)state;
	memset(password, 'x', sizeof password);
	for (size_t beyond = 0; beyond <= 1; beyond++) {
		play = &PLAYS[1];
		next_event = 0;
		is_over = false;
		said[0] = '\0';
		session = calloc(1, sizeof *session);
		assert_non_null(session);
		session->settings.logins = &logins;
		remote_session_want_login(
			session, &(struct remote_login){.relay = "r", .user = "u", .port = 1});
		assert_false(remote_session_log_in(session, resume));
		asked->answered(asked->context, str_slice(password, LOGIN_PASSWORD_MAX + beyond),
				STR(""));
		if (beyond == 0)
			assert_non_null(strstr(said, "; accept"));
		else
			assert_non_null(strstr(said, "; cancel the password cannot be used"));
		remote_session_forget_login(session);
		free(session);
	}
}

/* It is said once in a while. */
static void a_refusal_is_logged(void **state)
{
	(void)state;
	session = calloc(1, sizeof *session);
	assert_non_null(session);
	remote_session_want_login(session,
				  &(struct remote_login){.relay = "r", .user = "ann", .port = 1});
	(void)heard_take();
	remote_session_log_refusal(session, "relay[192.0.2.1]:587");
	assert_string_equal(heard_take(),
			    "login_refused host=relay[192.0.2.1]:587 user=ann text=535 no\n");
	remote_session_forget_login(session);
	free(session);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_login),
		cmocka_unit_test(the_longest_password),
		cmocka_unit_test(a_refusal_is_logged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
