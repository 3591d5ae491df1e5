// SPDX-License-Identifier: ISC
/* One connection to a server in time: how long it is waited for, what is said at the end, and
 * what becomes of it between transactions. */
#include "base/panic.h"
#include "base/timestamp.h"
#include "deliver/remote/session/session.h"
#include "fake_loop.h"
#include "os/clock.h"
#include "os/file/file.h"
#include "os/socket/socket.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define CONNECT_US (30 * SECOND_US)
#define REPLY_US   (300 * SECOND_US)

enum { RECIPIENTS = 3, ROOM = 4000 };

static struct {
	int socket;
	int connect_error, read_error;
	struct remote_session *session;
	struct remote_session_settings settings;
	struct smtp_client_recipient recipients[RECIPIENTS];
	unsigned done, ended;
	enum remote_outcome outcome;
	char heard[2 * REMOTE_CHUNK_SIZE];
	size_t heard_length;
} scene;

int os_socket_connect(const union os_socket_address *address)
{
	(void)address;
	scene.socket = fake_connect(ROOM, ROOM);
	return scene.socket;
}

int os_socket_connect_from(const struct in6_addr *source, const union os_socket_address *address)
{
	(void)source;
	return os_socket_connect(address);
}

int os_socket_error(int socket)
{
	(void)socket;
	return scene.connect_error;
}

ssize_t __wrap_os_file_read(int file, void *data, size_t size, uint64_t offset);

ssize_t __wrap_os_file_read(int file, void *data, size_t size, uint64_t offset)
{
	(void)file;
	(void)offset;
	if (scene.read_error < 0)
		return scene.read_error;
	memset(data, 'x', size);
	return (ssize_t)size;
}

static int set_up_with(enum smtp_client_protocol protocol, const struct remote_login *login,
		       struct remote_logins *logins)
{
	static char chunk[REMOTE_CHUNK_SIZE];
	struct dns_server server = {.host = "server.test"};
	const struct remote_policy policy = {.level = CONFIG_TLS_NONE, .login = login};

	fake_begin(1);
	memset(&scene, 0, sizeof scene);
	scene.settings = (struct remote_session_settings){.protocol = protocol,
							  .hostname = "client.test",
							  .connect_timeout_us = CONNECT_US,
							  .reply_timeout_us = REPLY_US,
							  .logins = logins,
							  .chunk = chunk};
	if (!os_socket_address_parse("192.0.2.1", 25, &server.address))
		return -1;
	return remote_session_new(&scene.settings, "key", &server, &policy, &scene.session);
}

static int set_up(void **state)
{
	(void)state;
	return set_up_with(SMTP_CLIENT_SMTP, NULL, NULL);
}

static int set_up_qmtp(void **state)
{
	(void)state;
	return set_up_with(SMTP_CLIENT_QMTP, NULL, NULL);
}

static int tear_down(void **state)
{
	(void)state;
	remote_session_free(scene.session);
	assert_int_equal(fake_timers(), 0);
	assert_true(fake_is_closed(scene.socket));
	return 0;
}

static void on_done(void *context, enum remote_outcome outcome)
{
	(void)context;
	scene.done++;
	scene.outcome = outcome;
}

static void on_ended(void *context, struct remote_session *session)
{
	(void)context;
	assert_ptr_equal(session, scene.session);
	scene.ended++;
}

/* A message of SIZE bytes to COUNT recipients. */
static void begin(size_t count, uint64_t size)
{
	struct remote_transaction transaction = {
		.message = {.sender = STR("s@client.test"),
			    .size = size,
			    .recipients = scene.recipients,
			    .recipient_count = count},
		.content = {.file = 7, .size = size},
		.done = on_done,
	};

	memset(scene.recipients, 0, sizeof scene.recipients);
	for (size_t i = 0; i < count; i++)
		scene.recipients[i].address = STR("r@server.test");
	scene.done = 0;
	remote_session_run(scene.session, &transaction);
}

/* Until the transaction is over. */
static void play(void)
{
	for (unsigned steps = 0; scene.done == 0 && fake_watch_is_ready(scene.socket); steps++) {
		assert_true(steps < 1000);
		fake_play_watch(scene.socket);
	}
}

