// SPDX-License-Identifier: ISC
/* A client that authenticates, beside its session: which mechanisms it is offered, and what "auth"
 * learns of its connection, against a plain description; what each answer makes of it. */
#include "intake_scene.h"
#include "session_scene.h"
#include "tls/connection.h"
#include <arpa/inet.h>

/* What the connection has, and what was asked and answered. */
static struct {
	size_t exporter, end_point; /* bytes */
	bool is_verified, has_fingerprint, has_email;
	size_t names;
	enum config_clear_auth clear;
	bool offers_binding;
	unsigned offered, begun, responded, left, settled, noted;
	bool is_secured, has_binding, has_certificate, has_succeeded, is_authenticating;
	uint32_t settled_tag;
	struct auth_peer peer;
	char exporter_text[TLS_BINDING_MAX], end_point_text[TLS_BINDING_MAX];
	char certificate[TLS_FINGERPRINT_SIZE];
	struct smtp_auth_answer answer;
	unsigned answers;
} said;

static size_t fill(unsigned char *out, char byte, size_t length)
{
	memset(out, byte, length);
	return length;
}

size_t __wrap_tls_connection_exporter(const struct tls_connection *connection, unsigned char *out);
size_t __wrap_tls_connection_exporter(const struct tls_connection *connection, unsigned char *out)
{
	assert_ptr_equal(connection, session.tls.stream.tls);
	return fill(out, 'e', said.exporter);
}

size_t __wrap_tls_connection_end_point(const struct tls_connection *connection, unsigned char *out);
size_t __wrap_tls_connection_end_point(const struct tls_connection *connection, unsigned char *out)
{
	assert_ptr_equal(connection, session.tls.stream.tls);
	return fill(out, 'p', said.end_point);
}

bool __wrap_tls_connection_is_verified(const struct tls_connection *connection);
bool __wrap_tls_connection_is_verified(const struct tls_connection *connection)
{
	assert_ptr_equal(connection, session.tls.stream.tls);
	return said.is_verified;
}

bool __wrap_tls_connection_fingerprints(const struct tls_connection *connection,
					char certificate[TLS_FINGERPRINT_SIZE],
					char key[TLS_FINGERPRINT_SIZE]);
bool __wrap_tls_connection_fingerprints(const struct tls_connection *connection,
					char certificate[TLS_FINGERPRINT_SIZE],
					char key[TLS_FINGERPRINT_SIZE])
{
	assert_ptr_equal(connection, session.tls.stream.tls);
	strcpy(certificate, "of the certificate");
	strcpy(key, "of the key");
	return said.has_fingerprint;
}

const char *__wrap_tls_connection_email(const struct tls_connection *connection);
const char *__wrap_tls_connection_email(const struct tls_connection *connection)
{
	assert_ptr_equal(connection, session.tls.stream.tls);
	return said.has_email ? "ann@a.test" : NULL;
}

const char *const *__wrap_tls_connection_names(const struct tls_connection *connection,
					       size_t *count_out);
const char *const *__wrap_tls_connection_names(const struct tls_connection *connection,
					       size_t *count_out)
{
	static const char *const names[] = {"first.test", "second.test"};

	assert_ptr_equal(connection, session.tls.stream.tls);
	*count_out = said.names;
	return names;
}

bool __wrap_intake_security_allows_clear_auth(const struct intake_security *security,
					      bool is_local);
bool __wrap_intake_security_allows_clear_auth(const struct intake_security *security, bool is_local)
{
	(void)security;
	return said.clear == CONFIG_CLEAR_AUTH_YES ||
	       (said.clear == CONFIG_CLEAR_AUTH_LOCAL && is_local);
}

bool __wrap_intake_security_offers_binding(const struct intake_security *security);
bool __wrap_intake_security_offers_binding(const struct intake_security *security)
{
	(void)security;
	return said.offers_binding;
}

const char *__wrap_intake_security_protocol(const struct intake_security *security);
const char *__wrap_intake_security_protocol(const struct intake_security *security)
{
	(void)security;
	return "submission";
}

struct str __wrap_auth_mechanisms(struct auth *auth, bool is_secured, bool has_binding,
				  bool has_certificate);
