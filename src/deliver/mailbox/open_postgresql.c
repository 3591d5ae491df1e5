// SPDX-License-Identifier: ISC
/* Programs with the record in PostgreSQL. */
#include "deliver/mailbox/open.h"
#include "filing/record/postgresql/postgresql.h"

const char mailbox_program_file[] = "mailbox-postgresql";

bool mailbox_record_fits(const struct config *config)
{
	return config->record.backend == CONFIG_RECORD_POSTGRESQL ||
	       config->record.backend == CONFIG_RECORD_NONE;
}

void mailbox_record_prepare(const struct config *config)
{
	(void)config;
}

struct record *mailbox_record_new(const struct config *config)
{
	return record_postgresql_new(config->record.database, config->record.timeout * 1000);
}
