// SPDX-License-Identifier: ISC
/* Programs with the record in SQLite. */
#include "deliver/mailbox/open.h"
#include "filing/record/sqlite/sqlite.h"

const char mailbox_program_file[] = "mailbox";

bool mailbox_record_fits(const struct config *config)
{
	return config->record.backend == CONFIG_RECORD_SQLITE ||
	       config->record.backend == CONFIG_RECORD_NONE;
}

void mailbox_record_prepare(const struct config *config)
{
	(void)config;
}

struct record *mailbox_record_new(const struct config *config)
{
	return record_sqlite_new(config->record.path);
}
