// SPDX-License-Identifier: ISC
/*
 * smtp/server/recipient.h - addresses of recipients that are ours, though they do not name our
 * domain.
 */
#ifndef SMTP_SERVER_RECIPIENT_H
#define SMTP_SERVER_RECIPIENT_H

#include "smtp/server/server.h"

/* Completes "postmaster", which is local whatever the domains are (RFC 5321 section 4.5.1), with
 * SERVICE's host name; *POSTMASTER keeps it for the next time, NULL at first. USER@[192.0.2.1], if
 * that is our address, becomes an address in a local domain. CONTEXT is the peer's. New text is in
 * ARENA. False: an address without a domain that is none. */
MUST_CHECK bool smtp_recipient_complete(const struct smtp_service *service, void *context,
					struct arena *arena, const char **postmaster,
					struct mail_address *address);

#endif
