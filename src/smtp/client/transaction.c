// SPDX-License-Identifier: ISC
/* The course of the client's transaction: its recipients and their verdicts. */
#include "smtp/client/internal.h"

struct mail_verdict *client_new_verdict(struct smtp_client *client)
{
	return arena_alloc(client->verdicts, sizeof(struct mail_verdict));
}

struct mail_verdict *client_reply_verdict(struct smtp_client *client)
{
	struct mail_verdict *verdict = client_new_verdict(client);

	if (client_secret_is_repeated(client))
		buffer_reset(&client->reply.text);
	smtp_client_reply_verdict(&client->reply, client->peer, client_command_name(client),
				  verdict);
	if (client->is_reply_slower)
		client->slower = verdict;
	return verdict;
}

void client_decide(struct smtp_client *client, struct smtp_client_recipient *to,
		   const struct mail_verdict *verdict)
{
	bool is_open = verdict->class == MAIL_WAIT && !client->is_in_doubt;

	to->verdict = verdict;
	to->again = is_open ? SMTP_CLIENT_ELSEWHERE : SMTP_CLIENT_LATER;
	to->is_slower = is_open && verdict == client->slower;
}

void client_set_again(struct smtp_client *client, const struct mail_verdict *verdict,
		      enum smtp_client_again again)
{
	for (size_t i = 0; i < client->message.recipient_count; i++)
		if (client->message.recipients[i].verdict == verdict)
			client->message.recipients[i].again = again;
}

void client_decide_rest(struct smtp_client *client, const struct mail_verdict *verdict)
{
	for (size_t i = 0; i < client->message.recipient_count; i++)
		if (client->message.recipients[i].verdict == NULL)
			client_decide(client, &client->message.recipients[i], verdict);
}

bool client_next_asked(struct smtp_client *client, size_t from)
{
	while (from < client->message.recipient_count && !client->message.recipients[from].is_asked)
		from++;
	client->current = from;
	return from < client->message.recipient_count;
}

bool client_next_undecided(struct smtp_client *client, size_t from)
{
	while (from < client->message.recipient_count &&
	       client->message.recipients[from].verdict != NULL)
		from++;
	client->current = from;
	return from < client->message.recipient_count;
}

void client_end_transaction(struct smtp_client *client, enum client_state state)
{
	client->message = (struct smtp_client_message){0};
	client->completed++;
	client->taken += client->is_taken;
	client_enter(client, state);
}

static bool is_client_undecided(const struct smtp_client *client)
{
	for (size_t i = 0; i < client->message.recipient_count; i++)
		if (client->message.recipients[i].verdict != NULL)
			return false;
	return true;
}

void client_fail_session(struct smtp_client *client, const struct mail_verdict *verdict)
{
	/* a session lost between transactions affects no recipient */
	bool is_under_way = client->message.recipient_count > 0;
	bool has_served =
		client->taken > 0 && client->state >= CLIENT_RESET && client->state < CLIENT_BODY;

	client->is_stale = is_under_way && client->completed > 0 &&
			   client->state != CLIENT_CLOSED &&
			   (!client->is_answered || (has_served && is_client_undecided(client)));
	client->is_unserved =
		is_under_way && client->state < CLIENT_BODY && is_client_undecided(client);
	client->failure = verdict;
	client_decide_rest(client, verdict);
	if (has_served)
		client_set_again(client, verdict, SMTP_CLIENT_ANEW);
	client_end_transaction(client, CLIENT_CLOSED);
}

static void check_sender(struct smtp_client *client, struct mail_verdict *verdict)
{
	const struct smtp_client_message *message = &client->message;

	verdict->text[0] = '\0';
	if (!client_is_safe_path(message->sender))
		mail_verdict_set(verdict, "5.1.7", "the sender's address cannot be sent");
	else if (client->capabilities.size > 0 && message->size > client->capabilities.size)
		mail_verdict_set(verdict, "5.3.4",
				 "the message has %llu bytes, %s takes at most %llu",
				 (unsigned long long)message->size, client->peer,
				 (unsigned long long)client->capabilities.size);
	else if (message->sender.length > 0 && client_path(client, message->sender).length == 0)
		mail_verdict_set(verdict, "5.6.7",
				 "the sender's address needs SMTPUTF8, which %s does not offer",
				 client->peer);
}

/* Decides at once what can be decided without the server. */
static void check_message_for_smtp(struct smtp_client *client)
{
	struct smtp_client_message *message = &client->message;
	struct mail_verdict *whole = client_new_verdict(client);
	struct mail_verdict *unsafe = client_new_verdict(client);
	struct mail_verdict *foreign = client_new_verdict(client);
	struct mail_verdict *more = client_new_verdict(client);
	uint64_t asked = 0;

	check_sender(client, whole);
	if (whole->text[0] != '\0') {
		client_decide_rest(client, whole);
		return;
	}
	message->sender = client_path(client, message->sender);
	mail_verdict_set(unsafe, "5.1.3", "the address cannot be sent");
	mail_verdict_set(foreign, "5.6.7", "the address needs SMTPUTF8, which %s does not offer",
			 client->peer);
	mail_verdict_set(more, "4.5.3", "%s takes at most %llu recipients at a time", client->peer,
			 (unsigned long long)client->capabilities.rcpt_max);
	for (size_t i = 0; i < message->recipient_count; i++) {
		struct smtp_client_recipient *to = &message->recipients[i];

		if (client->capabilities.rcpt_max > 0 && asked == client->capabilities.rcpt_max) {
			client_decide(client, to, more);
			to->again = SMTP_CLIENT_HERE;
			continue;
		}
		if (to->address.length == 0 || !client_is_safe_path(to->address))
			client_decide(client, to, unsafe);
		else if (client_path(client, to->address).length == 0)
			client_decide(client, to, foreign);
		else
			to->address = client_path(client, to->address);
		to->is_asked = to->verdict == NULL;
		asked += to->is_asked;
		to->is_passed_on = to->is_asked && client->capabilities.has_dsn;
		to->is_timed = to->is_asked && client_tells_deadline(client);
	}
}

