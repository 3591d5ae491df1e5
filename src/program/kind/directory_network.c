// SPDX-License-Identifier: ISC
#include "program/kind/directory_network.h"
#include "base/panic.h"
#include "directory/client/dialer.h"
#include "directory/server/acceptor.h"
#include "keys/client.h"
#include "log/event.h"
#include "tls/mutual.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A listening socket. */
struct listener {
	char name[192]; /* given by the supervisor */
	struct directory_acceptor *acceptor;
	struct listener *next;
};

struct contexts { /* NULL: none */
	struct tls_context *server;
	struct tls_context *client;
};

struct directory_network {
	struct child *child;
	struct directory_server *server; /* NULL: no clients are accepted */
	struct keys *keys;               /* NULL: not needed so far */
	struct os_timer *patience;       /* runs while the set lacks what is wanted */
	struct contexts contexts;
	struct dns_resolver *resolver;
	struct directory_tls_dialer *dialer; /* NULL: no servers on other machines are asked */
	struct listener *listeners;
};

static const struct config_directory *config_of(const struct directory_network *network)
{
	return &network->child->config->directory;
}

/* --- contexts --- */

/* NULL in *CONTEXT_OUT if none is WANTED. */
static int open_wanted_tls_context(enum tls_side side, bool is_wanted,
				   const struct tls_mutual_settings *settings,
				   struct tls_context **context_out, struct buffer *reason)
{
	*context_out = NULL;
	return is_wanted ? tls_mutual_open(side, settings, context_out, reason) : 0;
}

static struct tls_mutual_settings find_settings(const struct directory_network *network)
{
	const struct keys_set *set = keys_set(network->keys);

	return (struct tls_mutual_settings){
		.chain = keys_set_find(set->certificates, set->certificate_count,
				       STR(CONFIG_DIRECTORY_CERTIFICATE)),
		.authorities = keys_set_find(set->authorities, set->authority_count,
					     str_from(config_of(network)->authority)),
		.signer = keys_signer(network->keys),
		.protocol = DIRECTORY_TLS_PROTOCOL,
	};
}

static bool is_complete_tls_setting(const struct tls_mutual_settings *settings)
{
	return settings->chain.length > 0 && settings->authorities.length > 0;
}

static int open_contexts(const struct directory_network *network, struct contexts *out,
			 struct buffer *reason)
{
	const struct config_directory *config = config_of(network);
	const struct tls_mutual_settings settings = find_settings(network);
	int error;

	if (!is_complete_tls_setting(&settings)) {
		buffer_append_string(reason, settings.chain.length == 0
						     ? "there is no certificate that can be used"
						     : "there are no authorities that can be used");
		return -ENOENT;
	}
	error = open_wanted_tls_context(TLS_SERVER, config->listen_count > 0, &settings,
					&out->server, reason);
	if (error < 0)
		return error;
	error = open_wanted_tls_context(TLS_CLIENT, config_directory_dials(config), &settings,
					&out->client, reason);
	if (error < 0)
		tls_context_free(out->server);
	return error;
}

static void free_contexts(const struct contexts *contexts)
{
	tls_context_free(contexts->server);
	tls_context_free(contexts->client);
}

/* What cannot be opened leaves the former ones in force. */
static void renew_tls_contexts_now(void *context)
{
	struct directory_network *network = context;
	const struct contexts old = network->contexts;
	struct buffer reason CLEANUP(buffer_clear) = {0};
	struct contexts new;

	if (open_contexts(network, &new, &reason) < 0) {
		log_event(EVENT_DIRECTORY_ERROR, log_string(operation, "use certificates"),
			  log_str(reason, buffer_view(&reason)));
		return;
	}
	network->contexts = new;
	for (struct listener *listener = network->listeners; listener != NULL;
	     listener = listener->next)
		directory_acceptor_configure(listener->acceptor, new.server, config_of(network));
	if (network->dialer != NULL)
		directory_tls_dialer_configure(network->dialer, new.client);
	free_contexts(&old);
}

static void renew_contexts(struct directory_network *network)
{
	struct tls_mutual_settings settings;

	os_timer_stop(network->patience);
	if (network->keys == NULL || keys_set(network->keys) == NULL ||
	    !config_directory_has_tls(config_of(network)))
		return;
	settings = find_settings(network);
	if (is_complete_tls_setting(&settings))
		renew_tls_contexts_now(network);
	else
		os_timer_start(network->patience, KEYS_PATIENCE_US);
}

