// SPDX-License-Identifier: ISC
/*
 * The limits of a client, so that a compromised one takes no more than its share: descriptors by
 * the number of messages and connections, memory by the data received before a commit and the data
 * being committed (commit.c).
 */
#include "queue/server/internal.h"
#include <errno.h>
#include <utlist.h>

enum {
	CONNECTIONS_MAX = 8,  /* for each process: it has one or two, and perhaps as many again
			       * that it has closed without our having seen it yet */
	HEAD_MAX = 4096,      /* bytes of an envelope without its recipients */
	RECIPIENT_MAX = 1024, /* bytes of one recipient in it */
};

static uint32_t larger_of_limits(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* The limits of USER, from all his roles. */
static struct queue_server_part limits_of(const struct queue_server *server, uid_t user)
{
	const struct queue_server_part *parts[] = {&server->peers.manager,  &server->peers.intake,
						   &server->peers.packages, &server->peers.list,
						   &server->peers.reports,  &server->peers.nodes};
	struct queue_server_part limits = {.user = user};

	for (size_t i = 0; i < COUNT_OF(parts); i++) {
		if (parts[i]->user != user)
			continue;
		limits.processes += parts[i]->processes;
		limits.open = larger_of_limits(limits.open, parts[i]->open);
		limits.recipients = larger_of_limits(limits.recipients, parts[i]->recipients);
	}
	return limits;
}

bool server_may_connect(const struct queue_server *server, uid_t user)
{
	struct queue_server_part limits = limits_of(server, user);
	const struct server_client *client;
	size_t of_user = 0;

	DL_FOREACH2 (server->clients, client, next)
		of_user += !client->is_user && client->user == user;
	return of_user < (size_t)limits.processes * CONNECTIONS_MAX;
}

int server_check_open(const struct server_client *client, size_t count)
{
	const struct queue_server *server = client->server;
	struct queue_server_part limits = limits_of(server, client->user);
	const struct server_client *other;
	size_t own = count + HASH_COUNT(client->files) + client->committing;
	size_t of_user = count;
	size_t of_all = count;

	if (client->is_user && server_user_check_open(client, count) < 0)
		return -EMFILE;
	DL_FOREACH2 (server->clients, other, next) {
		size_t open = HASH_COUNT(other->files) + other->committing;

		of_all += open;
		of_user += !other->is_user && other->user == client->user ? open : 0;
	}
	if (!client->is_user &&
	    (own > limits.open || of_user > (size_t)limits.processes * limits.open))
		return -EMFILE;
	return of_all > server->peers.open ? -EMFILE : 0;
}

static bool has_processes_of_user(const struct queue_server_part *part, uid_t user)
{
	return part->processes > 0 && part->user == user;
}

bool server_may_use_reserve(const struct server_client *client)
{
	const struct queue_server_peers *peers = &client->server->peers;

	return !client->is_user && (has_processes_of_user(&peers->manager, client->user) ||
				    has_processes_of_user(&peers->list, client->user));
}

bool server_may_hand_over(const struct server_client *client)
{
	return !client->is_user &&
	       has_processes_of_user(&client->server->peers.nodes, client->user);
}

uint32_t server_recipients_max(const struct server_client *client)
{
	return client->is_user ? client->server->peers.users.recipients
			       : limits_of(client->server, client->user).recipients;
}

size_t server_text_max(const struct server_client *client)
{
	size_t size = HEAD_MAX + (size_t)server_recipients_max(client) * RECIPIENT_MAX;

	if (client->is_node) /* there is a map, too */
		return QUEUE_ENVELOPE_MAX;
	return size < QUEUE_ENVELOPE_MAX ? size : QUEUE_ENVELOPE_MAX;
}

static void raise_part_limits(struct queue_server_part *part, const struct queue_server_part *new)
{
	part->processes = larger_of_limits(part->processes, new->processes);
	part->open = larger_of_limits(part->open, new->open);
	part->recipients = larger_of_limits(part->recipients, new->recipients);
}

void queue_server_configure(struct queue_server *server, uint64_t reserve,
			    const struct queue_server_peers *peers)
{
	server->reserve = reserve;
	raise_part_limits(&server->peers.manager, &peers->manager);
	raise_part_limits(&server->peers.intake, &peers->intake);
	raise_part_limits(&server->peers.packages, &peers->packages);
	raise_part_limits(&server->peers.list, &peers->list);
	raise_part_limits(&server->peers.reports, &peers->reports);
	raise_part_limits(&server->peers.nodes, &peers->nodes);
	server->peers.users.recipients =
		larger_of_limits(server->peers.users.recipients, peers->users.recipients);
	if (peers->users.size > server->peers.users.size)
		server->peers.users.size = peers->users.size;
}
