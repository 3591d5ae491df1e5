// SPDX-License-Identifier: ISC
#include "deliver/launch/client.h"
#include "base/panic.h"
#include "deliver/launch/launch.h"
#include "ipc/channel.h"
#include "ipc/pack.h"
#include <stdio.h>
#include <stdlib.h>
#include <utlist.h>

struct launch_client {
	struct ipc_client *ipc;
	char *token;
	void (*ready)(void *context);
	void *context;
	struct launch *launches;
	uint32_t next_tag;
};

static void send_of(const struct launch *launch, enum launch_message type, struct str body)
{
	struct ipc_channel *channel =
		launch->client != NULL ? ipc_client_channel(launch->client->ipc) : NULL;

	if (channel != NULL)
		ipc_channel_send(channel, (uint16_t)type, launch->tag, body, NULL, 0);
}

void launch_forget(struct launch *launch)
{
	if (launch->client == NULL)
		return;
	DL_DELETE2(launch->client->launches, launch, previous, next);
	launch->client = NULL;
}

static struct launch *find_launch(const struct launch_client *client, uint32_t tag)
{
	struct launch *launch;

	DL_FOREACH2 (client->launches, launch, next)
		if (launch->tag == tag)
			return launch;
	return NULL;
}

/* --- messages from "launch" --- */

static void on_launcher_connected(void *context)
{
	struct launch_client *client = context;
	struct buffer body CLEANUP(buffer_clear) = {0};

	pack_str(&body, str_from(client->token));
	ipc_channel_send(ipc_client_channel(client->ipc), LAUNCH_HELLO, 0, buffer_view(&body), NULL,
			 0);
	client->ready(client->context);
}

static void on_program_started(struct launch *launch, struct ipc_message *message)
{
	int descriptors[LAUNCH_DESCRIPTORS];

	if (message->descriptor_count != LAUNCH_DESCRIPTORS) { /* no free descriptors here */
		struct mail_verdict why;

		mail_verdict_set(&why, "4.3.0", "No descriptor is free for a program");
		launch_kill(launch);
		launch_forget(launch);
		launch->handler->refused(launch->context, &why);
		return;
	}
	for (size_t i = 0; i < LAUNCH_DESCRIPTORS; i++) {
		descriptors[i] = message->descriptors[i];
		message->descriptors[i] = -1;
	}
	launch->is_started = true;
	launch->handler->started(launch->context, descriptors);
}

static void on_program_refused(struct launch *launch, struct str body)
{
	struct unpack unpack = {body, false};
	struct str status = unpack_str(&unpack);
	struct str text = unpack_str(&unpack);
	char code[MAIL_STATUS_SIZE] = "4.3.0";
	struct mail_verdict why;

	if (status.length < sizeof code && mail_status_is_valid(status))
		snprintf(code, sizeof code, STR_FORMAT, STR_ARGUMENTS(status));
	mail_verdict_set(&why, code, STR_FORMAT, STR_ARGUMENTS(text));
	launch_forget(launch);
	launch->handler->refused(launch->context, &why);
}

static void on_program_ended(struct launch *launch, struct str body)
{
	struct unpack unpack = {body, false};
	int status = (int)unpack_u32(&unpack);
	bool is_late = unpack_u32(&unpack) != 0;

	launch_forget(launch);
	launch->handler->ended(launch->context, status, is_late);
}

/* A program is started once: the descriptors of a second STARTED would have no owner. */
static bool fits_launch_state(const struct launch *launch, uint16_t type)
{
	switch (type) {
	case LAUNCH_STARTED:
	case LAUNCH_REFUSED:
		return !launch->is_started;
	case LAUNCH_ENDED:
		return launch->is_started;
	default:
		return false;
	}
}

static void on_launcher_message(void *context, struct ipc_message *message)
{
	struct launch_client *client = context;
	struct launch *launch = find_launch(client, message->tag);

	if (launch == NULL) /* launch_forget() was called */
		return;
	if (!fits_launch_state(launch, message->type)) {
		ipc_channel_refuse(ipc_client_channel(client->ipc), message->type);
		return;
	}
	switch (message->type) {
	case LAUNCH_STARTED:
		on_program_started(launch, message);
		break;
	case LAUNCH_REFUSED:
		on_program_refused(launch, message->body);
		break;
	default:
		on_program_ended(launch, message->body);
	}
}

static void on_launcher_lost(void *context)
{
	struct launch_client *client = context;

	while (client->launches != NULL) {
		struct launch *launch = client->launches;

		launch_forget(launch);
		launch->handler->lost(launch->context);
	}
}

/* --- requests --- */

struct launch_client *launch_client_new(struct os_loop *loop, const char *path, struct str token,
					void (*ready)(void *context), void *context)
{
	static const struct ipc_client_handler handler = {on_launcher_connected,
							  on_launcher_message, on_launcher_lost};
	struct launch_client *client = memory_alloc_zero(1, sizeof *client);

	client->token = memory_alloc(token.length + 1);
	snprintf(client->token, token.length + 1, STR_FORMAT, STR_ARGUMENTS(token));
	client->ready = ready;
	client->context = context;
	client->ipc = ipc_client_new(loop, path, &handler, client);
	return client;
}

void launch_client_free(struct launch_client *client)
{
	if (client == NULL)
		return;
	ipc_client_free(client->ipc);
	free(client->token);
	free(client);
}

bool launch_client_is_ready(struct launch_client *client)
{
	return ipc_client_channel(client->ipc) != NULL;
}

static uint32_t new_launch_tag(struct launch_client *client)
{
	do
		client->next_tag++;
	while (client->next_tag == 0 || find_launch(client, client->next_tag) != NULL);
	return client->next_tag;
}

void launch_begin(struct launch_client *client, struct launch *launch,
		  const struct launch_order *order)
{
	struct buffer body CLEANUP(buffer_clear) = {0};

	launch->tag = new_launch_tag(client);
	launch->client = client;
	launch->is_started = false;
	DL_APPEND2(client->launches, launch, previous, next);
	pack_str(&body, str_from(order->service));
	pack_u64(&body, order->id.number);
	pack_u64(&body, (uint64_t)order->id.born_us);
	pack_str(&body, order->sender);
	pack_str(&body, order->recipient);
	send_of(launch, LAUNCH_RUN, buffer_view(&body));
}

void launch_whole(const struct launch *launch)
{
	send_of(launch, LAUNCH_WHOLE, STR(""));
}

void launch_kill(const struct launch *launch)
{
	send_of(launch, LAUNCH_KILL, STR(""));
}
