// SPDX-License-Identifier: ISC
/* How a session begins and is made to end, beside its engine: behind a PROXY header, with a
 * handshake; when the service stops or drains; and which one is idle. */
#include "intake/proxy.h"
#include "os/clock.h"
#include "session_scene.h"
#include "tls/connection.h"
#include <errno.h>
#include <utlist.h>

enum { ROOM = 4000 };

/* --- PROXY headers --- */

static struct {
	bool is_proxy;
	unsigned begun, strangers, ended;
	char client[OS_SOCKET_TEXT_SIZE], early[40];
	int socket;
} proxied;

static const struct smtp_service *const some_service =
	(const struct smtp_service *)(const void *)&proxied;
static const struct intake_security *const some_security =
	(const struct intake_security *)(const void *)&world;

bool __wrap_config_is_proxy(const struct config *asked, const struct in6_addr *address);
bool __wrap_config_is_proxy(const struct config *asked, const struct in6_addr *address)
{
	assert_ptr_equal(asked, &config);
	assert_int_equal(address->s6_addr[15], 9);
	return proxied.is_proxy;
}

static void note_session(struct intake *begun, const struct smtp_service *service,
			 const struct intake_security *security, int socket,
			 const union os_socket_address *peer, struct str early)
{
	assert_ptr_equal(begun, &intake);
	assert_ptr_equal(service, some_service);
	assert_ptr_equal(security, some_security);
	proxied.socket = socket;
	os_socket_address_format_host(peer, proxied.client);
	assert_true(early.length < sizeof proxied.early);
	memcpy(proxied.early, early.data, early.length);
	proxied.early[early.length] = '\0';
}

void __wrap_intake_session_new(struct intake *begun, const struct smtp_service *service,
			       const struct intake_security *security, int socket,
			       const union os_socket_address *peer, struct str early);
void __wrap_intake_session_new(struct intake *begun, const struct smtp_service *service,
			       const struct intake_security *security, int socket,
			       const union os_socket_address *peer, struct str early)
{
	note_session(begun, service, security, socket, peer, early);
	proxied.begun++;
}

void __wrap_intake_session_new_stranger(struct intake *begun, const struct smtp_service *service,
					const struct intake_security *security, int socket,
					const union os_socket_address *peer, struct str early);
void __wrap_intake_session_new_stranger(struct intake *begun, const struct smtp_service *service,
					const struct intake_security *security, int socket,
					const union os_socket_address *peer, struct str early)
{
	note_session(begun, service, security, socket, peer, early);
	proxied.strangers++;
}

static void note_end(void *context)
{
	(void)context;
	proxied.ended++;
}

/* The socket of a connection from 192.0.2.9. */
static int connect_proxy(bool is_proxy)
{
	union os_socket_address peer;
	int socket = fake_connect(ROOM, ROOM);

	memset(&proxied, 0, sizeof proxied);
	proxied.is_proxy = is_proxy;
	intake.session_ended = note_end;
	config.proxy_timeout = 7;
	assert_true(os_socket_address_parse("192.0.2.9", 4711, &peer));
	intake_proxy_new(&intake, some_service, some_security, socket, &peer);
	assert_int_equal(intake.session_count, is_proxy);
	assert_int_equal(intake.proxies != NULL, is_proxy);
	assert_int_equal(fake_timers(), is_proxy);
	return socket;
}

static void expect_refused(int socket, const char *line)
{
	assert_true(fake_is_closed(socket));
	assert_int_equal(intake.session_count, 0);
	assert_null(intake.proxies);
	assert_int_equal(proxied.ended, 1);
	assert_int_equal(proxied.begun + proxied.strangers, 0);
	check_log(line);
}

#define REFUSED "SESSION_REFUSED client=192.0.2.9 text="

static void who_is_no_proxy_has_no_session(void **state)
{
	int socket = connect_proxy(false);

	(void)state;
	assert_true(fake_is_closed(socket));
	assert_int_equal(proxied.ended, 0);
	check_log(REFUSED "The address is not in proxy_from\n");
}

