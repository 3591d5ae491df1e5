// SPDX-License-Identifier: ISC
/* The message by BDAT (RFC 3030). All chunks are sent before their replies have come; only the
 * reply to the last one is about the message. */
#include "smtp/client/internal.h"
#include <stdio.h>

void client_send_chunk(struct smtp_client *client, bool is_last)
{
	char command[64];

	if (client->chunk.length == 0 && !is_last)
		return;
	snprintf(command, sizeof command, "BDAT %zu%s\r\n", client->chunk.length,
		 is_last ? " LAST" : "");
	client_emit(client, command);
	client_tell_line(client, command);
	buffer_append_str(&client->output, buffer_view(&client->chunk));
	buffer_reset(&client->chunk);
	client->chunk_count++;
}

bool client_take_chunk_reply(struct smtp_client *client)
{
	bool is_sending = client->state == CLIENT_BODY;

	if (!client->uses_chunks || (!is_sending && client->state != CLIENT_FINAL) ||
	    client->chunk_count <= (is_sending ? 0 : 1))
		return false;
	client->chunk_count--;
	if (client->reply.code / 100 == 3)
		client_break_session(client, "an unexpected reply");
	else if (client->reply.code >= 400) /* the other chunks are on their way */
		client_fail_session(client, client_reply_verdict(client));
	return true;
}
