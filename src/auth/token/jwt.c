// SPDX-License-Identifier: ISC
#include "auth/token/jwt.h"
#include "auth/token/internal.h"
#include "base/panic.h"
#include "base/text/base64.h"
#include <errno.h>
#include <jansson.h>
#include <openssl/bn.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

/* RFC 7518 section 3.1, RFC 8037 section 3.1. */
static const struct algorithm {
	const char *name;
	enum auth_jwt_kind kind;
	const char *digest; /* NULL: the kind has its own */
	size_t half;        /* bytes of each number of an ECDSA signature */
} algorithms[] = {
	{"RS256", AUTH_JWT_RSA, "SHA256", 0},   {"RS384", AUTH_JWT_RSA, "SHA384", 0},
	{"RS512", AUTH_JWT_RSA, "SHA512", 0},   {"ES256", AUTH_JWT_P256, "SHA256", 32},
	{"ES384", AUTH_JWT_P384, "SHA384", 48}, {"EdDSA", AUTH_JWT_ED25519, NULL, 0},
};

struct parts {
	struct str header;
	struct str claims;
	struct str signature;
	struct str signed_text; /* header and claims, as they came */
};

static bool split_token(struct str token, struct parts *out)
{
	struct str rest = token;

	if (!str_split(&rest, '.', &out->header) || !str_split(&rest, '.', &out->claims) ||
	    rest.data == NULL || str_find(rest, '.') >= 0 || out->header.length == 0 ||
	    out->claims.length == 0 || rest.length == 0)
		return false;
	out->signature = rest;
	out->signed_text = str_slice(token.data, token.length - rest.length - 1);
	return true;
}

bool auth_jwt_is_form(struct str text)
{
	struct parts parts;

	return split_token(text, &parts);
}

/* --- the header --- */

static void unref_token_header(json_t **json)
{
	json_decref(*json);
}

/* Extensions that must be understood are not (RFC 7515 section 4.1.11); a token of another type is
 * for something else (RFC 8725 section 3.11). */
static bool is_plain_token_header(const json_t *header)
{
	const json_t *type = json_object_get(header, "typ");
	const char *text = json_string_value(type);

	return json_object_get(header, "crit") == NULL && json_object_get(header, "b64") == NULL &&
	       (type == NULL ||
		(text != NULL && (strcasecmp(text, "JWT") == 0 || strcasecmp(text, "at+jwt") == 0 ||
				  strcasecmp(text, "application/at+jwt") == 0)));
}

/* NULL: none that is allowed. */
static const struct algorithm *find_algorithm(struct str text)
{
	struct buffer json CLEANUP(buffer_clear) = {0};
	json_t *header CLEANUP(unref_token_header) = NULL;
	const char *name;

	if (!base64_decode_url(text, &json))
		return NULL;
	header = json_loadb(buffer_data(&json), json.length, JSON_REJECT_DUPLICATES, NULL);
	if (!json_is_object(header) || !is_plain_token_header(header))
		return NULL;
	name = json_string_value(json_object_get(header, "alg"));
	for (size_t i = 0; name != NULL && i < COUNT_OF(algorithms); i++)
		if (strcmp(algorithms[i].name, name) == 0)
			return &algorithms[i];
	return NULL;
}

/* --- the signature --- */

/* OpenSSL wants the two numbers of ECDSA in DER; JWS has them side by side. */
static bool to_der(struct str numbers, size_t half, struct buffer *out)
{
	const unsigned char *bytes = (const unsigned char *)numbers.data;
	ECDSA_SIG *pair;
	BIGNUM *r;
	BIGNUM *s;
	unsigned char *der = NULL;
	int length = 0;

	if (numbers.length != 2 * half)
		return false;
	pair = ECDSA_SIG_new();
	r = BN_bin2bn(bytes, (int)half, NULL);
	s = BN_bin2bn(bytes + half, (int)half, NULL);
	if (pair == NULL || r == NULL || s == NULL)
		panic("no memory for a signature");
	ECDSA_SIG_set0(pair, r, s);
	length = i2d_ECDSA_SIG(pair, &der);
	ECDSA_SIG_free(pair);
	if (length > 0)
		buffer_append(out, der, (size_t)length);
	OPENSSL_free(der);
	return length > 0;
}

static bool verify_token_signature(EVP_PKEY *key, const struct algorithm *algorithm,
				   struct str text, struct str signature)
{
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	bool is_right;

	if (context == NULL)
		panic("no memory for a signature");
	is_right =
		EVP_DigestVerifyInit_ex(context, NULL, algorithm->digest, NULL, NULL, key, NULL) ==
			1 &&
		EVP_DigestVerify(context, (const unsigned char *)signature.data, signature.length,
				 (const unsigned char *)text.data, text.length) == 1;
	EVP_MD_CTX_free(context);
	ERR_clear_error(); /* of a wrong signature: the next user of the queue would report it */
	return is_right;
}

static bool is_signed(const struct auth_jwt_keys *keys, const struct algorithm *algorithm,
		      const struct parts *parts)
{
	struct buffer plain CLEANUP(buffer_clear) = {0};
	struct buffer der CLEANUP(buffer_clear) = {0};
	struct str signature;

	if (!base64_decode_url(parts->signature, &plain))
		return false;
	signature = buffer_view(&plain);
	if (algorithm->half > 0) {
		if (!to_der(signature, algorithm->half, &der))
			return false;
		signature = buffer_view(&der);
	}
	for (size_t i = 0; i < keys->count; i++)
		if (keys->keys[i].kind == algorithm->kind &&
		    verify_token_signature(keys->keys[i].key, algorithm, parts->signed_text,
					   signature))
			return true;
	return false;
}

const char *auth_jwt_check(const struct auth_jwt_keys *keys, const struct auth_token_rules *rules,
			   struct str token, int64_t now_us, struct auth_token_owner *owner_out)
{
	struct buffer claims CLEANUP(buffer_clear) = {.is_secret = true};
	const struct algorithm *algorithm;
	struct parts parts;

	if (!split_token(token, &parts))
		return "not a signed token";
	algorithm = find_algorithm(parts.header);
	if (algorithm == NULL)
		return "the token's header or algorithm is not allowed";
	if (!is_signed(keys, algorithm, &parts))
		return "no key has signed the token";
	if (!base64_decode_url(parts.claims, &claims))
		return "the claims are not encoded right";
	return auth_claims_check(rules, buffer_view(&claims), true, now_us, owner_out);
}