static void headers_name_the_client(void **state)
{
	static const struct {
		const char *header, *client;
		bool is_stranger;
	} rows[] = {{"PROXY TCP4 198.51.100.1 192.0.2.1 99 25\r\nEHLO", "198.51.100.1", false},
		    {"PROXY TCP6 2001:db8::1 2001:db8::2 99 25\r\nEHLO", "2001:db8::1", false},
		    {"PROXY UNKNOWN\r\nEHLO", "192.0.2.9", true}};

	(void)state;
	for (size_t i = 0; i < 2 * COUNT_OF(rows); i++) {
		const char *header = rows[i / 2].header;
		size_t piece = i % 2 == 0 ? strlen(header) : 5;
		int socket = connect_proxy(true);

		while (proxied.begun + proxied.strangers == 0) {
			size_t length = strlen(header) < piece ? strlen(header) : piece;

			assert_int_equal(fake_peer_write(socket, header, length), length);
			header += length;
			fake_play_watch(socket);
		}
		assert_int_equal(proxied.strangers, rows[i / 2].is_stranger);
		assert_int_equal(proxied.socket, socket);
		assert_string_equal(proxied.client, rows[i / 2].client);
		assert_true(i % 2 != 0 || strcmp(proxied.early, "EHLO") == 0);
		assert_int_equal(intake.session_count, 0);
		assert_int_equal(fake_timers(), 0);
		assert_false(fake_is_closed(socket));
	}
}

static void headers_come_or_not(void **state)
{
	static char long_header[ROOM];
	int socket = connect_proxy(true);

	(void)state;
	assert_int_equal(fake_peer_write(socket, "EHLO x\r\n", 8), 8);
	fake_play_watch(socket);
	expect_refused(socket, REFUSED "The connection begins without a right PROXY header\n");
	socket = connect_proxy(true);
	fake_peer_close(socket);
	fake_play_watch(socket);
	expect_refused(socket, REFUSED "The connection ended before its PROXY header\n");
	socket = connect_proxy(true);
	fake_advance(7 * SECOND_US - 1);
	assert_false(fake_is_closed(socket));
	fake_advance(1);
	expect_refused(socket, REFUSED "The PROXY header did not come in time\n");
	socket = connect_proxy(true);
	memcpy(long_header, "\r\n\r\n\0\r\nQUIT\n\x21\x11\xff\xff", 16);
	assert_int_equal(fake_peer_write(socket, long_header, 3000), 3000);
	fake_play_watch(socket);
	expect_refused(socket, REFUSED
		       "The PROXY header is too long: at most 2048 bytes, with extensions\n");
	socket = connect_proxy(true);
	intake_proxy_stop(&intake);
	expect_refused(socket, REFUSED "The service is stopping\n");
}

/* --- handshakes --- */

static struct {
	bool has_context, may_relay;
	int handshake;
	void (*resume)(void *context);
	char early[20];
} tls;

const struct tls_context *__wrap_intake_security_context(const struct intake_security *security);
const struct tls_context *__wrap_intake_security_context(const struct intake_security *security)
{
	(void)security;
	return tls.has_context ? (const struct tls_context *)(const void *)&tls : NULL;
}

bool __wrap_intake_security_may_relay(const struct intake_security *security,
				      const struct tls_connection *connection);
bool __wrap_intake_security_may_relay(const struct intake_security *security,
				      const struct tls_connection *connection)
{
	(void)security;
	assert_ptr_equal(connection, session.tls.stream.tls);
	return tls.may_relay;
}

struct tls_connection *__wrap_tls_connection_new(const struct tls_context *context, int socket,
						 const char *name);
struct tls_connection *__wrap_tls_connection_new(const struct tls_context *context, int socket,
						 const char *name)
{
	assert_ptr_equal(context, &tls);
	assert_int_equal(socket, session.tls.stream.socket);
	assert_null(name);
	return (struct tls_connection *)(void *)&tls;
}

