// SPDX-License-Identifier: ISC
#include "session.h"
#include "refusals.h"

static const struct mail_id ID = {457, 1795163591482913};

/* 2026-11-20T08:33:11.482913Z */
static int64_t now_us(void)
{
	return ID.born_us;
}

static struct str mechanisms(void *context)
{
	const struct session *session = context;
	const char *clear = session->mechanisms_clear != NULL ? session->mechanisms_clear : "";
	const char *within = session->mechanisms != NULL ? session->mechanisms
							 : "SCRAM-SHA-256-PLUS SCRAM-SHA-256 PLAIN";

	return str_from(session->has_tls ? within : clear);
}

static void on_refusal(void *context, const struct smtp_refusal *refusal)
{
	struct session *session = context;

	refusals_note(&session->reported, refusal);
}

void session_init(struct session *session)
{
	*session = (struct session){
		.service = {.protocol = SMTP_PROTOCOL_SMTP,
			    .stage = MAIL_STAGE_ARRIVE,
			    .hostname = "mx.example.org",
			    .on_refusal = on_refusal,
			    .mechanisms = mechanisms,
			    .now_us = now_us,
			    /* marks of which the transcripts have: header/loop.h */
			    .site_key = {0x0706050403020100, 0x0f0e0d0c0b0a0908},
			    .limits = {.message_size = 1000000,
				       .recipients = 100,
				       .errors = 20,
				       .hops = 30,
				       .line = 4096,
				       .command_timeout = 300,
				       .data_timeout = 600}},
		.peer = {.address = "192.0.2.7", .name = "", .port = 53112},
	};
}

void session_clear(struct session *session)
{
	smtp_server_free(session->server);
	buffer_clear(&session->kept);
	buffer_clear(&session->output);
	buffer_clear(&session->reported);
	buffer_clear(&session->file);
	buffer_clear(&session->traces);
	buffer_clear(&session->messages);
	buffer_clear(&session->envelopes);
	buffer_clear(&session->exchanges);
}

void session_start(struct session *session)
{
	session->peer.context = session;
	session->server = smtp_server_new(&session->service, session->peer);
}

static void check(struct session *session, bool holds, const char *rule)
{
	if (!holds && session->fault == NULL)
		session->fault = rule;
}

static void flush(struct session *session)
{
	struct buffer *output = smtp_server_output(session->server);

	check(session, refusals_have_replies(&session->reported, buffer_view(output)),
	      "a refusal that is not reported");
	buffer_reset(&session->reported);
	buffer_append_str(&session->output, buffer_view(output));
	buffer_clear(output);
}

static void drain(struct session *session)
{
	struct buffer *body = smtp_server_body(session->server);

	check(session, session->has_file || body->length == 0, "bytes without a file");
	buffer_append_str(&session->file, buffer_view(body));
	buffer_reset(body);
}

static void append_sender(struct buffer *out, const struct mail_envelope *envelope)
{
	static const char *const ret[] = {"", " ret=full", " ret=hdrs"};
	char release[TIMESTAMP_SIZE];
	char deadline[MAIL_DEADLINE_SIZE];

	buffer_append_format(out, "<" STR_FORMAT ">%s", STR_ARGUMENTS(envelope->sender),
			     ret[envelope->ret]);
	if (envelope->envid.length > 0)
		buffer_append_format(out, " envid=" STR_FORMAT, STR_ARGUMENTS(envelope->envid));
	buffer_append_string(out, envelope->binary ? " binarymime" : "");
	buffer_append_string(out, envelope->utf8 ? " smtputf8" : "");
	buffer_append_string(out, envelope->require_tls ? " requiretls" : "");
	if (envelope->priority != 0)
		buffer_append_format(out, " priority=%d", envelope->priority);
	mail_deadline_format(&envelope->deadline, deadline);
	if (envelope->deadline.mode != MAIL_DEADLINE_NONE)
		buffer_append_format(out, " by=%s", deadline);
	timestamp_format(envelope->release_us, release);
	if (envelope->release_us > 0)
		buffer_append_format(out, " release=%s", release);
}

/* NOTIFY as its bits. */
static void append_recipient(struct buffer *out, const struct mail_recipient *recipient)
{
	buffer_append_format(out, " <" STR_FORMAT ">", STR_ARGUMENTS(recipient->address));
	if (recipient->notify > 0)
		buffer_append_format(out, " notify=%u", recipient->notify);
	if (recipient->original.length > 0)
		buffer_append_format(out, " orcpt=" STR_FORMAT, STR_ARGUMENTS(recipient->original));
}

