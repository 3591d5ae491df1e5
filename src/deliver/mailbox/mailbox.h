// SPDX-License-Identifier: ISC
/*
 * deliver/mailbox/mailbox.h - the transports of kind mailbox and imap: record messages, and file
 * each once (filing/filing.h).
 *
 * A message is identified, decoded by the process "decode", and waits; threads, each with its own
 * connection to the record, take groups of what waits. Of one Message-ID only one message is in a
 * thread at a time. One whose lock another process has goes back and is tried again, until the
 * record's lock_timeout is over (WAIT 4.4.5); it holds up no other message.
 */
#ifndef DELIVER_MAILBOX_MAILBOX_H
#define DELIVER_MAILBOX_MAILBOX_H

#include "config/config.h"
#include "deliver/helper.h"
#include "directory/lookup/lookup.h"
#include "filing/decode/client.h"
#include "os/loop.h"

struct deliver_mailbox;

/* What the transports of a process share; borrowed. */
struct deliver_mailbox_peers {
	struct os_loop *loop;
	struct decode_client *decoder;
	struct directory *directory; /* which senders have a mailbox here */
};

/* CONFIG and SERVICE (one of its services) are borrowed until the next
 * deliver_mailbox_configure(). Sets the process's umask to 077. */
struct deliver_mailbox *deliver_mailbox_new(const struct deliver_mailbox_peers *peers,
					    const struct config *config,
					    const struct config_service *service);
/* Waits for what is being filed; every job is finished. */
void deliver_mailbox_free(void *transport);

/* From now on CONFIG and SERVICE apply; what is being filed is not affected. */
void deliver_mailbox_configure(void *transport, const struct config *config,
			       const struct config_service *service);

/* For struct deliver_helper_handler: takes over JOB. */
void deliver_mailbox_start(void *transport, struct deliver_helper_job *job);
/* For struct deliver_helper_handler: jobs that are not being filed are finished without a report.
 */
void deliver_mailbox_drain(void *transport);
/* For struct deliver_helper_handler: likewise; those being filed are finished when they are done.
 */
void deliver_mailbox_lost(void *transport);

#endif