static void server_says(const char *text)
{
	assert_int_equal(fake_peer_write(scene.socket, text, strlen(text)), strlen(text));
	play();
}

/* All that the client sends until it waits. */
static void server_hears(void)
{
	size_t count;

	do {
		play();
		assert_true(scene.heard_length < sizeof scene.heard - ROOM);
		count = fake_peer_read(scene.socket, scene.heard + scene.heard_length, ROOM);
		scene.heard_length += count;
		scene.heard[scene.heard_length] = '\0';
	} while (count > 0);
}

static void expect_heard(const char *end)
{
	server_hears();
	assert_true(scene.heard_length >= strlen(end));
	assert_string_equal(scene.heard + scene.heard_length - strlen(end), end);
}

/* To where the server has had MAIL, RCPT and DATA at once. */
static void greet(void)
{
	server_says("220 server.test\r\n");
	server_says("250-server.test\r\n250 PIPELINING\r\n");
	expect_heard("DATA\r\n");
}

static void deliver_one(void)
{
	begin(1, 10);
	play();
	greet();
	server_says("250 so\r\n250 so\r\n354 go\r\n");
	expect_heard("xxxxxxxxxx\r\n.\r\n");
	server_says("250 taken\r\n");
	assert_int_equal(scene.done, 1);
	assert_int_equal(scene.outcome, REMOTE_DECIDED);
	assert_int_equal(scene.recipients[0].verdict->class, MAIL_OK);
}

/* Whether nothing has become of it until just before US, and its end has come just after. */
static void expect_end_after(int64_t us)
{
	fake_advance(us - SECOND_US);
	assert_int_equal(scene.done, 0);
	fake_advance(2 * SECOND_US);
	assert_int_equal(scene.done, 1);
}

/* --- how long --- */

static void a_host_that_is_away_is_waited_for_as_long_as_for_a_connection(void **state)
{
	(void)state;
	begin(1, 10);
	expect_end_after(CONNECT_US);
	assert_int_equal(scene.outcome, REMOTE_UNREACHABLE);
	assert_string_equal(remote_session_failure(scene.session)->text,
			    "connect to server.test[192.0.2.1]: timeout");
}

static void a_connection_that_is_refused_says_why(void **state)
{
	(void)state;
	begin(1, 10);
	scene.connect_error = -ECONNREFUSED;
	play();
	assert_int_equal(scene.outcome, REMOTE_UNREACHABLE);
	assert_string_equal(remote_session_failure(scene.session)->text,
			    "connect to server.test[192.0.2.1]: Connection refused");
}

static void a_greeting_may_take_as_long_as_a_reply(void **state)
{
	(void)state;
	begin(1, 10);
	fake_advance(CONNECT_US - SECOND_US);
	play();
	expect_end_after(REPLY_US);
	assert_int_equal(scene.outcome, REMOTE_UNSERVED);
}

/* Each has the whole time, though all commands went out at once. */
static void every_reply_has_its_time(void **state)
{
	(void)state;
	begin(RECIPIENTS, 10);
	play();
	greet();
	for (int i = 0; i < 1 + RECIPIENTS; i++) {
		fake_advance(REPLY_US - SECOND_US);
		server_says("250 so\r\n");
	}
	expect_end_after(REPLY_US);
	assert_int_equal(scene.outcome, REMOTE_UNSERVED);
}

static void a_reply_that_comes_byte_by_byte_has_no_more(void **state)
{
	(void)state;
	begin(1, 10);
	play();
	greet();
	for (int i = 0; i < 3; i++) {
		fake_advance(REPLY_US / 4);
		server_says("2");
		assert_int_equal(scene.done, 0);
	}
	expect_end_after(REPLY_US / 4);
}

static void a_server_that_reads_slowly_has_its_time_for_each_piece(void **state)
{
	char piece[ROOM];

	(void)state;
	begin(1, 3 * REMOTE_CHUNK_SIZE);
	play();
	greet();
	server_says("250 so\r\n250 so\r\n354 go\r\n");
	for (int i = 0; i < 5; i++) {
		fake_advance(REPLY_US - SECOND_US);
		assert_int_equal(scene.done, 0);
		assert_true(fake_peer_read(scene.socket, piece, sizeof piece) > 0);
		play();
	}
	expect_end_after(REPLY_US);
	assert_int_equal(scene.recipients[0].verdict->class, MAIL_WAIT);
}

