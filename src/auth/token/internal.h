// SPDX-License-Identifier: ISC
/* auth/token/internal.h - the keys that verify tokens. */
#ifndef AUTH_TOKEN_INTERNAL_H
#define AUTH_TOKEN_INTERNAL_H

#include "auth/token/jwt.h"
#include <openssl/types.h>

enum auth_jwt_kind {
	AUTH_JWT_UNUSABLE,
	AUTH_JWT_RSA,
	AUTH_JWT_P256,
	AUTH_JWT_P384,
	AUTH_JWT_ED25519
};

struct auth_jwt_key {
	enum auth_jwt_kind kind;
	EVP_PKEY *key;
};

struct auth_jwt_keys {
	struct auth_jwt_key keys[AUTH_JWT_KEYS_MAX];
	size_t count;
};

#endif
