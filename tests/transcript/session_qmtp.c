// SPDX-License-Identifier: ISC
#include "base/panic.h"
#include "qmtp/server.h"
#include "refusals.h"
#include "session.h"
#include <stdlib.h>

static const struct mail_id ID = {457, 1795163591482913};

/* A commit that is answered later. */
struct pending {
	unsigned slot;
	struct mail_verdict verdict;
};

struct qmtp_play {
	struct qmtp_server *server;
	struct buffer files[QMTP_SERVER_SLOTS];
	bool has_file[QMTP_SERVER_SLOTS];
	size_t trace_size[QMTP_SERVER_SLOTS];
	struct pending pending[QMTP_SERVER_SLOTS];
	size_t pending_count;
};

static void on_refusal(void *context, const struct smtp_refusal *refusal)
{
	struct session *session = context;

	refusals_note(&session->reported, refusal);
}

void session_init(struct session *session)
{
	*session = (struct session){
		.service = {.protocol = SMTP_PROTOCOL_QMTP,
			    .stage = MAIL_STAGE_ARRIVE,
			    .hostname = "mx.example.org",
			    .on_refusal = on_refusal,
			    /* marks of which the transcripts have: header/loop.h */
			    .site_key = {0x0706050403020100, 0x0f0e0d0c0b0a0908},
			    .limits = {.message_size = 1000000,
				       .recipients = 100,
				       .errors = 20,
				       .hops = 30,
				       .command_timeout = 300,
				       .data_timeout = 600}},
		.peer = {.address = "192.0.2.7", .name = "", .port = 53112},
	};
}

void session_clear(struct session *session)
{
	struct qmtp_play *play = session->qmtp;

	qmtp_server_free(play->server);
	for (size_t i = 0; i < QMTP_SERVER_SLOTS; i++)
		buffer_clear(&play->files[i]);
	free(play);
	buffer_clear(&session->kept);
	buffer_clear(&session->output);
	buffer_clear(&session->reported);
	buffer_clear(&session->traces);
	buffer_clear(&session->messages);
	buffer_clear(&session->envelopes);
}

void session_start(struct session *session)
{
	session->peer.context = session;
	session->qmtp = memory_alloc_zero(1, sizeof *session->qmtp);
	session->qmtp->server = qmtp_server_new(&session->service, session->peer);
}

static void check(struct session *session, bool holds, const char *rule)
{
	if (!holds && session->fault == NULL)
		session->fault = rule;
}

static void flush(struct session *session)
{
	struct buffer *output = qmtp_server_output(session->qmtp->server);

	check(session, refusals_have_answers(&session->reported, buffer_view(output)),
	      "a refusal that is not reported");
	buffer_append_str(&session->output, buffer_view(output));
	buffer_clear(output);
}

static void abandon_files(struct session *session)
{
	struct qmtp_play *play = session->qmtp;

	for (unsigned i = 0; i < QMTP_SERVER_SLOTS; i++) {
		if (!play->has_file[i] || qmtp_server_is_open(play->server, i))
			continue;
		play->has_file[i] = false;
		buffer_clear(&play->files[i]);
	}
}

static void store(struct session *session, const struct qmtp_commit *commit)
{
	const struct mail_envelope *envelope = commit->envelope;
	struct str file = buffer_view(&session->qmtp->files[commit->slot]);
	size_t trace_size = session->qmtp->trace_size[commit->slot];

	session->message_count++;
	buffer_append(&session->traces, file.data, trace_size);
	buffer_append_str(&session->messages, str_skip(file, trace_size));
	buffer_append_format(&session->envelopes, "<" STR_FORMAT ">%s",
			     STR_ARGUMENTS(envelope->sender), envelope->utf8 ? " smtputf8" : "");
	for (size_t i = 0; i < envelope->recipient_count; i++)
		buffer_append_format(&session->envelopes, " <" STR_FORMAT ">",
				     STR_ARGUMENTS(envelope->recipients[i].address));
	buffer_append_format(&session->envelopes, " %s " STR_FORMAT "\r\n",
			     mail_stage_name(envelope->stage), STR_ARGUMENTS(envelope->received));
}