struct str __wrap_auth_mechanisms(struct auth *auth, bool is_secured, bool has_binding,
				  bool has_certificate)
{
	assert_ptr_equal(auth, intake.auth);
	said.offered++;
	said.is_secured = is_secured;
	said.has_binding = has_binding;
	said.has_certificate = has_certificate;
	return STR("PLAIN");
}

static void copy_peer_text(char *to, struct str text)
{
	if (text.length > 0)
		memcpy(to, text.data, text.length);
}

void __wrap_auth_exchange_begin(struct auth *auth, const struct auth_peer *peer,
				struct str mechanism, bool has_initial, struct str initial,
				struct auth_exchange *exchange);
void __wrap_auth_exchange_begin(struct auth *auth, const struct auth_peer *peer,
				struct str mechanism, bool has_initial, struct str initial,
				struct auth_exchange *exchange)
{
	assert_ptr_equal(auth, intake.auth);
	assert_ptr_equal(exchange, &session.login.exchange);
	assert_true(str_equal(mechanism, STR("PLAIN")) && has_initial &&
		    str_equal(initial, STR("initial")));
	said.begun++;
	said.peer = *peer;
	copy_peer_text(said.exporter_text, peer->exporter);
	copy_peer_text(said.end_point_text, peer->end_point);
	copy_peer_text(said.certificate, peer->certificate);
	exchange->auth = auth;
}

void __wrap_auth_exchange_respond(struct auth_exchange *exchange, struct str response);
void __wrap_auth_exchange_respond(struct auth_exchange *exchange, struct str response)
{
	assert_ptr_equal(exchange, &session.login.exchange);
	assert_true(str_equal(response, STR("response")));
	said.responded++;
}

uint32_t __wrap_auth_exchange_leave(struct auth_exchange *exchange);
uint32_t __wrap_auth_exchange_leave(struct auth_exchange *exchange)
{
	assert_ptr_equal(exchange, &session.login.exchange);
	exchange->auth = NULL;
	return 1000 + ++said.left;
}

void __wrap_auth_settle(struct auth *auth, uint32_t tag, bool has_succeeded);
void __wrap_auth_settle(struct auth *auth, uint32_t tag, bool has_succeeded)
{
	assert_ptr_equal(auth, intake.auth);
	said.settled++;
	said.settled_tag = tag;
	said.has_succeeded = has_succeeded;
}

void __wrap_intake_rate_note(struct intake_session *noted, enum config_rate_count count,
			     uint64_t amount);
void __wrap_intake_rate_note(struct intake_session *noted, enum config_rate_count count,
			     uint64_t amount)
{
	assert_ptr_equal(noted, &session);
	assert_int_equal(count, CONFIG_RATE_FAILED_LOGINS);
	assert_int_equal(amount, 1);
	said.noted++;
}

void __wrap_smtp_server_answer_auth(struct smtp_server *server,
				    const struct smtp_auth_answer *answer);
void __wrap_smtp_server_answer_auth(struct smtp_server *server,
				    const struct smtp_auth_answer *answer)
{
	(void)server;
	said.answer = *answer;
	said.answers++;
}

bool __wrap_smtp_server_is_authenticating(const struct smtp_server *server);
bool __wrap_smtp_server_is_authenticating(const struct smtp_server *server)
{
	(void)server;
	return said.is_authenticating;
}

static const struct smtp_question beginning = {.type = SMTP_QUESTION_AUTH,
					       .mechanism = STR("PLAIN"),
					       .response = STR("initial"),
					       .has_response = true};

/* --- a connection --- */

static void begin_connection(unsigned n)
{
	begin_anew();
	intake_scene_begin();
	memset(&said, 0, sizeof said);
	intake.auth = (struct auth *)(void *)&said;
	session.tls.stream.tls = (n & 1) != 0 ? (struct tls_connection *)(void *)&world : NULL;
	session.is_claimed = (n & 2) != 0;
	said.offers_binding = (n & 4) != 0;
	said.exporter = (n & 8) != 0 ? TLS_BINDING_MAX : 0;
	said.end_point = (n & 16) != 0 ? 3 : 0;
	said.is_verified = (n & 32) != 0;
	said.has_fingerprint = (n & 64) != 0;
	said.has_email = n % 3 == 0;
	said.names = n % 5 % 3;
	said.clear = (enum config_clear_auth)(n / 128 % 3);
	assert_int_equal(inet_pton(AF_INET6,
				   n / 384 % 2 != 0 ? "::ffff:127.0.0.7" : "::ffff:192.0.2.7",
				   &session.mapped),
			 1);
}

