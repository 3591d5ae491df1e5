// SPDX-License-Identifier: ISC
/*
 * auth/server/tokens.h - whose a token is: by the keys of its issuer, or by asking the issuer
 * (RFC 7662), whose answers are kept for at most a minute.
 */
#ifndef AUTH_SERVER_TOKENS_H
#define AUTH_SERVER_TOKENS_H

#include "auth/sasl/sasl.h"
#include "auth/token/jwt.h"
#include "policy/https/https.h"

enum {
	AUTH_TOKENS_KEPT_MAX = 10000,
	AUTH_TOKENS_OPEN_MAX = 100, /* introspections at once */
};

#define AUTH_TOKENS_KEPT_US MINUTE_US

struct auth_tokens;
struct auth_token_request;

/* Texts are borrowed, and must stay valid. */
struct auth_tokens_settings {
	struct auth_token_rules rules;
	const struct auth_jwt_keys *keys; /* may be empty */
	const char *url;                  /* "": no introspection */
	const char *user;                 /* there; "": none */
	struct str secret;                /* of the user */
};

/* HTTPS: NULL: no introspection. */
struct auth_tokens *auth_tokens_new(struct https *https,
				    const struct auth_tokens_settings *settings);
/* Without requests. NULL is allowed. */
void auth_tokens_free(struct auth_tokens *tokens);
/* Whether tokens can be accepted at all. */
bool auth_tokens_are_known(const struct auth_tokens *tokens);

/* Whose TOKEN is: DONE gets RIGHT and USER; WRONG, and WHY for the log; or LATER. It may be called
 * before this returns; only if not, *REQUEST_OUT is set. */
typedef void auth_token_judged(void *context, enum sasl_finding finding, struct str user,
			       const char *why);
void auth_tokens_ask(struct auth_tokens *tokens, struct str token, auth_token_judged *done,
		     void *context, struct auth_token_request **request_out);
/* DONE is not called any more. NULL is allowed. */
void auth_token_request_cancel(struct auth_token_request *request);

#endif
