// SPDX-License-Identifier: ISC
/* Passes the lines of both sides to the client's watch. */
#include "smtp/client/internal.h"

void client_tell_output(const struct smtp_client *client, size_t from)
{
	if (smtp_watch_is_on(&client->watch) && client->output.length > from)
		smtp_watch_tell(&client->watch, client->watch_context, SMTP_SAID_BY_CLIENT,
				str_skip(buffer_view(&client->output), from));
}

void client_tell_line(const struct smtp_client *client, const char *line)
{
	if (smtp_watch_is_on(&client->watch))
		smtp_watch_tell(&client->watch, client->watch_context, SMTP_SAID_BY_CLIENT,
				str_from(line));
}

/* Neither challenges nor what repeats our messages. */
static bool is_hidden(const struct smtp_client *client)
{
	return (client->state == CLIENT_AUTH && client->reply.code == 334) ||
	       client_secret_is_repeated(client);
}

/* Writes the reply's lines again, each with the code. */
void client_tell_reply(const struct smtp_client *client)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct str rest = buffer_view(&client->reply.text);
	unsigned left = client->reply.line_count;
	struct str line;

	if (!smtp_watch_is_on(&client->watch))
		return;
	if (is_hidden(client)) {
		buffer_append_format(&text, "%u (not shown)\n", client->reply.code);
		left = 0;
	}
	for (; left > 0; left--) {
		if (!str_split(&rest, '\n', &line))
			line = STR("");
		buffer_append_format(&text, "%u%c" STR_FORMAT "\n", client->reply.code,
				     left > 1 ? '-' : ' ', STR_ARGUMENTS(line));
	}
	smtp_watch_tell(&client->watch, client->watch_context, SMTP_SAID_BY_SERVER,
			buffer_view(&text));
}

void client_tell_message(const struct smtp_client *client)
{
	if (smtp_watch_is_on(&client->watch))
		smtp_watch_tell_message(&client->watch, client->watch_context,
					client->message.size);
}

void client_tell_end(const struct smtp_client *client, const struct mail_verdict *verdict)
{
	struct buffer text CLEANUP(buffer_clear) = {0};

	if (!smtp_watch_is_on(&client->watch))
		return;
	buffer_append_format(&text, "(%s)", verdict->text);
	client->watch.line(client->watch_context, SMTP_SAID_NOTHING, buffer_view(&text));
}
