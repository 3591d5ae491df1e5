// SPDX-License-Identifier: ISC
/* Verdicts on the recipients of a transaction, and the session that ends amid it. */
#include "qmtp/internal_client.h"

void qmtp_client_tell(const struct qmtp_client *client, enum smtp_said by, struct str line)
{
	if (smtp_watch_is_on(&client->watch))
		client->watch.line(client->watch_context, by, line);
}

/* --- verdicts --- */

struct mail_verdict *qmtp_client_new_verdict(struct qmtp_client *client)
{
	return arena_alloc(client->verdicts, sizeof(struct mail_verdict));
}

void qmtp_client_decide(struct qmtp_client *client, struct smtp_client_recipient *to,
			const struct mail_verdict *verdict)
{
	bool is_open = verdict->class == MAIL_WAIT && !client->is_in_doubt;

	to->verdict = verdict;
	to->again = is_open ? SMTP_CLIENT_ELSEWHERE : SMTP_CLIENT_LATER;
}

void qmtp_client_decide_rest(struct qmtp_client *client, const struct mail_verdict *verdict)
{
	for (size_t i = 0; i < client->message.recipient_count; i++)
		if (client->message.recipients[i].verdict == NULL)
			qmtp_client_decide(client, &client->message.recipients[i], verdict);
}

bool qmtp_client_next_undecided(struct qmtp_client *client, size_t from)
{
	while (from < client->message.recipient_count &&
	       client->message.recipients[from].verdict != NULL)
		from++;
	client->current = from;
	return from < client->message.recipient_count;
}

void qmtp_client_end_transaction(struct qmtp_client *client, enum client_state state)
{
	client->message = (struct smtp_client_message){0};
	client->completed++;
	client->state = state;
}

static bool is_package_undecided(const struct qmtp_client *client)
{
	for (size_t i = 0; i < client->message.recipient_count; i++)
		if (client->message.recipients[i].verdict != NULL)
			return false;
	return true;
}

void qmtp_client_fail_session(struct qmtp_client *client, const struct mail_verdict *verdict)
{
	bool is_open = client->message.recipient_count > 0 && !client->is_in_doubt;

	client->is_unserved = is_open && is_package_undecided(client);
	client->is_stale = is_open && client->completed > 0;
	client->failure = verdict;
	buffer_reset(&client->output); /* it would complete the package */
	qmtp_client_tell(client, SMTP_SAID_NOTHING, str_from(verdict->text));
	qmtp_client_decide_rest(client, verdict);
	qmtp_client_end_transaction(client, CLIENT_CLOSED);
}

void qmtp_client_abandon(struct qmtp_client *client, const char *status, const char *reason)
{
	struct mail_verdict *verdict = qmtp_client_new_verdict(client);

	mail_verdict_set(verdict, status, "%s", reason);
	client->is_in_doubt = true;
	qmtp_client_fail_session(client, verdict); /* no other server can do better */
}
