// SPDX-License-Identifier: ISC
/* The files by which this machine verifies servers, and logs in to them. */
#include "supervisor/machine_check/internal.h"
#include "tls/client.h"
#include <errno.h>
#include <stdio.h>

static bool needs_authority(enum config_tls_level level)
{
	return level == CONFIG_TLS_VERIFY || level == CONFIG_TLS_SECURE;
}

/* Reads the certificates in PATH as those who verify by them do. */
static void read_authorities(struct machine_check *check, const char *setting, const char *path)
{
	struct buffer reason CLEANUP(buffer_clear) = {0};
	struct tls_authorities *authorities = NULL;
	int error = *path != '\0' ? tls_authorities_open(path, &authorities, &reason) : 0;

	tls_authorities_free(authorities);
	if (error == -EACCES)
		machine_check_report(check, MACHINE_WARNING, setting,
				     "%s cannot be checked by this user", path);
	else if (error < 0)
		machine_check_report(check, MACHINE_FAULT, setting, STR_FORMAT,
				     STR_ARGUMENTS(buffer_view(&reason)));
}

/* The file OWN of a section's authority; *IS_USUAL becomes true if it is setting tls_authorities.
 */
static void check_authority(struct machine_check *check, const char *section, const char *name,
			    const char *own, bool *is_usual)
{
	char setting[MACHINE_SETTING_SIZE];

	snprintf(setting, sizeof setting, "%s %s.authority", section, name);
	*is_usual |= *own == '\0';
	read_authorities(check, setting, own);
}

static void check_peer_of_service(struct machine_check *check, const struct config_service *service,
				  bool *is_usual)
{
	char setting[MACHINE_SETTING_SIZE];
	bool is_imap = service->kind == CONFIG_SERVICE_IMAP;

	if (is_imap) {
		snprintf(setting, sizeof setting, "service %s.password_file", service->name);
		machine_check_file(check, setting, service->password_file);
	}
	if (is_imap ? service->security != CONFIG_IMAP_PLAIN
		    : service->kind == CONFIG_SERVICE_LMTP && needs_authority(service->tls))
		check_authority(check, "service", service->name, service->authority, is_usual);
}

static void check_record(struct machine_check *check)
{
	const struct config_record *record = &check->config->record;
	struct config_file file;

	if (record->backend != CONFIG_RECORD_MARIADB)
		return;
	for (size_t i = 0; (file = config_record_file(record, i)).setting != NULL; i++)
		machine_check_file(check, file.setting, file.path);
}

void machine_check_peers(struct machine_check *check)
{
	const struct config *config = check->config;
	bool is_usual = needs_authority(config->remote_tls) || config->mta_sts;

	for (size_t i = 0; i < config->service_count; i++)
		check_peer_of_service(check, &config->services[i], &is_usual);
	for (size_t i = 0; i < config->tls_policy_count; i++)
		if (needs_authority(config->tls_policies[i].level))
			check_authority(check, "tls", config->tls_policies[i].destination,
					config->tls_policies[i].authority, &is_usual);
	if (is_usual)
		read_authorities(check, "tls_authorities", config->tls_authorities);
	check_record(check);
}
