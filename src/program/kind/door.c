// SPDX-License-Identifier: ISC
#include "program/kind/door.h"
#include "base/panic.h"
#include "intake/accounts.h"
#include "intake/engine.h"
#include "intake/proxy.h"
#include "log/event.h"
#include "os/clock.h"
#include "os/process/account.h"
#include "os/socket/listener.h"
#include "program/kind/door_service.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STOCK = 16, TURNED_AWAY_MAX = 16 };

struct listener {
	struct door *door;
	const struct smtp_service *service;
	struct os_listener *taking;
	const struct intake_security *security;
	int socket;
	bool is_proxied;
	struct listener *next;
};

/* Services outlive the sessions that began with them, so a reload only adds to
 * them. */
struct service {
	struct smtp_service smtp;
	const struct intake_security *security;
	struct service *next;
};

struct door {
	const struct door_kind *kind;
	struct child *child;
	struct service *services;
	struct intake intake;
	struct limit_classes *classes;
	struct names *names;    /* NULL: not needed so far */
	struct auth *auth;      /* likewise */
	struct intake_tls *tls; /* likewise */
	struct os_timer *patience;
	struct listener *listeners;
	unsigned lacks; /* connections that it waits for before it begins */
	bool has_queue; /* there was a connection to "queue" */
	bool is_begun;  /* it accepts clients */
	bool is_insecure;
	bool has_certificates; /* or knows that there are none that can be used */
	bool is_full;
	bool is_stopping;
};

static int accounts = -1; /* the socket of the helper that looks users up; opened before there is a
			   * state */

/* Whether a service delivers as the user of the mailbox, who must be one of this machine. */
static bool needs_accounts(const struct config *config)
{
	for (size_t i = 0; i < config->service_count; i++)
		if (config->services[i].user != NULL && strcmp(config->services[i].user, "%u") == 0)
			return true;
	return false;
}

static size_t session_limit(const struct door *door)
{
	const struct config *config = door->child->config;

	uint32_t count = door->kind->count(config);

	return (config->maxsessions + count - 1) / count;
}

/* Whether there is room for one more session, if necessary by closing an idle one. */
static bool has_room_for_session(void *context)
{
	const struct listener *listener = context;
	struct door *door = listener->door;

	door->is_full = door->intake.session_count >= session_limit(door) &&
			intake_session_find_idle(&door->intake) == NULL;
	return !door->is_full;
}

static void turn_one_away(struct door *door)
{
	struct intake_session *idle = intake_session_find_idle(&door->intake);

	if (idle != NULL)
		intake_session_turn_away(idle);
}

/* Descriptors may be exhausted, which messages need, too. */
static void on_accept_failed(void *context, int error)
{
	const struct listener *listener = context;

	if (error == -EINVAL)
		return; /* it is shut: by the supervisor while there is no room, or it binds another
			 */
	log_event(EVENT_SESSION_REFUSED, log_error(error));
	if (error != -EMFILE && error != -ENFILE)
		return;
	for (unsigned i = 0; i < TURNED_AWAY_MAX; i++)
		turn_one_away(listener->door);
}

static void on_mail_client_accepted(void *context, int socket, const union os_socket_address *peer)
{
	const struct listener *listener = context;
	struct door *door = listener->door;

	if (door->intake.session_count >= session_limit(door))
		turn_one_away(door);
	if (listener->is_proxied)
		intake_proxy_new(&door->intake, listener->service, listener->security, socket,
				 peer);
	else
		intake_session_new(&door->intake, listener->service, listener->security, socket,
				   peer, STR(""));
}

static const struct os_listener_handler listener_handler = {on_mail_client_accepted,
							    on_accept_failed, has_room_for_session};

static void go_on_accepting(struct door *door)
{
	door->is_full = false;
	for (struct listener *one = door->listeners; one != NULL; one = one->next)
		os_listener_go_on(one->taking);
}

static void on_session_ended(void *context)
{
	struct door *door = context;

	if (door->is_stopping && door->intake.session_count == 0) {
		os_loop_stop(door->child->loop);
		return;
	}
	if (door->is_full)
		go_on_accepting(door);
}

/* Before it is connected to all processes that answer for it, and knows the certificates, it
 * accepts nobody for so long: on a busy machine it may be the first to run. */
static const int64_t PATIENCE_US = 5 * SECOND_US;