static void the_last_reply_has_twice_the_time(void **state)
{
	(void)state;
	begin(1, 10);
	play();
	greet();
	server_says("250 so\r\n250 so\r\n354 go\r\n");
	expect_heard("\r\n.\r\n");
	assert_true(remote_session_is_deciding(scene.session));
	expect_end_after(2 * REPLY_US);
	assert_int_equal(scene.recipients[0].verdict->class, MAIL_WAIT);
}

/* --- what it holds on to --- */

static void who_waits_to_write_also_reads(void **state)
{
	(void)state;
	begin(1, 10 * (uint64_t)ROOM);
	play();
	greet();
	server_says("250 so\r\n250 so\r\n354 go\r\n");
	assert_int_equal(fake_peer_unread(scene.socket), ROOM);
	server_says("421 4.3.2 shutting down\r\n");
	fake_peer_close(scene.socket);
	play();
	assert_int_equal(scene.done, 1);
	assert_non_null(strstr(scene.recipients[0].verdict->text, "shutting down"));
}

static void what_cannot_be_read_is_tried_again_later(void **state)
{
	(void)state;
	begin(1, 10);
	play();
	greet();
	scene.read_error = -EIO;
	server_says("250 so\r\n250 so\r\n354 go\r\n");
	assert_int_equal(scene.done, 1);
	assert_string_equal(scene.recipients[0].verdict->status, "4.3.0");
	assert_non_null(strstr(scene.recipients[0].verdict->text, "cannot be read"));
	server_hears();
	assert_null(strstr(scene.heard, "\r\n.\r\n"));
}

/* --- between transactions --- */

static void a_connection_waits_as_long_as_it_is_told(void **state)
{
	(void)state;
	deliver_one();
	remote_session_wait(scene.session, 5 * SECOND_US, on_ended, NULL);
	assert_int_equal(fake_watched(scene.socket), OS_WATCH_READ);
	fake_advance(4 * SECOND_US);
	assert_int_equal(scene.ended, 0);
	fake_advance(2 * SECOND_US);
	assert_int_equal(scene.ended, 1);
	assert_true(remote_session_is_reusable(scene.session));
}

static void a_connection_that_the_server_closes_waits_no_longer(void **state)
{
	(void)state;
	deliver_one();
	remote_session_wait(scene.session, 5 * SECOND_US, on_ended, NULL);
	fake_peer_close(scene.socket);
	assert_true(fake_watch_is_ready(scene.socket));
	fake_play_watch(scene.socket);
	assert_int_equal(scene.ended, 1);
	fake_play_watch(scene.socket);
	assert_int_equal(scene.ended, 1);
}

/* It is not waited for any more: who took it has not asked for its end. */
static void a_connection_that_is_used_again_does_not_wait(void **state)
{
	(void)state;
	deliver_one();
	remote_session_wait(scene.session, 5 * SECOND_US, on_ended, NULL);
	begin(1, 10);
	assert_false(remote_session_is_reusable(scene.session));
	server_says("250 so\r\n");
	server_hears();
	fake_advance(10 * SECOND_US);
	assert_int_equal(scene.done, 0);
	server_says("250 so\r\n250 so\r\n354 go\r\n");
	server_hears();
	server_says("250 taken\r\n");
	assert_int_equal(scene.done, 1);
	fake_peer_close(scene.socket);
	fake_play_watch(scene.socket);
	assert_int_equal(scene.ended, 0);
}

static void a_connection_that_ended_meanwhile_is_stale(void **state)
{
	(void)state;
	deliver_one();
	fake_peer_close(scene.socket);
	begin(1, 10);
	play();
	assert_int_equal(scene.done, 1);
	assert_int_equal(scene.outcome, REMOTE_STALE);
}

/* Also when it is not heard before we write. */
static void a_server_that_closes_says_why(void **state)
{
	static const char bye[] = "421 4.3.2 shutting down\r\n";

	(void)state;
	deliver_one();
	assert_int_equal(fake_peer_write(scene.socket, bye, strlen(bye)), strlen(bye));
	fake_peer_close(scene.socket);
	begin(1, 10);
	assert_int_equal(scene.done, 1);
	assert_int_equal(scene.outcome, REMOTE_STALE);
	assert_non_null(strstr(scene.recipients[0].verdict->text, "shutting down"));
}

