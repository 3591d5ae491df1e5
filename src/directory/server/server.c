// SPDX-License-Identifier: ISC
#include "directory/server/server.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include "directory/server/internal.h"
#include "log/event.h"
#include "os/clock.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- on what routes depend besides the data --- */

static uint64_t digest_config_text(uint64_t hash, const char *text)
{
	for (; *text != '\0'; text++)
		hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
	return (hash ^ 0xff) * UINT64_C(1099511628211);
}

/* Which addresses a service can take depends on what is made of them. */
static uint64_t digest_service(uint64_t hash, const struct config_service *service)
{
	hash = digest_config_text(hash, service->name);
	hash ^= (uint64_t)service->kind;
	hash = digest_config_text(hash, service->path != NULL ? service->path : "");
	hash = digest_config_text(hash, service->login != NULL ? service->login : "");
	for (size_t i = 0; i < service->command_count; i++)
		hash = digest_config_text(hash, service->command[i]);
	for (size_t i = 0; i < service->server_count; i++)
		hash = digest_config_text(hash, service->servers[i].text);
	return hash;
}

static void set_digest(struct directory_server *server)
{
	const struct config *config = server->config;
	uint64_t hash = digest_config_text(UINT64_C(14695981039346656037), config->hostname);

	hash = digest_config_text(hash, config_default_domain(config));
	hash = digest_config_text(hash, config->recipient_delimiter);
	for (size_t i = 0; i < config->service_count; i++)
		hash = digest_service(hash, &config->services[i]);
	for (size_t i = 0; i < config->domain_count; i++) {
		hash = digest_config_text(hash, config->domains[i].name);
		hash = digest_config_text(hash, config->domains[i].service->name);
		for (size_t j = 0; j < config->domains[i].address_count; j++)
			hash = digest_config_text(hash, config->domains[i].addresses[j]);
	}
	snprintf(server->config_digest, sizeof server->config_digest, "%016" PRIx64, hash);
}

static void set_identity(struct directory_server *server)
{
	const char *identity = server->store->identity;

	if (*identity == '\0')
		snprintf(server->identity, sizeof server->identity, "-");
	else
		snprintf(server->identity, sizeof server->identity, "%.63s+%s", identity,
			 server->config_digest);
}

/* --- the store --- */

static void on_keys_changed(void *context, const struct directory_key *keys,
			    const uint64_t *versions, size_t count)
{
	struct directory_server *server = context;

	for (size_t i = 0; i < count; i++) {
		directory_expander_changed(server->expander, &keys[i]);
		lacking_changed(server, &keys[i]);
	}
	push_changes(server, keys, versions, count);
	if (server->listener != NULL)
		server->listener->changed(server->listener_context, keys, versions, count);
}

static void on_store_reset(void *context)
{
	struct directory_server *server = context;

	set_identity(server);
	directory_expander_reset(server->expander);
	lacking_reset(server);
	push_reset(server);
	if (server->listener != NULL)
		server->listener->reset(server->listener_context);
}

static void on_store_state(void *context, bool is_up)
{
	struct directory_server *server = context;
	char before[SERVER_IDENTITY_SIZE];

	if (is_up)
		log_event(EVENT_DIRECTORY_UP, log_string(identity, server->store->identity),
			  log_number(version, (int64_t)server->store->version));
	else
		log_event(EVENT_DIRECTORY_DOWN);
	memcpy(before, server->identity, sizeof before);
	set_identity(server);
	if (strcmp(before, server->identity) != 0) {
		lacking_reset(server);
		push_reset(server);
	}
	push_state(server, is_up);
	if (server->listener != NULL)
		server->listener->state(server->listener_context, is_up);
}

static const struct directory_store_handler store_handler = {on_keys_changed, on_store_reset,
							     on_store_state};

static void ignore_changed(void *context, const struct directory_key *keys,
			   const uint64_t *versions, size_t count)
{
	(void)context;
	(void)keys;
	(void)versions;
	(void)count;
}

static void ignore_reset(void *context)
{
	(void)context;
}

static void ignore_state(void *context, bool is_up)
{
	(void)context;
	(void)is_up;
}

static const struct directory_store_handler deaf_handler = {ignore_changed, ignore_reset,
							    ignore_state};

/* --- life --- */

/* When filters age, unless a client does not read. */
static void tick_later(struct directory_server *server)
{
	int64_t left_us =
		server->aged_us + push_longest_ttl_us(server) - os_clock_monotonic_us() + 1;

	server->is_ticking = false;
	for (struct session *s = server->sessions; s != NULL; s = s->next)
		if (s->stuck_since_us != 0)
			server_tick_soon(server);
	if (!server->is_ticking)
		os_timer_start(server->tick, left_us > SERVER_TICK_US ? left_us : SERVER_TICK_US);
}

