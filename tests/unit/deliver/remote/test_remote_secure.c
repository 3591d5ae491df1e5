// SPDX-License-Identifier: ISC
/* The handshake of a session: what is asked of TLS for each policy, and what becomes of each end of
 * it. TLS, the certificates and the engine are played here. */
#include "deliver/remote/session/internal.h"
#include "os/loop.h"
#include "test.h"
#include "transcript/transcript.h"
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct {
	char engine[128], line[256]; /* what the engine, and a watcher, was told */
	int handshake;
	bool lacks_signature, is_resumed, is_watched;
	struct tls_client_request request; /* of the last connection */
	char peer[OS_SOCKET_TEXT_SIZE];
	unsigned connections;
	void *resumed_context;
	bool is_known; /* which certificates there are */
	const struct tls_client_certificate *certificate;
	unsigned waits;
} play;

static int some_connection, some_certificate, some_client;

/* --- TLS --- */

struct tls_connection *tls_client_connect(struct tls_client *client, int socket,
					  const struct tls_client_request *request)
{
	assert_ptr_equal(client, &some_client);
	assert_int_equal(socket, 77);
	play.request = *request;
	snprintf(play.peer, sizeof play.peer, "%s", request->peer);
	play.connections++;
	return (struct tls_connection *)(void *)&some_connection;
}

void tls_connection_on_resume(struct tls_connection *connection, void (*resume)(void *context),
			      void *context)
{
	assert_ptr_equal(connection, &some_connection);
	assert_non_null(resume);
	play.resumed_context = context;
}

int tls_connection_handshake(struct tls_connection *connection)
{
	assert_ptr_equal(connection, &some_connection);
	return play.handshake;
}

unsigned tls_connection_wants(const struct tls_connection *connection, bool has_output)
{
	(void)connection;
	assert_false(has_output);
	return OS_WATCH_WRITE;
}

bool tls_connection_lacks_signature(const struct tls_connection *connection)
{
	(void)connection;
	return play.lacks_signature;
}

const char *tls_connection_reason(const struct tls_connection *connection)
{
	(void)connection;
	return "bad certificate";
}

const char *tls_connection_version(const struct tls_connection *connection)
{
	(void)connection;
	return "TLSv1.3";
}

const char *tls_connection_cipher(const struct tls_connection *connection)
{
	(void)connection;
	return "A_CIPHER";
}

enum tls_verified tls_connection_verified(const struct tls_connection *connection)
{
	(void)connection;
	return TLS_VERIFIED_DANE_EE;
}

const char *tls_verified_name(enum tls_verified verified)
{
	assert_int_equal(verified, TLS_VERIFIED_DANE_EE);
	return "by-dane";
}

bool tls_connection_is_resumed(const struct tls_connection *connection)
{
	(void)connection;
	return play.is_resumed;
}

const char *remote_policy_level_name(enum config_tls_level level)
{
	return level == CONFIG_TLS_VERIFY ? "verify" : "may";
}

/* --- around it --- */

void remote_engine_secured(struct remote_engine *engine)
{
	(void)engine;
	snprintf(play.engine, sizeof play.engine, "secured");
}

void remote_engine_insecure(struct remote_engine *engine, const char *reason)
{
	(void)engine;
	snprintf(play.engine, sizeof play.engine, "insecure: %s", reason);
}

/* Which of these is true. */
static enum { NOTHING, INJECTED, REFUSED, SILENT, BROKEN, UNANSWERED, KINDS } engine_is;

bool remote_engine_is_injected(const struct remote_engine *engine)
{
	(void)engine;
	return engine_is == INJECTED;
}

bool remote_engine_is_tls_refused(const struct remote_engine *engine)
{
	(void)engine;
	return engine_is == REFUSED;
}

bool remote_engine_is_silent(const struct remote_engine *engine)
{
	(void)engine;
	return engine_is == SILENT;
}

bool remote_engine_is_broken(const struct remote_engine *engine)
{
	(void)engine;
	return engine_is == BROKEN;
}

bool remote_engine_is_unanswered(const struct remote_engine *engine)
{
	(void)engine;
	return engine_is == UNANSWERED;
}

const char *remote_engine_server_name(const struct remote_engine *engine)
{
	(void)engine;
	return "its-name";
}

const bool *transcript_is_on(void)
{
	return &play.is_watched;
}

