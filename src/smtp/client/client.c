// SPDX-License-Identifier: ISC
#include "smtp/client/client.h"
#include "base/panic.h"
#include "smtp/client/internal.h"
#include <stdlib.h>

struct smtp_client *smtp_client_new(const struct smtp_client_settings *settings)
{
	struct smtp_client *client = memory_alloc_zero(1, sizeof *client);

	client->protocol = settings->protocol;
	client->hostname = memory_copy_string(settings->hostname);
	client->peer = memory_copy_string(settings->peer);
	client->timeout_us = settings->timeout_us;
	client->tls = settings->tls;
	client->tls_timeout_us = settings->tls_timeout_us;
	client->avoids_chunks = settings->avoids_chunks;
	client->login.is_wanted = settings->wants_login;
	client->output.is_secret = client->login.sent.is_secret = settings->wants_login;
	client->login.initial.is_secret = settings->wants_login;
	client->login.may_be_plain = settings->may_login_plainly;
	client->watch = settings->watch;
	client->watch_context = settings->watch_context;
	client->verdicts = arena_new();
	client->state = CLIENT_GREETING;
	return client;
}

void smtp_client_free(struct smtp_client *client)
{
	if (client == NULL)
		return;
	client_secret_forget(client);
	smtp_client_reply_clear(&client->reply);
	buffer_clear(&client->output);
	buffer_clear(&client->chunk);
	smtp_stuffing_clear(&client->stuffing);
	arena_free(client->verdicts);
	free(client->hostname);
	free(client->peer);
	free(client);
}

void smtp_client_begin(struct smtp_client *client, const struct smtp_client_message *message)
{
	arena_reset(client->verdicts);
	client->message = *message;
	client->is_answered = false;
	client->is_in_doubt = false;
	client->slower = NULL;
	client->refused = NULL;
	client->has_accepted = false;
	client->is_taken = false;
	client->chunk_count = 0;
	buffer_reset(&client->chunk);
	smtp_stuffing_clear(&client->stuffing);
	client->stuffing = (struct smtp_stuffing){
		.breaks_lines = client->protocol == SMTP_CLIENT_SMTP && message->has_long_lines};
	for (size_t i = 0; i < message->recipient_count; i++) {
		message->recipients[i].verdict = NULL;
		message->recipients[i].again = SMTP_CLIENT_LATER;
		message->recipients[i].is_asked = false;
		message->recipients[i].is_accepted = false;
		message->recipients[i].is_passed_on = false;
		message->recipients[i].is_slower = false;
		message->recipients[i].is_timed = false;
	}
	if (client->state == CLIENT_READY)
		client_start_transaction(client);
}

/* Nothing of what came with the reply to STARTTLS is TLS: somebody may have put it there. */
static void check_injected(struct smtp_client *client, struct str input)
{
	if (client->state != CLIENT_TLS || input.length == 0)
		return;
	client->is_injected = true;
	client_break_session(client, "plain text after the reply to STARTTLS");
}

void smtp_client_input(struct smtp_client *client, struct str input)
{
	check_injected(client, input);
	while (client->state != CLIENT_CLOSED && input.length > 0) {
		switch (smtp_client_reply_take(&client->reply, &input)) {
		case SMTP_CLIENT_REPLY_MORE:
			break;
		case SMTP_CLIENT_REPLY_COMPLETE:
			client->reply_count++;
			client_tell_reply(client);
			client_on_reply(client);
			check_injected(client, input);
			break;
		case SMTP_CLIENT_REPLY_MALFORMED:
			client_break_session(client, "a malformed reply");
			break;
		}
	}
}

/* Whether a session that ends now ends because of TLS. A server that rejects the handshake last, as
 * with TLS 1.3, does it when ours is done. */
static bool is_unproven(const struct smtp_client *client)
{
	return client->state == CLIENT_STARTTLS || client->state == CLIENT_TLS ||
	       (client->is_secured && !client->is_proven);
}

