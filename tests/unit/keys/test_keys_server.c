// SPDX-License-Identifier: ISC
/* Who is told the keys of session tickets: those who accept sessions, and nobody else. Connections
 * are this test's. */
#include "config/config.h"
#include "fake_loop.h"
#include "ipc/server.h"
#include "keys/protocol.h"
#include "keys/server.h"
#include "keys/set.h"
#include "test.h"
#include <stdlib.h>

enum { ACCEPTOR = 100, OTHER = 200 };

struct ipc_channel {
	uid_t user;
	struct buffer heard;
	bool has_heard;
	bool is_secret;
};

struct ipc_server {
	const struct ipc_server_kind *kind;
	void *context;
	struct ipc_channel *channels[2];
	size_t count;
};

static struct ipc_server world;

struct ipc_server *ipc_server_new(struct os_loop *loop, int listening,
				  const struct ipc_server_kind *kind, void *context)
{
	(void)loop;
	(void)listening;
	world = (struct ipc_server){.kind = kind, .context = context};
	return &world;
}

void ipc_server_set_users(struct ipc_server *server, const uid_t *users, size_t count)
{
	(void)server;
	(void)users;
	(void)count;
}

void ipc_server_set_backlog_max(struct ipc_server *server, size_t bytes)
{
	(void)server;
	(void)bytes;
}

void ipc_server_each(struct ipc_server *server,
		     void (*call)(void *client, struct ipc_channel *channel))
{
	for (size_t i = 0; i < server->count; i++)
		call(server->context, server->channels[i]);
}

void ipc_server_free(struct ipc_server *server)
{
	(void)server;
}

uid_t ipc_channel_user(const struct ipc_channel *channel)
{
	return channel->user;
}

void ipc_channel_set_secret(struct ipc_channel *channel)
{
	channel->is_secret = true;
}

void ipc_channel_send(struct ipc_channel *channel, uint16_t type, uint32_t tag, struct str body,
		      const int *descriptors, size_t descriptor_count)
{
	(void)tag;
	(void)descriptors;
	(void)descriptor_count;
	if (channel->has_heard) /* another set */
		buffer_reset(&channel->heard);
	channel->has_heard = type == KEYS_SET_END;
	buffer_append_str(&channel->heard, body);
}

/* How many keys of tickets it was told. */
static size_t told(const struct ipc_channel *channel)
{
	struct keys_set *set = calloc(1, sizeof *set);
	size_t count;

	assert_non_null(set);
	assert_true(channel->has_heard);
	assert_true(keys_set_unpack(buffer_view(&channel->heard), set));
	count = set->ticket_count;
	free(set);
	return count;
}

static void connect_to(struct keys_server *server, struct ipc_channel *channel)
{
	(void)server;
	world.channels[world.count++] = channel;
	(void)world.kind->connected(world.context, channel);
}

static void keys_of_tickets_go_to_acceptors_only(void **state)
{
	static const struct config config;
	static const uid_t acceptors[] = {ACCEPTOR};
	struct ipc_channel acceptor = {.user = ACCEPTOR};
	struct ipc_channel other = {.user = OTHER};
	struct keys_server *server;

	(void)state;
	fake_begin(1);
	server = keys_server_new(NULL, -1, &config);
	connect_to(server, &acceptor); /* nobody is one yet */
	assert_int_equal(told(&acceptor), 0);
	world.count = 0;
	keys_server_set_acceptors(server, acceptors, COUNT_OF(acceptors));
	connect_to(server, &acceptor);
	connect_to(server, &other);
	assert_int_equal(told(&acceptor), 1);
	assert_true(acceptor.is_secret);
	assert_int_equal(told(&other), 0);
	fake_pass(13 * HOUR_US); /* another key */
	fake_play_timer();
	assert_int_equal(told(&acceptor), 2);
	assert_int_equal(told(&other), 0);
	keys_server_free(server);
	buffer_clear(&acceptor.heard);
	buffer_clear(&other.heard);
	assert_int_equal(fake_timers(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_of_tickets_go_to_acceptors_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
