// SPDX-License-Identifier: ISC
#include "supervisor/program.h"
#include "confine/process.h"
#include "filing/decode/protocol.h"
#include "os/clock.h"
#include "supervisor/start/backend.h"
#include <string.h>

static const struct supervisor_pace ONES_OWN = {16, SECOND_US};
/* For LMTP servers, which may need a connection for each message. */
static const struct supervisor_pace SERVERS = {500, SECOND_US / 10};

static bool is_directory_configured(const struct config *config)
{
	return config->directory.backend != CONFIG_BACKEND_NONE;
}

static uint32_t has_directory_count(const struct config *config)
{
	return is_directory_configured(config);
}

static uint32_t decode_count(const struct config *config)
{
	(void)config;
	return DECODE_PROCESSES;
}

static uint32_t smtpd_count(const struct config *config)
{
	return config->smtpd_workers;
}

static bool is_service_kind_configured(const struct config *config, enum config_service_kind kind)
{
	for (size_t i = 0; i < config->service_count; i++)
		if (config->services[i].kind == kind)
			return true;
	return false;
}

static bool has_programs(const struct config *config)
{
	return is_service_kind_configured(config, CONFIG_SERVICE_PIPE);
}

static bool has_lmtp_servers(const struct config *config)
{
	return is_service_kind_configured(config, CONFIG_SERVICE_LMTP);
}

static bool has_client_names(const struct config *config)
{
	return config->client_names;
}

static bool has_secrets(const struct config *config)
{
	return config_key_count(config) > 0 || config_has_logins(config);
}

static bool has_policies(const struct config *config)
{
	return config->mta_sts || config->tls_reports;
}

static bool has_program_owners(const struct config *config)
{
	return config_has_owners(config, CONFIG_SERVICE_PIPE);
}

/* Whether PATH is a relay's server on this machine. */
static bool is_server(const struct config *config, const char *path)
{
	for (size_t i = 0; i < config->directory.server_count; i++)
		if (strncmp(config->directory.servers[i], "unix:", 5) == 0 &&
		    strcmp(config->directory.servers[i] + 5, path) == 0)
			return true;
	return false;
}

static bool is_dovecot(const struct config *config, const char *path)
{
	return config->auth.users == CONFIG_AUTH_DOVECOT && strcmp(config->auth.socket, path) == 0;
}

static bool is_lmtp_server(const struct config *config, const char *path)
{
	for (size_t i = 0; i < config->service_count; i++) {
		const struct config_service *service = &config->services[i];

		if (service->kind == CONFIG_SERVICE_LMTP && service->address.port == 0 &&
		    strcmp(service->address.host, path) == 0)
			return true;
	}
	return false;
}

/* In the order in which they are started. */
const struct supervisor_program supervisor_programs[SUPERVISOR_PROGRAMS] = {
	{.name = "queue", .turn = TURN_LAST, .pace = &ONES_OWN, .writes_log = true},
	{.name = "directory",
	 .turn = TURN_DIRECTORY,
	 .count = has_directory_count,
	 .is_wanted = is_directory_configured,
	 .file = backend_directory_program,
	 .may_connect = is_server,
	 .pace = &ONES_OWN,
	 .is_told_seen = true},
	{.name = "launch",
	 .turn = TURN_DIRECTORY,
	 .is_wanted = has_programs,
	 .becomes_others = has_program_owners,
	 .pace = &ONES_OWN,
	 .writes_log = true},
	{.name = "names", .turn = TURN_DIRECTORY, .is_wanted = has_client_names, .pace = &ONES_OWN},
	{.name = "keys",
	 .turn = TURN_DIRECTORY,
	 .is_wanted = has_secrets,
	 .keeps_rights = true,
	 .pace = &ONES_OWN},
	{.name = "auth",
	 .turn = TURN_DIRECTORY,
	 .is_wanted = config_has_auth,
	 .file = backend_auth_program,
	 .keeps_rights = true,
	 .may_connect = is_dovecot,
	 .pace = &ONES_OWN},
	{.name = "policy", .turn = TURN_DIRECTORY, .is_wanted = has_policies, .pace = &ONES_OWN},
	{.name = "decode",
	 .turn = TURN_DIRECTORY,
	 .count = decode_count,
	 .is_wanted = config_has_recording_service,
	 .has_socket_each = true,
	 .is_expendable = true,
	 .pace = &ONES_OWN},
	{.name = "send",
	 .turn = TURN_MANAGER,
	 .pace = &ONES_OWN,
	 .writes_log = true,
	 .counts = true},
	{.name = "resolve", .turn = TURN_HELPERS, .pace = &ONES_OWN},
	{.name = "remote",
	 .turn = TURN_HELPERS,
	 .pace = &ONES_OWN,
	 .is_watched = true,
	 .counts = true,
	 .has_site_key = true},
	{.name = "lmtp",
	 .turn = TURN_HELPERS,
	 .is_wanted = has_lmtp_servers,
	 .may_connect = is_lmtp_server,
	 .pace = &SERVERS,
	 .is_watched = true,
	 .counts = true,
	 .has_site_key = true},
	{.name = "handover",
	 .turn = TURN_HELPERS,
	 .is_wanted = config_has_nodes,
	 .pace = &ONES_OWN},
	{.name = "local",
	 .turn = TURN_HELPERS,
	 .is_wanted = config_has_local_service,
	 .becomes_others = config_has_mailbox_owners,
	 .pace = &ONES_OWN,
	 .has_site_key = true},
	{.name = "mailbox",
	 .turn = TURN_HELPERS,
	 .is_wanted = config_has_recording_service,
	 .file = backend_mailbox_program,
	 .pace = &SERVERS},
	{.name = "pipe",
	 .turn = TURN_HELPERS,
	 .is_wanted = has_programs,
	 .pace = &ONES_OWN,
	 .has_site_key = true},
	{.name = "list",
	 .turn = TURN_HELPERS,
	 .is_wanted = is_directory_configured,
	 .pace = &ONES_OWN,
	 .has_site_key = true},
	{.name = "noded", .turn = TURN_INTAKE, .is_wanted = config_takes_over, .pace = &ONES_OWN},
	{.name = "qmtpd",
	 .turn = TURN_INTAKE,
	 .is_wanted = config_has_qmtp,
	 .pace = &ONES_OWN,
	 .is_watched = true,
	 .counts = true,
	 .has_site_key = true},
	{.name = "smtpd",
	 .turn = TURN_INTAKE,
	 .count = smtpd_count,
	 .pace = &ONES_OWN,
	 .is_watched = true,
	 .counts = true,
	 .has_site_key = true},
};

bool supervisor_program_has_socket(const struct supervisor_program *program, unsigned number,
				   const char *name)
{
	ptrdiff_t place = confine_process_socket(confine_process_find(program->name),
						 str_slice(name, strcspn(name, " ")));

	return place >= 0 && (!program->has_socket_each || place == (ptrdiff_t)number);
}
