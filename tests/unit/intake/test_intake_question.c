// SPDX-License-Identifier: ISC
/* SMTP's questions, each passed on and answered by itself: the engine, the queue and the directory
 * are this test's. */
#include "session_scene.h"
#include <errno.h>
#include <stdio.h>

/* What the engine asks, and what it and others were told. */
static struct {
	struct smtp_question question;
	bool has_question, is_open, is_broken, awaits_name, shares_late;
	struct buffer body;
	struct mail_envelope envelope;
	struct str sender;
	unsigned lookups, senders, auths, claims, releases, opens, commits, abandoned, answers,
		failed, opened, accepted, writes;
	struct mail_verdict verdict;
	struct mail_id id;
	int write_error;
	directory_sender_judged *judged;
	void *judged_context;
	void (*then)(struct intake_session *session);
} smtp;

const struct smtp_question *smtp_server_question(const struct smtp_server *server)
{
	assert_ptr_equal(server, session.server);
	return smtp.has_question ? &smtp.question : NULL;
}

void smtp_server_answer(struct smtp_server *server, const struct mail_verdict *verdict)
{
	assert_ptr_equal(server, session.server);
	smtp.answers++;
	smtp.verdict = *verdict;
	smtp.has_question = false;
}

void smtp_server_answer_open(struct smtp_server *server, struct mail_id id)
{
	assert_ptr_equal(server, session.server);
	smtp.opened++;
	smtp.id = id;
	smtp.has_question = false;
	smtp.is_open = true;
}

struct buffer *smtp_server_body(struct smtp_server *server)
{
	assert_ptr_equal(server, session.server);
	return &smtp.body;
}

bool smtp_server_message_is_open(const struct smtp_server *server)
{
	assert_ptr_equal(server, session.server);
	return smtp.is_open;
}

bool smtp_server_has_broken_signature(const struct smtp_server *server)
{
	assert_ptr_equal(server, session.server);
	return smtp.is_broken;
}

void smtp_server_data_failed(struct smtp_server *server, const struct mail_verdict *verdict)
{
	assert_ptr_equal(server, session.server);
	smtp.failed++;
	smtp.verdict = *verdict;
	smtp.is_open = false;
}

void queue_client_open(struct queue_client *client, struct queue_client_message *message)
{
	assert_ptr_equal(client, intake.queue);
	assert_ptr_equal(message, &session.message.queued);
	message->state = QUEUE_CLIENT_OPENING;
	smtp.opens++;
}

void queue_client_commit(struct queue_client_message *message, const struct mail_envelope *envelope,
			 struct str data)
{
	assert_ptr_equal(message, &session.message.queued);
	assert_ptr_equal(envelope, &smtp.envelope);
	assert_true(str_equal(data, buffer_view(&smtp.body)));
	smtp.commits++;
}

void queue_client_abandon(struct queue_client_message *message)
{
	assert_ptr_equal(message, &session.message.queued);
	message->state = QUEUE_CLIENT_IDLE;
	smtp.abandoned++;
}

bool intake_message_write(struct intake_session *written, struct queue_client_message *message,
			  const struct mail_id *id, struct buffer *body, int *error_out)
{
	assert_ptr_equal(written, &session);
	assert_ptr_equal(id, &session.message.id);
	if (smtp.writes++ == 0) {
		message->state = smtp.shares_late ? QUEUE_CLIENT_SHARING : QUEUE_CLIENT_OPEN;
		return false;
	}
	*error_out = smtp.write_error;
	buffer_reset(body);
	return true;
}

void intake_message_accepted(struct intake_session *accepted, struct mail_id id,
			     const struct mail_envelope *envelope, struct str message_id)
{
	assert_ptr_equal(accepted, &session);
	assert_int_equal(id.number, session.message.id.number);
	assert_ptr_equal(envelope, &smtp.envelope);
	assert_true(str_equal(message_id, STR("<m@b>")));
	smtp.accepted++;
}

void intake_message_verdict(struct mail_verdict *verdict, int error)
{
	mail_verdict_set(verdict, "4.3.0", "error %d", error);
}

void intake_message_log_error(const struct intake_session *failed, const struct mail_id *id,
			      const char *operation, int error)
{
	assert_ptr_equal(failed, &session);
	assert_ptr_equal(id, strcmp(operation, "open") == 0 ? NULL : &session.message.id);
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
	smtp.lookups++;
}

bool intake_lookup_awaits_name(struct intake_session *looking)
{
	assert_ptr_equal(looking, &session);
	return smtp.awaits_name;
}

void intake_auth_ask(struct intake_session *asking, void (*then)(struct intake_session *session))
{
	assert_ptr_equal(asking, &session);
	smtp.then = then;
}

void intake_auth_handle(struct intake_session *asking, const struct smtp_question *question)
{
	assert_ptr_equal(asking, &session);
	assert_ptr_equal(question, &smtp.question);
	smtp.auths++;
}