int directory_network_open(struct child *child, struct directory_network **network_out)
{
	struct directory_network *network = memory_alloc_zero(1, sizeof *network);
	int error;

	network->child = child;
	network->patience = os_timer_new(child->loop, renew_tls_contexts_now, network);
	if (config_directory_dials(config_of(network))) {
		error = dns_resolver_new(child->loop, child->config->dns_server,
					 &network->resolver);
		if (error < 0) {
			directory_network_free(network);
			return error;
		}
		network->dialer = directory_tls_dialer_new(child->loop, NULL, network->resolver);
	}
	*network_out = network;
	return 0;
}

const struct directory_dialer *directory_network_dialer(const struct directory_network *network)
{
	return network->dialer != NULL ? directory_tls_dialer(network->dialer) : NULL;
}

/* --- clients --- */

static void on_directory_client_accepted(void *context, const struct directory_transport *transport,
					 unsigned roles, const char *peer)
{
	struct directory_network *network = context;

	directory_server_accept(network->server, transport, roles, peer);
}

static struct listener *find_network_listener(const struct directory_network *network,
					      const char *name)
{
	for (struct listener *listener = network->listeners; listener != NULL;
	     listener = listener->next)
		if (strcmp(listener->name, name) == 0)
			return listener;
	return NULL;
}

static void open_network_listener(struct directory_network *network, const char *name)
{
	int socket = child_socket(network->child, name);
	struct listener *listener;

	if (socket < 0 || find_network_listener(network, name) != NULL)
		return;
	listener = memory_alloc_zero(1, sizeof *listener);
	snprintf(listener->name, sizeof listener->name, "%s", name);
	listener->acceptor =
		directory_acceptor_new(network->child->loop, socket, network->contexts.server,
				       config_of(network), on_directory_client_accepted, network);
	listener->next = network->listeners;
	network->listeners = listener;
}

static void name_network_listener(const struct config_endpoint *endpoint, char name[192])
{
	snprintf(name, 192, "directory %s", endpoint->text);
}

static void open_network_listeners(struct directory_network *network)
{
	const struct config_directory *config = config_of(network);
	char name[192];

	for (size_t i = 0; i < config->listen_count && network->contexts.server != NULL; i++) {
		name_network_listener(&config->listens[i], name);
		open_network_listener(network, name);
	}
}

static bool is_listener_wanted(const struct directory_network *network,
			       const struct listener *listener)
{
	const struct config_directory *config = config_of(network);
	char name[192];

	for (size_t i = 0; i < config->listen_count; i++) {
		name_network_listener(&config->listens[i], name);
		if (strcmp(name, listener->name) == 0)
			return network->server != NULL;
	}
	return false;
}

static void close_network_listeners(struct directory_network *network)
{
	struct listener **place = &network->listeners;

	while (*place != NULL) {
		struct listener *listener = *place;

		if (is_listener_wanted(network, listener)) {
			place = &listener->next;
			continue;
		}
		*place = listener->next;
		directory_acceptor_free(listener->acceptor);
		free(listener);
	}
}

/* --- life --- */

static void on_tls_files_changed(void *context)
{
	struct directory_network *network = context;

	renew_contexts(network);
	if (network->server != NULL)
		open_network_listeners(network);
}

/* Once it exists it stays, as handshakes may need it. */
static void ask_for_keys(struct directory_network *network)
{
	char path[108];

	if (network->keys != NULL || !config_directory_has_tls(config_of(network)))
		return;
	child_path(network->child, "keys", path);
	network->keys = keys_new(network->child->loop, path, on_tls_files_changed, network);
}

void directory_network_listen(struct directory_network *network, struct directory_server *server)
{
	network->server = server;
	ask_for_keys(network);
}

/* A relay that begins or ceases to use TCP needs a new process. */
void directory_network_configure(struct directory_network *network)
{
	close_network_listeners(network);
	for (struct listener *listener = network->listeners; listener != NULL;
	     listener = listener->next)
		directory_acceptor_configure(listener->acceptor, network->contexts.server,
					     config_of(network));
	ask_for_keys(network);
	on_tls_files_changed(network);
}

void directory_network_stop(struct directory_network *network)
{
	network->server = NULL;
	close_network_listeners(network);
}

void directory_network_free(struct directory_network *network)
{
	if (network == NULL)
		return;
	directory_network_stop(network);
	directory_tls_dialer_free(network->dialer);
	dns_resolver_free(network->resolver);
	free_contexts(&network->contexts);
	os_timer_free(network->patience);
	keys_free(network->keys);
	free(network);
}
