// SPDX-License-Identifier: ISC
/*
 * supervisor/talk/lmtp.h - asks an LMTP server whether it has a mailbox: for commands that check
 * what an operator has set up. No mail is sent.
 */
#ifndef SUPERVISOR_TALK_LMTP_H
#define SUPERVISOR_TALK_LMTP_H

#include "base/attributes.h"
#include "base/buffer.h"
#include "config/config.h"

/* Whether the server of SERVICE, of kind lmtp, certainly has no mailbox for ADDRESS: it refuses it
 * with 550 or 5.1; then its reply is appended to SAID, one line of any bytes. False also if that
 * is not known: it is not reached, says something else, wants TLS, or takes longer than five
 * seconds. */
bool lmtp_talk_lacks(const struct config *config, const struct config_service *service,
		     struct str address, struct buffer *said);

#endif
