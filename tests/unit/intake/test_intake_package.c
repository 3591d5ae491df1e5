// SPDX-License-Identifier: ISC
/* The packages of a QMTP session at the queue, each step of their lives by itself: the engine and
 * the queue are this test's. */
#include "intake/qmtp/internal.h"
#include "session_scene.h"
#include <errno.h>
#include <stdio.h>

enum { SLOT = 3 };

/* What the engine has, and what it and the queue were told. */
static struct {
	struct intake_packages packages;
	struct qmtp_question question;
	bool has_question, is_open[QMTP_SERVER_SLOTS], has_body;
	struct buffer body;
	struct qmtp_commit commit;
	bool has_commit;
	struct mail_envelope envelope;
	unsigned opened, answered, failed, abandoned, committed, decided, deferred, accepted;
	struct mail_verdict verdict;
	struct mail_id id;
	struct queue_client_message *message; /* the last one */
	/* intake_message_write() */
	unsigned writes;
	bool is_written;
	int write_error;
	enum queue_client_state after_share;
	unsigned lookups;
	bool awaits_name;
} qmtp;

const struct qmtp_question *qmtp_server_question(const struct qmtp_server *server)
{
	assert_ptr_equal(server, qmtp.packages.server);
	return qmtp.has_question ? &qmtp.question : NULL;
}

void qmtp_server_answer(struct qmtp_server *server, const struct mail_verdict *verdict)
{
	assert_ptr_equal(server, qmtp.packages.server);
	qmtp.answered++;
	qmtp.verdict = *verdict;
	qmtp.has_question = false;
}

void qmtp_server_answer_open(struct qmtp_server *server, struct mail_id id)
{
	assert_ptr_equal(server, qmtp.packages.server);
	qmtp.opened++;
	qmtp.id = id;
	qmtp.has_question = false;
	qmtp.is_open[qmtp.question.slot] = true;
}

bool qmtp_server_take_commit(struct qmtp_server *server, struct qmtp_commit *commit_out)
{
	bool has_commit = qmtp.has_commit;

	assert_ptr_equal(server, qmtp.packages.server);
	*commit_out = qmtp.commit;
	qmtp.has_commit = false;
	return has_commit;
}

struct qmtp_commit qmtp_server_commit(const struct qmtp_server *server, unsigned slot)
{
	assert_ptr_equal(server, qmtp.packages.server);
	assert_int_equal(slot, SLOT);
	return qmtp.commit;
}

void qmtp_server_answer_commit(struct qmtp_server *server, unsigned slot,
			       const struct mail_verdict *verdict)
{
	assert_ptr_equal(server, qmtp.packages.server);
	assert_int_equal(slot, SLOT);
	qmtp.decided++;
	qmtp.verdict = *verdict;
	qmtp.is_open[slot] = false;
}

struct buffer *qmtp_server_body(struct qmtp_server *server, unsigned *slot_out)
{
	assert_ptr_equal(server, qmtp.packages.server);
	*slot_out = SLOT;
	return qmtp.has_body ? &qmtp.body : NULL;
}

bool qmtp_server_is_open(const struct qmtp_server *server, unsigned slot)
{
	assert_ptr_equal(server, qmtp.packages.server);
	return qmtp.is_open[slot];
}

void qmtp_server_data_failed(struct qmtp_server *server, const struct mail_verdict *verdict)
{
	assert_ptr_equal(server, qmtp.packages.server);
	qmtp.failed++;
	qmtp.verdict = *verdict;
	qmtp.is_open[SLOT] = false;
}

void queue_client_open(struct queue_client *client, struct queue_client_message *message)
{
	assert_ptr_equal(client, intake.queue);
	qmtp.message = message;
	message->state = QUEUE_CLIENT_OPENING;
}

void queue_client_commit(struct queue_client_message *message, const struct mail_envelope *envelope,
			 struct str data)
{
	assert_ptr_equal(envelope, qmtp.commit.envelope);
	assert_true(str_equal(data, qmtp.commit.body));
	qmtp.committed++;
	message->state = QUEUE_CLIENT_COMMITTING;
}

void queue_client_abandon(struct queue_client_message *message)
{
	message->state = QUEUE_CLIENT_IDLE;
	qmtp.abandoned++;
}

uint64_t queue_client_unfinished(const struct queue_client_message *message)
{
	return message->written;
}

bool intake_message_write(struct intake_session *written, struct queue_client_message *message,
			  const struct mail_id *id, struct buffer *body, int *error_out)
{
	assert_ptr_equal(written, &session);
	assert_int_equal(id->number, 4711);
	qmtp.writes++;
	if (!qmtp.is_written) {
		message->state = qmtp.after_share;
		qmtp.is_written = true;
		return false;
	}
	*error_out = qmtp.write_error;
	buffer_reset(body);
	return true;
}

void intake_message_accepted(struct intake_session *accepted, struct mail_id id,
			     const struct mail_envelope *envelope, struct str message_id)
{
	assert_ptr_equal(accepted, &session);
	assert_int_equal(id.number, 4711);
	assert_ptr_equal(envelope, qmtp.commit.envelope);
	assert_true(str_equal(message_id, STR("<m@b>")));
	qmtp.accepted++;
}