void __wrap_tls_connection_on_resume(struct tls_connection *connection,
				     void (*resume)(void *context), void *context);
void __wrap_tls_connection_on_resume(struct tls_connection *connection,
				     void (*resume)(void *context), void *context)
{
	assert_ptr_equal(connection, &tls);
	assert_ptr_equal(context, &session);
	tls.resume = resume;
}

void __wrap_tls_connection_preload(struct tls_connection *connection, struct str early);
void __wrap_tls_connection_preload(struct tls_connection *connection, struct str early)
{
	assert_ptr_equal(connection, &tls);
	memcpy(tls.early, early.data, early.length);
	tls.early[early.length] = '\0';
}

int __wrap_tls_connection_handshake(struct tls_connection *connection);
int __wrap_tls_connection_handshake(struct tls_connection *connection)
{
	assert_ptr_equal(connection, &tls);
	return tls.handshake;
}

const char *__wrap_tls_connection_version(const struct tls_connection *connection);
const char *__wrap_tls_connection_version(const struct tls_connection *connection)
{
	assert_ptr_equal(connection, &tls);
	return "TLSv1.3";
}

const char *__wrap_tls_connection_cipher(const struct tls_connection *connection);
const char *__wrap_tls_connection_cipher(const struct tls_connection *connection)
{
	assert_ptr_equal(connection, &tls);
	return "CIPHER";
}

const char *__wrap_tls_connection_reason(const struct tls_connection *connection);
const char *__wrap_tls_connection_reason(const struct tls_connection *connection)
{
	assert_ptr_equal(connection, &tls);
	return "why";
}

#define OF_CLIENT "client=192.0.2.7 client_port=4711 session=1:2"

static void handshakes_have_an_outcome(void **state)
{
	(void)state;
	config.tls_timeout = 9;
	for (unsigned n = 0; n < 12; n++) {
		static const int results[] = {0, -EAGAIN, -EPROTO};
		static const enum intake_secure outcomes[] = {
			INTAKE_SECURE_DONE, INTAKE_SECURE_WAIT, INTAKE_SECURE_FAILED};
		bool is_done = n / 4 == 0;

		begin_anew();
		memset(&tls, 0, sizeof tls);
		assert_false(intake_secure_is_possible(&session));
		assert_false(intake_secure_begin(&session, STR("early")));
		check_log("~TLS_FAILED " OF_CLIENT " text=no certificate can be used now\n");
		tls.has_context = true;
		assert_true(intake_secure_is_possible(&session));
		assert_true(intake_secure_begin(&session, STR("early")));
		assert_string_equal(tls.early, "early");
		assert_int_equal(session.tls.handshake_until_us,
				 os_clock_monotonic_us() + 9 * SECOND_US);
		tls.resume(&session);
		assert_int_equal(world.pumped, 1);
		session.is_claimed = (n & 1) != 0;
		tls.may_relay = (n & 2) != 0;
		tls.handshake = results[n / 4];
		assert_int_equal(intake_secure_go_on(&session), outcomes[n / 4]);
		assert_int_equal(session.tls.handshake_until_us == 0, is_done);
		assert_int_equal(world.head.peer.is_ours, is_done && (n & 3) == 2);
		assert_int_equal(session.may_relay, is_done && (n & 3) == 2);
		check_log(is_done      ? "TLS_BEGUN " OF_CLIENT " tls=TLSv1.3 cipher=CIPHER\n"
			  : n / 4 == 2 ? "~TLS_FAILED " OF_CLIENT " text=why\n"
				       : "");
		if (is_done) {
			assert_string_equal(world.tls.version, "TLSv1.3");
			assert_string_equal(world.tls.cipher, "CIPHER");
		}
		intake_secure_timeout(&session);
		check_log("~TLS_FAILED " OF_CLIENT " text=the handshake took too long\n");
	}
}

/* --- ends --- */

static unsigned pumped;

void __wrap_intake_session_pump(struct intake_session *went_on);
void __wrap_intake_session_pump(struct intake_session *went_on)
{
	(void)went_on;
	pumped++;
}