static void store(struct session *session, const struct mail_envelope *envelope)
{
	struct str file = buffer_view(&session->file);

	session->message_count++;
	buffer_append(&session->traces, file.data, session->trace_size);
	buffer_append_str(&session->messages, str_skip(file, session->trace_size));
	append_sender(&session->envelopes, envelope);
	for (size_t i = 0; i < envelope->recipient_count; i++)
		append_recipient(&session->envelopes, &envelope->recipients[i]);
	buffer_append_format(&session->envelopes, " %s " STR_FORMAT "\r\n",
			     mail_stage_name(envelope->stage), STR_ARGUMENTS(envelope->received));
}

static void abandon(struct session *session)
{
	session->has_file = false;
	buffer_clear(&session->file);
}

/* What must hold while a question is pending, however long it takes. */
static void poke(struct session *session)
{
	struct smtp_server *server = session->server;
	struct str kept = buffer_view(&session->kept);

	flush(session);
	check(session, !smtp_server_is_ready(server), "ready with a question pending");
	check(session, smtp_server_input(server, kept.data, kept.length) == 0,
	      "input consumed with a question pending");
	check(session, smtp_server_timeout_seconds(server) == 0, "a timeout while asking");
	smtp_server_timeout(server);
	check(session, !smtp_server_is_closed(server), "closed with a question pending");
	check(session, smtp_server_output(server)->length == 0, "a reply with a question pending");
}

static void answer_open(struct session *session)
{
	check(session, !session->has_file, "a second file");
	smtp_server_answer_open(session->server, ID);
	session->has_file = true;
	session->trace_size = smtp_server_body(session->server)->length;
	check(session,
	      smtp_server_message_is_open(session->server) ||
		      smtp_server_is_closed(session->server),
	      "no message is open");
}

static void answer_commit(struct session *session, const struct smtp_question *question,
			  const struct mail_verdict *verdict)
{
	check(session, session->has_file, "a commit without a file");
	drain(session);
	check(session, question->envelope->size == session->file.length, "the size is wrong");
	check(session, question->envelope->id.number == ID.number, "the id is wrong");
	if (verdict->class == MAIL_OK)
		store(session, question->envelope);
	abandon(session);
	smtp_server_answer(session->server, verdict);
	check(session, !smtp_server_message_is_open(session->server), "open after its commit");
}

/* The client's rights go with it. */
static void answer_client(struct session *session, const struct smtp_question *question,
			  const struct mail_verdict *verdict)
{
	struct smtp_peer peer = session->peer;

	if (verdict->class == MAIL_OK) {
		peer.name = question->claim->name;
		peer.port = question->claim->port;
		if (question->claim->address[0] != '\0') {
			peer.address = question->claim->address;
			peer.is_ours = false;
		}
		smtp_server_set_peer(session->server, peer);
	}
	smtp_server_answer(session->server, verdict);
}

/* The next answer if it is one to QUESTION, or NULL. */
static const struct session_answer *next_answer(struct session *session,
						const struct smtp_question *question)
{
	const struct session_answer *next;

	if (session->answers_used == session->answer_count)
		return NULL;
	next = &session->answers[session->answers_used];
	if (next->type != question->type)
		return NULL;
	session->answers_used++;
	return next;
}

/* "PLAIN", and a response if there is one; ">" when it goes on. */
static void answer_auth(struct session *session, const struct smtp_question *question,
			const struct session_answer *next)
{
	static const struct smtp_auth_answer ok = {.outcome = SMTP_AUTH_ACCEPTED,
						   .user = {"lisa", 4}};
	bool begins = question->mechanism.length > 0;

	check(session, smtp_server_is_authenticating(session->server), "not authenticating");
	check(session, smtp_server_user(session->server).length == 0, "authenticated twice");
	buffer_append_str(&session->exchanges, begins ? question->mechanism : STR(">"));
	if (!begins || question->has_response)
		buffer_append_format(&session->exchanges, " ");
	buffer_append_str(&session->exchanges, question->response);
	buffer_append_string(&session->exchanges, "\r\n");
	if (next == NULL)
		smtp_server_answer_auth(session->server, &ok);
	else
		smtp_server_answer_auth(
			session->server,
			&(struct smtp_auth_answer){.outcome = next->outcome,
						   .message = next->message,
						   .user = next->user != NULL ? str_from(next->user)
									      : STR("")});
}

static void note_senders(struct session *session, const struct smtp_question *question)
{
	struct str user = smtp_server_user(session->server);

	check(session, user.length > 0, "nobody's senders");
	check(session, question->sender_count > 0, "no sender");
	buffer_append_format(&session->exchanges, STR_FORMAT " as:", STR_ARGUMENTS(user));
	for (size_t i = 0; i < question->sender_count; i++)
		buffer_append_format(&session->exchanges, " " STR_FORMAT,
				     STR_ARGUMENTS(question->senders[i]));
	buffer_append_string(&session->exchanges, "\r\n");
}

