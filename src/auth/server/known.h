// SPDX-License-Identifier: ISC
/*
 * auth/server/known.h - the clients (auth/server/failures.h) at which somebody has succeeded of
 * late: AUTH_KNOWN_MAX, the most recent. Failures elsewhere, however many, do not displace them.
 */
#ifndef AUTH_SERVER_KNOWN_H
#define AUTH_SERVER_KNOWN_H

#include "base/timestamp.h"
#include <netinet/in.h>

enum { AUTH_KNOWN_MAX = 50000 };

#define AUTH_KNOWN_US DAY_US

struct auth_known;

struct auth_known *auth_known_new(void);
/* NULL is allowed. */
void auth_known_free(struct auth_known *known);
void auth_known_add(struct auth_known *known, const struct in6_addr *client, int64_t now_us);
bool auth_known_has(const struct auth_known *known, const struct in6_addr *client, int64_t now_us);

#endif
