// SPDX-License-Identifier: ISC
#include "program/kind/listen_service.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include "intake/session.h"
#include "os/clock.h"
#include "transcript/transcript.h"

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

static struct smtp_server_rules rules_of_smtp_server(const struct config *config,
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

void listen_service_fill(struct smtp_service *service, const struct config *config,
			 const struct config_listen *listen)
{
	service->protocol = protocols[listen->protocol];
	service->stage = listen->stage;
	service->hostname = memory_copy_string(config->hostname);
	service->tls = tls_rules[listen->tls];
	service->auth = auth_rules[listen->auth];
	service->has_etrn = config->etrn_from_count > 0;
	service->sender_rule = sender_rules[listen->sender_login];
	service->release_max_us = config->future_release_max_us;
	service->offers_binary = config->binarymime;
	service->site_key = config->site_key;
	service->deliver_by_min = config->deliver_by_min_us / SECOND_US;
	service->now_us = os_clock_wall_us;
	service->completes = listen->submission;
	service->repairs = listen->repair;
	service->shows_user = listen->received_user;
	service->hides_client = !listen->received_client;
	service->mechanisms = intake_auth_mechanisms;
	service->on_refusal = intake_log_refusal;
	service->is_our_address = intake_is_our_address;
	service->watch = (struct smtp_watch){transcript_is_on(), intake_tell_line};
	service->local_domain = memory_copy_string(config_default_domain(config));
	service->rules = rules_of_smtp_server(config, listen);
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
}
