// SPDX-License-Identifier: ISC
/* smtpd - SMTP and submission servers: thousands of sessions on one event loop. */
#include "base/panic.h"
#include "intake/proxy.h"
#include "intake/session.h"
#include "log/event.h"
#include "os/listener.h"
#include "program/child.h"
#include "transcript/transcript.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STOCK = 16, TURNED_AWAY_MAX = 16 };

struct listener {
	struct smtpd *smtpd;
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

struct smtpd {
	struct child *child;
	struct service *services;
	struct intake intake;
	struct names *names;    /* NULL: not needed so far */
	struct auth *auth;      /* likewise */
	struct intake_tls *tls; /* likewise */
	struct os_timer *patience;
	struct listener *listeners;
	bool is_begun; /* it accepts clients */
	bool is_full;
	bool is_stopping;
};

static size_t session_limit(const struct smtpd *smtpd)
{
	const struct config *config = smtpd->child->config;

	return (config->maxsessions + config->smtpd_workers - 1) / config->smtpd_workers;
}

/* Whether there is room for one more session, if necessary by closing an idle one. */
static bool has_room(void *context)
{
	const struct listener *listener = context;
	struct smtpd *smtpd = listener->smtpd;

	smtpd->is_full = smtpd->intake.session_count >= session_limit(smtpd) &&
			 intake_session_find_idle(&smtpd->intake) == NULL;
	return !smtpd->is_full;
}

static void turn_one_away(struct smtpd *smtpd)
{
	struct intake_session *idle = intake_session_find_idle(&smtpd->intake);

	if (idle != NULL)
		intake_session_turn_away(idle);
}

/* Descriptors may be exhausted, which messages need, too. */
static void on_failed(void *context, int error)
{
	const struct listener *listener = context;

	log_event(EVENT_SESSION_REFUSED, log_error(error));
	if (error != -EMFILE && error != -ENFILE)
		return;
	for (unsigned i = 0; i < TURNED_AWAY_MAX; i++)
		turn_one_away(listener->smtpd);
}

static void on_accepted(void *context, int socket, const union os_socket_address *peer)
{
	const struct listener *listener = context;
	struct smtpd *smtpd = listener->smtpd;

	if (smtpd->intake.session_count >= session_limit(smtpd))
		turn_one_away(smtpd);
	if (listener->is_proxied)
		intake_proxy_new(&smtpd->intake, listener->service, listener->security, socket,
				 peer);
	else
		intake_session_new(&smtpd->intake, listener->service, listener->security, socket,
				   peer, STR(""));
}

static const struct os_listener_handler listener_handler = {on_accepted, on_failed, has_room};

static void go_on_accepting(struct smtpd *smtpd)
{
	smtpd->is_full = false;
	for (struct listener *one = smtpd->listeners; one != NULL; one = one->next)
		os_listener_go_on(one->taking);
}

static void on_session_ended(void *context)
{
	struct smtpd *smtpd = context;

	if (smtpd->is_stopping && smtpd->intake.session_count == 0) {
		os_loop_stop(smtpd->child->loop);
		return;
	}
	if (smtpd->is_full)
		go_on_accepting(smtpd);
}

static void stop_accepting(struct smtpd *smtpd)
{
	for (struct listener *one = smtpd->listeners; one != NULL; one = one->next)
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

static const struct service *add_service(struct smtpd *smtpd, const struct config_listen *listen)
{
	const struct config *config = smtpd->child->config;
	struct service *added = memory_alloc_zero(1, sizeof *added);
	struct smtp_service *service = &added->smtp;

	added->next = smtpd->services;
	smtpd->services = added;
	service->protocol = listen->protocol == CONFIG_SUBMISSION ? SMTP_PROTOCOL_SUBMISSION
			    : listen->protocol == CONFIG_LMTP     ? SMTP_PROTOCOL_LMTP
								  : SMTP_PROTOCOL_SMTP;
	service->stage = listen->stage;
	service->hostname = memory_copy_string(config->hostname);
	service->tls = tls_rules[listen->tls];
	service->auth = auth_rules[listen->auth];
	service->has_etrn = config->etrn_from_count > 0;
	service->sender_rule = sender_rules[listen->sender_login];
	service->completes = listen->submission;
	service->repairs = listen->repair;
	service->shows_user = listen->received_user;
	service->mechanisms = intake_auth_mechanisms;
	added->security = intake_security_new(smtpd->tls, listen);
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

static void drop_listeners(struct smtpd *smtpd)
{
	while (smtpd->listeners != NULL) {
		struct listener *listener = smtpd->listeners;

		smtpd->listeners = listener->next;
		os_listener_free(listener->taking);
		free(listener);
	}
}

static void add_listener(struct smtpd *smtpd, const struct service *service,
			 const struct config_endpoint *endpoint, bool is_proxied)
{
	struct listener *listener = memory_alloc_zero(1, sizeof *listener);
	char name[192];

	snprintf(name, sizeof name, "listen %s", endpoint->text);
	listener->smtpd = smtpd;
	listener->service = &service->smtp;
	listener->security = service->security;
	listener->is_proxied = is_proxied;
	listener->socket = child_socket(smtpd->child, name);
	if (listener->socket < 0) {
		free(listener);
		return;
	}
	listener->taking =
		os_listener_new(smtpd->child->loop, listener->socket, &listener_handler, listener);
	listener->next = smtpd->listeners;
	smtpd->listeners = listener;
}

static void add_listeners(struct smtpd *smtpd)
{
	const struct config *config = smtpd->child->config;

	for (size_t i = 0; i < config->listen_count; i++) {
		const struct config_listen *listen = &config->listens[i];
		const struct service *service = add_service(smtpd, listen);

		for (size_t j = 0; j < listen->address_count; j++)
			add_listener(smtpd, service, &listen->addresses[j], listen->proxy);
	}
}

/* Closes listening sockets that the new configuration does not have. */
static void close_unwanted(struct smtpd *smtpd)
{
	struct child *child = smtpd->child;
	size_t kept = 0;

	for (size_t i = 0; i < child->socket_count; i++) {
		bool is_used = false;

		for (struct listener *listener = smtpd->listeners; listener != NULL;
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
static void configure_names(struct smtpd *smtpd)
{
	char path[108];

	if (!smtpd->child->config->client_names) {
		smtpd->intake.names = NULL;
		return;
	}
	if (smtpd->names == NULL) {
		child_path(smtpd->child, "names", path);
		smtpd->names = names_new(smtpd->child->loop, path);
	}
	smtpd->intake.names = smtpd->names;
}

static void configure_auth(struct smtpd *smtpd)
{
	char path[108];

	if (smtpd->auth == NULL && config_offers_auth(smtpd->child->config)) {
		child_path(smtpd->child, "auth", path);
		smtpd->auth = auth_new(smtpd->child->loop, path);
		smtpd->intake.auth = smtpd->auth;
	}
}

static void begin(void *context)
{
	struct smtpd *smtpd = context;

	os_timer_free(smtpd->patience);
	smtpd->patience = NULL;
	if (smtpd->is_begun || smtpd->is_stopping)
		return;
	smtpd->is_begun = true;
	add_listeners(smtpd);
	close_unwanted(smtpd); /* those that a reload meanwhile has removed */
	child_ready(smtpd->child);
}

/* Once it exists it stays, as sessions may need it. */
static void configure_tls(struct smtpd *smtpd)
{
	const struct config *config = smtpd->child->config;
	char path[108];

	if (smtpd->tls != NULL) {
		intake_tls_configure(smtpd->tls, config);
	} else if (config_has_tls_in(config)) {
		child_path(smtpd->child, "keys", path);
		smtpd->tls = intake_tls_new(smtpd->child->loop, path, config, begin, smtpd);
	}
}

static int start(struct child *child)
{
	struct smtpd *smtpd = memory_alloc_zero(1, sizeof *smtpd);
	char path[108];
	char directory[108];

	child->state = smtpd;
	child_path(child, "queue", path);
	child_path(child, "directory", directory);
	smtpd->child = child;
	smtpd->intake.loop = child->loop;
	smtpd->intake.config = child->config;
	smtpd->intake.queue = queue_client_new(child->loop, path, STOCK);
	smtpd->intake.directory = directory_new(child->loop, child->config, directory);
	configure_names(smtpd);
	configure_auth(smtpd);
	smtpd->intake.session_ended = on_session_ended;
	smtpd->intake.context = smtpd;
	configure_tls(smtpd);
	if (smtpd->tls == NULL) {
		begin(smtpd);
		return 0;
	}
	smtpd->patience = os_timer_new(child->loop, begin, smtpd);
	os_timer_start(smtpd->patience, PATIENCE_US);
	return 0;
}

static void reload(struct child *child, const struct config *old)
{
	struct smtpd *smtpd = child->state;

	(void)old;
	smtpd->intake.config = child->config;
	directory_configure(smtpd->intake.directory, child->config);
	configure_names(smtpd);
	configure_auth(smtpd);
	configure_tls(smtpd);
	if (!smtpd->is_begun)
		return;
	drop_listeners(smtpd);
	add_listeners(smtpd);
	close_unwanted(smtpd);
	if (smtpd->is_stopping)
		stop_accepting(smtpd);
}

static void stop(struct child *child)
{
	struct smtpd *smtpd = child->state;

	smtpd->is_stopping = true;
	drop_listeners(smtpd);
	intake_stop(&smtpd->intake);
	if (smtpd->intake.session_count == 0)
		os_loop_stop(child->loop);
}

/* The client keeps the responsibility for unanswered messages. */
static void hurry(struct child *child)
{
	os_loop_stop(child->loop);
}

int main(int argc, char **argv)
{
	static const struct child_program program = {"smtpd", NULL, start, reload,
						     stop,    NULL, hurry};

	return child_main(argc, argv, &program);
}
