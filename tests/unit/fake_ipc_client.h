/* SPDX-License-Identifier: ISC */
/*
 * tests/unit/fake_ipc_client.h - ipc/channel.h for the test of one client: a connection that is
 * there when the test says so. What is sent is the test's own matter (ipc_channel_send()). To
 * include once in a program.
 */
#ifndef TESTS_UNIT_FAKE_IPC_CLIENT_H
#define TESTS_UNIT_FAKE_IPC_CLIENT_H

#include "ipc/channel.h"
#include "test.h"

struct ipc_client {
	struct ipc_client_handler handler; /* to say that it is connected, lost, or what it hears */
	void *context;
};

static struct {
	struct ipc_client client;
	bool is_connected;
	bool is_secret;   /* it was told so */
	bool is_freed;    /* likewise */
	unsigned refused; /* messages */
} fake_ipc;

struct ipc_client *ipc_client_new(struct os_loop *loop, const char *path,
				  const struct ipc_client_handler *handler, void *context)
{
	(void)loop;
	assert_string_equal(path, "the path");
	fake_ipc.client = (struct ipc_client){*handler, context};
	return &fake_ipc.client;
}

void ipc_client_free(struct ipc_client *client)
{
	assert_ptr_equal(client, &fake_ipc.client);
	fake_ipc.is_freed = true;
}

struct ipc_channel *ipc_client_channel(struct ipc_client *client)
{
	static char channel;

	assert_ptr_equal(client, &fake_ipc.client);
	return fake_ipc.is_connected ? (struct ipc_channel *)(void *)&channel : NULL;
}

void ipc_channel_set_secret(struct ipc_channel *channel)
{
	assert_non_null(channel);
	fake_ipc.is_secret = true;
}

void ipc_channel_refuse(struct ipc_channel *channel, uint16_t type)
{
	(void)type;
	assert_non_null(channel);
	fake_ipc.refused++;
}

#endif