void remote_tell_line(struct remote_tell *tell, enum smtp_said by, struct str line)
{
	assert_null(tell);
	assert_int_equal(by, SMTP_SAID_NOTHING);
	snprintf(play.line, sizeof play.line, STR_FORMAT, STR_ARGUMENTS(line));
}

static bool find(struct remote_certificates *certificates, const char *name,
		 const struct tls_client_certificate **certificate_out)
{
	assert_non_null(certificates);
	assert_string_equal(name, "ours");
	if (play.is_known)
		*certificate_out = play.certificate;
	return play.is_known;
}

static struct remote_certificates certificates = {.find = find};

void remote_certificates_wait(struct remote_certificates *all,
			      struct remote_certificates_waiter *waiter)
{
	assert_ptr_equal(all, &certificates);
	assert_non_null(waiter->ready);
	waiter->certificates = all;
	play.waits++;
}

static void resume(void *context)
{
	(void)context;
}

static struct remote_session new_session(enum config_tls_level level)
{
	struct remote_session session = {
		.settings = {.tls = (struct tls_client *)(void *)&some_client},
		.stream = {.socket = 77},
		.policy = {.level = level},
		.host = (char *)(void *)&"mx.test",
	};

	memset(&play, 0, sizeof play);
	session.address.v4 = (struct sockaddr_in){
		.sin_family = AF_INET, .sin_port = htons(25), .sin_addr = {htonl(0xc0000207)}};
	return session;
}

/* What the session says of itself. */
static void check_step(struct remote_session *session, bool is_done, unsigned events,
		       const char *engine)
{
	unsigned found = 77;

	play.engine[0] = '\0';
	assert_int_equal(remote_session_secure(session, resume, &found), is_done);
	assert_int_equal(found, events);
	assert_string_equal(play.engine, engine);
}

static void the_policy_decides_what_is_asked(void **state)
{
	static const enum config_tls_level levels[] = {CONFIG_TLS_MAY, CONFIG_TLS_ENCRYPT,
						       CONFIG_TLS_VERIFY};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(levels) * 2; i++) {
		struct remote_session session = new_session(levels[i / 2]);
		bool is_demanded = levels[i / 2] > CONFIG_TLS_MAY;

		session.policy.strength.is_1_3 = true;
		session.policy.verify.name_count = 5;
		session.policy.server_name = i % 2 == 0 ? NULL : "sni.test";
		check_step(&session, true, OS_WATCH_NONE, "secured");
		assert_string_equal(play.request.host, i % 2 == 0 ? "mx.test" : "sni.test");
		assert_string_equal(play.peer, "192.0.2.7:25");
		assert_int_equal(play.request.verify.name_count, 5);
		assert_int_equal(play.request.strength.is_1_3, is_demanded);
		assert_null(play.request.certificate);
		assert_ptr_equal(play.resumed_context, &session);
		assert_int_equal(play.connections, 1);
	}
}

/* Where even plain text would do, TLS without our certificate does, too. */
static void our_certificate_may_be_missing(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 16; i++) {
		bool is_demanded = (i & 1) != 0;
		bool is_there = (i & 2) != 0;
		struct remote_session session =
			new_session(is_demanded ? CONFIG_TLS_ENCRYPT : CONFIG_TLS_MAY);

		session.policy.certificate = (i & 4) != 0 ? "ours" : "";
		session.settings.certificates = (i & 8) != 0 ? &certificates : NULL;
		play.is_known = true;
		play.certificate = is_there ? (const struct tls_client_certificate
						       *)(const void *)&some_certificate
					    : NULL;
		if ((i & 4) == 0 || !is_demanded || (is_there && (i & 8) != 0)) {
			check_step(&session, true, OS_WATCH_NONE, "secured");
			assert_ptr_equal(play.request.certificate,
					 (i & 12) == 12 ? play.certificate : NULL);
			assert_false(session.is_ours);
		} else {
			check_step(&session, true, OS_WATCH_NONE,
				   "insecure: our certificate cannot be used now");
			assert_true(session.is_ours);
			assert_int_equal(play.connections, 0);
		}
		assert_int_equal(play.waits, 0);
	}
}

