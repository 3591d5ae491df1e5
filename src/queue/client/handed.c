// SPDX-License-Identifier: ISC
/* Packages that other nodes hand over. */
#include "base/panic.h"
#include "ipc/pack.h"
#include "mail/package.h"
#include "queue/client/internal.h"
#include <errno.h>

static void pack_node(struct buffer *out, struct str node, const struct queue_handed_serial *serial)
{
	pack_str(out, node);
	pack_u64(out, serial->epoch);
	pack_u64(out, serial->run);
	pack_u64(out, serial->connection);
}

static struct queue_handed_serial unpack_serial(struct unpack *body)
{
	struct queue_handed_serial serial;

	serial.epoch = unpack_u64(body);
	serial.run = unpack_u64(body);
	serial.connection = unpack_u64(body);
	return serial;
}

/* After the commits of this turn, so that "queue" reads everything in the order of the calls. NAME
 * is a package's, or the token of this process. */
static bool say_of_node(struct queue_client *client, enum queue_protocol type, struct str node,
			const struct queue_handed_serial *serial, struct str name)
{
	struct ipc_channel *channel = ipc_client_channel(client->ipc);
	struct buffer body CLEANUP(buffer_clear) = {0};

	if (channel == NULL)
		return false;
	client_send_commits(client);
	pack_node(&body, node, serial);
	pack_str(&body, name);
	ipc_channel_send(channel, (uint16_t)type, 0, buffer_view(&body), NULL, 0);
	return true;
}

void queue_client_use_nodes(struct queue_client *client, struct str token,
			    const struct queue_handed_handler *handler, void *context)
{
	client->token = token;
	client->nodes = handler;
	client->nodes_context = context;
}

bool queue_client_greet(struct queue_client *client, struct str node,
			const struct queue_handed_serial *serial)
{
	return say_of_node(client, QUEUE_PROTOCOL_GREET, node, serial, client->token);
}

bool queue_client_settle(struct queue_client *client, struct str node,
			 const struct queue_handed_serial *serial, struct str name)
{
	return say_of_node(client, QUEUE_PROTOCOL_SETTLE, node, serial, name);
}

bool queue_client_drop(struct queue_client *client, struct str node,
		       const struct queue_handed_serial *serial, struct str name)
{
	return say_of_node(client, QUEUE_PROTOCOL_DROP, node, serial, name);
}

void queue_client_commit_handed(struct queue_client_message *message, struct str node,
				const struct queue_handed_serial *serial, struct str text,
				struct str data)
{
	struct buffer copy = {0};

	if (message->state != QUEUE_CLIENT_OPEN)
		panic("a package that is not open is committed");
	if (!mail_node_is_valid(node) || text.length == 0) {
		client_fail(message, -EBADMSG);
		return;
	}
	buffer_append_str(&copy, text);
	pack_node(&message->handed, node, serial);
	client_commit_text(message, copy, data);
}

bool client_kept(struct queue_client *client, struct unpack *body)
{
	struct str node = unpack_str(body);
	struct queue_handed_serial serial = unpack_serial(body);

	while (client->nodes != NULL && body->rest.length > 0) {
		struct str name = unpack_str(body);
		struct str numbers = unpack_str(body);

		if (body->failed)
			return false;
		client->nodes->kept(client->nodes_context, node, &serial, name, numbers);
	}
	return client->nodes != NULL && unpack_is_whole(body);
}

bool client_handed_greeted(struct queue_client *client, struct unpack *body)
{
	enum { ERRNO_MAX = 4095 };
	struct str node = unpack_str(body);
	struct queue_handed_serial serial = unpack_serial(body);
	uint32_t error = unpack_u32(body);
	struct queue_handed_serial highest = unpack_serial(body);

	if (client->nodes == NULL || !unpack_is_whole(body) || error > ERRNO_MAX)
		return false;
	client->nodes->greeted(client->nodes_context, node, &serial, -(int)error, &highest);
	return true;
}
