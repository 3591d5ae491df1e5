// SPDX-License-Identifier: ISC
/* Tells operators ("stagepost limits") what is counted, at RUN/limits. */
#include "ipc/server.h"
#include "os/clock.h"
#include "supervisor/internal.h"
#include "supervisor/talk/limits.h"
#include <string.h>

enum { CLIENTS_MAX = 16, LIMITS_TALK_BACKLOG_MAX = 1 << 20 };

static void *on_limits_client_connected(void *context, struct ipc_channel *channel)
{
	(void)channel;
	return context;
}

static void append_classes(const struct supervisor *supervisor, struct buffer *out)
{
	for (size_t i = 0; i < limit_classes_count(supervisor->classes); i++) {
		const struct limit_class *class = limit_classes_at(supervisor->classes, i);
		struct limits_talk_class said = {.mask = str_from(class->mask),
						 .queue = class->queue,
						 .refuse = class->refuse};

		limit_total_of(supervisor->limits, class->key, &said.total);
		limits_talk_pack(out, &said);
	}
}

static void append_rates(const struct supervisor *supervisor, struct buffer *out)
{
	const struct config *config = supervisor->config;

	if (supervisor->limits == NULL ||
	    limit_memory_area_size(supervisor->limits, LIMIT_AREA_RATES) == 0)
		return;
	for (size_t i = 0; i < config->rate_count; i++) {
		const struct config_rate *rate = &config->rates[i];
		struct limits_talk_rate said = {
			.name = str_from(rate->name),
			.count = str_from(config_rate_count_word(rate->count)),
			.per = str_from(config_rate_per_word(rate->per)),
			.limit = rate->limit,
			.interval = (uint64_t)(rate->interval_us / SECOND_US)};

		limit_rate_total_of(supervisor->limits, supervisor->rates_key, rate, &said.total);
		limits_talk_pack_rate(out, &said);
	}
}

static bool on_limits_question(void *client, struct ipc_channel *channel,
			       const struct ipc_message *message)
{
	struct buffer body CLEANUP(buffer_clear) = {0};

	if (message->type != LIMITS_TALK_ASK || message->body.length > 0)
		return false;
	append_classes(client, &body);
	ipc_channel_send(channel, LIMITS_TALK_CLASSES, message->tag, buffer_view(&body), NULL, 0);
	buffer_reset(&body);
	append_rates(client, &body);
	ipc_channel_send(channel, LIMITS_TALK_RATES, message->tag, buffer_view(&body), NULL, 0);
	ipc_channel_send(channel, LIMITS_TALK_END, message->tag, STR(""), NULL, 0);
	return true;
}

void supervisor_show_limits(struct supervisor *supervisor)
{
	static const struct ipc_server_kind kind = {.clients_max = CLIENTS_MAX,
						    .backlog_max = LIMITS_TALK_BACKLOG_MAX,
						    .connected = on_limits_client_connected,
						    .message = on_limits_question};
	const uid_t users[] = {0, supervisor->users.own, supervisor->users.node.uid};

	for (size_t i = 0; i < supervisor->socket_count; i++) {
		if (strcmp(supervisor->sockets[i].name, "limits") != 0)
			continue;
		supervisor->limits_server = ipc_server_new(
			supervisor->loop, supervisor->sockets[i].descriptor, &kind, supervisor);
		ipc_server_set_users(supervisor->limits_server, users, COUNT_OF(users));
	}
}

void supervisor_hide_limits(struct supervisor *supervisor)
{
	ipc_server_free(supervisor->limits_server);
	supervisor->limits_server = NULL;
}