/* And it may be known later only. */
static void our_certificate_is_waited_for(void **state)
{
	struct remote_session session = new_session(CONFIG_TLS_ENCRYPT);

	(void)state;
	session.policy.certificate = "ours";
	session.settings.certificates = &certificates;
	check_step(&session, false, OS_WATCH_NONE, "");
	assert_int_equal(play.waits, 1);
	assert_int_equal(play.connections, 0);
	assert_ptr_equal(session.waiter.context, &session);
	assert_ptr_equal(session.waiter.ready, resume);
	remote_session_blame(&session);
	assert_true(session.is_ours);
	session.waiter.certificates = NULL;
	remote_session_blame(&session);
	assert_false(session.is_ours);
	play.is_known = true;
	play.certificate = (const struct tls_client_certificate *)(const void *)&some_certificate;
	check_step(&session, true, OS_WATCH_NONE, "secured");
	assert_ptr_equal(play.request.certificate, &some_certificate);
}

/* --- what becomes of it --- */

static void a_handshake_takes_as_long_as_it_wants(void **state)
{
	struct remote_session session = new_session(CONFIG_TLS_VERIFY);

	(void)state;
	play.handshake = -EAGAIN;
	for (size_t i = 0; i < 3; i++) {
		check_step(&session, false, OS_WATCH_WRITE, "");
		assert_int_equal(play.connections, 1);
	}
	assert_null(remote_session_tls(&session));
	play.handshake = 0;
	check_step(&session, true, OS_WATCH_NONE, "secured");
	assert_int_equal(play.connections, 1);
	assert_ptr_equal(remote_session_connection(&session), &some_connection);
}

static void what_failed_is_said_and_whose_fault_it_is(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct remote_session session = new_session(CONFIG_TLS_VERIFY);

		play.handshake = -EACCES;
		play.lacks_signature = i == 1;
		check_step(&session, true, OS_WATCH_NONE, "insecure: bad certificate");
		assert_int_equal(session.is_ours, i == 1);
		assert_null(remote_session_tls(&session));
		assert_string_equal(play.line, "");
	}
}

static void what_protects_the_session_is_known(void **state)
{
	static const char *const lines[] = {
		"",
		"(TLSv1.3, A_CIPHER, policy verify, verified: by-dane)",
		"",
		"(TLSv1.3, A_CIPHER, policy verify, verified: by-dane, resumed)",
	};

	(void)state;
	for (unsigned i = 0; i < COUNT_OF(lines); i++) {
		struct remote_session session = new_session(CONFIG_TLS_VERIFY);
		const struct ipc_job_tls *tls;

		play.is_watched = (i & 1) != 0;
		play.is_resumed = (i & 2) != 0;
		check_step(&session, true, OS_WATCH_NONE, "secured");
		tls = remote_session_tls(&session);
		assert_non_null(tls);
		assert_true(str_equal(tls->version, STR("TLSv1.3")));
		assert_true(str_equal(tls->cipher, STR("A_CIPHER")));
		assert_true(str_equal(tls->policy, STR("verify")));
		assert_true(str_equal(tls->verified, STR("by-dane")));
		assert_string_equal(play.line, lines[i]);
	}
}

static void what_the_engine_knows_is_known(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2 * KINDS; i++) {
		struct remote_session session = new_session(CONFIG_TLS_MAY);

		engine_is = (typeof(engine_is))(i / 2);
		session.is_unmet = i % 2 == 1;
		assert_int_equal(remote_session_is_injected(&session), engine_is == INJECTED);
		assert_int_equal(remote_session_is_tls_refused(&session), engine_is == REFUSED);
		assert_int_equal(remote_session_is_silent(&session),
				 engine_is == SILENT || session.is_unmet);
		assert_int_equal(remote_session_is_broken(&session), engine_is == BROKEN);
		assert_int_equal(remote_session_is_unanswered(&session), engine_is == UNANSWERED);
		assert_string_equal(remote_session_server_name(&session), "its-name");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_policy_decides_what_is_asked),
		cmocka_unit_test(our_certificate_may_be_missing),
		cmocka_unit_test(our_certificate_is_waited_for),
		cmocka_unit_test(a_handshake_takes_as_long_as_it_wants),
		cmocka_unit_test(what_failed_is_said_and_whose_fault_it_is),
		cmocka_unit_test(what_the_engine_knows_is_known),
		cmocka_unit_test(what_protects_the_session_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