static void whoever_is_left_in_peace_is_told(void **state)
{
	(void)state;
	deliver_one();
	remote_session_free(scene.session);
	scene.session = NULL;
	scene.heard_length += fake_peer_read(scene.socket, scene.heard + scene.heard_length, ROOM);
	scene.heard[scene.heard_length] = '\0';
	assert_string_equal(scene.heard + scene.heard_length - 6, "QUIT\r\n");
}

static void whoever_is_left_in_the_midst_is_not(void **state)
{
	(void)state;
	begin(1, 10);
	play();
	greet();
	remote_session_free(scene.session);
	scene.session = NULL;
	assert_int_equal(fake_peer_unread(scene.socket), 0);
	assert_int_equal(scene.done, 0);
}

/* The same engine's driver: there is neither a greeting nor a login. */
static void a_message_goes_by_qmtp(void **state)
{
	(void)state;
	begin(1, 10);
	play();
	expect_heard(",13:s@client.test,17:13:r@server.test,,");
	server_says("1:K,");
	assert_int_equal(scene.done, 1);
	assert_int_equal(scene.outcome, REMOTE_DECIDED);
	assert_int_equal(scene.recipients[0].verdict->class, MAIL_OK);
	assert_true(remote_session_is_reusable(scene.session));
}

/* --- a login --- */

static struct keys_password_question *asked; /* NULL: nobody waits for a password */

static void ask_for_password(struct remote_logins *logins, struct keys_password_question *question)
{
	assert_non_null(logins);
	assert_null(asked);
	assert_string_equal(question->relay, "relay.test");
	assert_string_equal(question->user, "ann");
	assert_int_equal(question->port, 587);
	asked = question;
}

static void cancel_question(struct keys_password_question *question)
{
	assert_ptr_equal(question, asked);
	asked = NULL;
}

static struct remote_logins passwords = {ask_for_password, cancel_question};

/* To where the server has offered OFFER to who may log in by WEAKEST or more. */
static void begin_login_by(const char *offer, enum login_strength weakest,
			   struct remote_logins *logins)
{
	const struct remote_login wanted = {.relay = "relay.test",
					    .user = "ann",
					    .port = 587,
					    .may_be_plain = true,
					    .weakest = weakest};
	char reply[100];

	assert_int_equal(set_up_with(SMTP_CLIENT_SMTP, &wanted, logins), 0);
	begin(1, 10);
	play();
	server_says("220 server.test\r\n");
	server_hears();
	snprintf(reply, sizeof reply, "250-server.test\r\n250 %s\r\n", offer);
	server_says(reply);
}

static void answer_password(struct str password, struct str problem)
{
	struct keys_password_question *question = asked;

	assert_non_null(question);
	asked = NULL;
	question->answered(question->context, password, problem);
	server_hears();
}

/* Nothing of the message is said, and WHY is what the recipient's sender will read. */
static void expect_no_login(const char *why)
{
	server_hears();
	assert_null(strstr(scene.heard, "MAIL FROM"));
	server_says("501 given up\r\n"); /* if it waits for that */
	server_hears();
	assert_null(strstr(scene.heard, "MAIL FROM"));
	assert_int_equal(scene.done, 1);
	if (strstr(remote_session_failure(scene.session)->text, why) == NULL)
		fail_msg("\"%s\" is not in \"%s\"", why,
			 remote_session_failure(scene.session)->text);
	assert_null(asked);
	assert_int_equal(tear_down(NULL), 0);
}

static void who_has_logged_in_sends(void **state)
{
	(void)state;
	begin_login_by("AUTH PLAIN", LOGIN_BY_LOGIN, &passwords);
	answer_password(STR("secret"), STR(""));
	expect_heard("AUTH PLAIN AGFubgBzZWNyZXQ=\r\n");
	server_says("235 so\r\n");
	server_hears();
	assert_non_null(strstr(scene.heard, "MAIL FROM"));
	assert_int_equal(tear_down(NULL), 0);
}

/* With SCRAM it has to prove that it knows the password, at whatever step it says that all is well.
 */