static void all_sessions_are_told(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 8; n++) {
		bool is_asking = (n & 1) != 0, is_slowed = (n & 2) != 0, stops = (n & 4) != 0;
		bool waits = is_asking || is_slowed;

		begin_anew();
		pumped = 0;
		session.question.is_asking = is_asking;
		if (is_slowed)
			intake_slow_begin(&session, SECOND_US, note_then);
		DL_APPEND2(intake.sessions, &session, previous, next);
		if (stops) {
			intake_stop(&intake);
			assert_int_equal(world.shut_down, 1);
			assert_false(session.limits.is_slowed);
			assert_int_equal(pumped, !is_asking || is_slowed);
		} else {
			intake_drain(&intake, true);
			assert_int_equal(world.drained, 1);
			assert_int_equal(pumped, !waits);
			assert_true(intake.is_draining);
			intake_drain(&intake, false);
			assert_int_equal(world.drained, 1);
			assert_false(intake.is_draining);
		}
		intake_slow_end(&session);
		os_timer_free(session.limits.held);
		session.limits.held = NULL;
	}
}

/* --- who is idle --- */

static void the_first_that_is_idle(void **state)
{
	enum { LOOKS = 16 };
	struct intake_session sessions[LOOKS + 1];

	(void)state;
	fake_advance(100 * SECOND_US);
	config.smtp_min_rate = 1000;
	for (size_t idle = 0; idle <= LOOKS; idle++) {
		int64_t now_us = os_clock_monotonic_us();

		begin_anew();
		memset(sessions, 0, sizeof sessions);
		for (size_t i = 0; i <= LOOKS; i++) {
			/* busy: it waits for us, or has sent enough for its time */
			sessions[i].idle.since_us = now_us - 2 * SECOND_US;
			sessions[i].question.is_asking = i % 3 == 0;
			sessions[i].commits = i % 3 == 1;
			sessions[i].idle.bytes = 100000;
			sessions[i].idle.waited_us = i % 3 == 2 ? 90 * SECOND_US : 0;
			DL_APPEND2(intake.sessions, &sessions[i], previous, next);
		}
		for (size_t i = 0; i < idle; i++)
			if (i % 3 == 2) /* with bytes for so long */
				sessions[i].idle.waited_us = SECOND_US,
				sessions[i].question.is_asking = true;
		sessions[idle].question.is_asking = false;
		sessions[idle].commits = 0;
		sessions[idle].idle = (struct intake_pace){.since_us = now_us - SECOND_US};
		assert_ptr_equal(intake_session_find_idle(&intake),
				 idle < LOOKS ? &sessions[idle] : NULL);
	}
	/* one that has not waited long enough ends the search */
	begin_anew();
	memset(sessions, 0, sizeof sessions);
	sessions[0].idle.since_us = os_clock_monotonic_us() - SECOND_US + 1;
	sessions[1].idle.since_us = os_clock_monotonic_us() - SECOND_US;
	DL_APPEND2(intake.sessions, &sessions[0], previous, next);
	DL_APPEND2(intake.sessions, &sessions[1], previous, next);
	assert_null(intake_session_find_idle(&intake));
	assert_ptr_equal(intake.sessions, &sessions[0]);
	fake_pass(1);
	assert_ptr_equal(intake_session_find_idle(&intake), &sessions[0]);
	/* whom a rate holds back goes first */
	sessions[1].limits.class = INTAKE_NO_CLASS;
	DL_APPEND2(intake.slowed, &sessions[1], limits.slowed_previous, limits.slowed_next);
	assert_ptr_equal(intake_session_find_idle(&intake), &sessions[1]);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up_session, tear_down_session)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(who_is_no_proxy_has_no_session),
		CASE(headers_name_the_client),
		CASE(headers_come_or_not),
		CASE(handshakes_have_an_outcome),
		CASE(all_sessions_are_told),
		CASE(the_first_that_is_idle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
