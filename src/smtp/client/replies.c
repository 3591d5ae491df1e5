// SPDX-License-Identifier: ISC
/* What each reply means in each state of the client. */
#include "smtp/client/internal.h"
#include <string.h>

/* The first word of a greeting, or of a reply to EHLO or HELO. */
static void learn_name(struct smtp_client *client)
{
	struct str text = buffer_view(&client->reply.text);
	size_t length = 0;

	while (length < text.length && length < SMTP_CLIENT_NAME_SIZE - 1 &&
	       text.data[length] > ' ' && text.data[length] <= '~')
		length++;
	if (length == 0)
		return;
	memcpy(client->server_name, text.data, length);
	client->server_name[length] = '\0';
}

static void on_greeting(struct smtp_client *client)
{
	learn_name(client);
	client_enter(client, CLIENT_HELLO);
}

/* The verdict when a server refuses all mail: it says nothing about a recipient. */
static void refuse_mail_for_now(struct smtp_client *client)
{
	struct mail_verdict *verdict = client_reply_verdict(client);

	if (verdict->class == MAIL_FAIL) {
		verdict->class = MAIL_WAIT;
		verdict->status[0] = '4';
	}
	client_fail_session(client, verdict);
}

/* A host without SMTP service says so with 521 or 554 (RFC 7504); others may use these codes for
 * a temporary state or for this client, so another attempt is worthwhile. A local server that
 * says so is not the one intended. */
static void on_greeting_refused(struct smtp_client *client)
{
	if (client->reply.code == 521 && client->protocol == SMTP_CLIENT_SMTP)
		client_fail_session(client, client_reply_verdict(client));
	else
		refuse_mail_for_now(client);
}

static void go_ahead(struct smtp_client *client)
{
	if (client->login.is_wanted)
		client_start_login(client);
	else
		client_be_greeted(client);
}

/* PROBLEM goes on with REST. Nothing is sent in plain text where TLS is demanded. */
static void go_on_in_plain_text(struct smtp_client *client, const char *problem, const char *rest)
{
	struct mail_verdict *verdict;

	if (client->tls != SMTP_CLIENT_TLS_MUST) {
		go_ahead(client);
		return;
	}
	verdict = client_new_verdict(client);
	mail_verdict_set(verdict, "4.7.4", "TLS is required: %s%s", problem, rest);
	client_tell_end(client, verdict);
	client->is_insecure = true;
	client_fail_session(client, verdict);
}

static void on_hello_reply(struct smtp_client *client)
{
	learn_name(client);
	smtp_capabilities_parse(buffer_view(&client->reply.text), &client->capabilities);
	if (client->is_secured || client->tls == SMTP_CLIENT_TLS_NEVER)
		go_ahead(client);
	else if (client->capabilities.has_starttls)
		client_enter(client, CLIENT_STARTTLS);
	else
		go_on_in_plain_text(client, client->peer, " does not offer STARTTLS");
}

/* What it said in plain text may be somebody else's word. */
static void on_starttls_reply(struct smtp_client *client)
{
	client->capabilities = (struct smtp_capabilities){0};
	client_enter(client, CLIENT_TLS);
}

static void on_starttls_refused(struct smtp_client *client)
{
	client->is_refused = true;
	go_on_in_plain_text(client, client_reply_verdict(client)->text, "");
}

/* HELO knows no STARTTLS. */
static void on_helo_reply(struct smtp_client *client)
{
	learn_name(client);
	if (client->is_secured)
		go_ahead(client);
	else
		go_on_in_plain_text(client, client->peer, " knows no EHLO, and so no STARTTLS");
}

static void on_hello_refused(struct smtp_client *client)
{
	if (client->protocol == SMTP_CLIENT_LMTP) /* not an LMTP server: misconfigured */
		refuse_mail_for_now(client);
	else if (client->reply.code >= 500)
		client_enter(client, CLIENT_HELO);
	else
		client_fail_session(client, client_reply_verdict(client));
}

static void on_session_refused(struct smtp_client *client)
{
	client_fail_session(client, client_reply_verdict(client));
}

