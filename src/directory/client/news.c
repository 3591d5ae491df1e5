// SPDX-License-Identifier: ISC
/* What the server says about its data: the greeting, and changes. */
#include "base/panic.h"
#include "directory/client/internal.h"
#include "log/event.h"
#include "os/clock.h"
#include <stdio.h>
#include <string.h>

static const int64_t OLDER_PATIENCE_US = 30 * SECOND_US;

void client_saw_version(struct directory_client *client, uint64_t version)
{
	if (version > client->version)
		client->version = version;
	if (!client->is_syncing && version > client->synced)
		client->synced = version;
}

static void forget_all(struct directory_client *client, struct str identity, uint64_t version)
{
	cache_drop_all(client->cache);
	snprintf(client->identity, sizeof client->identity, STR_FORMAT, STR_ARGUMENTS(identity));
	client->version = version;
	client->synced = version;
	client->is_syncing = false;
	if (client->watch != NULL)
		client->watch(client->watch_context, version, STR(""), STR(""));
}

/* --- data older than what was seen --- */

static struct str data_of(struct str identity)
{
	struct str data;

	(void)str_split(&identity, '+', &data);
	return data;
}

static bool is_older(const struct directory_client *client, struct str identity, uint64_t version)
{
	return str_equal(data_of(identity), data_of(str_from(client->identity))) &&
	       version < client->version;
}

/* Whether another server may have the data that were seen. A server that is the only one knows
 * best: it compares what it reads with what it has seen itself. Of several, one may be late; but
 * newer data that none had for so long are lost, or their version was never true. */
static bool may_be_elsewhere(const struct directory_client *client)
{
	bool is_late = client->lost_us != 0 &&
		       os_clock_monotonic_us() - client->lost_us > OLDER_PATIENCE_US;

	return client->server_count > 1 && !is_late;
}

static int64_t as_number(uint64_t version)
{
	return version < INT64_MAX ? (int64_t)version : INT64_MAX;
}

/* Whether the connection is given up for data that are newer. */
static bool is_left_for_newer(struct directory_client *client, struct str identity,
			      uint64_t version)
{
	if (!is_older(client, identity, version))
		return false;
	if (may_be_elsewhere(client)) {
		client_lose(client, "its data are older than what was seen");
		return true;
	}
	log_event(EVENT_DIRECTORY_OLDER, log_string(server, client->servers[client->current]),
		  log_number(version, as_number(version)),
		  log_number(seen, as_number(client->version)));
	return false;
}

/* --- the greeting, and what follows --- */

static void say_since(struct directory_client *client)
{
	struct directory_frame frame;

	if (client->watch == NULL && cache_count(client->cache) == 0) {
		client->synced = client->version;
		return;
	}
	directory_frame_begin(&frame, &client->output, "since");
	directory_frame_add(&frame, str_from(client->identity));
	directory_frame_add_number(&frame, client->synced);
	directory_frame_end(&frame);
	client->is_syncing = true;
}

static void say_watch(struct directory_client *client)
{
	struct directory_frame frame;

	if (client->watch == NULL)
		return;
	directory_frame_begin(&frame, &client->output, "watch");
	directory_frame_end(&frame);
}

void client_say_watch(struct directory_client *client)
{
	say_watch(client);
	if (client->identity[0] != '\0')
		say_since(client);
}

/* Compares the data in the greeting with those seen before. */
static void take_data(struct directory_client *client, struct str identity, uint64_t version)
{
	bool is_first = *client->identity == '\0';

	if (!is_first &&
	    (version < client->version || !str_equal(identity, str_from(client->identity)))) {
		forget_all(client, identity, version);
	} else {
		memcpy(client->identity, identity.data, identity.length);
		client->identity[identity.length] = '\0';
		client->version = version;
		if (is_first)
			client->synced = version;
	}
	say_since(client);
}

bool client_news_hello(struct directory_client *client, const struct heard *heard)
{
	struct str identity = heard->count >= 3 ? heard->words[1] : STR("");
	uint64_t version;

	if (heard->count < 3 || !str_equal(heard->words[0], STR("1")) || identity.length == 0 ||
	    identity.length >= CLIENT_IDENTITY_SIZE || !str_to_u64(heard->words[2], &version) ||
	    client->state != CLIENT_CONNECTING) {
		client_lose(client, "its greeting is not of this protocol");
		return true;
	}
	if (is_left_for_newer(client, identity, version))
		return true;
	client->state = CLIENT_GREETED;
	client->begun_us = os_clock_monotonic_us();
	client->is_syncing = false;
	say_watch(client);
	/* a server that never read its data sends "reset" once it has */
	if (!str_equal(identity, STR("-")))
		take_data(client, identity, version);
	client_greeted(client);
	return true;
}

/* --- changes --- */

bool client_news_new(struct directory_client *client, const struct heard *heard)
{
	uint64_t version;

	if (!str_to_u64(heard->words[0], &version))
		return false;
	client_saw_version(client, version);
	cache_drop(client->cache, heard->words[1], heard->words[2]);
	if (client->watch != NULL)
		client->watch(client->watch_context, version, heard->words[1], heard->words[2]);
	return true;
}

bool client_news_now(struct directory_client *client, const struct heard *heard)
{
	uint64_t version;

	if (!str_to_u64(heard->words[0], &version))
		return false;
	client->is_syncing = false;
	client_saw_version(client, version);
	client->synced = client->version;
	return true;
}

bool client_news_reset(struct directory_client *client, const struct heard *heard)
{
	uint64_t version;

	if (!str_to_u64(heard->words[1], &version) || heard->words[0].length == 0 ||
	    heard->words[0].length >= CLIENT_IDENTITY_SIZE)
		return false;
	if (is_left_for_newer(client, heard->words[0], version))
		return true;
	forget_all(client, heard->words[0], version);
	return true;
}

/* Another server, if there is one, may be able to read them. */
bool client_news_down(struct directory_client *client, const struct heard *heard)
{
	(void)heard;
	client->is_down = true;
	snprintf(client->reason, sizeof client->reason, "its data cannot be read");
	if (client->server_count > 1)
		client_lose(client, "its data cannot be read");
	return true;
}

bool client_news_up(struct directory_client *client, const struct heard *heard)
{
	(void)heard;
	client->is_down = false;
	client_tell_state(client); /* before the answers that follow */
	return true;
}