void intake_claim_take(struct intake_session *claimed, const struct smtp_claim *claim)
{
	assert_ptr_equal(claimed, &session);
	assert_null(claim);
	smtp.claims++;
}

void intake_claim_release(struct intake_session *asking, struct str node)
{
	assert_ptr_equal(asking, &session);
	assert_true(str_equal(node, STR("node.test")));
	smtp.releases++;
}

void directory_sender_ask(struct directory *directory, struct str user, const struct str *senders,
			  size_t count, directory_sender_judged *judged, void *context,
			  struct directory_sender_request *request)
{
	assert_ptr_equal(directory, intake.directory);
	assert_ptr_equal(request, &session.question.senders);
	assert_true(str_equal(user, STR("lisa")) && count == 1 &&
		    str_equal(senders[0], STR("s@b")));
	smtp.senders++;
	smtp.judged = judged;
	smtp.judged_context = context;
}

/* --- the scene --- */

static void begin_question(enum smtp_question_type type)
{
	buffer_clear(&smtp.body);
	begin_anew();
	memset(&smtp, 0, sizeof smtp);
	smtp.sender = STR("s@b");
	smtp.envelope.sender = STR("s@b");
	smtp.question.type = type;
	smtp.question.envelope = &smtp.envelope;
	smtp.has_question = true;
	session.server = (struct smtp_server *)(void *)&smtp;
	intake_question_init(&session);
}

static int end_questions(void **state)
{
	buffer_clear(&smtp.body);
	return tear_down_session(state);
}

static void finish(int result)
{
	session.message.queued.done(session.message.queued.context, result);
}

/* --- who is asked --- */

static void questions_go_where_they_belong(void **state)
{
	(void)state;
	begin_question(SMTP_QUESTION_RECIPIENT);
	smtp.question.address.text = STR("a@b");
	intake_question_handle(&session);
	assert_int_equal(smtp.lookups, 1);
	begin_question(SMTP_QUESTION_AUTH);
	intake_question_handle(&session);
	assert_int_equal(smtp.auths, 1);
	begin_question(SMTP_QUESTION_CLIENT);
	intake_question_handle(&session);
	assert_int_equal(smtp.claims, 1);
	begin_question(SMTP_QUESTION_RELEASE);
	smtp.question.node = STR("node.test");
	intake_question_handle(&session);
	assert_int_equal(smtp.releases, 1);
	begin_question(SMTP_QUESTION_OPEN);
	smtp.awaits_name = true;
	intake_question_handle(&session);
	assert_int_equal(smtp.opens, 0);
}

/* At MAIL the user may be another one, or may have no sender to judge. */
static void senders_are_judged(void **state)
{
	struct mail_verdict verdict;

	(void)state;
	mail_verdict_set(&verdict, "5.7.1", "not his");
	for (unsigned n = 0; n < 8; n++) {
		bool is_mail = (n & 1) != 0, has_sender = (n & 2) != 0, is_pumping = (n & 4) != 0;

		begin_question(SMTP_QUESTION_SENDERS);
		world.head.user = "lisa";
		smtp.question.envelope = is_mail ? NULL : &smtp.envelope;
		smtp.question.senders = &smtp.sender;
		smtp.question.sender_count = has_sender;
		intake_question_handle(&session);
		assert_int_equal(smtp.then != NULL, is_mail);
		if (is_mail)
			smtp.then(&session);
		assert_int_equal(smtp.senders, has_sender);
		assert_int_equal(session.question.is_asking, has_sender);
		assert_int_equal(smtp.answers, !has_sender);
		if (!has_sender) {
			assert_int_equal(smtp.verdict.class, MAIL_OK);
			assert_string_equal(smtp.verdict.status, "2.0.0");
			continue;
		}
		session.is_pumping = is_pumping;
		smtp.judged(smtp.judged_context, &verdict);
		assert_false(session.question.is_asking);
		assert_string_equal(smtp.verdict.text, "not his");
		assert_int_equal(world.pumped, !is_pumping);
	}
}

/* --- messages --- */

static void open_message(void)
{
	begin_question(SMTP_QUESTION_OPEN);
	intake_question_handle(&session);
	assert_int_equal(smtp.opens, 1);
	assert_true(session.question.is_asking);
	session.message.queued.number = 4711;
	session.message.queued.state = QUEUE_CLIENT_OPEN;
	finish(0);
	assert_false(session.question.is_asking);
	assert_int_equal(smtp.opened, 1);
	assert_int_equal(smtp.id.number, 4711);
	assert_int_equal(session.message.id.number, 4711);
	assert_true(session.message.id.born_us > 0 && session.message.began_us > 0);
}

static void a_message_begins_or_does_not(void **state)
{
	(void)state;
	open_message();
	assert_int_equal(world.pumped, 1);
	begin_question(SMTP_QUESTION_OPEN);
	intake_question_handle(&session);
	finish(-ENOSPC);
	assert_int_equal(smtp.opened, 0);
	assert_string_equal(smtp.verdict.text, "error -28");
	check_log("open -28\n");
}

