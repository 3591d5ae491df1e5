// SPDX-License-Identifier: ISC
/*
 * deliver/remote/attempt/doubt.h - messages of which a server has the whole, and has not answered:
 * it may have taken them. A second attempt may go to the same server, which may know the message;
 * then another one may be asked, which makes a second copy possible.
 */
#ifndef DELIVER_REMOTE_ATTEMPT_DOUBT_H
#define DELIVER_REMOTE_ATTEMPT_DOUBT_H

#include "base/attributes.h"
#include "dns/search.h"
#include "mail/envelope.h"

/* After so many attempts at a server. */
enum { REMOTE_DOUBT_ATTEMPTS = 2 };

/* At most 10,000 messages and servers, each for eight days; the most recent ones stay. */
struct remote_doubt;

struct remote_doubt *remote_doubt_new(void);
void remote_doubt_free(struct remote_doubt *doubt);
/* SERVER may have taken the message ID. */
void remote_doubt_add(struct remote_doubt *doubt, struct mail_id id,
		      const struct dns_server *server);
/* How often it may have; NULL: how often at most one of all servers may have. */
unsigned remote_doubt_count(struct remote_doubt *doubt, struct mail_id id,
			    const struct dns_server *server);

#endif
