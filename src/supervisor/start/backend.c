// SPDX-License-Identifier: ISC
#include "supervisor/start/backend.h"

const char *backend_directory_program(const struct config *config)
{
	switch (config->directory.backend) {
	case CONFIG_BACKEND_POSTGRESQL:
		return "directory-postgresql";
	case CONFIG_BACKEND_LDAP:
		return "directory-ldap";
	default:
		return "directory";
	}
}

const char *backend_auth_program(const struct config *config)
{
	return config_has_ldap_bind(config) ? "auth-ldap" : "auth";
}

const char *backend_mailbox_program(const struct config *config)
{
	switch (config->record.backend) {
	case CONFIG_RECORD_POSTGRESQL:
		return "mailbox-postgresql";
	case CONFIG_RECORD_MARIADB:
		return "mailbox-mariadb";
	default:
		return "mailbox";
	}
}

const char *backend_mailbox_command(const struct config *config)
{
	switch (config->record.backend) {
	case CONFIG_RECORD_POSTGRESQL:
		return "mailbox-command-postgresql";
	case CONFIG_RECORD_MARIADB:
		return "mailbox-command-mariadb";
	default:
		return "mailbox-command";
	}
}
