// SPDX-License-Identifier: ISC
#include "program/kind/mail_server.h"
#include "base/panic.h"
#include "intake/accounts.h"
#include "intake/engine.h"
#include "intake/proxy.h"
#include "log/event.h"
#include "os/clock.h"
#include "os/process/account.h"
#include "os/socket/listener.h"
#include "program/kind/listen_service.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STOCK = 16, TURNED_AWAY_MAX = 16 };

struct listener {
	struct mail_server *mail_server;
	const struct smtp_service *service;
	struct os_listener *taking;
	const struct intake_security *security;
	int socket;
	bool is_proxied;
	struct listener *next;
};

/* Services outlive the sessions that began with them, so a reload only adds to
 * them. */
struct mail_server_service {
	struct smtp_service smtp;
	const struct intake_security *security;
	struct mail_server_service *next;
};

struct mail_server {
	const struct mail_server_kind *kind;
	struct child *child;
	struct mail_server_service *services;
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

static size_t session_limit(const struct mail_server *mail_server)
{
	const struct config *config = mail_server->child->config;

	uint32_t count = mail_server->kind->count(config);

	return (config->maxsessions + count - 1) / count;
}

/* Whether there is room for one more session, if necessary by closing an idle one. */
static bool has_room_for_session(void *context)
{
	const struct listener *listener = context;
	struct mail_server *mail_server = listener->mail_server;

	mail_server->is_full = mail_server->intake.session_count >= session_limit(mail_server) &&
			       intake_session_find_idle(&mail_server->intake) == NULL;
	return !mail_server->is_full;
}

static void refuse_one_client(struct mail_server *mail_server)
{
	struct intake_session *idle = intake_session_find_idle(&mail_server->intake);

	if (idle != NULL)
		intake_session_refuse(idle);
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
		refuse_one_client(listener->mail_server);
}

static void on_mail_client_accepted(void *context, int socket, const union os_socket_address *peer)
{
	const struct listener *listener = context;
	struct mail_server *mail_server = listener->mail_server;

	if (mail_server->intake.session_count >= session_limit(mail_server))
		refuse_one_client(mail_server);
	if (listener->is_proxied)
		intake_proxy_new(&mail_server->intake, listener->service, listener->security,
				 socket, peer);
	else
		intake_session_new(&mail_server->intake, listener->service, listener->security,
				   socket, peer, STR(""));
}

static const struct os_listener_handler listener_handler = {on_mail_client_accepted,
							    on_accept_failed, has_room_for_session};

static void go_on_accepting(struct mail_server *mail_server)
{
	mail_server->is_full = false;
	for (struct listener *one = mail_server->listeners; one != NULL; one = one->next)
		os_listener_go_on(one->taking);
}

static void on_session_ended(void *context)
{
	struct mail_server *mail_server = context;

	if (mail_server->is_stopping && mail_server->intake.session_count == 0) {
		os_loop_stop(mail_server->child->loop);
		return;
	}
	if (mail_server->is_full)
		go_on_accepting(mail_server);
}

/* Before it is connected to all processes that answer for it, and knows the certificates, it
 * accepts nobody for so long: on a busy machine it may be the first to run. */
static const int64_t MAIL_SERVER_PATIENCE_US = 5 * SECOND_US;

static const struct mail_server_service *add_service(struct mail_server *mail_server,
						     const struct config_listen *listen)
{
	struct mail_server_service *added = memory_alloc_zero(1, sizeof *added);

	added->next = mail_server->services;
	mail_server->services = added;
	added->security = intake_security_new(mail_server->tls, listen);
	listen_service_fill(&added->smtp, mail_server->child->config, listen);
	return added;
}

static void drop_listeners(struct mail_server *mail_server)
{
	while (mail_server->listeners != NULL) {
		struct listener *listener = mail_server->listeners;

		mail_server->listeners = listener->next;
		os_listener_free(listener->taking);
		free(listener);
	}
}

static void add_listener(struct mail_server *mail_server, const struct mail_server_service *service,
			 const struct config_endpoint *endpoint, bool is_proxied)
{
	struct listener *listener = memory_alloc_zero(1, sizeof *listener);
	char name[192];

	snprintf(name, sizeof name, "%s %s", mail_server->kind->sockets, endpoint->text);
	listener->mail_server = mail_server;
	listener->service = &service->smtp;
	listener->security = service->security;
	listener->is_proxied = is_proxied;
	listener->socket = child_socket(mail_server->child, name);
	if (listener->socket < 0) {
		free(listener);
		return;
	}
	listener->taking = os_listener_new(mail_server->child->loop, listener->socket,
					   &listener_handler, listener);
	listener->next = mail_server->listeners;
	mail_server->listeners = listener;
}

static void add_listeners(struct mail_server *mail_server)
{
	const struct config *config = mail_server->child->config;

	for (size_t i = 0; i < config->listen_count; i++) {
		const struct config_listen *listen = &config->listens[i];
		const struct mail_server_service *service;

		if (!mail_server->kind->serves(listen))
			continue;
		service = add_service(mail_server, listen);
		for (size_t j = 0; j < listen->address_count; j++)
			add_listener(mail_server, service, &listen->addresses[j], listen->proxy);
	}
}

static bool is_socket_listened_at(const void *context, const struct child_socket *socket)
{
	const struct mail_server *mail_server = context;

	for (const struct listener *one = mail_server->listeners; one != NULL; one = one->next)
		if (one->socket == socket->descriptor)
			return true;
	return false;
}

/* --- what it waits for --- */

/* A listener that is to have TLS and cannot; or NULL. */
static const struct listener *find_insecure(const struct mail_server *mail_server)
{
	for (const struct listener *one = mail_server->listeners; one != NULL; one = one->next)
		if (intake_security_lacks_tls(one->security))
			return one;
	return NULL;
}

static void say_what_lacks(struct mail_server *mail_server, const struct listener *insecure)
{
	char text[128] = "";

	if (mail_server->is_insecure == (insecure != NULL))
		return;
	if (insecure != NULL) {
		snprintf(text, sizeof text, "listen %s has no certificate that can be used",
			 intake_security_protocol(insecure->security));
		log_event(EVENT_CERTIFICATE_ERROR, log_string(text, text));
	}
	child_waits(mail_server->child, str_from(text));
	mail_server->is_insecure = insecure != NULL;
}

/* Without "queue" it can only defer mail, and without certificates turn clients away: then it is
 * not ready. */
static void say_ready(struct mail_server *mail_server)
{
	if (!mail_server->is_begun || !mail_server->has_queue)
		return;
	say_what_lacks(mail_server, find_insecure(mail_server));
	if (!mail_server->is_insecure)
		child_ready(mail_server->child);
}

static void begin_accepting_clients(void *context)
{
	struct mail_server *mail_server = context;

	os_timer_free(mail_server->patience);
	mail_server->patience = NULL;
	if (mail_server->is_begun || mail_server->is_stopping)
		return;
	mail_server->is_begun = true;
	add_listeners(mail_server);
	child_close_sockets(mail_server->child, is_socket_listened_at,
			    mail_server); /* those that a reload meanwhile has removed */
	say_ready(mail_server);
}

static void wait_to_begin(struct mail_server *mail_server)
{
	mail_server->patience =
		os_timer_new(mail_server->child->loop, begin_accepting_clients, mail_server);
	os_timer_start(mail_server->patience, MAIL_SERVER_PATIENCE_US);
}

static void on_one_less(void *context)
{
	struct mail_server *mail_server = context;

	if (--mail_server->lacks == 0)
		begin_accepting_clients(mail_server);
}

static void on_intake_queue_connected(void *context)
{
	struct mail_server *mail_server = context;

	mail_server->has_queue = true;
	say_ready(mail_server);
	on_one_less(mail_server);
}

/* --- the processes that answer for it --- */

/* Once it exists it stays, as sessions may have asked it. */
static void configure_names(struct mail_server *mail_server)
{
	char path[108];

	if (!mail_server->child->config->client_names) {
		mail_server->intake.names = NULL;
		return;
	}
	if (mail_server->names == NULL) {
		child_path(mail_server->child, "names", path);
		mail_server->names = names_new(mail_server->child->loop, path);
		names_when_connected(mail_server->names, on_one_less, mail_server);
		mail_server->lacks++;
	}
	mail_server->intake.names = mail_server->names;
}

static void configure_auth(struct mail_server *mail_server)
{
	char path[108];

	if (mail_server->auth == NULL && mail_server->kind->engine->authenticates &&
	    config_offers_auth(mail_server->child->config)) {
		child_path(mail_server->child, "auth", path);
		mail_server->auth = auth_new(mail_server->child->loop, path);
		auth_when_offered(mail_server->auth, on_one_less, mail_server);
		mail_server->lacks++;
		mail_server->intake.auth = mail_server->auth;
	}
}

static void on_all_full(void *context)
{
	const struct mail_server *mail_server = context;

	child_full(mail_server->child);
}

static void configure_limits(struct mail_server *mail_server)
{
	const struct limit_memory *limits = mail_server->child->limits;
	struct limit_classes *old = mail_server->classes;

	mail_server->classes =
		limits != NULL ? limit_classes_new(mail_server->child->config) : NULL;
	limit_rates_free(mail_server->intake.rates);
	mail_server->intake.rates = limit_rates_new(limits, mail_server->child->config);
	intake_set_limits(&mail_server->intake, limits, mail_server->classes);
	limit_classes_free(old);
}

static void on_certificates(void *context)
{
	struct mail_server *mail_server = context;

	if (mail_server->has_certificates) {
		say_ready(mail_server);
		return;
	}
	mail_server->has_certificates = true;
	on_one_less(mail_server);
}

/* Once it exists it stays, as sessions may need it. */
static void configure_tls(struct mail_server *mail_server)
{
	const struct config *config = mail_server->child->config;
	char path[108];

	if (mail_server->tls != NULL) {
		intake_tls_configure(mail_server->tls, config);
	} else if (config_has_tls_in(config)) {
		child_path(mail_server->child, "keys", path);
		mail_server->tls = intake_tls_new(mail_server->child->loop, path, config,
						  on_certificates, mail_server);
		mail_server->lacks++;
	}
}

static void connect_intake_to_queue(struct mail_server *mail_server)
{
	char path[108];

	child_path(mail_server->child, "queue", path);
	mail_server->intake.queue = queue_client_new(mail_server->child->loop, path, STOCK);
	queue_client_set_reserve(mail_server->intake.queue,
				 mail_server->child->config->queue_reserve);
	queue_client_when_connected(mail_server->intake.queue, on_intake_queue_connected,
				    mail_server);
	mail_server->lacks++;
}

static void open_directory(struct mail_server *mail_server)
{
	char path[108];

	child_path(mail_server->child, "directory", path);
	mail_server->intake.directory =
		directory_new(mail_server->child->loop, mail_server->child->config, path);
	if (!directory_is_served(mail_server->intake.directory))
		return;
	directory_when_greeted(mail_server->intake.directory, on_one_less, mail_server);
	mail_server->lacks++;
}

int mail_server_open(struct child *child)
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

int mail_server_start(struct child *child, const struct mail_server_kind *kind)
{
	struct mail_server *mail_server = memory_alloc_zero(1, sizeof *mail_server);

	child->state = mail_server;
	mail_server->child = child;
	mail_server->kind = kind;
	mail_server->intake.engine = kind->engine;
	mail_server->intake.loop = child->loop;
	mail_server->intake.config = child->config;
	mail_server->intake.session_ended = on_session_ended;
	mail_server->intake.all_full = on_all_full;
	mail_server->intake.context = mail_server;
	if (accounts >= 0)
		mail_server->intake.accounts = intake_accounts_new(child->loop, accounts);
	mail_server->intake.clients = limit_clients_new();
	connect_intake_to_queue(mail_server);
	open_directory(mail_server);
	configure_names(mail_server);
	configure_auth(mail_server);
	configure_limits(mail_server);
	configure_tls(mail_server);
	intake_drain(&mail_server->intake, child->is_draining);
	wait_to_begin(mail_server);
	return 0;
}

void mail_server_reload(struct child *child, const struct config *old)
{
	struct mail_server *mail_server = child->state;
	unsigned lacks = mail_server->lacks;

	(void)old;
	mail_server->intake.config = child->config;
	queue_client_set_reserve(mail_server->intake.queue, child->config->queue_reserve);
	directory_configure(mail_server->intake.directory, child->config);
	configure_names(mail_server);
	configure_auth(mail_server);
	configure_limits(mail_server);
	configure_tls(mail_server);
	intake_drain(&mail_server->intake, child->is_draining);
	if (!mail_server->is_begun)
		return;
	drop_listeners(mail_server);
	mail_server->is_begun = false;
	if (mail_server->lacks > lacks) /* clients wait in the kernel's queue, as at the start */
		wait_to_begin(mail_server);
	else
		begin_accepting_clients(mail_server);
}

void mail_server_stop(struct child *child)
{
	struct mail_server *mail_server = child->state;

	mail_server->is_stopping = true;
	drop_listeners(mail_server);
	intake_stop(&mail_server->intake);
	if (mail_server->intake.session_count == 0)
		os_loop_stop(child->loop);
}

/* The client keeps the responsibility for unanswered messages. */
void mail_server_hurry(struct child *child)
{
	os_loop_stop(child->loop);
}
