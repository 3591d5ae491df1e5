// SPDX-License-Identifier: ISC
/* The messages of a session at the queue: one is being received, others are being committed. */
#include "base/panic.h"
#include "intake/qmtp/internal.h"
#include "os/clock.h"
#include <errno.h>
#include <stdlib.h>

static struct qmtp_server *qmtp_server_of_package(const struct intake_package *package)
{
	return package->session->packages->server;
}

static void drop_package(struct intake_package *package)
{
	package->session->packages->slots[package->slot] = NULL;
	queue_client_abandon(&package->message);
	free(package);
}

static void answer_package_open(struct intake_package *package, int result)
{
	struct intake_session *session = package->session;
	struct qmtp_server *server = qmtp_server_of_package(package);
	struct mail_verdict verdict;

	if (result < 0) {
		intake_message_log_error(session, NULL, "open", result);
		intake_message_verdict(&verdict, result);
		drop_package(package);
		qmtp_server_answer(server, &verdict);
		return;
	}
	package->id = (struct mail_id){package->message.number, os_clock_wall_us()};
	package->began_us = os_clock_monotonic_us();
	qmtp_server_answer_open(server, package->id);
}

/* The message is discarded: the client is told at its end. */
static void fail_package_data(struct intake_package *package, int error)
{
	struct qmtp_server *server = qmtp_server_of_package(package);
	struct mail_verdict verdict;

	intake_message_log_error(package->session, &package->id, "write", error);
	intake_message_verdict(&verdict, error);
	drop_package(package);
	qmtp_server_data_failed(server, &verdict);
}

static void answer_package_commit(struct intake_package *package, int result)
{
	struct intake_session *session = package->session;
	struct qmtp_server *server = qmtp_server_of_package(package);
	struct qmtp_commit commit = qmtp_server_commit(server, package->slot);
	struct mail_verdict verdict;
	char id[MAIL_ID_SIZE];

	if (result < 0) {
		intake_message_log_error(session, &package->id, "commit", result);
		intake_message_verdict(&verdict, result);
	} else {
		intake_message_accepted(session, package->id, commit.envelope, commit.message_id);
		mail_id_format(package->id, id);
		mail_verdict_set(&verdict, "2.0.0", "ok, queued as %s", id);
	}
	session->commits--;
	drop_package(package);
	qmtp_server_answer_commit(server, commit.slot, &verdict);
}

/* Others of the same group follow at once, and are answered together. */
static void on_package_committed(struct intake_package *package, int result)
{
	struct intake_session *session = package->session;

	answer_package_commit(package, result);
	if (!session->is_pumping)
		os_loop_defer(session->intake->loop, &session->packages->pump);
}

/* It has its number or its file, or is queued; perhaps at once. */
static void on_package_queue_done(void *context, int result)
{
	struct intake_package *package = context;
	struct intake_session *session = package->session;

	if (package->is_committing) {
		on_package_committed(package, result);
		return;
	}
	session->question.is_asking = false;
	if (qmtp_server_question(qmtp_server_of_package(package)) != NULL)
		answer_package_open(package, result);
	else if (result < 0 && qmtp_server_is_open(qmtp_server_of_package(package), package->slot))
		fail_package_data(package, result);
	if (!session->is_pumping)
		session->pump(session);
}

void intake_package_open(struct intake_session *session)
{
	unsigned slot = qmtp_server_question(session->packages->server)->slot;
	struct intake_package *package = memory_alloc_zero(1, sizeof *package);

	if (session->packages->slots[slot] != NULL)
		panic("a slot of a QMTP session has two messages");
	package->session = session;
	package->slot = slot;
	package->message.done = on_package_queue_done;
	package->message.context = package;
	session->packages->slots[slot] = package;
	session->question.is_asking = true;
	queue_client_open(session->intake->queue, &package->message);
}

void intake_package_handle(struct intake_session *session)
{
	const struct qmtp_question *question = qmtp_server_question(session->packages->server);

	if (question->type == SMTP_QUESTION_RECIPIENT)
		intake_lookup_recipient(session, question->address.text,
					question->envelope->sender);
	else if (!intake_lookup_awaits_name(session))
		intake_package_open(session);
}

static void commit_package(struct intake_session *session, const struct qmtp_commit *commit)
{
	struct intake_package *package = session->packages->slots[commit->slot];

	package->is_committing = true;
	session->commits++;
	if (intake_message_is_late(package->began_us))
		on_package_committed(package, -ETIMEDOUT);
	else
		queue_client_commit(&package->message, commit->envelope, commit->body);
}

/* What the engine gave up before its commit. */
static void handle_given_up(struct intake_session *session)
{
	for (unsigned i = 0; i < QMTP_SERVER_SLOTS; i++) {
		struct intake_package *package = session->packages->slots[i];

		if (package == NULL || package->is_committing ||
		    package->message.state == QUEUE_CLIENT_OPENING ||
		    qmtp_server_is_open(session->packages->server, i))
			continue;
		if (package->message.state == QUEUE_CLIENT_SHARING)
			session->question.is_asking = false;
		drop_package(package);
	}
}

/* Whether there is more to be done for it now. */
static bool spool_package_file(struct intake_session *session)
{
	unsigned slot;
	struct buffer *body = qmtp_server_body(session->packages->server, &slot);
	struct intake_package *package = body != NULL ? session->packages->slots[slot] : NULL;
	int error = 0;

	if (package == NULL || package->message.state != QUEUE_CLIENT_OPEN)
		return false;
	if (qmtp_server_question(session->packages->server) == NULL &&
	    intake_message_is_late(package->began_us))
		error = -ETIMEDOUT;
	else if (body->length < SMTP_SERVER_BODY_MAX)
		return false;
	else if (!intake_message_write(session, &package->message, &package->id, body, &error)) {
		body = qmtp_server_body(session->packages->server, &slot);
		session->question.is_asking =
			body != NULL && session->packages->slots[slot] != NULL &&
			session->packages->slots[slot]->message.state == QUEUE_CLIENT_SHARING;
		return body != NULL && !session->question.is_asking;
	}
	if (error < 0)
		fail_package_data(package, error);
	return false;
}

void intake_package_spool_body(struct intake_session *session)
{
	struct qmtp_commit complete;

	handle_given_up(session);
	while (qmtp_server_take_commit(session->packages->server, &complete))
		commit_package(session, &complete);
	while (spool_package_file(session))
		continue;
}

uint64_t intake_package_unfinished(const struct intake_session *session)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < QMTP_SERVER_SLOTS; i++)
		if (session->packages->slots[i] != NULL)
			bytes += queue_client_unfinished(&session->packages->slots[i]->message);
	return bytes;
}

void intake_package_cancel(struct intake_session *session)
{
	os_task_cancel(session->intake->loop, &session->packages->pump);
	for (unsigned i = 0; i < QMTP_SERVER_SLOTS; i++)
		if (session->packages->slots[i] != NULL)
			drop_package(session->packages->slots[i]);
}