static bool is_in_first_transaction(const struct smtp_client *client)
{
	return client->completed == 0 && client->message.recipient_count > 0 &&
	       client->state > CLIENT_READY && client->state < CLIENT_CLOSED;
}

bool smtp_client_is_beginning(const struct smtp_client *client)
{
	return client->completed == 0 &&
	       (client->state <= CLIENT_HELO || client->state == CLIENT_FORWARD ||
		client->state == CLIENT_MAIL);
}

void smtp_client_lost(struct smtp_client *client, const char *reason)
{
	struct mail_verdict *verdict;

	if (client->state == CLIENT_CLOSED)
		return;
	verdict = client_new_verdict(client);
	mail_verdict_set(verdict, "4.4.2", "connection with %s lost while waiting for %s: %s",
			 client->peer, client_state_name(client->state), reason);
	client_tell_end(client, verdict);
	client->is_in_doubt = smtp_client_is_deciding(client);
	client->is_unanswered = client->is_in_doubt;
	client->is_insecure = is_unproven(client);
	client->is_broken = is_in_first_transaction(client) && !client->is_in_doubt;
	client_fail_session(client, verdict);
}

void smtp_client_timed_out(struct smtp_client *client)
{
	struct mail_verdict *verdict;

	if (client->state == CLIENT_CLOSED)
		return;
	verdict = client_new_verdict(client);
	mail_verdict_set(verdict, "4.4.2", "%s took too long: %s", client->peer,
			 client_state_name(client->state));
	client_tell_end(client, verdict);
	client->is_in_doubt = smtp_client_is_deciding(client);
	client->is_unanswered = client->is_in_doubt;
	client->is_insecure = is_unproven(client);
	client->is_silent = smtp_client_is_beginning(client) && !client->is_insecure;
	client->taken = 0; /* a server that has had enough says so */
	client_fail_session(client, verdict);
	client->is_stale = false;
}

void smtp_client_secured(struct smtp_client *client)
{
	if (client->state != CLIENT_TLS)
		return;
	client->is_secured = true;
	client_enter(client, CLIENT_HELLO);
}

void smtp_client_insecure(struct smtp_client *client, const char *reason)
{
	struct mail_verdict *verdict = client_new_verdict(client);

	mail_verdict_set(verdict, "4.7.5", "TLS with %s failed: %s", client->peer, reason);
	client_tell_end(client, verdict);
	client->is_insecure = true;
	client_fail_session(client, verdict);
}

void smtp_client_abandon(struct smtp_client *client, const char *status, const char *reason)
{
	struct mail_verdict *verdict = client_new_verdict(client);

	mail_verdict_set(verdict, status, "%s", reason);
	client->is_in_doubt = true;
	client_fail_session(client, verdict);
	client->is_stale = false;
	client->is_unserved = false; /* no other server can do better */
}

void smtp_client_form(struct smtp_client *client, uint64_t size)
{
	if (client->state != CLIENT_FORM)
		return;
	if (client->message.is_binary) /* it has become lines of 7 bits */
		client->message.is_8bit = false;
	client->message.is_binary = false;
	client->message.needs_utf8 = false;
	client->message.size = size;
	client->stuffing.breaks_lines = client->protocol == SMTP_CLIENT_SMTP;
	client_begin_commands(client);
}

static const char *missing_extension(const struct smtp_client *client)
{
	if (client->message.is_binary)
		return "BINARYMIME";
	return smtp_client_wanted_form(client) & SMTP_CLIENT_FORM_ASCII_HEADER ? "SMTPUTF8"
									       : "8BITMIME";
}

void smtp_client_refuse_form(struct smtp_client *client, const char *status, const char *reason)
{
	struct mail_verdict *verdict;

	if (client->state != CLIENT_FORM)
		return;
	verdict = client_new_verdict(client);
	mail_verdict_set(verdict, status, "%s does not offer %s, and %s", client->peer,
			 missing_extension(client), reason);
	client_decide_rest(client, verdict);
	client_end_transaction(client, CLIENT_READY);
}