/* Whether only the login is asked about, at MAIL. */
static bool is_login_alone(const struct smtp_question *question)
{
	return question->type == SMTP_QUESTION_SENDERS && question->sender_count == 0;
}

static void answer(struct session *session, const struct smtp_question *question)
{
	static const struct mail_verdict ok = {MAIL_OK, "2.0.0", "queued"};
	const struct session_answer *next = NULL;
	const struct mail_verdict *verdict;

	if (is_login_alone(question)) {
		check(session, question->envelope == NULL, "a login is asked about amid a message");
		smtp_server_answer(session->server, &ok);
		return;
	}
	next = next_answer(session, question);
	if (next != NULL && next->is_shutdown) {
		smtp_server_shutdown(session->server);
		poke(session);
		next = next_answer(session, question);
	}
	verdict = next != NULL ? &next->verdict : &ok;
	if (question->type == SMTP_QUESTION_SENDERS)
		note_senders(session, question);
	if (question->type == SMTP_QUESTION_AUTH)
		answer_auth(session, question, next);
	else if (question->type == SMTP_QUESTION_OPEN && verdict->class == MAIL_OK)
		answer_open(session);
	else if (question->type == SMTP_QUESTION_CLIENT)
		answer_client(session, question, verdict);
	else if (question->type == SMTP_QUESTION_COMMIT)
		answer_commit(session, question, verdict);
	else
		smtp_server_answer(session->server, verdict);
}

void session_settle(struct session *session)
{
	const struct smtp_question *question;

	do {
		if (session->has_file && !smtp_server_message_is_open(session->server))
			abandon(session);
		if (smtp_server_body(session->server)->length >= SMTP_SERVER_BODY_MAX)
			drain(session);
		flush(session);
		question = smtp_server_question(session->server);
		if (question == NULL)
			break;
		if (session->is_delayed)
			poke(session);
		answer(session, question);
	} while (!smtp_server_is_closed(session->server));
	flush(session);
}

static void push(struct session *session)
{
	while (session->kept.length > 0) {
		struct str kept = buffer_view(&session->kept);
		bool is_ready = smtp_server_is_ready(session->server);
		size_t consumed = smtp_server_input(session->server, kept.data, kept.length);

		check(session, consumed <= kept.length, "more consumed than given");
		check(session, is_ready == (consumed > 0), "ready, but nothing consumed");
		check(session, smtp_server_body(session->server)->length < 3 * SMTP_SERVER_BODY_MAX,
		      "the body grows without bound");
		check(session,
		      smtp_server_output(session->server)->length < 2 * SMTP_SERVER_OUTPUT_MAX,
		      "the output grows without bound");
		buffer_consume(&session->kept, consumed);
		session_settle(session);
		if (!is_ready)
			return;
	}
}

void session_feed(struct session *session, const char *data, size_t length)
{
	size_t step = session->chunk > 0 ? session->chunk : length;

	while (length > 0) {
		if (step > length)
			step = length;
		buffer_append(&session->kept, data, step);
		push(session);
		data += step;
		length -= step;
	}
}

static bool fail_data(struct session *session, const struct mail_verdict *verdict)
{
	if (!smtp_server_message_is_open(session->server))
		return false;
	smtp_server_data_failed(session->server, verdict);
	return true;
}

static bool begin_tls(struct session *session)
{
	static const struct smtp_tls tls = {"TLSv1.3", "TLS_AES_256_GCM_SHA384"};

	if (!smtp_server_wants_tls(session->server) || session->kept.length > 0)
		return false;
	session->has_tls = true;
	smtp_server_set_tls(session->server, &tls);
	return true;
}

static bool happen(struct session *session, enum session_event event,
		   const struct mail_verdict *verdict)
{
	static const struct smtp_tls implicit = {"TLSv1.2", "ECDHE-RSA-AES256-GCM-SHA384"};

	switch (event) {
	case SESSION_START:
		smtp_server_start(session->server);
		return true;
	case SESSION_EARLY:
		smtp_server_early_talker(session->server, false);
		return true;
	case SESSION_IMPLICIT_TLS:
		session->has_tls = true;
		smtp_server_set_tls(session->server, &implicit);
		return true;
	case SESSION_TIMEOUT:
		smtp_server_timeout(session->server);
		return true;
	case SESSION_SHUTDOWN:
		smtp_server_shutdown(session->server);
		return true;
	case SESSION_FAULT:
		return fail_data(session, verdict);
	case SESSION_NO_FILE:
		return !session->has_file;
	case SESSION_TLS:
		return begin_tls(session);
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
	return smtp_server_is_closed(session->server);
}