static void on_reset_reply(struct smtp_client *client)
{
	client->needs_reset = false;
	client_enter(client, client_forwards(client) ? CLIENT_FORWARD : CLIENT_MAIL);
}

/* Also when it is refused: the message is what matters. */
static void on_forward(struct smtp_client *client)
{
	client_enter(client, CLIENT_MAIL);
}

static void on_reset_refused(struct smtp_client *client)
{
	client_break_session(client, "a refusal");
}

static void on_mail_reply(struct smtp_client *client)
{
	client->needs_reset = true;
	(void)client_next_asked(client, 0);
	client_enter(client, CLIENT_RECIPIENT);
}

/* The last reply, at PHASE, is about everybody who has no verdict yet. */
static void decide_rest_at(struct smtp_client *client, enum smtp_client_phase phase)
{
	const struct mail_verdict *verdict = client_reply_verdict(client);

	client_decide_rest(client, verdict);
	if (client_scope_of(client, phase) == SMTP_CLIENT_OF_SESSION)
		client_set_again(client, verdict, SMTP_CLIENT_ANEW);
}

/* The commands sent after it will be answered as well. */
static void on_mail_refused(struct smtp_client *client)
{
	decide_rest_at(client, SMTP_CLIENT_AT_MAIL);
	if (!client->capabilities.has_pipelining) {
		client_end_transaction(client, CLIENT_READY);
		return;
	}
	(void)client_next_asked(client, 0);
	client_enter(client, CLIENT_RECIPIENT);
}

static void go_on_after_recipient(struct smtp_client *client)
{
	if (client_next_asked(client, client->current + 1)) {
		client_enter(client, CLIENT_RECIPIENT);
		return;
	}
	client_judge_refused(client);
	if (client->uses_chunks && client_next_undecided(client, 0))
		client_enter(client, CLIENT_BODY);
	else if (!client->uses_chunks &&
		 (client->capabilities.has_pipelining || client_next_undecided(client, 0)))
		client_enter(client, CLIENT_DATA);
	else
		client_end_transaction(client, CLIENT_READY);
}

static void on_recipient(struct smtp_client *client)
{
	client->message.recipients[client->current].is_accepted = true;
	client->has_accepted = true;
	go_on_after_recipient(client);
}

/* A 452 without an enhanced status means this only after others were accepted, and 552 was once
 * used like 452 is now (RFC 5321 section 4.5.3.1.10). Some servers say 5.5.3 of what the next
 * transaction may have. */
static bool is_too_many(const struct smtp_client *client, const struct mail_verdict *verdict)
{
	struct str text = buffer_view(&client->reply.text);
	bool has_status = text.length > 1 &&
			  text.data[0] == (char)('0' + client->reply.code / 100) &&
			  text.data[1] == '.';

	if (has_status)
		return strcmp(verdict->status + 1, ".5.3") == 0 &&
		       (verdict->class == MAIL_WAIT || client->has_accepted);
	return client->reply.code == 552 || (client->reply.code == 452 && client->has_accepted);
}

static void on_recipient_refused(struct smtp_client *client)
{
	struct smtp_client_recipient *to = &client->message.recipients[client->current];

	if (to->verdict == NULL) {
		struct mail_verdict *verdict = client_reply_verdict(client);
		bool too_many = is_too_many(client, verdict);

		if (too_many) {
			verdict->class = MAIL_WAIT;
			memcpy(verdict->status, "4.5.3", sizeof "4.5.3");
		}
		client_decide(client, to, verdict);
		client_note_refused(client, verdict);
		if (client_scope_of(client, SMTP_CLIENT_AT_RECIPIENT) == SMTP_CLIENT_OF_TRANSACTION)
			to->again = SMTP_CLIENT_HERE;
	}
	go_on_after_recipient(client);
}

/* If no recipient is left, DATA was sent too early; only the end of the data may follow (RFC
 * 2920 section 3.1). */
static void on_data_reply(struct smtp_client *client)
{
	if (client_next_undecided(client, 0)) {
		client_enter(client, CLIENT_BODY);
		return;
	}
	if (client->protocol == SMTP_CLIENT_LMTP) {
		client_break_session(client, "a go-ahead without a recipient");
		return;
	}
	client_emit(client, ".\r\n");
	client_enter(client, CLIENT_FINAL);
}

