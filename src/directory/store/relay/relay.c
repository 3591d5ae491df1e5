// SPDX-License-Identifier: ISC
#include "directory/store/relay/relay.h"
#include "base/panic.h"
#include "directory/store/relay/internal.h"
#include "os/clock.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

enum {
	RELAY_IDENTITY_SIZE = sizeof((struct directory_store *)NULL)->identity,
	RELAY_DATA_MAX = 46, /* bytes: leaves room for a '+' and a digest of 16 */
};

static void relay_missed(struct directory_store *store, uint64_t version, size_t limit,
			 directory_missed *missed, void *context)
{
	struct relay *relay = relay_of(store);

	relay_catch_up(relay);
	if (store->is_up)
		relay_changes_tell(&relay->changes, version, store->version, limit, missed,
				   context);
	else
		missed(context, -ESTALE, NULL, NULL, 0);
}

/* The servers' identity. Each relay on the way appends what its own answers depend on; if that
 * becomes too long, a digest replaces all but the part that identifies the data. */
static void read_identity_of_servers(const struct relay *relay, char identity[RELAY_IDENTITY_SIZE])
{
	struct str whole = directory_client_identity(relay->client);
	struct str rest = whole;
	struct str data;
	uint64_t digest = UINT64_C(0xcbf29ce484222325); /* FNV-1a */

	if (whole.length < RELAY_IDENTITY_SIZE) {
		snprintf(identity, RELAY_IDENTITY_SIZE, STR_FORMAT, STR_ARGUMENTS(whole));
		return;
	}
	for (size_t i = 0; i < whole.length; i++)
		digest = (digest ^ (unsigned char)whole.data[i]) * UINT64_C(0x100000001b3);
	(void)str_split(&rest, '+', &data);
	if (data.length > RELAY_DATA_MAX)
		data.length = RELAY_DATA_MAX;
	snprintf(identity, RELAY_IDENTITY_SIZE, STR_FORMAT "+%016" PRIx64, STR_ARGUMENTS(data),
		 digest);
}

static bool is_same_identity(const struct relay *relay)
{
	char identity[RELAY_IDENTITY_SIZE];

	read_identity_of_servers(relay, identity);
	return strcmp(identity, relay->store.identity) == 0;
}

static void begin_anew_with_identity(struct relay *relay)
{
	bool is_first = relay->store.identity[0] == '\0';

	read_identity_of_servers(relay, relay->store.identity);
	relay->store.version = directory_client_version(relay->client);
	relay->heard = relay->store.version;
	relay_changes_begin(&relay->changes, relay->store.version);
	if (!is_first)
		relay->store.handler->reset(relay->store.context);
}

static void on_new(void *context, uint64_t version, struct str table, struct str name)
{
	struct relay *relay = context;
	struct directory_store *store = &relay->store;
	const struct directory_key key = {directory_table_find(table), name};

	if (table.length == 0) {
		begin_anew_with_identity(relay);
		return;
	}
	if (version > relay->heard)
		relay->heard = version;
	relay_catch_up(relay);
	/* a table of a later protocol is ignored */
	if (key.table != DIRECTORY_NO_TABLE && relay_changes_add(&relay->changes, &key, version))
		store->handler->changed(store->context, &key, &version, 1);
}

static void on_relay_client_state(void *context, bool is_up)
{
	struct relay *relay = context;
	struct directory_store *store = &relay->store;

	if (is_up && !is_same_identity(relay))
		begin_anew_with_identity(relay);
	relay_catch_up(relay);
	store->is_up = is_up;
	store->lost_us = is_up ? 0 : os_clock_monotonic_us();
	store->handler->state(store->context, is_up);
}

static const char *relay_followed(struct directory_store *store)
{
	return directory_client_server(relay_of(store)->client);
}

static void relay_free(struct directory_store *store)
{
	struct relay *relay = relay_of(store);
	struct request *request;
	struct request *next;

	while (relay->requests != NULL)
		relay_request_cancel(relay->requests);
	LL_FOREACH_SAFE(relay->unused, request, next)
	free(request);
	directory_client_free(relay->client);
	relay_changes_clear(&relay->changes);
	free(relay);
}

struct directory_store *store_relay_new(struct os_loop *loop, const char *const *servers,
					size_t server_count, const struct directory_dialer *dialer)
{
	static const struct directory_store_operations operations = {
		.get = relay_get,
		.list = relay_list,
		.change = relay_change,
		.missed = relay_missed,
		.free = relay_free,
		.route = relay_route,
		.followed = relay_followed,
	};
	static const struct directory_client_handler handler = {on_relay_client_state};
	struct relay *relay = memory_alloc_zero(1, sizeof *relay);

	relay->store.operations = &operations;
	relay->store.fresh_us = INT64_MAX; /* each answer has its own expiry */
	relay->store.change_max = 1;
	relay->client = directory_client_new(loop, servers, server_count, dialer, &handler, relay);
	directory_client_watch(relay->client, on_new, relay);
	relay->store.lost_us = os_clock_monotonic_us();
	relay->store.servers = directory_client_servers(relay->client);
	relay->store.server_count = server_count;
	return &relay->store;
}
