// SPDX-License-Identifier: ISC
/*
 * login/exchange.h - the client's side of a login to another server: mechanisms of SASL (RFC 4422),
 * by GNU SASL.
 *
 * Known are SCRAM-SHA-256 and SCRAM-SHA-1 (RFC 5802), by which the server learns nothing that it
 * could log in with and has to prove that it knows the password, PLAIN (RFC 4616) and LOGIN. The
 * strongest that both sides know is taken, and never a weaker one after it has failed.
 */
#ifndef LOGIN_EXCHANGE_H
#define LOGIN_EXCHANGE_H

#include "base/attributes.h"
#include "base/buffer.h"
#include "base/str.h"

enum {
	LOGIN_USER_MAX = 255,      /* bytes */
	LOGIN_PASSWORD_MAX = 1000, /* bytes */
	/* Rounds of hashing that a server may ask of us (SCRAM): 0.1 s of the only thread. */
	LOGIN_ROUNDS_MAX = 200 * 1000,
};

/* The library; one is enough for a process. It reads no files afterwards. */
struct login_library;
/* NULL: it cannot be used. */
struct login_library *login_library_open(void);
/* NULL is allowed. */
void login_library_close(struct login_library *library);

/* The strongest mechanism of OFFERED, names separated by spaces; NULL: none is known. */
const char *login_choose(struct str offered);
/* Whether the client sends the first message by MECHANISM. */
bool login_begins(const char *mechanism);

struct login_exchange;

/* MECHANISM: of login_choose(). Copies USER and PASSWORD, of UTF-8. */
struct login_exchange *login_exchange_new(const struct login_library *library,
					  const char *mechanism, const char *user,
					  const char *password);
/* Overwrites what it knows as far as the library lets it. NULL is allowed. */
void login_exchange_free(struct login_exchange *exchange);

/* Appends to RESPONSE the answer to CHALLENGE, which is empty before the first message. NULL; or
 * why there is none. */
MUST_CHECK const char *login_exchange_step(struct login_exchange *exchange, struct str challenge,
					   struct buffer *response);
/* Whether the server may say now that it has succeeded: it has proved what MECHANISM lets it prove.
 */
bool login_exchange_is_complete(const struct login_exchange *exchange);

#endif