static void a_server_that_has_not_proved_itself_gets_no_mail(void **state)
{
	static const char *const mechanisms[] = {"AUTH SCRAM-SHA-256", "AUTH SCRAM-SHA-1 PLAIN"};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(mechanisms); i++) {
		begin_login_by(mechanisms[i], LOGIN_BY_LOGIN, &passwords);
		answer_password(STR("secret"), STR(""));
		server_says("235 so\r\n");
		expect_no_login("it has not proved that it knows the password");
		begin_login_by(mechanisms[i], LOGIN_BY_LOGIN, &passwords);
		answer_password(STR("secret"), STR(""));
		server_says("334 nonsense\r\n");
		expect_no_login("login");
	}
}

static void a_password_that_cannot_be_used_ends_the_login(void **state)
{
	static char longest[LOGIN_PASSWORD_MAX + 1];

	(void)state;
	memset(longest, 'p', sizeof longest);
	begin_login_by("AUTH PLAIN", LOGIN_BY_LOGIN, &passwords);
	answer_password(STR(""), STR("there is none"));
	expect_no_login("the password cannot be used");
	begin_login_by("AUTH PLAIN", LOGIN_BY_LOGIN, &passwords);
	answer_password(str_slice(longest, LOGIN_PASSWORD_MAX + 1), STR(""));
	expect_no_login("the password cannot be used");
	begin_login_by("AUTH PLAIN", LOGIN_BY_LOGIN, &passwords);
	answer_password(str_slice(longest, LOGIN_PASSWORD_MAX), STR(""));
	server_says("235 so\r\n");
	server_hears();
	assert_non_null(strstr(scene.heard, "MAIL FROM"));
	assert_int_equal(tear_down(NULL), 0);
}

static void what_is_offered_may_be_too_weak(void **state)
{
	(void)state;
	begin_login_by("AUTH NTLM", LOGIN_BY_LOGIN, &passwords);
	expect_no_login("it offers no mechanism that is known here");
	begin_login_by("AUTH PLAIN", LOGIN_BY_SCRAM_SHA_1, &passwords);
	expect_no_login("it offers \"PLAIN\", and login_weakest is");
	begin_login_by("AUTH PLAIN", LOGIN_BY_LOGIN, NULL);
	expect_no_login("there are no passwords here");
}

static void who_ends_does_not_wait_for_a_password(void **state)
{
	(void)state;
	begin_login_by("AUTH PLAIN", LOGIN_BY_LOGIN, &passwords);
	assert_non_null(asked);
	assert_int_equal(tear_down(NULL), 0);
	assert_null(asked);
}

#define SESSION_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_message_goes_by_qmtp, set_up_qmtp, tear_down),
		SESSION_TEST(a_host_that_is_away_is_waited_for_as_long_as_for_a_connection),
		SESSION_TEST(a_connection_that_is_refused_says_why),
		SESSION_TEST(a_greeting_may_take_as_long_as_a_reply),
		SESSION_TEST(every_reply_has_its_time),
		SESSION_TEST(a_reply_that_comes_byte_by_byte_has_no_more),
		SESSION_TEST(a_server_that_reads_slowly_has_its_time_for_each_piece),
		SESSION_TEST(the_last_reply_has_twice_the_time),
		SESSION_TEST(who_waits_to_write_also_reads),
		SESSION_TEST(what_cannot_be_read_is_tried_again_later),
		SESSION_TEST(a_connection_waits_as_long_as_it_is_told),
		SESSION_TEST(a_connection_that_the_server_closes_waits_no_longer),
		SESSION_TEST(a_connection_that_is_used_again_does_not_wait),
		SESSION_TEST(a_connection_that_ended_meanwhile_is_stale),
		SESSION_TEST(a_server_that_closes_says_why),
		SESSION_TEST(whoever_is_left_in_peace_is_told),
		SESSION_TEST(whoever_is_left_in_the_midst_is_not),
		cmocka_unit_test(who_has_logged_in_sends),
		cmocka_unit_test(a_server_that_has_not_proved_itself_gets_no_mail),
		cmocka_unit_test(a_password_that_cannot_be_used_ends_the_login),
		cmocka_unit_test(what_is_offered_may_be_too_weak),
		cmocka_unit_test(who_ends_does_not_wait_for_a_password),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