/* The next answer if it is one to a question of TYPE, or NULL. */
static const struct session_answer *next_answer(struct session *session,
						enum smtp_question_type type)
{
	const struct session_answer *next;

	if (session->answers_used == session->answer_count)
		return NULL;
	next = &session->answers[session->answers_used];
	if (next->type != type)
		return NULL;
	session->answers_used++;
	return next;
}

/* What must hold while a question is pending, however long it takes. */
static void poke(struct session *session)
{
	struct qmtp_server *server = session->qmtp->server;
	struct str kept = buffer_view(&session->kept);

	flush(session);
	check(session, !qmtp_server_is_ready(server), "ready with a question pending");
	check(session, qmtp_server_input(server, kept.data, kept.length) == 0,
	      "input consumed with a question pending");
	check(session, qmtp_server_timeout_seconds(server) == 0, "a timeout while asking");
	qmtp_server_timeout(server);
	check(session, !qmtp_server_is_closed(server), "closed with a question pending");
	check(session, qmtp_server_output(server)->length == 0,
	      "an answer with a question pending");
}

static void answer_open(struct session *session, unsigned slot)
{
	struct qmtp_play *play = session->qmtp;

	check(session, !play->has_file[slot], "a second file in a slot");
	qmtp_server_answer_open(play->server, ID);
	if (!qmtp_server_is_open(play->server, slot)) /* it was dropped: the daemon stops */
		return;
	play->has_file[slot] = true;
	play->trace_size[slot] = qmtp_server_body(play->server, &slot)->length;
}

static void answer(struct session *session, const struct qmtp_question *question)
{
	static const struct mail_verdict ok = {MAIL_OK, "2.0.0", "queued"};
	struct qmtp_server *server = session->qmtp->server;
	const struct session_answer *next = next_answer(session, question->type);
	const struct mail_verdict *verdict;

	if (next != NULL && next->is_shutdown) {
		qmtp_server_shutdown(server);
		poke(session);
		next = next_answer(session, question->type);
	}
	verdict = next != NULL ? &next->verdict : &ok;
	if (question->type == SMTP_QUESTION_OPEN && verdict->class == MAIL_OK)
		answer_open(session, question->slot);
	else
		qmtp_server_answer(server, verdict);
}

/* The newest first: the engine must keep the order of its answers. */
static void answer_commits(struct session *session)
{
	struct qmtp_play *play = session->qmtp;

	while (play->pending_count > 0) {
		const struct pending *newest = &play->pending[--play->pending_count];

		check(session, !qmtp_server_is_closed(play->server), "closed amid a commit");
		qmtp_server_answer_commit(play->server, newest->slot, &newest->verdict);
		check(session, !qmtp_server_is_open(play->server, newest->slot),
		      "open after its commit");
		abandon_files(session);
	}
	flush(session);
}

static void take_commit(struct session *session, const struct qmtp_commit *commit)
{
	static const struct mail_verdict ok = {MAIL_OK, "2.0.0", "queued"};
	struct qmtp_play *play = session->qmtp;
	const struct session_answer *next = next_answer(session, SMTP_QUESTION_COMMIT);
	bool is_shutdown = next != NULL && next->is_shutdown;
	const struct mail_verdict *verdict;
	struct buffer *file = &play->files[commit->slot];

	if (is_shutdown)
		next = next_answer(session, SMTP_QUESTION_COMMIT);
	verdict = next != NULL ? &next->verdict : &ok;
	check(session, play->has_file[commit->slot], "a commit without a file");
	buffer_append_str(file, commit->body);
	check(session, commit->envelope->size == file->length, "the size is wrong");
	check(session, commit->envelope->id.number == ID.number, "the id is wrong");
	check(session, commit->envelope->recipient_count > 0, "a commit without a recipient");
	if (verdict->class == MAIL_OK)
		store(session, commit);
	play->pending[play->pending_count++] = (struct pending){commit->slot, *verdict};
	check(session, qmtp_server_commit_count(play->server) == play->pending_count,
	      "the commits are not counted");
	if (is_shutdown)
		qmtp_server_shutdown(play->server);
	if (!session->is_delayed)
		answer_commits(session);
}

