// SPDX-License-Identifier: ISC
/*
 * smtp/server/complete.h - addresses of the envelope that a client does not write in full.
 *
 * New text is in *TEXT, and replaces what was there: a client can name such addresses without end,
 * also when none is accepted. MAY_BE_SHORT: an address without a domain is one of our own domain
 * (SERVICE's local_domain), as the hosts and programs of our users write the names of their users
 * ("root"). Nobody else's is: a stranger means its own host, if anything.
 */
#ifndef SMTP_SERVER_COMPLETE_H
#define SMTP_SERVER_COMPLETE_H

#include "smtp/server/server.h"

/* Without a domain "postmaster" is local in any case, whatever the domains are (RFC 5321 section
 * 4.5.1): it gets SERVICE's host name. USER@[192.0.2.1], if that is our address, becomes an address
 * in a local domain. CONTEXT is the peer's. False: an address without a domain that is none. */
MUST_CHECK bool smtp_complete_recipient(const struct smtp_service *service, void *context,
					bool may_be_short, struct buffer *text,
					struct mail_address *address);

/* The same for a sender, which may be the null sender. */
MUST_CHECK bool smtp_complete_sender(const struct smtp_service *service, bool may_be_short,
				     struct buffer *text, struct mail_address *address);

#endif
