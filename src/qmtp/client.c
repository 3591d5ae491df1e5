// SPDX-License-Identifier: ISC
#include "qmtp/client.h"
#include "base/panic.h"
#include "qmtp/internal_client.h"
#include <stdlib.h>

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

static const char *name_of_client_state(const struct qmtp_client *client)
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

static void end_qmtp_client_session(struct qmtp_client *client, const struct mail_verdict *verdict)
{
	client->is_in_doubt = qmtp_client_is_deciding(client);
	client->is_insecure =
		client->state == CLIENT_TLS || (client->is_secured && !client->is_proven);
	qmtp_client_fail_session(client, verdict);
}

void qmtp_client_lost(struct qmtp_client *client, const char *reason)
{
	struct mail_verdict *verdict;

	if (client->state == CLIENT_CLOSED)
		return;
	verdict = qmtp_client_new_verdict(client);
	mail_verdict_set(verdict, "4.4.2", "connection with %s lost while waiting for %s: %s",
			 client->peer, name_of_client_state(client), reason);
	end_qmtp_client_session(client, verdict);
}

void qmtp_client_timed_out(struct qmtp_client *client)
{
	struct mail_verdict *verdict;

	if (client->state == CLIENT_CLOSED)
		return;
	verdict = qmtp_client_new_verdict(client);
	mail_verdict_set(verdict, "4.4.2", "%s took too long: %s", client->peer,
			 name_of_client_state(client));
	end_qmtp_client_session(client, verdict);
	client->is_stale = false;
}

static void break_session(struct qmtp_client *client, const char *reason)
{
	struct mail_verdict *verdict = qmtp_client_new_verdict(client);

	mail_verdict_set(verdict, "4.5.0", "%s: %s while waiting for %s", client->peer, reason,
			 name_of_client_state(client));
	client->is_in_doubt = qmtp_client_is_deciding(client);
	qmtp_client_fail_session(client, verdict);
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
	struct mail_verdict *verdict = qmtp_client_new_verdict(client);

	mail_verdict_set(verdict, "4.7.5", "TLS with %s failed: %s", client->peer, reason);
	client->is_insecure = true;
	qmtp_client_fail_session(client, verdict);
}

void qmtp_client_quit(struct qmtp_client *client)
{
	if (client->state == CLIENT_READY)
		client->state = CLIENT_CLOSED;
}

/* --- answers --- */

static void on_qmtp_answer(struct qmtp_client *client)
{
	struct smtp_client_recipient *to = &client->message.recipients[client->current];
	struct mail_verdict *verdict = qmtp_client_new_verdict(client);

	client->reply_count++;
	client->is_proven = true;
	qmtp_client_tell(client, SMTP_SAID_BY_SERVER, buffer_view(&client->answer.text));
	qmtp_answer_verdict(&client->answer, client->peer, verdict);
	to->is_accepted = verdict->class == MAIL_OK;
	qmtp_client_decide(client, to, verdict);
	if (!qmtp_client_next_undecided(client, client->current + 1))
		qmtp_client_end_transaction(client, CLIENT_READY);
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
			on_qmtp_answer(client);
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
