// SPDX-License-Identifier: ISC
/*
 * store/ldap_patience.h - an end to a TLS handshake that the server does not go on with.
 *
 * libldap waits for it without bound, whatever time its options name. So another thread shuts the
 * connection down when the time is over, and libldap finds it lost.
 */
#ifndef STORE_LDAP_PATIENCE_H
#define STORE_LDAP_PATIENCE_H

#include "base/attributes.h"
#include <ldap.h>

struct ldap_patience;

/* From now on, the connection that this thread makes for LD may take SECONDS. NULL: there is no
 * thread to be had, or the option; nothing was begun. Not twice at once in one thread. */
MUST_CHECK struct ldap_patience *ldap_patience_begin(LDAP *ld, int seconds);
/* What was in time goes on; the rest was shut down. NULL is allowed. */
void ldap_patience_end(struct ldap_patience *patience);

#endif
