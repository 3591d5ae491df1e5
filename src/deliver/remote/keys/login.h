// SPDX-License-Identifier: ISC
/*
 * deliver/remote/keys/login.h - logins to relays: where they are wanted, and where passwords come
 * from.
 */
#ifndef DELIVER_REMOTE_KEYS_LOGIN_H
#define DELIVER_REMOTE_KEYS_LOGIN_H

#include "auth/login/exchange.h"
#include "keys/password_client.h"

/* What a connection needs: as the route says. */
struct remote_login {
	const char *relay; /* a host name or "[address]" */
	const char *user;
	uint16_t port;
	bool may_be_plain; /* also without TLS */
	bool may_bind;     /* to the TLS connection */
	enum login_strength weakest;
};

/* deliver/remote/keys/keys.h has them. */
struct remote_logins {
	/* As keys_passwords_ask() and keys_password_cancel(). */
	void (*ask)(struct remote_logins *logins, struct keys_password_question *question);
	void (*cancel)(struct keys_password_question *question);
};

#endif
