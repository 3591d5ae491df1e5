// SPDX-License-Identifier: ISC
#include "program/door.h"
#include "base/panic.h"
#include "intake/engine.h"
#include "intake/proxy.h"
#include "log/event.h"
#include "os/clock.h"
#include "os/listener.h"
#include "transcript/transcript.h"
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
	bool is_begun; /* it accepts clients */
	bool is_full;
	bool is_stopping;
};

static size_t session_limit(const struct door *door)
{
	const struct config *config = door->child->config;

	uint32_t count = door->kind->count(config);

	return (config->maxsessions + count - 1) / count;
}

/* Whether there is room for one more session, if necessary by closing an idle one. */
static bool has_room(void *context)
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
static void on_failed(void *context, int error)
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

static void on_accepted(void *context, int socket, const union os_socket_address *peer)
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

static const struct os_listener_handler listener_handler = {on_accepted, on_failed, has_room};

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

static void stop_accepting(struct door *door)
{
	for (struct listener *one = door->listeners; one != NULL; one = one->next)
		os_listener_stop(one->taking);
}

static struct smtp_server_rules rules_of(const struct config *config,
					 const struct config_listen *listen)
{
	static const enum smtp_bare_newline bare_newlines[] = {
		[CONFIG_BARE_NEWLINE_AUTO] = SMTP_BARE_NEWLINE_AUTO,
		[CONFIG_BARE_NEWLINE_REJECT] = SMTP_BARE_NEWLINE_REJECT,
		[CONFIG_BARE_NEWLINE_NORMALIZE] = SMTP_BARE_NEWLINE_NORMALIZE,
	};

	return (struct smtp_server_rules){
		.bare_newline = bare_newlines[listen->bare_newline],
		.ends_early = !config->allow_early_commands,
		.strict_addresses = config->strict_addresses,
		.removes_nul = config->nul == CONFIG_NUL_REMOVE,
	};
}

/* Before it knows the certificates, a process that needs some accepts nobody for so long. */
static const int64_t PATIENCE_US = 5 * SECOND_US;

static const enum smtp_tls_rule tls_rules[] = {
	[CONFIG_LISTEN_TLS_NONE] = SMTP_TLS_NONE,
	[CONFIG_LISTEN_TLS_STARTTLS] = SMTP_TLS_OFFERED,
	[CONFIG_LISTEN_TLS_REQUIRED] = SMTP_TLS_REQUIRED,
	[CONFIG_LISTEN_TLS_IMPLICIT] = SMTP_TLS_NONE,
};

static const enum smtp_protocol protocols[] = {
	[CONFIG_SMTP] = SMTP_PROTOCOL_SMTP, [CONFIG_SUBMISSION] = SMTP_PROTOCOL_SUBMISSION,
	[CONFIG_LMTP] = SMTP_PROTOCOL_LMTP, [CONFIG_QMTP] = SMTP_PROTOCOL_QMTP,
	[CONFIG_QMQP] = SMTP_PROTOCOL_QMQP,
};

static const enum smtp_auth_rule auth_rules[] = {
	[CONFIG_LISTEN_AUTH_NO] = SMTP_AUTH_NONE,
	[CONFIG_LISTEN_AUTH_OFFERED] = SMTP_AUTH_OFFERED,
	[CONFIG_LISTEN_AUTH_REQUIRED] = SMTP_AUTH_REQUIRED,
};

static const enum smtp_sender_rule sender_rules[] = {
	[CONFIG_SENDER_LOGIN_OFF] = SMTP_SENDER_ANY,
	[CONFIG_SENDER_LOGIN_ENVELOPE] = SMTP_SENDER_ENVELOPE,
	[CONFIG_SENDER_LOGIN_STRICT] = SMTP_SENDER_STRICT,
};

