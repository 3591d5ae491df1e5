// SPDX-License-Identifier: ISC
/* A package of the client: what is sent, and to whom. */
#include "qmtp/internal_client.h"

static void tell_sent_text(const struct qmtp_client *client, const char *what, struct str text)
{
	struct buffer line CLEANUP(buffer_clear) = {0};

	if (!smtp_watch_is_on(&client->watch))
		return;
	buffer_append_format(&line, "(%s) " STR_FORMAT, what, STR_ARGUMENTS(text));
	qmtp_client_tell(client, SMTP_SAID_BY_CLIENT, buffer_view(&line));
}

static bool is_safe_qmtp_address(struct str address)
{
	for (size_t i = 0; i < address.length; i++)
		if ((unsigned char)address.data[i] < ' ' || address.data[i] == 0x7f)
			return false;
	return true;
}

/* Decides at once what can be decided without the server. */
static void check_message_for_qmtp(struct qmtp_client *client)
{
	struct smtp_client_message *message = &client->message;
	struct mail_verdict *verdict = qmtp_client_new_verdict(client);
	struct mail_verdict *unsafe = qmtp_client_new_verdict(client);

	mail_verdict_set(unsafe, "5.1.3", "the address cannot be sent");
	if (message->requires_tls)
		mail_verdict_set(verdict, "5.7.30",
				 "the sender requires TLS on the whole way, and QMTP, by which %s "
				 "is reached, cannot say so",
				 client->peer);
	else if (message->deadline.mode == MAIL_DEADLINE_RETURN)
		mail_verdict_set(verdict, "5.4.7",
				 "the sender wants it delivered within %lld seconds or returned, "
				 "and QMTP, by which %s is reached, cannot say so",
				 (long long)message->deadline_left, client->peer);
	else if (message->is_binary)
		mail_verdict_set(verdict, "5.6.3",
				 "the message is binary, and QMTP, by which %s is reached, is for "
				 "text",
				 client->peer);
	else if (!is_safe_qmtp_address(message->sender))
		mail_verdict_set(verdict, "5.1.7", "the sender's address cannot be sent");
	if (verdict->text[0] != '\0')
		qmtp_client_decide_rest(client, verdict);
	for (size_t i = 0; i < message->recipient_count; i++) {
		struct smtp_client_recipient *to = &message->recipients[i];

		if (to->verdict == NULL &&
		    (to->address.length == 0 || !is_safe_qmtp_address(to->address)))
			qmtp_client_decide(client, to, unsafe);
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
		message->recipients[i].is_timed = false;
	}
	if (client->state != CLIENT_READY)
		return;
	check_message_for_qmtp(client);
	if (!qmtp_client_next_undecided(client, 0)) {
		qmtp_client_end_transaction(client, CLIENT_READY);
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
	tell_sent_text(client, "from", message->sender);
	for (size_t i = 0; i < message->recipient_count; i++) {
		if (!message->recipients[i].is_asked)
			continue;
		qmtp_netstring_append(&list, message->recipients[i].address);
		tell_sent_text(client, "to", message->recipients[i].address);
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
