// SPDX-License-Identifier: ISC
/*
 * directory/store/ldap/link/deadline.h - a time limit for libldap's reads and writes.
 *
 * libldap 2.5 has no time limit for a TLS handshake, nor for the rest of a TLS record: it blocks in
 * the read, and retries whatever SO_RCVTIMEO is. This layer between the socket and TLS
 * (lber-sockbuf(3)) does not start to wait after the deadline.
 */
#ifndef DIRECTORY_STORE_LDAP_LINK_DEADLINE_H
#define DIRECTORY_STORE_LDAP_LINK_DEADLINE_H

#include "base/attributes.h"
#include <ldap.h>
#include <stdint.h>

/* Adds the layer to a connection that has a socket but no TLS yet. It ends with the connection.
 * Returns an LDAP result code. */
MUST_CHECK int deadline_add(LDAP *ld);
/* Makes reads and writes fail with ETIMEDOUT if they would wait longer than until UNTIL_US of
 * os_clock_monotonic_us(). */
void deadline_set(LDAP *ld, int64_t until_us);

#endif
