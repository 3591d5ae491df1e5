// SPDX-License-Identifier: ISC
#include "smtp/server/server.h"
#include "base/panic.h"
#include "smtp/server/internal.h"
#include <stdlib.h>

struct smtp_server *smtp_server_new(const struct smtp_service *service, struct smtp_peer peer)
{
	struct smtp_server *s = memory_alloc_zero(1, sizeof *s);

	s->service = service;
	s->peer = peer;
	s->state = SMTP_STATE_NEW;
	s->line.is_secret = true;
	s->shown = SIZE_MAX;
	return s;
}

void smtp_server_free(struct smtp_server *s)
{
	if (s == NULL)
		return;
	smtp_transaction_end(s);
	smtp_auth_forget(s);
	buffer_clear(&s->line);
	buffer_clear(&s->output);
	free(s->helo);
	free(s->claim);
	free(s->forwarded);
	free(s->node);
	free(s);
}

void smtp_server_set_peer(struct smtp_server *s, struct smtp_peer peer)
{
	s->peer = peer;
}

void smtp_server_set_peer_name(struct smtp_server *s, const char *name)
{
	s->peer.name = name;
}

void smtp_server_set_peer_ours(struct smtp_server *s)
{
	s->peer.is_ours = true;
}

bool smtp_server_wants_tls(const struct smtp_server *s)
{
	return s->state == SMTP_STATE_STARTTLS;
}

void smtp_server_set_tls(struct smtp_server *s, const struct smtp_tls *tls)
{
	if (s->state != SMTP_STATE_STARTTLS && s->state != SMTP_STATE_NEW)
		panic("TLS begins amid a session of the SMTP server");
	s->tls = *tls;
	if (s->state == SMTP_STATE_NEW)
		return;
	free(s->helo);
	s->helo = NULL;
	s->is_extended = false;
	s->shown = SIZE_MAX;
	free(s->claim);
	free(s->forwarded);
	s->claim = s->forwarded = NULL;
	smtp_auth_forget(s);
	smtp_server_enter(s, SMTP_STATE_CONNECTED);
}

void smtp_server_start(struct smtp_server *s)
{
	smtp_reply_banner(s);
	smtp_server_enter(s, SMTP_STATE_CONNECTED);
}

/* Instead of the banner. */
static void refuse_session(struct smtp_server *s, unsigned code, const char *why)
{
	struct buffer text = {0};

	buffer_append_format(&text, "%s %s", s->service->hostname, why);
	buffer_append_byte(&text, '\0');
	/* RFC 2034 section 4: no enhanced status in place of the banner */
	smtp_reply_last(s, code, NULL, buffer_data(&text));
	buffer_clear(&text);
}

void smtp_server_early_talker(struct smtp_server *s, bool is_tls)
{
	refuse_session(s, 554, is_tls ? SMTP_TLS_TOO_EARLY : "You must wait for the greeting");
}

static void end_command_line(struct smtp_server *s)
{
	buffer_reset(&s->line);
	s->line_is_long = false;
}

static size_t take_smtp_bytes(struct smtp_server *s, const char *data, size_t length)
{
	size_t taken;

	if (s->state == SMTP_STATE_DATA) {
		if (smtp_data_take(s, data, length, &taken)) {
			const struct smtp_watch *watch = &s->service->watch;

			if (smtp_watch_is_on(watch))
				smtp_watch_tell_message(watch, s->peer.context,
							s->transaction->text.size);
			smtp_server_enter(s, SMTP_STATE_END);
			smtp_message_end(s);
		}
		return taken;
	}
	if (s->state == SMTP_STATE_CHUNK) {
		if (smtp_chunk_take(s, data, length, &taken) && smtp_chunk_end(s) == SMTP_STEP_DONE)
			end_command_line(s);
		return taken;
	}
	if (!smtp_line_take(s, data, length, &taken))
		return taken;
	smtp_command_came(s);
	if (smtp_command(s) == SMTP_STEP_DONE && s->state != SMTP_STATE_CHUNK)
		end_command_line(s);
	return taken;
}

size_t smtp_server_input(struct smtp_server *s, const char *data, size_t length)
{
	size_t consumed = 0;

	while (consumed < length && smtp_server_is_ready(s))
		consumed += take_smtp_bytes(s, data + consumed, length - consumed);
	if (s->line.length == 0)
		buffer_clear(&s->line);
	return consumed;
}

bool smtp_server_is_ready(const struct smtp_server *s)
{
	return !s->is_asking &&
	       !(s->state & (SMTP_STATE_NEW | SMTP_STATE_CLOSED | SMTP_STATE_STARTTLS)) &&
	       s->body.length < SMTP_SERVER_BODY_MAX && s->output.length < SMTP_SERVER_OUTPUT_MAX;
}

