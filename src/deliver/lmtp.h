// SPDX-License-Identifier: ISC
/*
 * deliver/lmtp.h - delivering to one LMTP server (RFC 2033), such as Dovecot.
 *
 * The server answers for each recipient by itself. When the connection ends
 * between these answers, the recipients that were answered for are done; the
 * others are tried again, and only they.
 */
#ifndef DELIVER_LMTP_H
#define DELIVER_LMTP_H

#include "config/config.h"
#include "deliver/helper.h"
#include "os/loop.h"

struct deliver_lmtp;

/* CONFIG and SERVICE (one of its services) are borrowed until the next
 * deliver_lmtp_configure(). */
struct deliver_lmtp *deliver_lmtp_new(struct os_loop *loop, const struct config *config,
				      const struct config_service *service);
/* Gives up every job. */
void deliver_lmtp_free(struct deliver_lmtp *lmtp);

/* From now on CONFIG and SERVICE count; what is under way goes on. */
void deliver_lmtp_configure(struct deliver_lmtp *lmtp, const struct config *config,
			    const struct config_service *service);

/* For struct deliver_helper_handler: takes JOB over. */
void deliver_lmtp_start(struct deliver_lmtp *lmtp, struct deliver_helper_job *job);
/* For struct deliver_helper_handler: as remote_carrier_drain() says. */
void deliver_lmtp_drain(struct deliver_lmtp *lmtp);
/* For struct deliver_helper_handler: finishes every job without a report. */
void deliver_lmtp_give_up(struct deliver_lmtp *lmtp);

#endif
