// SPDX-License-Identifier: ISC
/*
 * Clients that are not processes of the node, but users of the machine ("sendmail"). Each has a
 * share of his own, and all together have a part of what the processes have. A user says who he is
 * twice in a message: in its first line and in its envelope. Both must be what the kernel says.
 */
#include "os/clock.h"
#include "queue/server/internal.h"
#include <errno.h>
#include <utlist.h>

enum {
	USER_CONNECTIONS = 32, /* of one user */
	ALL_CONNECTIONS = 256,
	OPEN_MAX = 4, /* messages of a connection: "sendmail" has one and a number for the next */
	/* The users' parts of what all clients may have, as divisors. */
	CONNECTIONS_PART = 16,
	OPEN_PART = 4,
	TRACE_MAX = 1024, /* bytes that are added to a message of the largest size */
};

static const int64_t AGE_MAX_US = 24 * HOUR_US;

static uint32_t smaller_of_limits(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

bool server_user_may_connect(const struct queue_server *server, uid_t user)
{
	const struct server_client *client;
	uint32_t of_user = 0;
	uint32_t of_all = 0;

	DL_FOREACH2 (server->clients, client, next) {
		of_all += client->is_user;
		of_user += client->is_user && client->user == user;
	}
	return user != (uid_t)-1 && of_user < USER_CONNECTIONS &&
	       of_all < smaller_of_limits(ALL_CONNECTIONS, server->peers.open / CONNECTIONS_PART);
}

bool server_user_may(unsigned type)
{
	return type == QUEUE_PROTOCOL_OPEN || type == QUEUE_PROTOCOL_SHARE ||
	       type == QUEUE_PROTOCOL_DATA || type == QUEUE_PROTOCOL_ENVELOPE ||
	       type == QUEUE_PROTOCOL_COMMIT || type == QUEUE_PROTOCOL_ABANDON;
}

int server_user_check_open(const struct server_client *client, size_t count)
{
	const struct queue_server *server = client->server;
	const struct server_client *other;
	size_t own = count + HASH_COUNT(client->files) + client->committing;
	size_t of_all = count;

	DL_FOREACH2 (server->clients, other, next)
		if (other->is_user)
			of_all += HASH_COUNT(other->files) + other->committing;
	return own > OPEN_MAX || of_all > server->peers.open / OPEN_PART ? -EMFILE : 0;
}

static bool is_now(int64_t time_us)
{
	int64_t age_us = os_clock_wall_us() - time_us;

	return age_us <= AGE_MAX_US && age_us >= -AGE_MAX_US;
}

int server_user_check_envelope(const struct server_held *held, const struct mail_envelope *envelope)
{
	struct buffer received CLEANUP(buffer_clear) = {0};

	if (os_clock_monotonic_us() - held->opened_us > AGE_MAX_US)
		return -ETIMEDOUT;
	if (envelope->size > held->client->server->peers.users.size + TRACE_MAX)
		return -EFBIG;
	queue_submit_append_received(&received, held->client->user);
	if (envelope->stage != MAIL_STAGE_SUBMIT || envelope->trigger.length > 0 ||
	    !is_now(envelope->id.born_us) || !str_equal(envelope->received, buffer_view(&received)))
		return -EPERM;
	return 0;
}

int server_user_check_data(const struct server_held *held)
{
	struct buffer start CLEANUP(buffer_clear) = {0};

	queue_submit_append_trace(&start, held->client->user);
	if (queue_message_is_shared(held->message))
		return queue_message_check_start(held->message, buffer_view(&start));
	return str_starts_with(buffer_view(&held->data), buffer_view(&start)) ? 0 : -EPERM;
}
