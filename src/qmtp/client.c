// SPDX-License-Identifier: ISC
#include "qmtp/client.h"
#include "base/panic.h"
#include "qmtp/client_answer.h"
#include "qmtp/netstring.h"
#include <stdlib.h>

enum client_state {
	CLIENT_TLS, /* for the driver's handshake */
	CLIENT_READY,
	CLIENT_BODY,   /* for the driver's next part of the message */
	CLIENT_ANSWER, /* for the server's */
	CLIENT_CLOSED,
};

struct qmtp_client {
	char *peer;
	int64_t timeout_us, tls_timeout_us;
	struct smtp_watch watch;
	void *watch_context;
	enum client_state state;
	bool is_secured;                         /* by TLS */
	bool is_proven;                          /* an answer has come by TLS */
	bool is_insecure, is_stale, is_unserved; /* as in smtp/client.h */
	const struct mail_verdict *failure;
	unsigned reply_count;
	unsigned completed; /* number of finished transactions */

	struct smtp_client_message message; /* no recipients: no transaction */
	bool is_in_doubt;                   /* the server may have accepted it, or we hold it
					     * back */
	uint64_t left;                      /* bytes of the message still to come */
	size_t current;                     /* the recipient whose answer is next */
	struct qmtp_answer answer;
	struct buffer output;
	struct arena *verdicts; /* of the current transaction */
};

struct qmtp_client *qmtp_client_new(const struct smtp_client_settings *settings)
{
	struct qmtp_client *client = memory_alloc_zero(1, sizeof *client);

	client->peer = memory_copy_string(settings->peer);
	client->timeout_us = settings->timeout_us;
	client->tls_timeout_us = settings->tls_timeout_us;
	client->watch = settings->watch;
	client->watch_context = settings->watch_context;
	client->verdicts = arena_new();
	/* where TLS is only allowed, there is no way to find out whether the server has it */
	client->state = settings->tls == SMTP_CLIENT_TLS_MUST ? CLIENT_TLS : CLIENT_READY;
	return client;
}

void qmtp_client_free(struct qmtp_client *client)
{
	if (client == NULL)
		return;
	buffer_clear(&client->answer.text);
	buffer_clear(&client->output);
	arena_free(client->verdicts);
	free(client->peer);
	free(client);
}

static void tell(const struct qmtp_client *client, enum smtp_said by, struct str line)
{
	if (smtp_watch_is_on(&client->watch))
		client->watch.line(client->watch_context, by, line);
}

static void tell_text(const struct qmtp_client *client, const char *what, struct str text)
{
	struct buffer line CLEANUP(buffer_clear) = {0};

	buffer_append_format(&line, "(%s) " STR_FORMAT, what, STR_ARGUMENTS(text));
	tell(client, SMTP_SAID_BY_CLIENT, buffer_view(&line));
}

/* --- verdicts --- */

static struct mail_verdict *new_verdict(struct qmtp_client *client)
{
	return arena_alloc(client->verdicts, sizeof(struct mail_verdict));
}

static void decide(struct qmtp_client *client, struct smtp_client_recipient *to,
		   const struct mail_verdict *verdict)
{
	bool is_open = verdict->class == MAIL_WAIT && !client->is_in_doubt;

	to->verdict = verdict;
	to->again = is_open ? SMTP_CLIENT_ELSEWHERE : SMTP_CLIENT_LATER;
}

static void decide_rest(struct qmtp_client *client, const struct mail_verdict *verdict)
{
	for (size_t i = 0; i < client->message.recipient_count; i++)
		if (client->message.recipients[i].verdict == NULL)
			decide(client, &client->message.recipients[i], verdict);
}

/* Makes the first recipient from FROM on that has no verdict the current one. */
static bool next_undecided(struct qmtp_client *client, size_t from)
{
	while (from < client->message.recipient_count &&
	       client->message.recipients[from].verdict != NULL)
		from++;
	client->current = from;
	return from < client->message.recipient_count;
}

static void end_transaction(struct qmtp_client *client, enum client_state state)
{
	client->message = (struct smtp_client_message){0};
	client->completed++;
	client->state = state;
}

static bool is_undecided(const struct qmtp_client *client)
{
	for (size_t i = 0; i < client->message.recipient_count; i++)
		if (client->message.recipients[i].verdict != NULL)
			return false;
	return true;
}

static void fail_session(struct qmtp_client *client, const struct mail_verdict *verdict)
{
	bool is_open = client->message.recipient_count > 0 && !client->is_in_doubt;

	client->is_unserved = is_open && is_undecided(client);
	client->is_stale = is_open && client->completed > 0;
	client->failure = verdict;
	tell(client, SMTP_SAID_NOTHING, str_from(verdict->text));
	decide_rest(client, verdict);
	end_transaction(client, CLIENT_CLOSED);
}

