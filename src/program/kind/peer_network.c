// SPDX-License-Identifier: ISC
#include "program/kind/peer_network.h"
#include "base/panic.h"
#include "directory/client/dialer.h"
#include "directory/wire/transport_acceptor.h"
#include "keys/client.h"
#include "tls/mutual.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A listening socket. */
struct listener {
	char name[192]; /* given by the supervisor */
	struct transport_acceptor *acceptor;
	struct listener *next;
};

struct contexts { /* NULL: none */
	struct tls_context *server;
	struct tls_context *client;
};

struct peer_network {
	struct child *child;
	const struct peer_network_kind *kind;
	bool is_listening;               /* peers are accepted */
	void *context;                   /* of the kind's handler, while they are */
	struct keys *keys;               /* NULL: not needed so far */
	struct os_timer *patience;       /* runs while the set lacks what is wanted */
	struct contexts contexts;
	struct dns_resolver *resolver;
	struct directory_tls_dialer *dialer; /* NULL: no servers on other machines are asked */
	struct listener *listeners;
};

static const struct config *config_of(const struct peer_network *network)
{
	return network->child->config;
}

static bool dials_peers(const struct peer_network *network)
{
	return network->kind->dials(config_of(network));
}

static bool has_peers(const struct peer_network *network)
{
	size_t count;

	(void)network->kind->listens(config_of(network), &count);
	return count > 0 || dials_peers(network);
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

static struct tls_mutual_settings find_settings(const struct peer_network *network)
{
	const struct keys_set *set = keys_set(network->keys);

	return (struct tls_mutual_settings){
		.chain = keys_set_find(set->certificates, set->certificate_count,
				       str_from(network->kind->certificate)),
		.authorities = keys_set_find(set->authorities, set->authority_count,
					     str_from(network->kind->authority(config_of(network)))),
		.signer = keys_signer(network->keys),
		.protocol = network->kind->protocol,
	};
}

static bool is_complete_tls_setting(const struct tls_mutual_settings *settings)
{
	return settings->chain.length > 0 && settings->authorities.length > 0;
}

static int open_contexts(const struct peer_network *network, struct contexts *out,
			 struct buffer *reason)
{
	const struct tls_mutual_settings settings = find_settings(network);
	size_t listen_count;
	int error;

	if (!is_complete_tls_setting(&settings)) {
		buffer_append_string(reason, settings.chain.length == 0
						     ? "there is no certificate that can be used"
						     : "there are no authorities that can be used");
		return -ENOENT;
	}
	(void)network->kind->listens(config_of(network), &listen_count);
	error = open_wanted_tls_context(TLS_SERVER, listen_count > 0, &settings,
					&out->server, reason);
	if (error < 0)
		return error;
	error = open_wanted_tls_context(TLS_CLIENT, dials_peers(network), &settings,
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
	struct peer_network *network = context;
	const struct contexts old = network->contexts;
	struct buffer reason CLEANUP(buffer_clear) = {0};
	struct contexts new;

	if (open_contexts(network, &new, &reason) < 0) {
		buffer_append_byte(&reason, '\0');
		network->kind->complain("use certificates", buffer_data(&reason));
		return;
	}
	network->contexts = new;
	for (struct listener *listener = network->listeners; listener != NULL;
	     listener = listener->next)
		transport_acceptor_configure(listener->acceptor, new.server);
	if (network->dialer != NULL)
		directory_tls_dialer_configure(network->dialer, new.client);
	free_contexts(&old);
}

static void renew_contexts(struct peer_network *network)
{
	struct tls_mutual_settings settings;

	os_timer_stop(network->patience);
	if (network->keys == NULL || keys_set(network->keys) == NULL ||
	    !has_peers(network))
		return;
	settings = find_settings(network);
	if (is_complete_tls_setting(&settings))
		renew_tls_contexts_now(network);
	else
		os_timer_start(network->patience, KEYS_PATIENCE_US);
}

int peer_network_open(struct child *child, const struct peer_network_kind *kind,
		      struct peer_network **network_out)
{
	struct peer_network *network = memory_alloc_zero(1, sizeof *network);
	int error;

	network->child = child;
	network->kind = kind;
	network->patience = os_timer_new(child->loop, renew_tls_contexts_now, network);
	if (dials_peers(network)) {
		error = dns_resolver_new(child->loop, child->config->dns_server,
					 &network->resolver);
		if (error < 0) {
			peer_network_free(network);
			return error;
		}
		network->dialer = directory_tls_dialer_new(child->loop, NULL, network->resolver);
	}
	*network_out = network;
	return 0;
}

const struct directory_dialer *peer_network_dialer(const struct peer_network *network)
{
	return network->dialer != NULL ? directory_tls_dialer(network->dialer) : NULL;
}

/* --- clients --- */

static struct listener *find_network_listener(const struct peer_network *network,
					      const char *name)
{
	for (struct listener *listener = network->listeners; listener != NULL;
	     listener = listener->next)
		if (strcmp(listener->name, name) == 0)
			return listener;
	return NULL;
}

static void open_network_listener(struct peer_network *network, const char *name)
{
	int socket = child_socket(network->child, name);
	struct listener *listener;

	if (socket < 0 || find_network_listener(network, name) != NULL)
		return;
	listener = memory_alloc_zero(1, sizeof *listener);
	snprintf(listener->name, sizeof listener->name, "%s", name);
	listener->acceptor =
		transport_acceptor_new(network->child->loop, socket, network->contexts.server,
				       network->kind->handler, network->context);
	listener->next = network->listeners;
	network->listeners = listener;
}

static void name_network_listener(const struct peer_network *network,
				  const struct config_endpoint *endpoint, char name[192])
{
	snprintf(name, 192, "%s %s", network->kind->socket, endpoint->text);
}

static void open_network_listeners(struct peer_network *network)
{
	size_t count;
	const struct config_endpoint *listens = network->kind->listens(config_of(network), &count);
	char name[192];

	for (size_t i = 0; i < count && network->contexts.server != NULL; i++) {
		name_network_listener(network, &listens[i], name);
		open_network_listener(network, name);
	}
}

static bool is_listener_wanted(const struct peer_network *network,
			       const struct listener *listener)
{
	size_t count;
	const struct config_endpoint *listens = network->kind->listens(config_of(network), &count);
	char name[192];

	for (size_t i = 0; i < count; i++) {
		name_network_listener(network, &listens[i], name);
		if (strcmp(name, listener->name) == 0)
			return network->is_listening;
	}
	return false;
}

static void close_network_listeners(struct peer_network *network)
{
	struct listener **place = &network->listeners;

	while (*place != NULL) {
		struct listener *listener = *place;

		if (is_listener_wanted(network, listener)) {
			place = &listener->next;
			continue;
		}
		*place = listener->next;
		transport_acceptor_free(listener->acceptor);
		free(listener);
	}
}

/* --- life --- */

static void on_tls_files_changed(void *context)
{
	struct peer_network *network = context;

	renew_contexts(network);
	if (network->is_listening)
		open_network_listeners(network);
}

/* Once it exists it stays, as handshakes may need it. */
static void ask_for_keys(struct peer_network *network)
{
	char path[108];

	if (network->keys != NULL || !has_peers(network))
		return;
	child_path(network->child, "keys", path);
	network->keys = keys_new(network->child->loop, path, on_tls_files_changed, network);
}

void peer_network_dial(struct peer_network *network)
{
	ask_for_keys(network);
}

void peer_network_listen(struct peer_network *network, void *context)
{
	network->is_listening = true;
	network->context = context;
	ask_for_keys(network);
}

/* One that begins or ceases to dial needs a new process. */
void peer_network_configure(struct peer_network *network)
{
	close_network_listeners(network);
	ask_for_keys(network);
	on_tls_files_changed(network);
}

void peer_network_stop(struct peer_network *network)
{
	network->is_listening = false;
	close_network_listeners(network);
}

void peer_network_free(struct peer_network *network)
{
	if (network == NULL)
		return;
	peer_network_stop(network);
	directory_tls_dialer_free(network->dialer);
	dns_resolver_free(network->resolver);
	free_contexts(&network->contexts);
	os_timer_free(network->patience);
	keys_free(network->keys);
	free(network);
}