static void on_sessions_tick(void *context)
{
	struct directory_server *server = context;
	int64_t now_us = os_clock_monotonic_us();
	bool is_aged = now_us - server->aged_us > push_longest_ttl_us(server);

	for (struct session *s = server->sessions; s != NULL; s = s->next) {
		session_check(s, now_us);
		if (is_aged && s->filter != NULL)
			filter_age(s->filter);
	}
	if (is_aged)
		server->aged_us = now_us;
	tick_later(server);
}

struct directory_server *directory_server_new(struct os_loop *loop, struct directory_store *store,
					      const struct config *config)
{
	struct directory_server *server = memory_alloc_zero(1, sizeof *server);

	server->loop = loop;
	server->store = store;
	server->config = config;
	/* if other servers compute routes, only the configuration's domains are resolved here */
	server->expander =
		directory_expander_new(store->operations->route != NULL ? NULL : store, config);
	server->batch_task = (struct os_task){.call = change_commit, .context = server};
	server->started_us = os_clock_monotonic_us();
	server->aged_us = server->started_us;
	server->tick = os_timer_new(loop, on_sessions_tick, server);
	tick_later(server);
	lacking_open(server);
	set_digest(server);
	set_identity(server);
	store->handler = &store_handler;
	store->context = server;
	return server;
}

void directory_server_tell(struct directory_server *server,
			   const struct directory_store_handler *handler, void *context)
{
	server->listener = handler;
	server->listener_context = context;
}

void directory_server_configure(struct directory_server *server, const struct config *config)
{
	char before[sizeof server->config_digest];
	int64_t until_us = os_clock_monotonic_us() + push_longest_ttl_us(server);

	memcpy(before, server->config_digest, sizeof before);
	/* filters that age by the new TTL forget too early what was answered with the old one */
	for (struct session *s = server->sessions; s != NULL; s = s->next)
		if (s->filter != NULL && s->holds_all_until_us < until_us)
			s->holds_all_until_us = until_us;
	server->config = config;
	tick_later(server);
	directory_expander_configure(server->expander, config);
	set_digest(server);
	set_identity(server);
	if (strcmp(before, server->config_digest) != 0)
		push_reset(server);
}

/* Tells a client over the limit why, if that is possible without waiting. */
static void turn_client_away(struct directory_server *server,
			     const struct directory_transport *transport, const char *peer)
{
	struct directory_frame frame;
	struct buffer text = {0};

	log_event(EVENT_DIRECTORY_REFUSED, log_string(peer, peer),
		  log_string(reason, "There are too many connections"));
	server->counts.errors++;
	directory_frame_begin(&frame, &text, "err");
	directory_frame_add(&frame, STR("0"));
	directory_frame_add(&frame, str_from(directory_error_name(DIRECTORY_ERROR_LATER)));
	directory_frame_add(&frame, STR("There are too many connections"));
	directory_frame_end(&frame);
	(void)!transport->write(transport->state, buffer_data(&text), text.length);
	transport->close(transport->state);
	buffer_clear(&text);
}

void directory_server_accept(struct directory_server *server,
			     const struct directory_transport *transport, unsigned roles,
			     const char *peer)
{
	/* the reserve is for this node's own, who have the role secret */
	size_t most = (roles & DIRECTORY_ROLE_SECRET) != 0
			      ? SERVER_CONNECTIONS_MAX
			      : SERVER_CONNECTIONS_MAX - SERVER_CONNECTIONS_OURS;

	server->counts.connections++;
	if (server->session_count >= most)
		turn_client_away(server, transport, peer);
	else
		(void)session_new(server, transport, roles, peer);
}

const struct directory_server_counts *directory_server_counts(const struct directory_server *server)
{
	return &server->counts;
}

void directory_server_stop(struct directory_server *server)
{
	server->is_stopping = true;
	for (struct session *s = server->sessions; s != NULL; s = s->next)
		session_wake(s);
}

bool directory_server_is_idle(const struct directory_server *server)
{
	for (const struct session *s = server->sessions; s != NULL; s = s->next)
		if (s->output.length > 0)
			return false;
	return server->questions_under_way == 0 && server->batch == NULL;
}

void directory_server_free(struct directory_server *server)
{
	if (server == NULL)
		return;
	change_commit(server);
	while (server->sessions != NULL)
		session_free(server->sessions);
	os_timer_free(server->tick);
	server->store->handler = &deaf_handler;
	server->is_freed = true;
	server->questions_under_way++; /* what waits in lacking.c ends now */
	lacking_stop(server);
	server->questions_under_way--;
	if (server->questions_under_way == 0)
		server_free_whole(server);
}