void smtp_client_data(struct smtp_client *client, struct str data, bool is_last)
{
	struct buffer *out = client->uses_chunks ? &client->chunk : &client->output;

	if (client->state != CLIENT_BODY)
		return;
	if (!smtp_stuffing_append(&client->stuffing, data, out) ||
	    (is_last && !smtp_stuffing_end(&client->stuffing, out))) {
		/* The server has not seen the end of the data, so it must discard the message. */
		smtp_client_abandon(client, "5.6.11", "the message has a bare CR or LF");
		return;
	}
	if (client->uses_chunks)
		client_send_chunk(client, is_last);
	if (is_last) {
		client_tell_message(client);
		client_enter(client, CLIENT_FINAL);
	}
}

void smtp_client_quit(struct smtp_client *client)
{
	if (client->state != CLIENT_READY)
		return;
	client_enter(client, CLIENT_CLOSED);
	client_emit(client, "QUIT\r\n");
	client_tell_output(client, 0);
}

enum smtp_client_status smtp_client_status(const struct smtp_client *client)
{
	switch (client->state) {
	case CLIENT_READY:
		return SMTP_CLIENT_READY;
	case CLIENT_TLS:
		return SMTP_CLIENT_WANTS_TLS;
	case CLIENT_LOGIN:
		return SMTP_CLIENT_WANTS_LOGIN;
	case CLIENT_FORM:
		return SMTP_CLIENT_WANTS_FORM;
	case CLIENT_BODY:
		return SMTP_CLIENT_WANTS_DATA;
	case CLIENT_CLOSED:
		return SMTP_CLIENT_CLOSED;
	default:
		return SMTP_CLIENT_WAITING;
	}
}

int64_t smtp_client_timeout_us(const struct smtp_client *client)
{
	if (client->state == CLIENT_STARTTLS || client->state == CLIENT_TLS)
		return client->tls_timeout_us;
	return client->state == CLIENT_FINAL ? 2 * client->timeout_us : client->timeout_us;
}

struct str smtp_client_output(const struct smtp_client *client)
{
	return buffer_view(&client->output);
}

void smtp_client_sent(struct smtp_client *client, size_t count)
{
	buffer_consume(&client->output, count);
	if (count > 0)
		client->is_unsent = false;
}

bool smtp_client_is_before_mail(const struct smtp_client *client)
{
	return client->message.recipient_count > 0 && client->state <= CLIENT_READY;
}

unsigned smtp_client_reply_count(const struct smtp_client *client)
{
	return client->reply_count;
}

bool smtp_client_is_unserved(const struct smtp_client *client)
{
	return client->is_unserved;
}

bool smtp_client_is_stale(const struct smtp_client *client)
{
	return client->is_stale;
}

bool smtp_client_is_insecure(const struct smtp_client *client)
{
	return client->is_insecure;
}

bool smtp_client_is_broken(const struct smtp_client *client)
{
	return client->is_broken;
}

bool smtp_client_is_silent(const struct smtp_client *client)
{
	return client->is_silent;
}

bool smtp_client_is_unanswered(const struct smtp_client *client)
{
	return client->is_unanswered;
}

bool smtp_client_is_injected(const struct smtp_client *client)
{
	return client->is_injected;
}

const char *smtp_client_server_name(const struct smtp_client *client)
{
	return client->server_name;
}

bool smtp_client_is_login_refused(const struct smtp_client *client)
{
	return client->login.is_refused;
}

bool smtp_client_is_used_up(const struct smtp_client *client)
{
	return client->capabilities.mail_max > 0 &&
	       client->completed >= client->capabilities.mail_max;
}

bool smtp_client_is_tls_refused(const struct smtp_client *client)
{
	return client->is_refused;
}

const struct mail_verdict *smtp_client_failure(const struct smtp_client *client)
{
	return client->failure;
}
