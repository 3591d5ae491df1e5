// SPDX-License-Identifier: ISC
/*
 * stage/lmtp.h - delivering to one LMTP server (RFC 2033), such as Dovecot.
 *
 * The server answers for each recipient by itself. When the connection ends
 * between these answers, the recipients that were answered for are done; the
 * others are tried again, and only they.
 */
#ifndef STAGE_LMTP_H
#define STAGE_LMTP_H

#include "config/config.h"
#include "os/loop.h"
#include "stage/helper.h"

struct stage_lmtp;

/* CONFIG and SERVICE (one of its services) are borrowed until the next
 * stage_lmtp_configure(). */
struct stage_lmtp *stage_lmtp_new(struct os_loop *loop, const struct config *config,
				  const struct config_service *service);
/* Gives up every job. */
void stage_lmtp_free(struct stage_lmtp *lmtp);

/* From now on CONFIG and SERVICE count; what is under way goes on. */
void stage_lmtp_configure(struct stage_lmtp *lmtp, const struct config *config,
			  const struct config_service *service);

/* For struct stage_helper_handler: takes JOB over. */
void stage_lmtp_deliver(struct stage_lmtp *lmtp, struct stage_helper_job *job);
/* For struct stage_helper_handler: as remote_carrier_drain() says. */
void stage_lmtp_drain(struct stage_lmtp *lmtp);
/* For struct stage_helper_handler: finishes every job without a report. */
void stage_lmtp_give_up(struct stage_lmtp *lmtp);

#endif