static const struct service *add_service(struct door *door, const struct config_listen *listen)
{
	struct service *added = memory_alloc_zero(1, sizeof *added);

	added->next = door->services;
	door->services = added;
	added->security = intake_security_new(door->tls, listen);
	door_service_fill(&added->smtp, door->child->config, listen);
	return added;
}

static void drop_listeners(struct door *door)
{
	while (door->listeners != NULL) {
		struct listener *listener = door->listeners;

		door->listeners = listener->next;
		os_listener_free(listener->taking);
		free(listener);
	}
}

static void add_listener(struct door *door, const struct service *service,
			 const struct config_endpoint *endpoint, bool is_proxied)
{
	struct listener *listener = memory_alloc_zero(1, sizeof *listener);
	char name[192];

	snprintf(name, sizeof name, "%s %s", door->kind->sockets, endpoint->text);
	listener->door = door;
	listener->service = &service->smtp;
	listener->security = service->security;
	listener->is_proxied = is_proxied;
	listener->socket = child_socket(door->child, name);
	if (listener->socket < 0) {
		free(listener);
		return;
	}
	listener->taking =
		os_listener_new(door->child->loop, listener->socket, &listener_handler, listener);
	listener->next = door->listeners;
	door->listeners = listener;
}

static void add_listeners(struct door *door)
{
	const struct config *config = door->child->config;

	for (size_t i = 0; i < config->listen_count; i++) {
		const struct config_listen *listen = &config->listens[i];
		const struct service *service;

		if (!door->kind->serves(listen))
			continue;
		service = add_service(door, listen);
		for (size_t j = 0; j < listen->address_count; j++)
			add_listener(door, service, &listen->addresses[j], listen->proxy);
	}
}

static bool is_socket_listened_at(const void *context, const struct child_socket *socket)
{
	const struct door *door = context;

	for (const struct listener *one = door->listeners; one != NULL; one = one->next)
		if (one->socket == socket->descriptor)
			return true;
	return false;
}

/* --- what it waits for --- */

/* A listener that is to have TLS and cannot; or NULL. */
static const struct listener *find_insecure(const struct door *door)
{
	for (const struct listener *one = door->listeners; one != NULL; one = one->next)
		if (intake_security_lacks_tls(one->security))
			return one;
	return NULL;
}

static void say_what_lacks(struct door *door, const struct listener *insecure)
{
	char text[128] = "";

	if (door->is_insecure == (insecure != NULL))
		return;
	if (insecure != NULL) {
		snprintf(text, sizeof text, "listen %s has no certificate that can be used",
			 intake_security_protocol(insecure->security));
		log_event(EVENT_CERTIFICATE_ERROR, log_string(text, text));
	}
	child_waits(door->child, str_from(text));
	door->is_insecure = insecure != NULL;
}

/* Without "queue" it can only defer mail, and without certificates turn clients away: then it is
 * not ready. */
static void say_ready(struct door *door)
{
	if (!door->is_begun || !door->has_queue)
		return;
	say_what_lacks(door, find_insecure(door));
	if (!door->is_insecure)
		child_ready(door->child);
}

static void begin_accepting_clients(void *context)
{
	struct door *door = context;

	os_timer_free(door->patience);
	door->patience = NULL;
	if (door->is_begun || door->is_stopping)
		return;
	door->is_begun = true;
	add_listeners(door);
	child_close_sockets(door->child, is_socket_listened_at,
			    door); /* those that a reload meanwhile has removed */
	say_ready(door);
}

static void wait_to_begin(struct door *door)
{
	door->patience = os_timer_new(door->child->loop, begin_accepting_clients, door);
	os_timer_start(door->patience, PATIENCE_US);
}

static void on_one_less(void *context)
{
	struct door *door = context;

	if (--door->lacks == 0)
		begin_accepting_clients(door);
}

static void on_intake_queue_connected(void *context)
{
	struct door *door = context;

	door->has_queue = true;
	say_ready(door);
	on_one_less(door);
}

/* --- the processes that answer for it --- */

/* Once it exists it stays, as sessions may have asked it. */
static void configure_names(struct door *door)
{
	char path[108];

	if (!door->child->config->client_names) {
		door->intake.names = NULL;
		return;
	}
	if (door->names == NULL) {
		child_path(door->child, "names", path);
		door->names = names_new(door->child->loop, path);
		names_when_connected(door->names, on_one_less, door);
		door->lacks++;
	}
	door->intake.names = door->names;
}