static const struct service *add_service(struct door *door, const struct config_listen *listen)
{
	const struct config *config = door->child->config;
	struct service *added = memory_alloc_zero(1, sizeof *added);
	struct smtp_service *service = &added->smtp;

	added->next = door->services;
	door->services = added;
	service->protocol = protocols[listen->protocol];
	service->stage = listen->stage;
	service->hostname = memory_copy_string(config->hostname);
	service->tls = tls_rules[listen->tls];
	service->auth = auth_rules[listen->auth];
	service->has_etrn = config->etrn_from_count > 0;
	service->sender_rule = sender_rules[listen->sender_login];
	service->release_max_us = config->future_release_max_us;
	service->offers_binary = config->binarymime;
	service->deliver_by_min = config->deliver_by_min_us / SECOND_US;
	service->now_us = os_clock_wall_us;
	service->completes = listen->submission;
	service->repairs = listen->repair;
	service->shows_user = listen->received_user;
	service->mechanisms = intake_auth_mechanisms;
	added->security = intake_security_new(door->tls, listen);
	service->on_refusal = intake_log_refusal;
	service->is_our_address = intake_is_our_address;
	service->watch = (struct smtp_watch){transcript_is_on(), intake_tell_line};
	service->local_domain = memory_copy_string(config_default_domain(config));
	service->rules = rules_of(config, listen);
	service->limits = (struct smtp_server_limits){
		.message_size = config->maxsize,
		.recipients = config->maxrecipients,
		.errors = config->maxerrors,
		.commands = config->maxcommands,
		.hops = config->maxhops,
		.line = 4096,
		.command_timeout = config->smtp_timeout,
		.data_timeout = config->smtp_data_timeout,
	};
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

/* Closes listening sockets that the new configuration does not have. */
static void close_unwanted(struct door *door)
{
	struct child *child = door->child;
	size_t kept = 0;

	for (size_t i = 0; i < child->socket_count; i++) {
		bool is_used = false;

		for (struct listener *listener = door->listeners; listener != NULL;
		     listener = listener->next)
			is_used |= listener->socket == child->sockets[i].descriptor;
		if (is_used)
			child->sockets[kept++] = child->sockets[i];
		else
			os_socket_close(child->sockets[i].descriptor);
	}
	child->socket_count = kept;
}

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

static void begin(void *context)
{
	struct door *door = context;

	os_timer_free(door->patience);
	door->patience = NULL;
	if (door->is_begun || door->is_stopping)
		return;
	door->is_begun = true;
	add_listeners(door);
	close_unwanted(door); /* those that a reload meanwhile has removed */
	child_ready(door->child);
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
		door->tls = intake_tls_new(door->child->loop, path, config, begin, door);
	}
}

int door_start(struct child *child, const struct door_kind *kind)
{
	struct door *door = memory_alloc_zero(1, sizeof *door);
	char path[108];
	char directory[108];

	child->state = door;
	child_path(child, "queue", path);
	child_path(child, "directory", directory);
	door->child = child;
	door->kind = kind;
	door->intake.engine = kind->engine;
	door->intake.loop = child->loop;
	door->intake.config = child->config;
	door->intake.queue = queue_client_new(child->loop, path, STOCK);
	door->intake.directory = directory_new(child->loop, child->config, directory);
	configure_names(door);
	configure_auth(door);
	configure_limits(door);
	door->intake.session_ended = on_session_ended;
	door->intake.all_full = on_all_full;
	door->intake.context = door;
	configure_tls(door);
	if (door->tls == NULL) {
		begin(door);
		return 0;
	}
	door->patience = os_timer_new(child->loop, begin, door);
	os_timer_start(door->patience, PATIENCE_US);
	return 0;
}

void door_reload(struct child *child, const struct config *old)
{
	struct door *door = child->state;

	(void)old;
	door->intake.config = child->config;
	directory_configure(door->intake.directory, child->config);
	configure_names(door);
	configure_auth(door);
	configure_limits(door);
	configure_tls(door);
	if (!door->is_begun)
		return;
	drop_listeners(door);
	add_listeners(door);
	close_unwanted(door);
	if (door->is_stopping)
		stop_accepting(door);
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