void intake_message_verdict(struct mail_verdict *verdict, int error)
{
	mail_verdict_set(verdict, "4.3.0", "error %d", error);
}

void intake_message_log_error(const struct intake_session *failed, const struct mail_id *id,
			      const char *operation, int error)
{
	assert_ptr_equal(failed, &session);
	assert_int_equal(id != NULL, strcmp(operation, "open") != 0);
	buffer_append_format(&log_lines, "%s %d\n", operation, error);
}

bool intake_message_is_late(int64_t began_us)
{
	return began_us < 0;
}

void intake_lookup_recipient(struct intake_session *looking, struct str address, struct str sender)
{
	assert_ptr_equal(looking, &session);
	assert_true(str_equal(address, STR("a@b")) && str_equal(sender, STR("s@b")));
	qmtp.lookups++;
}

bool intake_lookup_awaits_name(struct intake_session *looking)
{
	assert_ptr_equal(looking, &session);
	return qmtp.awaits_name;
}

void os_loop_defer(struct os_loop *loop, struct os_task *task)
{
	(void)loop;
	assert_ptr_equal(task, &qmtp.packages.pump);
	qmtp.deferred++;
}

void os_task_cancel(struct os_loop *loop, struct os_task *task)
{
	(void)loop;
	assert_ptr_equal(task, &qmtp.packages.pump);
	qmtp.deferred = 0;
}

/* --- the scene --- */

static void begin_session_anew(void)
{
	if (session.packages != NULL)
		intake_package_cancel(&session);
	buffer_clear(&qmtp.body);
	begin_anew();
	memset(&qmtp, 0, sizeof qmtp);
	qmtp.packages.server = (struct qmtp_server *)(void *)&qmtp;
	qmtp.envelope.sender = STR("s@b");
	qmtp.question = (struct qmtp_question){.type = SMTP_QUESTION_OPEN,
					       .slot = SLOT,
					       .address = {.text = STR("a@b")},
					       .envelope = &qmtp.envelope};
	qmtp.commit = (struct qmtp_commit){.slot = SLOT,
					   .envelope = &qmtp.envelope,
					   .body = STR("rest"),
					   .message_id = STR("<m@b>")};
	session.packages = &qmtp.packages;
	qmtp.has_question = true;
}

static struct intake_package *begin_package(void)
{
	begin_session_anew();
	intake_package_handle(&session);
	assert_true(session.question.is_asking);
	assert_non_null(qmtp.packages.slots[SLOT]);
	return qmtp.packages.slots[SLOT];
}

static struct intake_package *open_package(void)
{
	struct intake_package *package = begin_package();

	package->message.number = 4711;
	package->message.state = QUEUE_CLIENT_OPEN;
	package->message.done(package->message.context, 0);
	assert_int_equal(qmtp.opened, 1);
	assert_int_equal(qmtp.id.number, 4711);
	assert_false(session.question.is_asking);
	assert_int_equal(world.pumped, 1);
	return package;
}

static int end_packages(void **state)
{
	begin_session_anew();
	session.packages = NULL;
	return tear_down_session(state);
}

/* --- lives --- */

static void questions_are_passed_on(void **state)
{
	(void)state;
	begin_session_anew();
	qmtp.question.type = SMTP_QUESTION_RECIPIENT;
	intake_package_handle(&session);
	assert_int_equal(qmtp.lookups, 1);
	assert_null(qmtp.packages.slots[SLOT]);
	begin_session_anew();
	qmtp.awaits_name = true;
	intake_package_handle(&session);
	assert_null(qmtp.packages.slots[SLOT]);
}

static void a_number_comes_or_not(void **state)
{
	(void)state;
	for (unsigned is_pumping = 0; is_pumping < 2; is_pumping++) {
		struct intake_package *package = begin_package();

		session.is_pumping = is_pumping;
		package->message.done(package->message.context, -ENOSPC);
		assert_null(qmtp.packages.slots[SLOT]);
		assert_int_equal(qmtp.answered, 1);
		assert_string_equal(qmtp.verdict.text, "error -28");
		assert_int_equal(qmtp.abandoned, 1);
		assert_false(session.question.is_asking);
		assert_int_equal(world.pumped, !is_pumping);
		check_log("open -28\n");
	}
	(void)open_package();
}

