// SPDX-License-Identifier: ISC
/*
 * Nodes that hand packages over, by way of "noded".
 *
 * What a connection of a node has begun may still be read when the next one is greeted, or be in
 * progress on the disk. So the serial of a package is compared when it is to be committed, and a
 * greeting is answered when all commits of its node are done and what became of them is durable.
 */
#include "log/event.h"
#include "queue/server/internal.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int compare_serials(const struct queue_handed_serial *a, const struct queue_handed_serial *b)
{
	if (a->epoch != b->epoch)
		return a->epoch < b->epoch ? -1 : 1;
	if (a->run != b->run)
		return a->run < b->run ? -1 : 1;
	return a->connection < b->connection ? -1 : a->connection > b->connection;
}

void server_package_unpack(struct unpack *body, struct server_package *package_out)
{
	package_out->node = unpack_str(body);
	package_out->serial.epoch = unpack_u64(body);
	package_out->serial.run = unpack_u64(body);
	package_out->serial.connection = unpack_u64(body);
}

static void pack_serial(struct buffer *out, const struct queue_handed_serial *serial)
{
	pack_u64(out, serial->epoch);
	pack_u64(out, serial->run);
	pack_u64(out, serial->connection);
}

static struct server_node *find_node(const struct queue_server *server, struct str name)
{
	struct server_node *node;

	HASH_FIND(hh, server->nodes, name.data, name.length, node);
	return node;
}

/* NULL: there are too many. */
static struct server_node *find_or_add_node(struct queue_server *server, struct str name)
{
	struct server_node *node = find_node(server, name);

	if (node != NULL || HASH_COUNT(server->nodes) >= QUEUE_HANDED_NODES_MAX)
		return node;
	node = memory_alloc_zero(1, sizeof *node);
	memcpy(node->name, name.data, name.length);
	queue_handed_run(server->intake, name, &node->serial.epoch, &node->serial.run);
	HASH_ADD_KEYPTR(hh, server->nodes, node->name, name.length, node);
	return node;
}

struct server_node *server_node_find(const struct server_client *client,
				     const struct server_package *package)
{
	struct server_node *node = find_node(client->server, package->node);

	if (node == NULL || !node->is_greeted || node->client != client ||
	    compare_serials(&node->serial, &package->serial) != 0)
		return NULL;
	return node;
}

static void say_greeted(struct server_client *client, const struct server_package *greeted,
			int error, const struct queue_handed_serial *highest)
{
	struct buffer body CLEANUP(buffer_clear) = {0};

	pack_str(&body, greeted->node);
	pack_serial(&body, &greeted->serial);
	pack_u32(&body, (uint32_t)-error);
	pack_serial(&body, highest);
	ipc_channel_send(client->channel, QUEUE_PROTOCOL_GREETED, 0, buffer_view(&body), NULL, 0);
}

/* KEPT in the making. */
struct kept_packet {
	const struct server_node *node;
	struct buffer body;
	size_t head; /* bytes before the first name */
};

static void send_kept(struct kept_packet *packet)
{
	if (packet->body.length > packet->head)
		ipc_channel_send(packet->node->client->channel, QUEUE_PROTOCOL_KEPT, 0,
				 buffer_view(&packet->body), NULL, 0);
	buffer_reset(&packet->body);
	pack_str(&packet->body, str_from(packet->node->name));
	pack_serial(&packet->body, &packet->node->serial);
	packet->head = packet->body.length;
}

static int add_kept(void *context, struct str name, struct str numbers)
{
	struct kept_packet *packet = context;

	if (packet->body.length + 8 + name.length + numbers.length > IPC_BODY_MAX)
		send_kept(packet);
	pack_str(&packet->body, name);
	pack_str(&packet->body, numbers);
	return 0;
}

static int list_kept(struct queue_server *server, const struct server_node *node)
{
	struct kept_packet packet = {.node = node};
	int result;

	send_kept(&packet);
	result = queue_handed_each(server->intake, str_from(node->name), add_kept, &packet);
	if (result == 0)
		send_kept(&packet);
	buffer_clear(&packet.body);
	return result;
}

static void end_greeting(struct server_node *node, int error)
{
	const struct server_package greeted = {str_from(node->name), node->serial};

	node->is_waiting = false;
	node->is_greeted = error == 0;
	if (error < 0)
		log_event_rated(EVENT_QUEUE_ERROR, log_string(operation, "greet"),
				log_error(error));
	say_greeted(node->client, &greeted, error, &node->serial);
}

