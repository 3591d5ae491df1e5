// SPDX-License-Identifier: ISC
/*
 * deliver/remote/attempt/silent.h - servers that cost time: those that have accepted a connection
 * and said nothing, or did not answer it at all. For a while mail goes to the others of its
 * destination at once, and to such a server only if no other will do.
 */
#ifndef DELIVER_REMOTE_ATTEMPT_SILENT_H
#define DELIVER_REMOTE_ATTEMPT_SILENT_H

#include "base/attributes.h"
#include "dns/search.h"

/* At most 1000, each for 15 minutes; the most recent ones stay. */
struct remote_silent;

struct remote_silent *remote_silent_new(void);
void remote_silent_free(struct remote_silent *silent);
/* Also logs it, with the REASON. */
void remote_silent_add(struct remote_silent *silent, const struct dns_server *server,
		       const char *reason);
/* Whether SERVER is better passed over. Once its time is over, the first who asks tries it: for the
 * others it is silent until that is known. */
MUST_CHECK bool remote_silent_has(struct remote_silent *silent, const struct dns_server *server);
/* It has answered. */
void remote_silent_forget(struct remote_silent *silent, const struct dns_server *server);

#endif
