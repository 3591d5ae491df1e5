// SPDX-License-Identifier: ISC
/*
 * store/ldap/deadline.h - until when libldap may wait for the peer of a connection.
 *
 * libldap 2.5 has no bound for a TLS handshake, nor for the rest of a TLS record: it waits in the
 * read itself, and tries again whatever SO_RCVTIMEO says. A layer between the socket and TLS
 * (lber-sockbuf(3)) lets no read or write begin to wait beyond the deadline.
 */
#ifndef STORE_LDAP_DEADLINE_H
#define STORE_LDAP_DEADLINE_H

#include "base/attributes.h"
#include <ldap.h>
#include <stdint.h>

/* Adds the layer, to a connection that has its socket and no TLS yet. Gone with the connection.
 * An LDAP result code. */
MUST_CHECK int deadline_add(LDAP *ld);
/* Reads and writes fail with ETIMEDOUT when they have to wait longer than until UNTIL_US of
 * os_clock_monotonic_us(). */
void deadline_set(LDAP *ld, int64_t until_us);

#endif