static void all_connections(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 768; n++) {
		bool has_tls, is_own, has_binding, has_certificate, is_secured;

		begin_connection(n);
		has_tls = session.tls.stream.tls != NULL;
		is_own = has_tls && !session.is_claimed;
		has_binding = is_own && said.offers_binding && said.exporter + said.end_point > 0;
		has_certificate = is_own && said.is_verified;
		is_secured = has_tls || said.clear == CONFIG_CLEAR_AUTH_YES ||
			     (said.clear == CONFIG_CLEAR_AUTH_LOCAL && n / 384 % 2 != 0);
		assert_true(str_equal(intake_auth_mechanisms(&session),
				      is_secured ? STR("PLAIN") : STR("")));
		assert_int_equal(said.offered, is_secured);
		assert_int_equal(said.is_secured, is_secured);
		if (is_secured) {
			assert_int_equal(said.has_binding, has_binding);
			assert_int_equal(said.has_certificate, has_certificate);
		}
		intake_auth_handle(&session, &beginning);
		assert_int_equal(said.begun, 1);
		assert_true(session.question.is_asking);
		assert_int_equal(said.peer.is_secured, is_secured);
		assert_memory_equal(&said.peer.address, &session.mapped, sizeof session.mapped);
		assert_int_equal(said.peer.port, 4711);
		assert_true(str_equal(said.peer.protocol, STR("submission")));
		assert_true(str_equal(said.peer.session, STR("1:2")));
		assert_int_equal(said.peer.exporter.length,
				 is_own && said.offers_binding ? said.exporter : 0);
		assert_int_equal(said.peer.end_point.length,
				 is_own && said.offers_binding ? said.end_point : 0);
		if (has_binding && said.exporter > 0)
			assert_int_equal(said.exporter_text[0], 'e');
		if (has_binding && said.end_point > 0)
			assert_int_equal(said.end_point_text[0], 'p');
		has_certificate &= said.has_fingerprint;
		assert_string_equal(said.certificate, has_certificate ? "of the certificate" : "");
		assert_true(
			str_equal(said.peer.certificate_name, !has_certificate ? STR("")
							      : said.has_email ? STR("ann@a.test")
							      : said.names > 0 ? STR("first.test")
									       : STR("")));
		session.login.exchange.auth = NULL;
		intake.auth = NULL; /* a reload */
		assert_int_equal(intake_auth_mechanisms(&session).length, 0);
		intake_auth_handle(&session, &beginning);
		assert_int_equal(said.answer.outcome, SMTP_AUTH_TEMPORARY);
		assert_false(session.question.is_asking);
		assert_int_equal(said.begun, 1);
	}
}

/* --- answers --- */