static void a_message_is_committed_or_not(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 8; n++) {
		bool is_late = (n & 1) != 0, fails = (n & 2) != 0;
		char id[MAIL_ID_SIZE], text[200];

		open_message();
		smtp.is_broken = (n & 4) != 0;
		smtp.question.type = SMTP_QUESTION_COMMIT;
		smtp.question.message_id = STR("<m@b>");
		smtp.has_question = true;
		world.head.user = "lisa";
		buffer_append_string(&smtp.body, "rest");
		session.message.began_us = is_late ? -1 : 1;
		intake_question_handle(&session);
		assert_int_equal(smtp.commits, !is_late);
		assert_int_equal(smtp.abandoned, is_late);
		assert_int_equal(session.question.is_asking, !is_late);
		if (!is_late)
			finish(fails ? -EIO : 0);
		assert_false(session.question.is_asking);
		assert_int_equal(smtp.answers, 1);
		assert_int_equal(smtp.body.length, 0);
		assert_int_equal(smtp.accepted, !is_late && !fails);
		if (smtp.accepted == 0) {
			check_log(is_late ? "commit -110\n" : "commit -5\n");
			assert_string_equal(smtp.verdict.text, is_late ? "error -110" : "error -5");
			continue;
		}
		mail_id_format(session.message.id, id);
		snprintf(text, sizeof text, "queued as %s", id);
		assert_string_equal(smtp.verdict.text, text);
		assert_string_equal(smtp.verdict.status, "2.0.0");
		snprintf(text, sizeof text,
			 "SIGNATURE_BROKEN client=192.0.2.7 client_port=4711 session=1:2 "
			 "id=4711-%lld user=lisa from=s@b message_id=<m@b>\n",
			 (long long)session.message.id.born_us);
		check_log(smtp.is_broken ? text : "");
	}
}

static void what_is_refused_is_given_up(void **state)
{
	static const enum queue_client_state states[] = {QUEUE_CLIENT_IDLE, QUEUE_CLIENT_OPENING,
							 QUEUE_CLIENT_OPEN, QUEUE_CLIENT_SHARING,
							 QUEUE_CLIENT_COMMITTING};

	(void)state;
	for (size_t i = 0; i < 2 * COUNT_OF(states); i++) {
		enum queue_client_state before = states[i / 2];
		bool is_over = i % 2 == 0 &&
			       (before == QUEUE_CLIENT_OPEN || before == QUEUE_CLIENT_SHARING);

		open_message();
		session.message.queued.state = before;
		session.question.is_asking = true;
		smtp.is_open = i % 2 != 0;
		intake_question_spool_body(&session);
		assert_int_equal(smtp.abandoned, is_over);
		assert_int_equal(session.question.is_asking,
				 !is_over || before != QUEUE_CLIENT_SHARING);
	}
}

static void a_large_message_is_written(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 48; n++) {
		bool is_full = (n & 1) != 0, is_late = (n & 2) != 0, has_question = (n & 4) != 0;
		bool fails_late = is_late && !has_question;
		bool writes = is_full && !has_question && !is_late;

		open_message();
		smtp.shares_late = (n & 8) != 0;
		smtp.write_error = n / 16 == 1 ? -EIO : 0;
		smtp.has_question = has_question;
		session.message.began_us = is_late ? -1 : 1;
		for (size_t i = is_full ? 0 : 1; i < SMTP_SERVER_BODY_MAX; i++)
			buffer_append_byte(&smtp.body, 'x');
		intake_question_spool_body(&session);
		assert_int_equal(smtp.writes, !writes ? 0 : smtp.shares_late ? 1 : 2);
		assert_int_equal(session.question.is_asking, writes && smtp.shares_late);
		assert_int_equal(smtp.failed, fails_late || (writes && !smtp.shares_late &&
							     smtp.write_error < 0));
		if (smtp.failed > 0) {
			check_log(fails_late ? "write -110\n" : "write -5\n");
			assert_int_equal(smtp.abandoned, 1);
		}
		if (!writes || !smtp.shares_late)
			continue;
		session.message.queued.state = QUEUE_CLIENT_OPEN;
		smtp.is_open = n / 16 < 2; /* else the engine has given it up */
		world.pumped = 0;
		finish(-ENOSPC);
		assert_false(session.question.is_asking);
		assert_int_equal(world.pumped, 1);
		assert_int_equal(smtp.failed, n / 16 < 2);
		check_log(n / 16 < 2 ? "write -28\n" : "");
	}
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up_session, end_questions)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(questions_go_where_they_belong), CASE(senders_are_judged),
		CASE(a_message_begins_or_does_not),   CASE(a_message_is_committed_or_not),
		CASE(what_is_refused_is_given_up),    CASE(a_large_message_is_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
