// SPDX-License-Identifier: ISC
/*
 * deliver/mailbox/open.h - the record and the stores that the configuration says.
 */
#ifndef DELIVER_MAILBOX_OPEN_H
#define DELIVER_MAILBOX_OPEN_H

#include "config/config.h"
#include "mailstore/mailstore.h"
#include "record/record.h"

/* Before the sandbox: what connecting to the record needs then. */
void mailbox_record_prepare(const struct config *config);
/* Makes no connection yet. */
struct record *mailbox_record_new(const struct config *config);
/* SERVICE is of kind mailbox or imap. -errno: its password cannot be read. */
MUST_CHECK int mailbox_store_new(const struct config *config, const struct config_service *service,
				 struct mailstore **store_out);

#endif
