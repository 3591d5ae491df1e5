// SPDX-License-Identifier: ISC
/* What the log and the client learn of commands and messages that are refused, and of messages that
 * are accepted. */
#include "os/clock.h"
#include "session_scene.h"
#include <errno.h>
#include <stdio.h>
#include <utlist.h>

#define OF_CLIENT "client=192.0.2.7 client_port=4711 session=1:2"

/* --- refused commands --- */

static void each_limit_has_its_setting(void **state)
{
	static const struct {
		enum smtp_limit limit;
		const char *told;
	} rows[] = {{SMTP_LIMIT_NONE, ""},
		    {SMTP_LIMIT_MESSAGE_SIZE, " setting=maxsize limit=11"},
		    {SMTP_LIMIT_RECIPIENTS, " setting=maxrecipients limit=12"},
		    {SMTP_LIMIT_ERRORS, " setting=maxerrors limit=13"},
		    {SMTP_LIMIT_COMMANDS, " setting=maxcommands limit=14"}};

	(void)state;
	config.maxsize = 11;
	config.maxrecipients = 12;
	config.maxerrors = 13;
	config.maxcommands = 14;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct smtp_refusal refusal = {.code = 452, .text = "no", .limit = rows[i].limit};
		char line[200];

		world.taken = 0;
		intake_log_refusal(&session, &refusal);
		snprintf(line, sizeof line, "COMMAND_REFUSED " OF_CLIENT " code=452 text=no%s\n",
			 rows[i].told);
		check_log(line);
	}
	world.taken = 0;
	session.bound = (struct intake_bound){"load_refuse", 9};
	intake_log_refusal(&session, &(struct smtp_refusal){.code = 421, .text = "no"});
	check_log("COMMAND_REFUSED " OF_CLIENT " code=421 text=no setting=load_refuse limit=9\n");
}

static void all_that_is_known_of_a_command(void **state)
{
	struct mail_envelope envelope = {.sender = STR("")};
	struct smtp_refusal refusal = {.code = 550,
				       .status = "5.1.1",
				       .text = "public",
				       .command = STR("RCPT TO:<a>\nmore"),
				       .envelope = &envelope};

	(void)state;
	world.head.helo = "mx.test";
	world.head.user = "lisa";
	intake_log_refusal(&session, &refusal);
	check_log("COMMAND_REFUSED " OF_CLIENT " helo=mx.test code=550 status=5.1.1 text=public "
		  "command=RCPT TO:<a> user=lisa from=\n");
	assert_int_equal(world.noted, 1);
	assert_int_equal(world.charges[0].count, CONFIG_RATE_REFUSALS);
	assert_int_equal(world.charges[0].amount, 1);
	session.reason = "secret";
	refusal.command = STR("NOOP");
	envelope.sender = STR("a@b.test");
	intake_log_refusal(&session, &refusal);
	check_log("COMMAND_REFUSED " OF_CLIENT " helo=mx.test code=550 status=5.1.1 text=secret "
		  "command=NOOP user=lisa from=a@b.test\n");
	session.is_turned_away = true; /* it is in the log */
	intake_log_refusal(&session, &refusal);
	check_log("");
	assert_int_equal(world.noted, 3);
}

static void so_many_commands_of_a_session_are_logged(void **state)
{
	const struct smtp_refusal refusal = {.code = 500, .text = "no"};

	(void)state;
	for (unsigned i = 1; i <= INTAKE_REFUSALS_LOGGED + 2; i++) {
		world.taken = 0;
		intake_log_refusal(&session, &refusal);
		check_log(i <= INTAKE_REFUSALS_LOGGED ? "COMMAND_REFUSED " OF_CLIENT
							" code=500 text=no\n"
						      : "");
		assert_int_equal(session.refusals, i);
	}
}

