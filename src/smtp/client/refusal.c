// SPDX-License-Identifier: ISC
/* What the engine knows of a refusal besides its words (scope.h), and complaints: replies that say
 * that too much comes. */
#include "smtp/client/internal.h"
#include "smtp/client/slower.h"
#include <string.h>

/* Its status says that it is about an address (x.1.y) or a mailbox (x.2.y), or that whoever comes
 * first is refused: another session would be told so, too. */
static bool is_of_address(const struct smtp_client *client, const struct mail_verdict *verdict)
{
	return verdict->status[2] == '1' || verdict->status[2] == '2' ||
	       smtp_client_is_greylisting(buffer_view(&client->reply.text));
}

void client_note_refused(struct smtp_client *client, const struct mail_verdict *verdict)
{
	if (client->refused == NULL) {
		client->refused = verdict;
		client->refused_code = client->reply.code;
		client->is_alike = true;
	}
	client->is_too_many = strcmp(verdict->status + 1, ".5.3") == 0;
	client->is_alike = client->is_alike && client->refused_code == client->reply.code &&
			   strcmp(client->refused->status, verdict->status) == 0 &&
			   !is_of_address(client, verdict);
}

/* With the session the recipients end that were accepted. */
static struct smtp_client_refusal refusal_at(const struct smtp_client *client,
					     enum smtp_client_phase phase)
{
	bool is_rcpt = phase == SMTP_CLIENT_AT_RECIPIENT;
	bool is_last = client->reply.code == 421;

	return (struct smtp_client_refusal){
		.phase = phase,
		.is_last = is_last,
		.is_too_many = is_rcpt && client->is_too_many,
		.has_accepted = client->has_accepted && !is_last,
		.is_alike = !is_rcpt || client->is_alike || is_last,
		.has_taken = client->taken > 0,
	};
}

enum smtp_client_scope client_scope_of(const struct smtp_client *client,
				       enum smtp_client_phase phase)
{
	const struct smtp_client_refusal refusal = refusal_at(client, phase);

	return smtp_client_scope_of(&refusal);
}

void client_judge_refused(struct smtp_client *client)
{
	struct smtp_client_message *message = &client->message;

	if (client->refused == NULL ||
	    client_scope_of(client, SMTP_CLIENT_AT_RECIPIENT) != SMTP_CLIENT_OF_SESSION)
		return;
	for (size_t i = 0; i < message->recipient_count; i++)
		if (message->recipients[i].is_asked)
			message->recipients[i].again = SMTP_CLIENT_ANEW;
}

/* --- complaints --- */

/* Where a reply is about mail, or the connection; false: it is about nothing. */
static bool place_of_refusal(const struct smtp_client *client, enum smtp_client_phase *phase_out)
{
	static const enum smtp_client_phase phases[] = {
		[CLIENT_RESET] = SMTP_CLIENT_AT_MAIL, [CLIENT_FORWARD] = SMTP_CLIENT_AT_MAIL,
		[CLIENT_MAIL] = SMTP_CLIENT_AT_MAIL,  [CLIENT_RECIPIENT] = SMTP_CLIENT_AT_RECIPIENT,
		[CLIENT_DATA] = SMTP_CLIENT_AT_DATA,  [CLIENT_BODY] = SMTP_CLIENT_AT_END,
		[CLIENT_FINAL] = SMTP_CLIENT_AT_END,  [CLIENT_CLOSED] = SMTP_CLIENT_AT_END,
	};
	bool is_of_mail = client->state >= CLIENT_MAIL ||
			  (client->state >= CLIENT_RESET && client->reply.code == 421);
	bool is_open = false;

	*phase_out = client->is_greeted ? phases[client->state] : SMTP_CLIENT_AT_OPENING;
	for (size_t i = 0; i < client->message.recipient_count; i++)
		is_open |= client->message.recipients[i].verdict == NULL;
	return is_open && (!client->is_greeted || is_of_mail);
}

void client_note_slower(struct smtp_client *client)
{
	struct smtp_client_slower *said = &client->said;
	bool is_first = client->slower == NULL;
	enum smtp_client_phase phase;
	int64_t wait_us;

	client->is_reply_slower = place_of_refusal(client, &phase) &&
				  smtp_client_is_slower(client->reply.code,
							buffer_view(&client->reply.text), &wait_us);
	if (!client->is_reply_slower)
		return;
	if (!is_first && said->wait_us > wait_us)
		wait_us = said->wait_us;
	*said = (struct smtp_client_slower){wait_us, client->reply.code, refusal_at(client, phase),
					    client_reply_verdict(client), client->current};
}

bool smtp_client_take_slower(struct smtp_client *client, struct smtp_client_slower *slower_out)
{
	struct smtp_client_refusal *refusal = &client->said.refusal;
	enum smtp_client_scope scope;

	if (client->slower == NULL)
		return false;
	client->slower = NULL;
	if (refusal->phase == SMTP_CLIENT_AT_RECIPIENT && !refusal->is_last) {
		refusal->has_accepted = client->has_accepted; /* also of those after it */
		refusal->is_alike = client->is_alike;
	}
	scope = smtp_client_scope_of(refusal);
	*slower_out = client->said;
	return scope != SMTP_CLIENT_OF_SESSION && scope != SMTP_CLIENT_OF_TRANSACTION;
}
