// SPDX-License-Identifier: ISC
/*
 * deliver/local/writer.h - writes deliveries to the mailboxes of a service, as their owners: to
 * Maildirs, or to mbox files.
 */
#ifndef DELIVER_LOCAL_WRITER_H
#define DELIVER_LOCAL_WRITER_H

#include "config/config.h"
#include "mailbox/maildir.h"
#include "os/process/process.h"

struct local_writer;

/* For SERVICE, of kind maildir or mbox, which are borrowed during the call only. */
struct local_writer *local_writer_new(const struct config *config,
				      const struct config_service *service);
/* NULL is allowed. */
void local_writer_free(struct local_writer *writer);

/* Sets the verdict of each of COUNT deliveries, which are all OWNER's. Meanwhile this thread has
 * that owner's file access rights, so that symbolic links in their directories lead only where they
 * could go themselves. */
void local_writer_deliver(struct local_writer *writer, const struct os_process_user *owner,
			  struct maildir_delivery *deliveries, size_t count);

#endif