static void all_that_is_known_of_a_message(void **state)
{
	struct mail_recipient recipients[] = {{.address = STR("x@y.test")},
					      {.address = STR("z@y.test")}};
	struct mail_envelope envelope = {
		.sender = STR("a@b.test"), .recipients = recipients, .recipient_count = 2};
	struct smtp_refusal refusal = {.code = 554,
				       .status = "5.6.0",
				       .text = "no",
				       .is_message = true,
				       .envelope = &envelope,
				       .message_id = STR("<m@b>"),
				       .field = STR("From"),
				       .address = STR("c@b.test")};

	(void)state;
	world.head.helo = "mx.test";
	world.head.user = "lisa";
	intake_log_refusal(&session, &refusal);
	check_log("MESSAGE_REFUSED " OF_CLIENT " helo=mx.test code=554 status=5.6.0 text=no "
		  "from=a@b.test to=x@y.test recipients=2 message_id=<m@b> field=From "
		  "address=c@b.test user=lisa\n");
	session.name = strdup("name.test");
	session.reason = "why";
	session.is_turned_away = true; /* a message is told in any case */
	intake_log_refusal(&session, &refusal);
	check_log("MESSAGE_REFUSED " OF_CLIENT " helo=mx.test code=554 status=5.6.0 text=why "
		  "from=a@b.test to=x@y.test recipients=2 message_id=<m@b> field=From "
		  "address=c@b.test user=lisa name=name.test\n");
	assert_int_equal(session.refusals, 0);
	assert_int_equal(world.noted, 2);
}

/* --- messages at the queue --- */

static void each_error_has_its_reply(void **state)
{
	static const struct {
		int error;
		const char *status, *text;
	} rows[] = {
		{-ENOSPC, "4.3.1", "Insufficient system storage"},
		{-EDQUOT, "4.3.1", "Insufficient system storage"},
		{-EUSERS, "4.3.1", "You have too many unfinished messages, send them one by one"},
		{-ETIMEDOUT, "4.4.2", "The message took longer than a day"},
		{-E2BIG, "5.3.4", "The envelope is over the size limit"},
	};

	(void)state;
	for (int error = -1; error > -200; error--) {
		const char *status = "4.3.0";
		const char *text = "The queue cannot take the message now";
		struct mail_verdict verdict;

		for (size_t i = 0; i < COUNT_OF(rows); i++)
			if (rows[i].error == error) {
				status = rows[i].status;
				text = rows[i].text;
			}
		intake_message_verdict(&verdict, error);
		assert_string_equal(verdict.status, status);
		assert_string_equal(verdict.text, text);
	}
}

static void errors_of_the_queue_are_logged(void **state)
{
	static const struct mail_id id = {457, 99};

	(void)state;
	intake_message_log_error(&session, &id, "write", -EUSERS);
	intake_message_log_error(&session, NULL, "open", -EUSERS);
	check_log("");
	intake_message_log_error(&session, &id, "write", -EIO);
	check_log("QUEUE_ERROR id=457-99 " OF_CLIENT " operation=write error=an error\n");
	intake_message_log_error(&session, NULL, "open", -EIO);
	check_log("~QUEUE_ERROR " OF_CLIENT " operation=open error=an error\n");
}

static void a_message_may_take_a_day(void **state)
{
	int64_t began_us;

	(void)state;
	fake_advance(3 * DAY_US);
	began_us = os_clock_monotonic_us();
	fake_pass(DAY_US);
	assert_false(intake_message_is_late(began_us));
	assert_true(intake_message_is_late(began_us - 1));
	assert_false(intake_message_is_late(os_clock_monotonic_us()));
}

const char *__wrap_tls_connection_version(const struct tls_connection *connection);
const char *__wrap_tls_connection_version(const struct tls_connection *connection)
{
	assert_ptr_equal(connection, session.tls.stream.tls);
	return "TLSv1.3";
}

const char *__wrap_tls_connection_cipher(const struct tls_connection *connection);
const char *__wrap_tls_connection_cipher(const struct tls_connection *connection)
{
	assert_ptr_equal(connection, session.tls.stream.tls);
	return "SOME-CIPHER";
}