/* As far as possible. What is in progress on the disk, and what becomes of it, comes first. */
static void greet_node(struct queue_server *server, struct server_node *node)
{
	int result;

	if (node->committing > 0)
		return;
	result = queue_handed_greet(server->intake, str_from(node->name), node->serial.epoch,
				    node->serial.run, &node->durable);
	if (result > 0) {
		queue_group_add(server->group, NULL);
		return;
	}
	if (result == 0)
		result = list_kept(server, node);
	end_greeting(node, result);
}

/* One that waited gives way. */
static void replace_greeting(struct server_node *node, const struct queue_handed_serial *serial)
{
	const struct server_package greeted = {str_from(node->name), node->serial};

	if (node->is_waiting)
		say_greeted(node->client, &greeted, -ESTALE, serial);
	node->serial = *serial;
	node->is_greeted = false;
	node->is_waiting = true;
	node->durable = 0;
}

bool server_greet(struct server_client *client, struct unpack *body)
{
	struct server_package package;
	struct server_node *node;
	struct str token;

	server_package_unpack(body, &package);
	token = unpack_str(body);
	if (!unpack_is_whole(body) || !server_may_hand_over(client) ||
	    !ipc_tokens_match(client->server->peers.tokens, "noded", token) ||
	    !mail_node_is_valid(package.node) || package.serial.epoch == 0 ||
	    package.serial.run == 0 || package.serial.connection == 0)
		return false;
	client->is_node = true;
	node = find_or_add_node(client->server, package.node);
	if (node == NULL) {
		say_greeted(client, &package, -EMFILE, &package.serial);
		return true;
	}
	if (compare_serials(&package.serial, &node->serial) <= 0) {
		say_greeted(client, &package, -ESTALE, &node->serial);
		return true;
	}
	replace_greeting(node, &package.serial);
	node->client = client;
	greet_node(client->server, node);
	return true;
}

void server_nodes_greet(struct queue_server *server)
{
	bool must_prove = server->nodes != NULL && queue_intake_must_prove(server->intake);
	struct server_node *node;
	struct server_node *next;
	bool is_waiting = false;

	HASH_ITER (hh, server->nodes, node, next) {
		if (!node->is_waiting || node->committing > 0)
			continue;
		if (node->durable == 0 || queue_intake_durable(server->intake) >= node->durable)
			greet_node(server, node);
		else if (must_prove) /* a sync has failed: nothing is known */
			end_greeting(node, -EIO);
		is_waiting |= node->is_waiting;
	}
	if (is_waiting)
		server_settle_soon(server);
}

/* The names in the rest of BODY, which all end as SETTLE says. */
static bool settle_packages(struct server_client *client, struct unpack *body,
			    int (*settle)(struct queue_intake *intake, struct str node,
					  struct str name))
{
	struct queue_intake *intake = client->server->intake;
	struct server_package package;
	const struct server_node *node;

	server_package_unpack(body, &package);
	if (body->failed || !server_may_hand_over(client))
		return false;
	node = server_node_find(client, &package);
	while (body->rest.length > 0) {
		struct str name = unpack_str(body);
		int error;

		if (body->failed)
			return false;
		error = node != NULL ? settle(intake, package.node, name) : 0;
		if (error < 0) /* the next greeting lists it again */
			log_event_rated(EVENT_QUEUE_ERROR, log_string(operation, "settle"),
					log_error(error));
	}
	server_settle_held(client->server);
	return true;
}

bool server_settle(struct server_client *client, struct unpack *body)
{
	return settle_packages(client, body, queue_handed_settle);
}

bool server_drop(struct server_client *client, struct unpack *body)
{
	return settle_packages(client, body, queue_handed_drop);
}

void server_nodes_forget_client(struct server_client *client)
{
	struct server_node *node;
	struct server_node *next;

	HASH_ITER (hh, client->server->nodes, node, next) {
		if (node->client != client)
			continue;
		node->client = NULL;
		node->is_waiting = false;
		node->is_greeted = false;
	}
}

void server_nodes_free(struct queue_server *server)
{
	struct server_node *node;
	struct server_node *next;

	HASH_ITER (hh, server->nodes, node, next) {
		HASH_DELETE(hh, server->nodes, node);
		free(node);
	}
}