struct buffer *smtp_server_output(struct smtp_server *s)
{
	return &s->output;
}

struct buffer *smtp_server_body(struct smtp_server *s)
{
	return &s->body;
}

bool smtp_server_is_closed(const struct smtp_server *s)
{
	return s->state == SMTP_STATE_CLOSED;
}

bool smtp_server_has_quit(const struct smtp_server *s)
{
	return s->has_quit;
}

bool smtp_server_message_is_open(const struct smtp_server *s)
{
	return s->message_is_open;
}

bool smtp_server_is_receiving(const struct smtp_server *s)
{
	return s->state &
	       (SMTP_STATE_DATA | SMTP_STATE_CHUNK | SMTP_STATE_BETWEEN | SMTP_STATE_END);
}

uint32_t smtp_server_timeout_seconds(const struct smtp_server *s)
{
	if (s->is_asking)
		return 0;
	return s->state & (SMTP_STATE_DATA | SMTP_STATE_CHUNK) ? s->service->limits.data_timeout
							       : s->service->limits.command_timeout;
}

void smtp_server_timeout(struct smtp_server *s)
{
	if (!s->is_asking)
		smtp_reply_last(s, 421, "4.4.2", "Timeout, closing the connection");
}

void smtp_server_shutdown(struct smtp_server *s)
{
	s->is_stopping = true;
	if (!s->is_asking)
		smtp_reply_last(s, 421, "4.3.2", "Service is stopping, try again later");
}

void smtp_server_drain(struct smtp_server *s)
{
	s->is_draining = true;
}

void smtp_server_refuse_session(struct smtp_server *s, const char *text)
{
	if (s->is_asking)
		panic("a client of the SMTP server is turned away amid its question");
	if (s->state == SMTP_STATE_NEW)
		refuse_session(s, 421, text);
	else
		smtp_reply_last(s, 421, "4.3.2", text);
}

void smtp_server_data_failed(struct smtp_server *s, const struct mail_verdict *verdict)
{
	if (!s->message_is_open || s->is_asking || verdict->class == MAIL_OK)
		panic("no message of the SMTP server to give up");
	smtp_message_refuse(s, verdict);
}

bool smtp_server_is_authenticating(const struct smtp_server *s)
{
	return s->state == SMTP_STATE_AUTH;
}

struct str smtp_server_user(const struct smtp_server *s)
{
	return s->user != NULL ? str_from(s->user) : STR("");
}

struct str smtp_server_helo(const struct smtp_server *s)
{
	return s->helo != NULL ? str_from(s->helo) : STR("");
}

/* --- answers --- */

/* Runs the handler that asked again; it now gets the answer. After OPEN the message may already
 * be complete (BDAT 0 LAST), and after SENDERS it is to be committed, or those of the next field
 * are to be judged. */
static void run_again(struct smtp_server *s)
{
	enum smtp_question_type last = s->question.type;
	bool is_again;
	enum smtp_step step;

	s->is_asking = false;
	step = s->state == SMTP_STATE_END ? smtp_message_end(s) : smtp_command(s);
	is_again =
		step == SMTP_STEP_WAIT && s->question.type == last && last != SMTP_QUESTION_SENDERS;
	if (is_again || s->answer != NULL || s->has_opened || s->auth_answer != NULL)
		panic("an SMTP handler asks more than one question");
	if (s->state != SMTP_STATE_CHUNK)
		buffer_clear(&s->line);
	if (s->is_stopping)
		smtp_server_shutdown(s);
}

void smtp_server_answer(struct smtp_server *s, const struct mail_verdict *verdict)
{
	if (!s->is_asking || s->question.type == SMTP_QUESTION_AUTH ||
	    (s->question.type == SMTP_QUESTION_OPEN && verdict->class == MAIL_OK))
		panic("an answer to no question of the SMTP server");
	s->answer = verdict;
	run_again(s);
}

void smtp_server_answer_open(struct smtp_server *s, struct mail_id id)
{
	if (!s->is_asking || s->question.type != SMTP_QUESTION_OPEN)
		panic("an answer to no question of the SMTP server");
	s->opened_id = id;
	s->has_opened = true;
	run_again(s);
}

void smtp_server_answer_auth(struct smtp_server *s, const struct smtp_auth_answer *answer)
{
	if (!s->is_asking || s->question.type != SMTP_QUESTION_AUTH)
		panic("an answer to no question of the SMTP server");
	s->auth_answer = answer;
	run_again(s);
}