static void all_that_is_known_of_an_accepted_message(void **state)
{
	static const struct mail_id id = {457, 99};
	struct smtp_claim claim = {.address = "198.51.100.1", .ident = "ident"};
	const struct mail_envelope envelope = {
		.sender = STR("a@b.test"), .recipient_count = 3, .size = 1234};
	struct intake_session others[2] = {{.intake = &intake}, {.intake = &intake}};

	(void)state;
	DL_APPEND2(intake.sessions, &session, previous, next);
	DL_APPEND2(intake.sessions, &others[0], previous, next);
	DL_APPEND2(intake.sessions, &others[1], previous, next);
	session.idle = (struct intake_pace){5, 6, 7};
	session.pace = (struct intake_pace){5, 6, 7};
	intake_message_accepted(&session, id, &envelope, STR(""));
	check_log("MESSAGE_ACCEPTED id=457-99 " OF_CLIENT
		  " from=a@b.test recipients=3 size=1234\n");
	assert_int_equal(world.noted, 1);
	assert_int_equal(world.charges[0].count, CONFIG_RATE_BYTES);
	assert_int_equal(world.charges[0].amount, 1234);
	assert_int_equal(session.idle.since_us + session.idle.waited_us, 0);
	assert_int_equal(session.idle.bytes, 0);
	assert_int_not_equal(session.pace.bytes, 0);
	assert_ptr_equal(intake.sessions, &others[0]);
	assert_ptr_equal(others[1].next, &session);
	assert_null(session.next);
	world.head.helo = "mx.test";
	world.head.user = "lisa";
	world.head.forwarded = &claim;
	session.name = strdup("name.test");
	session.tls.stream.tls = (struct tls_connection *)(void *)&world;
	intake_message_accepted(&session, id, &envelope, STR("<m@b>"));
	check_log("MESSAGE_ACCEPTED id=457-99 " OF_CLIENT
		  " helo=mx.test from=a@b.test recipients=3 "
		  "size=1234 message_id=<m@b> name=name.test user=lisa tls=TLSv1.3 "
		  "cipher=SOME-CIPHER forwarded_for=198.51.100.1 ident=ident\n");
}

/* A message's file at the queue: requested once, and then what has come is written. */
static struct {
	bool is_shared;
	unsigned requested;
	int share, result;
	struct buffer written;
} queue;

bool __wrap_queue_client_is_shared(const struct queue_client_message *message);
bool __wrap_queue_client_is_shared(const struct queue_client_message *message)
{
	assert_ptr_equal(message, &session.message.queued);
	return queue.is_shared;
}

void __wrap_queue_client_share(struct queue_client_message *message);
void __wrap_queue_client_share(struct queue_client_message *message)
{
	assert_ptr_equal(message, &session.message.queued);
	queue.requested++;
}

int __wrap_queue_client_write(struct queue_client_message *message, struct str bytes);
int __wrap_queue_client_write(struct queue_client_message *message, struct str bytes)
{
	assert_ptr_equal(message, &session.message.queued);
	buffer_append_str(&queue.written, bytes);
	return queue.result;
}

int __wrap_intake_share_check(const struct intake_session *checked,
			      const struct queue_client_message *message, const struct mail_id *id,
			      size_t bytes);
int __wrap_intake_share_check(const struct intake_session *checked,
			      const struct queue_client_message *message, const struct mail_id *id,
			      size_t bytes)
{
	assert_ptr_equal(checked, &session);
	assert_ptr_equal(message, &session.message.queued);
	assert_ptr_equal(id, &session.message.id);
	assert_int_equal(bytes, 4);
	return queue.share;
}

static void what_has_come_is_written_or_dropped(void **state)
{
	static const int results[] = {0, -EIO, -EUSERS};

	(void)state;
	for (size_t n = 0; n < 2 * COUNT_OF(results) * COUNT_OF(results); n++) {
		struct buffer body CLEANUP(buffer_clear) = {0};
		int error = 1;
		bool is_done;

		memset(&queue, 0, sizeof queue);
		queue.is_shared = n % 2 == 0;
		queue.share = results[n / 2 % 3];
		queue.result = results[n / 6];
		buffer_append_string(&body, "text");
		is_done = intake_message_write(&session, &session.message.queued,
					       &session.message.id, &body, &error);
		assert_int_equal(is_done, queue.is_shared);
		assert_int_equal(queue.requested, !queue.is_shared);
		assert_int_equal(body.length, is_done ? 0 : 4);
		assert_int_equal(queue.written.length, is_done && queue.share == 0 ? 4 : 0);
		if (is_done)
			assert_int_equal(error, queue.share < 0 ? queue.share : queue.result);
		buffer_clear(&queue.written);
	}
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up_session, tear_down_session)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(each_limit_has_its_setting),
		CASE(all_that_is_known_of_a_command),
		CASE(so_many_commands_of_a_session_are_logged),
		CASE(all_that_is_known_of_a_message),
		CASE(each_error_has_its_reply),
		CASE(errors_of_the_queue_are_logged),
		CASE(a_message_may_take_a_day),
		CASE(all_that_is_known_of_an_accepted_message),
		CASE(what_has_come_is_written_or_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
