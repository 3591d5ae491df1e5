// SPDX-License-Identifier: ISC
#include "program/directory_network.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include "directory/client/dialer.h"
#include "directory/server/acceptor.h"
#include "log/event.h"
#include "os/clock.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t READ_AGAIN_US = 2 * SECOND_US;
static const int64_t SAY_AGAIN_US = MINUTE_US;

/* A listening socket. */
struct door {
	char name[192]; /* given by the supervisor */
	struct directory_acceptor *acceptor;
	struct door *next;
};

struct directory_network {
	struct child *child;
	struct directory_server *server; /* NULL: no clients are accepted */
	struct tls_context *server_tls;  /* NULL: none */
	struct tls_context *client_tls;
	struct dns_resolver *resolver;
	struct directory_tls_dialer *dialer;
	struct door *doors;
	struct os_timer *again; /* to read files again that could not be used */
	int64_t said_us;        /* when the reason was last logged; 0: never */
};

static void read_again(void *context);

static const struct config_directory *config_of(const struct directory_network *network)
{
	return &network->child->config->directory;
}

/* Whether other servers are asked over TCP. */
static bool dials(const struct config_directory *config)
{
	for (size_t i = 0; config->backend == CONFIG_BACKEND_SERVERS && i < config->server_count;
	     i++)
		if (strncmp(config->servers[i], "unix:", strlen("unix:")) != 0)
			return true;
	return false;
}

/* Logs at most once a minute, as reading is retried. */
static void log_reason(struct directory_network *network, struct buffer *reason)
{
	int64_t now_us = os_clock_monotonic_us();

	if (network->said_us == 0 || now_us - network->said_us >= SAY_AGAIN_US) {
		log_event(EVENT_DIRECTORY_ERROR, log_string("operation", "read certificates"),
			  log_str("reason", buffer_view(reason)));
		network->said_us = now_us;
	}
	buffer_clear(reason);
}

/* Creates new contexts; on failure the old ones stay, and reading is retried. */
static bool read_files(struct directory_network *network)
{
	const struct config_directory *config = config_of(network);
	const struct tls_settings settings = {config->certificate, config->key, config->authority,
					      DIRECTORY_TLS_PROTOCOL};
	struct tls_context *server = NULL;
	struct tls_context *client = NULL;
	struct buffer reason = {0};
	int error = 0;

	os_timer_stop(network->again);
	if (config->listen_count > 0)
		error = tls_context_open(TLS_SERVER, &settings, &server, &reason);
	if (error == 0 && dials(config))
		error = tls_context_open(TLS_CLIENT, &settings, &client, &reason);
	if (error < 0) {
		tls_context_free(server);
		log_reason(network, &reason);
		os_timer_start(network->again, READ_AGAIN_US);
		return false;
	}
	network->server_tls = server;
	network->client_tls = client;
	return true;
}

int directory_network_open(struct child *child, struct directory_network **network_out)
{
	struct directory_network *network = memory_alloc_zero(1, sizeof *network);
	int error = 0;

	network->child = child;
	network->again = os_timer_new(child->loop, read_again, network);
	(void)read_files(network);
	if (dials(config_of(network)))
		error = dns_resolver_new(child->loop, child->config->dns_server,
					 &network->resolver);
	if (error < 0) {
		directory_network_free(network);
		return error;
	}
	if (dials(config_of(network)))
		network->dialer = directory_tls_dialer_new(child->loop, network->client_tls,
							   network->resolver);
	*network_out = network;
	return 0;
}

const struct directory_dialer *directory_network_dialer(const struct directory_network *network)
{
	return network->dialer != NULL ? directory_tls_dialer(network->dialer) : NULL;
}

static void on_accepted(void *context, const struct directory_transport *transport, unsigned roles,
			const char *peer)
{
	struct directory_network *network = context;

	directory_server_accept(network->server, transport, roles, peer);
}

static struct door *find_door(const struct directory_network *network, const char *name)
{
	for (struct door *door = network->doors; door != NULL; door = door->next)
		if (strcmp(door->name, name) == 0)
			return door;
	return NULL;
}

static void open_door(struct directory_network *network, const char *name)
{
	int socket = child_socket(network->child, name);
	struct door *door;

	if (socket < 0 || find_door(network, name) != NULL)
		return;
	door = memory_alloc_zero(1, sizeof *door);
	snprintf(door->name, sizeof door->name, "%s", name);
	door->acceptor = directory_acceptor_new(network->child->loop, socket, network->server_tls,
						config_of(network), on_accepted, network);
	door->next = network->doors;
	network->doors = door;
}

static void name_door(const struct config_endpoint *endpoint, char name[192])
{
	snprintf(name, 192, "directory %s", endpoint->text);
}

static void open_doors(struct directory_network *network)
{
	const struct config_directory *config = config_of(network);
	char name[192];

	for (size_t i = 0; i < config->listen_count && network->server_tls != NULL; i++) {
		name_door(&config->listens[i], name);
		open_door(network, name);
	}
}

static bool is_wanted(const struct directory_network *network, const struct door *door)
{
	const struct config_directory *config = config_of(network);
	char name[192];

	for (size_t i = 0; i < config->listen_count; i++) {
		name_door(&config->listens[i], name);
		if (strcmp(name, door->name) == 0)
			return network->server != NULL;
	}
	return false;
}

static void close_doors(struct directory_network *network)
{
	struct door **place = &network->doors;

	while (*place != NULL) {
		struct door *door = *place;

		if (is_wanted(network, door)) {
			place = &door->next;
			continue;
		}
		*place = door->next;
		directory_acceptor_free(door->acceptor);
		free(door);
	}
}

void directory_network_listen(struct directory_network *network, struct directory_server *server)
{
	network->server = server;
	open_doors(network);
}

/* Applies the configuration, and the contexts if they are NEW: OLD are the previous ones. */
static void take_over(struct directory_network *network, bool is_new,
		      const struct directory_network *old)
{
	close_doors(network);
	for (struct door *door = network->doors; door != NULL; door = door->next)
		directory_acceptor_configure(door->acceptor, network->server_tls,
					     config_of(network));
	if (network->dialer != NULL && is_new)
		directory_tls_dialer_configure(network->dialer, network->client_tls);
	if (is_new) {
		tls_context_free(old->server_tls);
		tls_context_free(old->client_tls);
	}
	if (network->server != NULL)
		open_doors(network);
}

static void read_again(void *context)
{
	struct directory_network *network = context;
	const struct directory_network old = *network;

	if (read_files(network))
		take_over(network, true, &old);
}

/* A relay that begins or ceases to use TCP needs a new process. */
void directory_network_configure(struct directory_network *network)
{
	const struct directory_network old = *network;
	bool is_new = dials(config_of(network)) == (network->dialer != NULL) && read_files(network);

	take_over(network, is_new, &old);
}

void directory_network_stop(struct directory_network *network)
{
	os_timer_stop(network->again);
	network->server = NULL;
	close_doors(network);
}

void directory_network_free(struct directory_network *network)
{
	if (network == NULL)
		return;
	directory_network_stop(network);
	directory_tls_dialer_free(network->dialer);
	dns_resolver_free(network->resolver);
	os_timer_free(network->again);
	tls_context_free(network->server_tls);
	tls_context_free(network->client_tls);
	free(network);
}