/* BDAT is the only way for it: by DATA it would become another message, or two. */
static bool takes_binary(const struct smtp_client *client)
{
	return client->capabilities.has_binarymime && client->capabilities.has_chunking &&
	       client->capabilities.has_pipelining && !client->avoids_chunks;
}

/* SMTPUTF8 implies 8BITMIME (RFC 6531 section 3.1). */
static bool takes_8bit(const struct smtp_client *client)
{
	return client->capabilities.has_8bitmime || client->capabilities.has_utf8;
}

void client_begin_commands(struct smtp_client *client)
{
	check_message_for_smtp(client);
	if (!client_next_undecided(client, 0)) {
		client_end_transaction(client, CLIENT_READY);
		return;
	}
	client->uses_chunks =
		client->capabilities.has_chunking && client->capabilities.has_pipelining &&
		!client->avoids_chunks &&
		(client->message.size <= SMTP_CLIENT_CHUNKED_MAX || client->message.is_binary);
	client->stuffing.is_chunked = client->uses_chunks;
	client->stuffing.is_raw = client->uses_chunks && client->message.is_binary;
	if (client->capabilities.has_pipelining)
		client_emit_batch(client);
	client_enter(client, client->needs_reset       ? CLIENT_RESET
			     : client_forwards(client) ? CLIENT_FORWARD
						       : CLIENT_MAIL);
}

/* RFC 8689 section 4.2.1: the server must offer it, inside TLS. */
static bool lacks_requiretls(struct smtp_client *client, struct mail_verdict *verdict)
{
	if (!client->message.requires_tls ||
	    (client->is_secured && client->capabilities.has_requiretls))
		return false;
	mail_verdict_set(
		verdict, "5.7.30",
		"the sender requires TLS on the whole way, and %s does not offer REQUIRETLS",
		client->peer);
	return true;
}

/* RFC 2852 section 4.1.4: what is to be returned if it is late goes only to who will do that. */
static bool lacks_time(struct smtp_client *client, struct mail_verdict *verdict)
{
	long long left = (long long)client->message.deadline_left;

	if (client->message.deadline.mode != MAIL_DEADLINE_RETURN ||
	    client_tells_deadline(client) || (client->protocol == SMTP_CLIENT_LMTP && left > 0))
		return false;
	if (left <= 0)
		mail_verdict_set(verdict, "5.4.7",
				 "the time by which its sender wants it delivered "
				 "has passed");
	else if (!client->capabilities.has_deliverby)
		mail_verdict_set(
			verdict, "5.4.7",
			"the sender wants it delivered within %lld seconds or returned, and "
			"%s does not offer DELIVERBY",
			left, client->peer);
	else
		mail_verdict_set(
			verdict, "5.4.7",
			"the sender wants it delivered within %lld seconds or returned, and "
			"%s needs %llu",
			left, client->peer, (unsigned long long)client->capabilities.by_min);
	return true;
}

/* Another server may do what this one does not offer. */
static bool is_unfit(struct smtp_client *client)
{
	struct mail_verdict *verdict = client_new_verdict(client);

	if (!lacks_requiretls(client, verdict) && !lacks_time(client, verdict))
		return false;
	client_tell_end(client, verdict);
	client_fail_session(client, verdict);
	return true;
}

unsigned smtp_client_wanted_form(const struct smtp_client *client)
{
	const struct smtp_client_message *message = &client->message;
	bool is_wide = message->is_binary ? !takes_binary(client)
					  : message->is_8bit && !takes_8bit(client);
	unsigned wanted = is_wide ? SMTP_CLIENT_FORM_SEVEN_BIT : 0;

	if (message->needs_utf8 && !client->capabilities.has_utf8)
		wanted |= SMTP_CLIENT_FORM_ASCII_HEADER;
	return wanted;
}

void client_start_transaction(struct smtp_client *client)
{
	if (is_unfit(client))
		return;
	if (smtp_client_wanted_form(client) != 0)
		client_enter(client, CLIENT_FORM);
	else
		client_begin_commands(client);
}

void client_be_greeted(struct smtp_client *client)
{
	client->is_greeted = true;
	client_enter(client, CLIENT_READY);
	if (client->message.recipient_count > 0)
		client_start_transaction(client);
}

bool smtp_client_is_deciding(const struct smtp_client *client)
{
	return client->state == CLIENT_FINAL && client->output.length == 0;
}

void client_break_session(struct smtp_client *client, const char *reason)
{
	struct mail_verdict *verdict = client_new_verdict(client);

	mail_verdict_set(verdict, "4.5.0", "%s: %s while waiting for %s", client->peer, reason,
			 client_state_name(client->state));
	client_tell_end(client, verdict);
	client->is_in_doubt = smtp_client_is_deciding(client);
	client_fail_session(client, verdict);
}