static void write_body(struct session *session)
{
	unsigned slot;
	struct buffer *body = qmtp_server_body(session->qmtp->server, &slot);

	if (body == NULL || body->length < SMTP_SERVER_BODY_MAX)
		return;
	buffer_append_str(&session->qmtp->files[slot], buffer_view(body));
	buffer_reset(body);
}

void session_settle(struct session *session)
{
	struct qmtp_server *server = session->qmtp->server;
	const struct qmtp_question *question;
	struct qmtp_commit commit;

	do {
		abandon_files(session);
		write_body(session);
		flush(session);
		while (qmtp_server_take_commit(server, &commit))
			take_commit(session, &commit);
		question = qmtp_server_question(server);
		if (question == NULL)
			break;
		if (session->is_delayed)
			poke(session);
		answer(session, question);
	} while (!qmtp_server_is_closed(server));
	flush(session);
	abandon_files(session);
}

/* Whether the engine took all that it was given. */
static bool push(struct session *session)
{
	struct qmtp_server *server = session->qmtp->server;

	while (session->kept.length > 0) {
		struct str kept = buffer_view(&session->kept);
		bool is_ready = qmtp_server_is_ready(server);
		size_t consumed = qmtp_server_input(server, kept.data, kept.length);
		unsigned slot;
		struct buffer *body = qmtp_server_body(server, &slot);

		check(session, consumed <= kept.length, "more consumed than given");
		check(session, is_ready == (consumed > 0), "ready, but nothing consumed");
		check(session, body == NULL || body->length < 3 * SMTP_SERVER_BODY_MAX,
		      "the body grows without bound");
		buffer_consume(&session->kept, consumed);
		session_settle(session);
		if (!is_ready)
			return false;
	}
	return true;
}

/* When nothing more is taken, the commits are what it waits for. */
static void push_all(struct session *session)
{
	while (!push(session) && session->qmtp->pending_count > 0) {
		answer_commits(session);
		session_settle(session);
	}
}

void session_feed(struct session *session, const char *data, size_t length)
{
	size_t step = session->chunk > 0 ? session->chunk : length;

	while (length > 0) {
		if (step > length)
			step = length;
		buffer_append(&session->kept, data, step);
		push_all(session);
		data += step;
		length -= step;
	}
	answer_commits(session);
	session_settle(session);
}

static bool fail_data(struct session *session, const struct mail_verdict *verdict)
{
	unsigned slot;

	if (qmtp_server_body(session->qmtp->server, &slot) == NULL)
		return false;
	qmtp_server_data_failed(session->qmtp->server, verdict);
	return true;
}

static bool has_no_file(const struct session *session)
{
	bool has_none = true;

	for (size_t i = 0; i < QMTP_SERVER_SLOTS; i++)
		has_none &= !session->qmtp->has_file[i];
	return has_none;
}

static bool happen(struct session *session, enum session_event event,
		   const struct mail_verdict *verdict)
{
	static const struct smtp_tls implicit = {"TLSv1.2", "ECDHE-RSA-AES256-GCM-SHA384"};
	struct qmtp_server *server = session->qmtp->server;

	switch (event) {
	case SESSION_START:
		qmtp_server_start(server);
		return true;
	case SESSION_IMPLICIT_TLS:
		qmtp_server_set_tls(server, &implicit);
		return true;
	case SESSION_TIMEOUT:
		qmtp_server_timeout(server);
		return true;
	case SESSION_SHUTDOWN:
		qmtp_server_shutdown(server);
		return true;
	case SESSION_FAULT:
		return fail_data(session, verdict);
	case SESSION_NO_FILE:
		return has_no_file(session);
	case SESSION_EARLY:
	case SESSION_TLS:
		return false;
	}
	return false;
}

bool session_happen(struct session *session, enum session_event event,
		    const struct mail_verdict *verdict)
{
	bool has_happened = happen(session, event, verdict);

	session_settle(session);
	return has_happened;
}

bool session_is_closed(const struct session *session)
{
	return qmtp_server_is_closed(session->qmtp->server);
}