static void configure_auth(struct door *door)
{
	char path[108];

	if (door->auth == NULL && door->kind->engine->user != NULL &&
	    config_offers_auth(door->child->config)) {
		child_path(door->child, "auth", path);
		door->auth = auth_new(door->child->loop, path);
		auth_when_offered(door->auth, on_one_less, door);
		door->lacks++;
		door->intake.auth = door->auth;
	}
}

static void on_all_full(void *context)
{
	const struct door *door = context;

	child_full(door->child);
}

static void configure_limits(struct door *door)
{
	const struct limit_memory *limits = door->child->limits;
	struct limit_classes *old = door->classes;

	door->classes = limits != NULL ? limit_classes_new(door->child->config) : NULL;
	limit_rates_free(door->intake.rates);
	door->intake.rates = limit_rates_new(limits, door->child->config);
	intake_set_limits(&door->intake, limits, door->classes);
	limit_classes_free(old);
}

static void on_certificates(void *context)
{
	struct door *door = context;

	if (door->has_certificates) {
		say_ready(door);
		return;
	}
	door->has_certificates = true;
	on_one_less(door);
}

/* Once it exists it stays, as sessions may need it. */
static void configure_tls(struct door *door)
{
	const struct config *config = door->child->config;
	char path[108];

	if (door->tls != NULL) {
		intake_tls_configure(door->tls, config);
	} else if (config_has_tls_in(config)) {
		child_path(door->child, "keys", path);
		door->tls = intake_tls_new(door->child->loop, path, config, on_certificates, door);
		door->lacks++;
	}
}

static void connect_intake_to_queue(struct door *door)
{
	char path[108];

	child_path(door->child, "queue", path);
	door->intake.queue = queue_client_new(door->child->loop, path, STOCK);
	queue_client_set_reserve(door->intake.queue, door->child->config->queue_reserve);
	queue_client_when_connected(door->intake.queue, on_intake_queue_connected, door);
	door->lacks++;
}

static void open_directory(struct door *door)
{
	char path[108];

	child_path(door->child, "directory", path);
	door->intake.directory = directory_new(door->child->loop, door->child->config, path);
	if (!directory_is_served(door->intake.directory))
		return;
	directory_when_greeted(door->intake.directory, on_one_less, door);
	door->lacks++;
}

int door_open(struct child *child)
{
	if (!needs_accounts(child->config))
		return 0;
	accounts = os_process_account_open();
	if (accounts >= 0)
		return 0;
	log_event(EVENT_PROCESS_ERROR, log_string(operation, "account helper"),
		  log_error(accounts));
	return accounts;
}

int door_start(struct child *child, const struct door_kind *kind)
{
	struct door *door = memory_alloc_zero(1, sizeof *door);

	child->state = door;
	door->child = child;
	door->kind = kind;
	door->intake.engine = kind->engine;
	door->intake.loop = child->loop;
	door->intake.config = child->config;
	door->intake.session_ended = on_session_ended;
	door->intake.all_full = on_all_full;
	door->intake.context = door;
	if (accounts >= 0)
		door->intake.accounts = intake_accounts_new(child->loop, accounts);
	door->intake.clients = limit_clients_new();
	connect_intake_to_queue(door);
	open_directory(door);
	configure_names(door);
	configure_auth(door);
	configure_limits(door);
	configure_tls(door);
	intake_drain(&door->intake, child->is_draining);
	wait_to_begin(door);
	return 0;
}

void door_reload(struct child *child, const struct config *old)
{
	struct door *door = child->state;
	unsigned lacks = door->lacks;

	(void)old;
	door->intake.config = child->config;
	queue_client_set_reserve(door->intake.queue, child->config->queue_reserve);
	directory_configure(door->intake.directory, child->config);
	configure_names(door);
	configure_auth(door);
	configure_limits(door);
	configure_tls(door);
	intake_drain(&door->intake, child->is_draining);
	if (!door->is_begun)
		return;
	drop_listeners(door);
	door->is_begun = false;
	if (door->lacks > lacks) /* clients wait in the kernel's queue, as at the start */
		wait_to_begin(door);
	else
		begin_accepting_clients(door);
}

void door_stop(struct child *child)
{
	struct door *door = child->state;

	door->is_stopping = true;
	drop_listeners(door);
	intake_stop(&door->intake);
	if (door->intake.session_count == 0)
		os_loop_stop(child->loop);
}

/* The client keeps the responsibility for unanswered messages. */
void door_hurry(struct child *child)
{
	os_loop_stop(child->loop);
}
