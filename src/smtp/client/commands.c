// SPDX-License-Identifier: ISC
/* The client's commands, and which of them are sent together (RFC 2920). */
#include "smtp/client/internal.h"

static void emit_hello(struct smtp_client *client, const char *verb)
{
	client_emit(client, verb);
	client_emit(client, " ");
	client_emit(client, client->hostname);
	client_emit(client, "\r\n");
}

static void emit_mail(struct smtp_client *client)
{
	client_emit(client, "MAIL FROM:<");
	buffer_append_str(&client->output, client->message.sender);
	client_emit(client, ">");
	client_emit_mail_parameters(client);
	client_emit(client, "\r\n");
}

static void emit_recipient(struct smtp_client *client, const struct smtp_client_recipient *to)
{
	client_emit(client, "RCPT TO:<");
	buffer_append_str(&client->output, to->address);
	client_emit(client, ">");
	client_emit_recipient_parameters(client, to);
	client_emit(client, "\r\n");
}

void client_emit_batch(struct smtp_client *client)
{
	size_t before = client->output.length;

	if (client->needs_reset)
		client_emit(client, "RSET\r\n");
	if (client_forwards(client))
		client_emit_forward(client);
	emit_mail(client);
	for (size_t i = 0; i < client->message.recipient_count; i++)
		if (client->message.recipients[i].is_asked)
			emit_recipient(client, &client->message.recipients[i]);
	if (!client->uses_chunks)
		client_emit(client, "DATA\r\n");
	client_tell_output(client, before);
}

static void emit_command(struct smtp_client *client, enum client_state state)
{
	if (state == CLIENT_HELLO)
		emit_hello(client, client->protocol == SMTP_CLIENT_LMTP ? "LHLO" : "EHLO");
	if (state == CLIENT_HELO)
		emit_hello(client, "HELO");
	if (state == CLIENT_STARTTLS)
		client_emit(client, "STARTTLS\r\n");
	if (client->capabilities.has_pipelining)
		return;
	if (state == CLIENT_RESET)
		client_emit(client, "RSET\r\n");
	if (state == CLIENT_FORWARD)
		client_emit_forward(client);
	if (state == CLIENT_MAIL)
		emit_mail(client);
	if (state == CLIENT_RECIPIENT)
		emit_recipient(client, &client->message.recipients[client->current]);
	if (state == CLIENT_DATA)
		client_emit(client, "DATA\r\n");
}

void client_enter(struct smtp_client *client, enum client_state state)
{
	size_t before;

	client->state = state;
	if (state == CLIENT_CLOSED)
		buffer_reset(&client->output);
	before = client->output.length;
	emit_command(client, state);
	client_tell_output(client, before);
}

/* What each state waits for, in words, and the command that the reply belongs to. */
static const struct {
	const char *name;
	const char *command;
} commands_names[] = {
	[CLIENT_GREETING] = {"the greeting", NULL},
	[CLIENT_HELLO] = {"the reply to EHLO", "EHLO"},
	[CLIENT_HELO] = {"the reply to HELO", "HELO"},
	[CLIENT_STARTTLS] = {"the reply to STARTTLS", "STARTTLS"},
	[CLIENT_TLS] = {"the handshake of TLS", NULL},
	[CLIENT_LOGIN] = {"our next message of the login", NULL},
	[CLIENT_AUTH] = {"the reply to AUTH", "AUTH"},
	[CLIENT_FORM] = {"the conversion of the message", NULL},
	[CLIENT_READY] = {"nothing", NULL},
	[CLIENT_RESET] = {"the reply to RSET", "RSET"},
	[CLIENT_FORWARD] = {"the reply to XFORWARD", "XFORWARD"},
	[CLIENT_MAIL] = {"the reply to MAIL", "MAIL"},
	[CLIENT_RECIPIENT] = {"the reply to RCPT", "RCPT"},
	[CLIENT_DATA] = {"the reply to DATA", "DATA"},
	[CLIENT_BODY] = {"room for the message", "the data"},
	[CLIENT_FINAL] = {"the reply to the message", "the end of the data"},
	[CLIENT_CLOSED] = {"nothing", NULL},
};

const char *client_state_name(enum client_state state)
{
	return commands_names[state].name;
}

const char *client_command_name(const struct smtp_client *client)
{
	if (client->state == CLIENT_HELLO && client->protocol == SMTP_CLIENT_LMTP)
		return "LHLO";
	return commands_names[client->state].command;
}
