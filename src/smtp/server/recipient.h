// SPDX-License-Identifier: ISC
/*
 * smtp/server/recipient.h - addresses of recipients that are ours, though they do not name our
 * domain.
 */
#ifndef SMTP_SERVER_RECIPIENT_H
#define SMTP_SERVER_RECIPIENT_H

#include "smtp/server/server.h"

/* Completes "postmaster", which is local whatever the domains are (RFC 5321 section 4.5.1), with
 * SERVICE's host name. USER@[192.0.2.1], if that is our address, becomes an address in a local
 * domain. CONTEXT is the peer's. New text is in *TEXT, and replaces what was there: a client can
 * name such recipients without end, also when none is accepted. False: an address without a domain
 * that is none. */
MUST_CHECK bool smtp_recipient_complete(const struct smtp_service *service, void *context,
					struct buffer *text, struct mail_address *address);

#endif