static const char *state_name(const struct qmtp_client *client)
{
	static const char *const names[] = {
		[CLIENT_TLS] = "the TLS handshake",
		[CLIENT_READY] = "the next message",
		[CLIENT_BODY] = "the message to be taken",
		[CLIENT_ANSWER] = "the answer",
		[CLIENT_CLOSED] = "nothing",
	};

	return names[client->state];
}

static void end_session(struct qmtp_client *client, const struct mail_verdict *verdict)
{
	client->is_in_doubt = qmtp_client_is_deciding(client);
	client->is_insecure =
		client->state == CLIENT_TLS || (client->is_secured && !client->is_proven);
	fail_session(client, verdict);
}

void qmtp_client_lost(struct qmtp_client *client, const char *reason)
{
	struct mail_verdict *verdict;

	if (client->state == CLIENT_CLOSED)
		return;
	verdict = new_verdict(client);
	mail_verdict_set(verdict, "4.4.2", "connection with %s lost while waiting for %s: %s",
			 client->peer, state_name(client), reason);
	end_session(client, verdict);
}

void qmtp_client_timed_out(struct qmtp_client *client)
{
	struct mail_verdict *verdict;

	if (client->state == CLIENT_CLOSED)
		return;
	verdict = new_verdict(client);
	mail_verdict_set(verdict, "4.4.2", "%s took too long: %s", client->peer,
			 state_name(client));
	end_session(client, verdict);
	client->is_stale = false;
}

static void break_session(struct qmtp_client *client, const char *reason)
{
	struct mail_verdict *verdict = new_verdict(client);

	mail_verdict_set(verdict, "4.5.0", "%s: %s while waiting for %s", client->peer, reason,
			 state_name(client));
	client->is_in_doubt = qmtp_client_is_deciding(client);
	fail_session(client, verdict);
}

void qmtp_client_abandon(struct qmtp_client *client, const char *status, const char *reason)
{
	struct mail_verdict *verdict = new_verdict(client);

	mail_verdict_set(verdict, status, "%s", reason);
	client->is_in_doubt = true;
	fail_session(client, verdict); /* no other server can do better */
}

void qmtp_client_secured(struct qmtp_client *client)
{
	if (client->state != CLIENT_TLS)
		return;
	client->is_secured = true;
	client->state = CLIENT_READY;
	if (client->message.recipient_count > 0)
		qmtp_client_begin(client, &client->message);
}

void qmtp_client_insecure(struct qmtp_client *client, const char *reason)
{
	struct mail_verdict *verdict = new_verdict(client);

	mail_verdict_set(verdict, "4.7.5", "TLS with %s failed: %s", client->peer, reason);
	client->is_insecure = true;
	fail_session(client, verdict);
}

/* --- a transaction --- */

static bool is_safe(struct str address)
{
	for (size_t i = 0; i < address.length; i++)
		if ((unsigned char)address.data[i] < ' ' || address.data[i] == 0x7f)
			return false;
	return true;
}

/* Decides at once what can be decided without the server. */
static void check_message(struct qmtp_client *client)
{
	struct smtp_client_message *message = &client->message;
	struct mail_verdict *verdict = new_verdict(client);
	struct mail_verdict *unsafe = new_verdict(client);

	mail_verdict_set(unsafe, "5.1.3", "the address cannot be sent");
	if (message->requires_tls)
		mail_verdict_set(verdict, "5.7.30",
				 "the sender requires TLS on the whole way, and QMTP, by which %s "
				 "is reached, cannot say so",
				 client->peer);
	else if (!is_safe(message->sender))
		mail_verdict_set(verdict, "5.1.7", "the sender's address cannot be sent");
	if (verdict->text[0] != '\0')
		decide_rest(client, verdict);
	for (size_t i = 0; i < message->recipient_count; i++) {
		struct smtp_client_recipient *to = &message->recipients[i];

		if (to->verdict == NULL && (to->address.length == 0 || !is_safe(to->address)))
			decide(client, to, unsafe);
		to->is_asked = to->verdict == NULL;
	}
}

void qmtp_client_begin(struct qmtp_client *client, const struct smtp_client_message *message)
{
	arena_reset(client->verdicts);
	client->message = *message;
	client->is_in_doubt = false;
	for (size_t i = 0; i < message->recipient_count; i++) {
		message->recipients[i].verdict = NULL;
		message->recipients[i].again = SMTP_CLIENT_LATER;
		message->recipients[i].is_asked = false;
		message->recipients[i].is_accepted = false;
		message->recipients[i].is_passed_on = false;
	}
	if (client->state != CLIENT_READY)
		return;
	check_message(client);
	if (!next_undecided(client, 0)) {
		end_transaction(client, CLIENT_READY);
		return;
	}
	client->left = message->size;
	qmtp_netstring_begin(&client->output, message->size + 1);
	buffer_append_byte(&client->output, '\r'); /* so lines end with CRLF */
	client->state = CLIENT_BODY;
}

