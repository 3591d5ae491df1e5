// SPDX-License-Identifier: ISC
/* stagepost tls - how mail for a domain is protected, tried with each of its hosts. */
#include "base/panic.h"
#include "base/timestamp.h"
#include "command/command.h"
#include "command/tls/print.h"
#include "deliver/remote/policy/dane.h"
#include "deliver/remote/probe.h"
#include "policy/sts/client.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLAIN = 3, REPLY_SECONDS = 30, STS_SECONDS = 70 };

struct options {
	struct command_options common;
	const char *sender;
};

const struct command_option command_tls_options[] = {
	COMMAND_OPTION_CONFIG,
	{"--sender", "ADDRESS",
	 "for mail from that sender; without, from one that no setting names",
	 offsetof(struct options, sender)},
	COMMAND_OPTION_JSON("print an object of JSON for each host"),
	COMMAND_OPTION_END,
};

const struct command_exit command_tls_exits[] = {
	{COMMAND_OK, "each host was reached by TLS, as its policy demands"},
	{COMMAND_FAILED, "with at least one, mail would wait; or there is none"},
	{COMMAND_USAGE, "the command line is wrong"},
	{PLAIN, "with at least one, mail would be sent in plain text, which its policy allows"},
	{0, NULL},
};

struct trial {
	struct os_loop *loop;
	struct str destination;
	struct str sender;
	bool is_json;
	int status;
};

static void on_tried(void *context, const struct remote_probe_result *result)
{
	struct trial *trial = context;
	struct buffer text = {0};

	(trial->is_json ? command_tls_json : command_tls_text)(trial->destination, result, &text);
	command_write(stdout, buffer_view(&text));
	buffer_clear(&text);
	if (result->outcome == REMOTE_PROBE_WAITS)
		trial->status = COMMAND_FAILED;
	else if (result->outcome == REMOTE_PROBE_PLAIN && trial->status == COMMAND_OK)
		trial->status = PLAIN;
}

static void on_tls_trial_ended(void *context, const struct mail_verdict *failure)
{
	struct trial *trial = context;

	if (failure != NULL) {
		fprintf(stderr, "stagepost tls: %s\n", failure->text);
		trial->status = COMMAND_FAILED;
	}
	os_loop_stop(trial->loop);
}

static const struct remote_probe_handler tls_handler = {on_tried, on_tls_trial_ended};

static int try_all(const struct command *command, const struct remote_probe_settings *settings,
		   struct trial *trial)
{
	struct remote_probe *probe =
		remote_probe_new(settings, trial->destination, &tls_handler, trial);

	if (probe == NULL)
		return command_usage(command, "not a domain, and not HOST:PORT");
	os_loop_run(trial->loop);
	remote_probe_free(probe);
	return trial->status;
}

/* Asks the node's own process, which knows what it applies. */
static struct sts_client *open_sts(const struct config *config, const struct trial *trial)
{
	struct buffer path = {0};
	struct sts_client *sts;

	if (!config->mta_sts)
		return NULL;
	buffer_append_format(&path, "%s/policy", config->run);
	buffer_append_byte(&path, '\0');
	sts = sts_client_new(trial->loop, buffer_data(&path), STS_SECONDS * SECOND_US);
	buffer_clear(&path);
	return sts;
}

static int run_tls_trial(const struct command *command, const struct config *config,
			 struct trial *trial)
{
	struct remote_session_settings session = {
		.loop = trial->loop,
		.protocol = SMTP_CLIENT_SMTP,
		.hostname = config->hostname,
		.connect_timeout_us = config->remote_connect_timeout * SECOND_US,
		.reply_timeout_us = REPLY_SECONDS * SECOND_US,
		.tls_timeout_us = config->tls_timeout * SECOND_US,
		.tls = tls_client_new(),
		.chunk = memory_alloc(REMOTE_CHUNK_SIZE),
	};
	struct remote_probe_settings settings = {
		.session = &session, .config = config, .sender = trial->sender};
	int status = COMMAND_FAILED;

	struct sts_client *sts;
	struct remote_dane *dane;

	if (remote_dane_new(trial->loop, config, &dane) == 0) {
		settings.resolver = remote_dane_resolver(dane);
		settings.policies = remote_policies_new(config, false, NULL);
		remote_policies_use_dane(settings.policies, dane);
		sts = open_sts(config, trial);
		remote_policies_use_sts(settings.policies, sts);
		status = try_all(command, &settings, trial);
		sts_client_free(sts);
		remote_policies_free(settings.policies);
		remote_dane_free(dane);
	} else {
		fprintf(stderr, "stagepost tls: setting dns_server cannot be used\n");
	}
	tls_client_free(session.tls);
	free(session.chunk);
	return status;
}

int command_tls(const struct command *command, int argc, char **argv)
{
	struct options options = {.sender = "x"}; /* no address */
	struct trial trial = {.status = COMMAND_OK};
	struct config *config;
	int status;

	if (!command_parse(command, argc, argv, &options.common, &status))
		return status;
	if (argc != options.common.first + 1)
		return command_usage(command, "one DOMAIN or HOST:PORT is needed");
	config = command_config(options.common.config_file);
	if (config == NULL)
		return COMMAND_FAILED;
	trial.loop = os_loop_new();
	trial.destination = str_from(argv[options.common.first]);
	trial.sender = str_from(options.sender);
	trial.is_json = options.common.json;
	status = run_tls_trial(command, config, &trial);
	os_loop_free(trial.loop);
	config_free(config);
	return status;
}
