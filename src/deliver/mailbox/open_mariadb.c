// SPDX-License-Identifier: ISC
/* Programs with the record in MariaDB. */
#include "deliver/mailbox/open.h"
#include "filing/record/mariadb/mariadb.h"

const char mailbox_program_file[] = "mailbox-mariadb";

bool mailbox_record_fits(const struct config *config)
{
	return config->record.backend == CONFIG_RECORD_MARIADB ||
	       config->record.backend == CONFIG_RECORD_NONE;
}

void mailbox_record_prepare(const struct config *config)
{
	(void)config;
	record_mariadb_prepare();
}

struct record *mailbox_record_new(const struct config *config)
{
	const struct config_record *record = &config->record;

	return record_mariadb_new(&(struct record_mariadb_settings){
		.hosts = record->servers,
		.socket = record->socket,
		.database = record->database,
		.user = record->user,
		.password_file = record->password_file,
		.authority = record->authority,
		.certificate = record->client_certificate,
		.key = record->client_key,
		.timeout_ms = record->timeout * 1000,
	});
}