static void each_answer_has_its_reply(void **state)
{
	static const struct {
		enum auth_outcome outcome;
		enum auth_refusal refusal;
		enum smtp_auth_outcome reply;
	} rows[] = {{AUTH_CHALLENGE, AUTH_FAILED, SMTP_AUTH_CHALLENGE},
		    {AUTH_ACCEPTED, AUTH_FAILED, SMTP_AUTH_ACCEPTED},
		    {AUTH_REFUSED, AUTH_FAILED, SMTP_AUTH_FAILED},
		    {AUTH_REFUSED, AUTH_TEMPORARY, SMTP_AUTH_TEMPORARY},
		    {AUTH_REFUSED, AUTH_MALFORMED, SMTP_AUTH_MALFORMED},
		    {AUTH_REFUSED, AUTH_UNKNOWN, SMTP_AUTH_UNKNOWN},
		    {AUTH_REFUSED, AUTH_INSECURE, SMTP_AUTH_INSECURE},
		    {AUTH_REFUSED, AUTH_TOO_WEAK, SMTP_AUTH_TOO_WEAK}};

	(void)state;
	for (size_t i = 0; i < 8 * COUNT_OF(rows); i++) {
		bool is_failure = i % 2 == 0;
		bool is_pumping = i / 2 % 2 == 0;
		bool has_stamp = i / 4 % 2 == 0;
		bool is_accepted = rows[i / 8].outcome == AUTH_ACCEPTED;
		const struct auth_answer answer = {.outcome = rows[i / 8].outcome,
						   .refusal = rows[i / 8].refusal,
						   .message = STR("message"),
						   .user = STR("lisa"),
						   .stamp = has_stamp ? STR("stamp") : STR(""),
						   .is_failure = is_failure};

		begin_connection(1);
		intake_auth_handle(&session, &beginning);
		session.is_pumping = is_pumping;
		session.login.left_exchange = 77;
		session.login.exchange.answered(session.login.exchange.context, &answer);
		assert_int_equal(said.answers, 1);
		assert_int_equal(said.answer.outcome, rows[i / 8].reply);
		assert_true(str_equal(said.answer.message, STR("message")));
		assert_true(str_equal(said.answer.user, STR("lisa")));
		assert_int_equal(said.noted, is_failure);
		assert_int_equal(world.pumped, !is_pumping);
		assert_false(session.question.is_asking);
		/* that the client has succeeded tells what the exchange before was */
		assert_int_equal(said.settled, is_accepted);
		assert_int_equal(session.login.left_exchange, is_accepted ? 0 : 77);
		if (is_accepted)
			assert_true(said.settled_tag == 77 && said.has_succeeded);
		assert_int_equal(session.login.followed != NULL, is_accepted && has_stamp);
		intake_auth_forget(&session);
		assert_null(session.login.followed);
	}
}

/* An exchange that the client gives up is left, and the one before it was a failure. */
static void what_is_given_up_is_left(void **state)
{
	const struct smtp_question response = {.type = SMTP_QUESTION_AUTH,
					       .response = STR("response")};

	(void)state;
	begin_connection(1);
	said.is_authenticating = true;
	intake_auth_handle(&session, &beginning);
	intake_auth_handle(&session, &response);
	assert_int_equal(said.responded, 1);
	intake_auth_handle_end(&session);
	assert_int_equal(said.left, 0);
	said.is_authenticating = false;
	intake_auth_handle_end(&session);
	intake_auth_handle_end(&session); /* nothing is open */
	assert_int_equal(said.left, 1);
	assert_int_equal(session.login.left_exchange, 1001);
	assert_int_equal(said.settled, 1);
	intake_auth_handle(&session, &beginning);
	intake_auth_handle(&session, &beginning); /* gives up the one before */
	assert_int_equal(said.left, 2);
	assert_int_equal(said.settled, 2);
	assert_int_equal(said.settled_tag, 1001);
	assert_false(said.has_succeeded);
	assert_int_equal(session.login.left_exchange, 1002);
	session.login.exchange.auth = NULL;
	intake_auth_end(&session);
	assert_int_equal(said.settled_tag, 1002);
	assert_int_equal(session.login.left_exchange, 0);
}

static void who_is_on_this_machine(void **state)
{
	static const struct {
		const char *address;
		bool is_local;
	} rows[] = {{"::1", true},
		    {"::", true},
		    {"::ffff:127.0.0.1", true},
		    {"::ffff:127.255.0.9", true},
		    {"::ffff:126.0.0.1", false},
		    {"::ffff:128.0.0.1", false},
		    {"::2", false},
		    {"2001:db8::7f00:1", false},
		    {"::127.0.0.1", false}};

	(void)state;
	for (size_t i = 0; i < 2 * COUNT_OF(rows); i++) {
		begin_connection(0);
		assert_int_equal(inet_pton(AF_INET6, rows[i / 2].address, &session.mapped), 1);
		session.is_stranger = i % 2 != 0;
		assert_int_equal(intake_session_is_local(&session),
				 rows[i / 2].is_local && i % 2 == 0);
	}
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up_session, tear_down_session)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(all_connections),
		CASE(each_answer_has_its_reply),
		CASE(what_is_given_up_is_left),
		CASE(who_is_on_this_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
