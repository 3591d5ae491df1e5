// SPDX-License-Identifier: ISC
/* The client's login: AUTH (RFC 4954). The engine carries messages, the driver knows the mechanism.
 */
#include "base/text/base64.h"
#include "smtp/client/internal.h"
#include <string.h>

/* Of a line with its CRLF (RFC 4954 section 4.2). */
enum { COMMAND_LINE_MAX = 512 };

static void fail_client_login(struct smtp_client *client, struct mail_verdict *verdict)
{
	client_tell_end(client, verdict);
	client->login.is_refused = true;
	client_secret_forget(client);
	client_fail_session(client, verdict);
}

/* PROBLEM goes on with REST. */
static void give_up_client_login(struct smtp_client *client, const char *status,
				 const char *problem, const char *rest)
{
	struct mail_verdict *verdict = client_new_verdict(client);

	mail_verdict_set(verdict, status, "mail for this server needs a login: %s%s", problem,
			 rest);
	fail_client_login(client, verdict);
}

void client_start_login(struct smtp_client *client)
{
	if (!client->is_secured && !client->login.may_be_plain) {
		give_up_client_login(client, "4.7.11", "there is no TLS with ", client->peer);
	} else if (!client->capabilities.has_auth) {
		give_up_client_login(client, "4.7.0", client->peer, " does not offer AUTH");
	} else {
		client->login.question = SMTP_CLIENT_LOGIN_BEGIN;
		client_enter(client, CLIENT_LOGIN);
	}
}

enum smtp_client_login smtp_client_login(const struct smtp_client *client, struct str *text_out)
{
	*text_out = client->login.question == SMTP_CLIENT_LOGIN_BEGIN
			    ? str_from(client->capabilities.mechanisms)
			    : buffer_view(&client->login.challenge);
	return client->login.question;
}

/* Appends MESSAGE in base64 to OUT, and remembers it. */
static void encode_login_message(struct smtp_client *client, struct str message, struct buffer *out)
{
	struct buffer *sent = &client->login.sent;
	size_t before = out->length;
	struct str text;

	base64_append(out, message);
	text = str_skip(buffer_view(out), before);
	buffer_append_str(sent, message);
	buffer_append_byte(sent, '\0');
	buffer_append_str(sent, text);
	buffer_append_byte(sent, '\0');
}

static void send_login_line(struct smtp_client *client, struct buffer *line)
{
	buffer_append_string(line, "\r\n");
	buffer_append_byte(line, '\0');
	client_enter(client, CLIENT_AUTH);
	client_emit(client, buffer_data(line));
	buffer_clear(line);
}

void smtp_client_login_begin(struct smtp_client *client, const char *mechanism,
			     const struct str *initial)
{
	struct client_login *login = &client->login;
	struct buffer command = {.is_secret = true};
	struct buffer shown = {0};

	if (client->state != CLIENT_LOGIN || login->question != SMTP_CLIENT_LOGIN_BEGIN)
		return;
	login->has_initial = initial != NULL;
	if (initial != NULL)
		encode_login_message(client, *initial, &login->initial);
	buffer_append_format(&command, "AUTH %s", mechanism);
	buffer_append_format(&shown, "AUTH %s%s", mechanism,
			     initial != NULL ? " (credentials)" : "");
	if (initial != NULL && command.length + login->initial.length + 3 <= COMMAND_LINE_MAX) {
		buffer_append_byte(&command, ' ');
		buffer_append_str(&command,
				  initial->length > 0 ? buffer_view(&login->initial) : STR("="));
		login->has_initial = false;
	}
	send_login_line(client, &command);
	buffer_append_byte(&shown, '\0');
	client_tell_line(client, buffer_data(&shown));
	buffer_clear(&shown);
}

void smtp_client_login_respond(struct smtp_client *client, struct str response)
{
	struct buffer line = {.is_secret = true};

	if (client->state != CLIENT_LOGIN)
		return;
	encode_login_message(client, response, &line);
	send_login_line(client, &line);
	client_tell_line(client, "(credentials)");
}

void smtp_client_login_accept(struct smtp_client *client)
{
	if (client->state != CLIENT_LOGIN || client->login.question != SMTP_CLIENT_LOGIN_SUCCESS)
		return;
	client_secret_forget(client);
	client->login.is_wanted = false;
	client_be_greeted(client);
}

void smtp_client_login_cancel(struct smtp_client *client, const char *reason)
{
	if (client->state == CLIENT_LOGIN)
		give_up_client_login(client, "4.7.0", reason, "");
}

void client_login_on_challenge(struct smtp_client *client)
{
	struct client_login *login = &client->login;

	buffer_reset(&login->challenge);
	if (client->reply.line_count != 1 ||
	    !base64_decode(str_trim(buffer_view(&client->reply.text)), &login->challenge)) {
		client_break_session(client, "a challenge that is not base64");
	} else if (login->has_initial) {
		/* what did not fit into the line with AUTH */
		client->login.has_initial = false;
		send_login_line(client, &client->login.initial);
		client_tell_line(client, "(credentials)");
	} else {
		login->question = SMTP_CLIENT_LOGIN_CHALLENGE;
		client_enter(client, CLIENT_LOGIN);
	}
}

void client_login_on_success(struct smtp_client *client)
{
	client->login.question = SMTP_CLIENT_LOGIN_SUCCESS;
	buffer_reset(&client->login.challenge);
	client_enter(client, CLIENT_LOGIN);
}

/* A wrong password may be put right meanwhile: the mail waits. */
void client_login_on_refusal(struct smtp_client *client)
{
	struct mail_verdict *verdict = client_reply_verdict(client);

	verdict->class = MAIL_WAIT;
	verdict->status[0] = '4';
	fail_client_login(client, verdict);
}