static void on_data_refused(struct smtp_client *client)
{
	if (client_next_undecided(client, 0))
		decide_rest_at(client, SMTP_CLIENT_AT_DATA);
	client_end_transaction(client, CLIENT_READY);
}

/* LMTP answers once for each recipient, SMTP for all of them. */
static void on_final(struct smtp_client *client)
{
	/* RFC 3030 section 2: after a chunk that was refused only RSET is in order */
	client->needs_reset = client->uses_chunks && client->reply.code >= 400;
	client->is_taken |=
		client->reply.code < 400 && client->current < client->message.recipient_count;
	if (client->current >= client->message.recipient_count) {
		client_end_transaction(client, CLIENT_READY);
		return;
	}
	if (client->protocol == SMTP_CLIENT_SMTP) {
		client_decide_rest(client, client_reply_verdict(client));
		client_end_transaction(client, CLIENT_READY);
		return;
	}
	client_decide(client, &client->message.recipients[client->current],
		      client_reply_verdict(client));
	if (client_next_undecided(client, client->current))
		return;
	client_end_transaction(client, CLIENT_READY);
}

static const struct {
	unsigned success; /* first digit of the reply */
	void (*succeeded)(struct smtp_client *client);
	void (*refused)(struct smtp_client *client); /* with 4yz or 5yz */
} states[] = {
	[CLIENT_GREETING] = {2, on_greeting, on_greeting_refused},
	[CLIENT_HELLO] = {2, on_hello_reply, on_hello_refused},
	[CLIENT_HELO] = {2, on_helo_reply, on_session_refused},
	[CLIENT_STARTTLS] = {2, on_starttls_reply, on_starttls_refused},
	[CLIENT_AUTH] = {2, client_login_on_success, client_login_on_refusal},
	[CLIENT_RESET] = {2, on_reset_reply, on_reset_refused},
	[CLIENT_FORWARD] = {2, on_forward, on_forward},
	[CLIENT_MAIL] = {2, on_mail_reply, on_mail_refused},
	[CLIENT_RECIPIENT] = {2, on_recipient, on_recipient_refused},
	[CLIENT_DATA] = {3, on_data_reply, on_data_refused},
	[CLIENT_FINAL] = {2, on_final, on_final},
};

/* No reply is expected now. During the data a server may refuse early; the session cannot be
 * used after that. */
static bool is_early_reply(const struct smtp_client *client)
{
	if (client->state == CLIENT_FINAL || client->state == CLIENT_BODY)
		return client->output.length > 0 || client->state == CLIENT_BODY;
	return client->state == CLIENT_READY || client->state == CLIENT_FORM ||
	       client->state == CLIENT_TLS || client->state == CLIENT_LOGIN ||
	       (client->is_unsent && client->output.length > 0);
}

static void on_early(struct smtp_client *client)
{
	bool is_refusal = client->reply.code >= 400;

	client->is_injected = client->state == CLIENT_STARTTLS;
	if (is_refusal && (client->state == CLIENT_BODY || client->state == CLIENT_FINAL))
		client_fail_session(client, client_reply_verdict(client));
	else
		client_break_session(client, "a reply to nothing");
}

void client_on_reply(struct smtp_client *client)
{
	unsigned first_digit = client->reply.code / 100;

	client_note_slower(client);
	client->is_proven = client->is_secured;
	if (client->reply.code == 421) {
		client->is_insecure = client->state == CLIENT_STARTTLS;
		client_fail_session(client, client_reply_verdict(client));
		return;
	}
	if (client_take_chunk_reply(client))
		return;
	if (is_early_reply(client)) {
		on_early(client);
		return;
	}
	/* RSET belongs to the previous transaction */
	client->is_answered = client->is_greeted && client->state != CLIENT_RESET;
	if (client->state == CLIENT_AUTH && client->reply.code == 334)
		client_login_on_challenge(client);
	else if (first_digit == states[client->state].success)
		states[client->state].succeeded(client);
	else if (first_digit >= 4)
		states[client->state].refused(client);
	else
		client_break_session(client, "an unexpected reply");
}