static void a_message_is_decided(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 8; n++) {
		int result = (n & 1) != 0 ? -EIO : 0;
		bool is_pumping = (n & 2) != 0, is_late = (n & 4) != 0;
		struct intake_package *package = open_package();
		char text[60];

		session.is_pumping = is_pumping;
		package->began_us = is_late ? -1 : 0;
		qmtp.has_commit = true;
		intake_package_spool_body(&session);
		assert_int_equal(qmtp.committed, !is_late);
		if (!is_late) {
			assert_int_equal(session.commits, 1);
			assert_int_equal(qmtp.decided, 0);
			/* the engine may have others, or give up what is not committed */
			qmtp.is_open[SLOT] = false;
			intake_package_spool_body(&session);
			assert_non_null(qmtp.packages.slots[SLOT]);
			package->message.done(package->message.context, result);
		}
		assert_int_equal(session.commits, 0);
		assert_int_equal(qmtp.decided, 1);
		assert_null(qmtp.packages.slots[SLOT]);
		assert_int_equal(qmtp.deferred, !is_pumping);
		assert_int_equal(qmtp.accepted, result == 0 && !is_late);
		if (qmtp.accepted > 0) {
			char id[MAIL_ID_SIZE];

			mail_id_format(qmtp.id, id);
			snprintf(text, sizeof text, "ok, queued as %s", id);
			assert_string_equal(qmtp.verdict.status, "2.0.0");
			check_log("");
		} else {
			snprintf(text, sizeof text, "error %d", is_late ? -ETIMEDOUT : -EIO);
			assert_true(log_lines.length > 0);
			buffer_clear(&log_lines);
		}
		assert_string_equal(qmtp.verdict.text, text);
	}
}

/* The engine has refused the message: its file is given up, in whatever state it is. */
static void what_the_engine_gives_up_is_given_up(void **state)
{
	static const enum queue_client_state states[] = {QUEUE_CLIENT_OPENING, QUEUE_CLIENT_OPEN,
							 QUEUE_CLIENT_SHARING};

	(void)state;
	for (size_t i = 0; i < 2 * COUNT_OF(states); i++) {
		struct intake_package *package = open_package();
		bool is_open = i % 2 != 0;
		bool is_gone = !is_open && states[i / 2] != QUEUE_CLIENT_OPENING;

		package->message.state = states[i / 2];
		qmtp.is_open[SLOT] = is_open;
		session.question.is_asking = true;
		intake_package_spool_body(&session);
		assert_int_equal(qmtp.packages.slots[SLOT] == NULL, is_gone);
		assert_int_equal(qmtp.abandoned, is_gone);
		assert_int_equal(session.question.is_asking,
				 !is_gone || states[i / 2] != QUEUE_CLIENT_SHARING);
		if (is_gone)
			continue;
		assert_int_equal(intake_package_unfinished(&session), 0);
		package->message.written = 5;
		assert_int_equal(intake_package_unfinished(&session), 5);
		package->message.state = QUEUE_CLIENT_OPEN;
	}
}

static void a_large_message_has_a_file(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 48; n++) {
		bool is_full = (n & 1) != 0, is_late = (n & 2) != 0, has_question = (n & 4) != 0,
		     has_body = (n & 8) == 0;
		int error = n / 16 == 1 ? -EIO : 0;
		bool is_shared = n / 16 < 2; /* at once; else the answer comes yet */
		bool fails_late = has_body && is_late && !has_question;
		bool writes = has_body && is_full && !fails_late;
		struct intake_package *package = open_package();

		qmtp.has_question = has_question;
		qmtp.has_body = has_body;
		package->began_us = is_late ? -1 : 0;
		qmtp.write_error = error;
		qmtp.after_share = is_shared ? QUEUE_CLIENT_OPEN : QUEUE_CLIENT_SHARING;
		for (size_t i = is_full ? 0 : 1; i < SMTP_SERVER_BODY_MAX; i++)
			buffer_append_byte(&qmtp.body, 'x');
		intake_package_spool_body(&session);
		assert_int_equal(qmtp.writes, !writes ? 0 : is_shared ? 2 : 1);
		assert_int_equal(session.question.is_asking, writes && !is_shared);
		assert_int_equal(qmtp.failed, fails_late || (writes && is_shared && error < 0));
		if (qmtp.failed > 0) {
			char text[30];

			snprintf(text, sizeof text, "error %d", fails_late ? -ETIMEDOUT : error);
			assert_string_equal(qmtp.verdict.text, text);
			assert_null(qmtp.packages.slots[SLOT]);
			assert_int_equal(qmtp.abandoned, 1);
		}
		buffer_clear(&log_lines);
		if (!writes || is_shared)
			continue;
		/* and now it comes, or not */
		qmtp.has_question = false;
		world.pumped = 0;
		package->message.state = QUEUE_CLIENT_OPEN;
		package->message.done(package->message.context, n % 3 == 0 ? -ENOSPC : 0);
		assert_false(session.question.is_asking);
		assert_int_equal(world.pumped, 1);
		assert_int_equal(qmtp.failed, n % 3 == 0);
		buffer_clear(&log_lines);
	}
}

/* What is over for the engine cannot fail once more. */
static void a_file_that_nobody_waits_for(void **state)
{
	struct intake_package *package = open_package();

	(void)state;
	qmtp.is_open[SLOT] = false;
	package->message.done(package->message.context, -EIO);
	assert_int_equal(qmtp.failed, 0);
	check_log("");
	intake_package_cancel(&session);
	assert_int_equal(qmtp.abandoned, 1);
	assert_null(qmtp.packages.slots[SLOT]);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up_session, end_packages)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(questions_are_passed_on),    CASE(a_number_comes_or_not),
		CASE(a_message_is_decided),       CASE(what_the_engine_gives_up_is_given_up),
		CASE(a_large_message_has_a_file), CASE(a_file_that_nobody_waits_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
