// SPDX-License-Identifier: ISC
/*
 * deliver/mailbox/open.h - the record and the stores that the configuration says.
 *
 * A program has the record of one backend, so that only one that needs a database library loads it:
 * open_sqlite.c, open_postgresql.c or open_mariadb.c is linked.
 */
#ifndef DELIVER_MAILBOX_OPEN_H
#define DELIVER_MAILBOX_OPEN_H

#include "config/config.h"
#include "filing/mailstore/mailstore.h"
#include "filing/record/record.h"

/* The file name of the program that files messages with it. */
extern const char mailbox_program_file[];
/* Whether CONFIG has the record of this program's backend, or none. */
bool mailbox_record_fits(const struct config *config);
/* Before the sandbox: what connecting to the record needs then. */
void mailbox_record_prepare(const struct config *config);
/* Makes no connection yet. */
struct record *mailbox_record_new(const struct config *config);
/* SERVICE is of kind mailbox or imap. -errno: its password cannot be read. */
MUST_CHECK int mailbox_store_new(const struct config *config, const struct config_service *service,
				 struct mailstore **store_out);

#endif