static void emit_envelope(struct qmtp_client *client)
{
	const struct smtp_client_message *message = &client->message;
	struct buffer list CLEANUP(buffer_clear) = {0};

	buffer_append_byte(&client->output, ',');
	qmtp_netstring_append(&client->output, message->sender);
	tell_text(client, "from", message->sender);
	for (size_t i = 0; i < message->recipient_count; i++) {
		if (!message->recipients[i].is_asked)
			continue;
		qmtp_netstring_append(&list, message->recipients[i].address);
		tell_text(client, "to", message->recipients[i].address);
	}
	qmtp_netstring_append(&client->output, buffer_view(&list));
}

void qmtp_client_data(struct qmtp_client *client, struct str data, bool is_last)
{
	if (client->state != CLIENT_BODY)
		return;
	if (data.length > client->left || (is_last && data.length < client->left)) {
		qmtp_client_abandon(client, "4.3.0", "the message has not the size that it should");
		return;
	}
	client->left -= data.length;
	buffer_append_str(&client->output, data);
	if (!is_last)
		return;
	if (smtp_watch_is_on(&client->watch))
		smtp_watch_tell_message(&client->watch, client->watch_context,
					client->message.size);
	emit_envelope(client);
	client->state = CLIENT_ANSWER;
}

void qmtp_client_quit(struct qmtp_client *client)
{
	if (client->state == CLIENT_READY)
		client->state = CLIENT_CLOSED;
}

/* --- answers --- */

static void on_answer(struct qmtp_client *client)
{
	struct smtp_client_recipient *to = &client->message.recipients[client->current];
	struct mail_verdict *verdict = new_verdict(client);

	client->reply_count++;
	client->is_proven = true;
	tell(client, SMTP_SAID_BY_SERVER, buffer_view(&client->answer.text));
	qmtp_answer_verdict(&client->answer, client->peer, verdict);
	to->is_accepted = verdict->class == MAIL_OK;
	decide(client, to, verdict);
	if (!next_undecided(client, client->current + 1))
		end_transaction(client, CLIENT_READY);
}

/* No answer may come before the last byte of the package, nor one that nobody asked for. */
static bool may_answer(const struct qmtp_client *client)
{
	return client->state == CLIENT_ANSWER && client->output.length == 0;
}

void qmtp_client_input(struct qmtp_client *client, struct str input)
{
	while (client->state != CLIENT_CLOSED && client->state != CLIENT_TLS && input.length > 0) {
		if (!may_answer(client)) {
			break_session(client, "an answer that was not asked for");
			return;
		}
		switch (qmtp_answer_take(&client->answer, &input)) {
		case QMTP_ANSWER_MORE:
			break;
		case QMTP_ANSWER_COMPLETE:
			on_answer(client);
			break;
		case QMTP_ANSWER_MALFORMED:
			break_session(client, "a malformed answer");
			break;
		}
	}
}

/* --- what the driver asks --- */

enum smtp_client_status qmtp_client_status(const struct qmtp_client *client)
{
	static const enum smtp_client_status statuses[] = {
		[CLIENT_TLS] = SMTP_CLIENT_WANTS_TLS,   [CLIENT_READY] = SMTP_CLIENT_READY,
		[CLIENT_BODY] = SMTP_CLIENT_WANTS_DATA, [CLIENT_ANSWER] = SMTP_CLIENT_WAITING,
		[CLIENT_CLOSED] = SMTP_CLIENT_CLOSED,
	};

	return statuses[client->state];
}

int64_t qmtp_client_timeout_us(const struct qmtp_client *client)
{
	if (client->state == CLIENT_TLS)
		return client->tls_timeout_us;
	return client->state == CLIENT_ANSWER ? 2 * client->timeout_us : client->timeout_us;
}

struct str qmtp_client_output(const struct qmtp_client *client)
{
	return buffer_view(&client->output);
}

void qmtp_client_sent(struct qmtp_client *client, size_t count)
{
	buffer_consume(&client->output, count);
}

bool qmtp_client_is_deciding(const struct qmtp_client *client)
{
	return client->state == CLIENT_ANSWER && client->output.length == 0;
}

unsigned qmtp_client_reply_count(const struct qmtp_client *client)
{
	return client->reply_count;
}

bool qmtp_client_is_unserved(const struct qmtp_client *client)
{
	return client->is_unserved;
}

bool qmtp_client_is_stale(const struct qmtp_client *client)
{
	return client->is_stale;
}

const struct mail_verdict *qmtp_client_failure(const struct qmtp_client *client)
{
	return client->failure;
}

bool qmtp_client_is_insecure(const struct qmtp_client *client)
{
	return client->is_insecure;
}
