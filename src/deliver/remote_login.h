// SPDX-License-Identifier: ISC
/*
 * deliver/remote_login.h - logins to relays: where they are wanted, and where passwords come from.
 */
#ifndef DELIVER_REMOTE_LOGIN_H
#define DELIVER_REMOTE_LOGIN_H

#include "keys/password_client.h"
#include "login/exchange.h"

/* What a connection needs: as the route says. */
struct remote_login {
	const char *relay; /* a host name or "[address]" */
	const char *user;
	uint16_t port;
	bool may_be_plain; /* also without TLS */
};

struct remote_logins {
	struct login_library *library;
	struct keys_passwords *passwords; /* NULL: they cannot be asked for */
};

#endif
