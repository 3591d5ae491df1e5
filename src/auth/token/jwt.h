// SPDX-License-Identifier: ISC
/*
 * auth/token/jwt.h - tokens that their issuer has signed: JWT (RFC 7519) in the compact form of JWS
 * (RFC 7515), as RFC 8725 wants them checked.
 *
 * Only signatures by public keys count, RS256, RS384, RS512, ES256, ES384 and EdDSA (Ed25519), and
 * each key only for the algorithm of its kind: what a token says of algorithms chooses nothing
 * else. Neither "none" nor an HMAC, for which anybody could use the public key, is an algorithm
 * here.
 */
#ifndef AUTH_TOKEN_JWT_H
#define AUTH_TOKEN_JWT_H

#include "auth/token/claims.h"

enum {
	AUTH_JWT_KEYS_MAX = 64,
	AUTH_JWT_FILE_MAX = 1 << 20, /* bytes of a file of keys */
	AUTH_JWT_RSA_BITS = 2048,    /* at least: RFC 7518 section 3.3 */
};

struct auth_jwt_keys;

struct auth_jwt_keys *auth_jwt_keys_new(void);
/* NULL is allowed. */
void auth_jwt_keys_free(struct auth_jwt_keys *keys);
size_t auth_jwt_keys_count(const struct auth_jwt_keys *keys);
/* Adds the public keys and the keys of certificates in PEM. 0; -EINVAL, and a sentence in WHY: it
 * has none, or one that cannot be used; -EFBIG: too many. */
MUST_CHECK int auth_jwt_keys_add(struct auth_jwt_keys *keys, struct str pem, struct buffer *why);

/* Whether TEXT has the form of such a token. */
bool auth_jwt_is_form(struct str text);
/* NULL and *OWNER_OUT; or why the token is not accepted. */
const char *auth_jwt_check(const struct auth_jwt_keys *keys, const struct auth_token_rules *rules,
			   struct str token, int64_t now_us, struct auth_token_owner *owner_out);

#endif
