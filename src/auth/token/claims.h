// SPDX-License-Identifier: ISC
/*
 * auth/token/claims.h - whose token it is, by what it says (RFC 7519 section 4), or what its issuer
 * says of it (RFC 7662 section 2.2).
 */
#ifndef AUTH_TOKEN_CLAIMS_H
#define AUTH_TOKEN_CLAIMS_H

#include "base/attributes.h"
#include "base/buffer.h"
#include "base/timestamp.h"

#define AUTH_TOKEN_LEEWAY_US MINUTE_US /* for clocks that differ */

struct auth_token_rules {
	const char *issuer;   /* "": any */
	const char *audience; /* "": any */
	const char *claim;    /* that names the user */
	const char *scope;    /* "": any */
};

/* What became of a token. */
struct auth_token_owner {
	struct buffer user; /* in canonical form */
	int64_t until_us;   /* wall clock, without leeway; INT64_MAX: it does not say */
};

/* JSON: an object of claims. NULL and *OWNER_OUT; or why the token is not accepted, which says
 * nothing of what is in it. MUST_END: a token that does not say how long it is valid is refused. */
const char *auth_claims_check(const struct auth_token_rules *rules, struct str json, bool must_end,
			      int64_t now_us, struct auth_token_owner *owner_out);
/* The same for the answer of an introspection, where "active" must be true. */
const char *auth_claims_introspected(const struct auth_token_rules *rules, struct str json,
				     int64_t now_us, struct auth_token_owner *owner_out);

#endif
