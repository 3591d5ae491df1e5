// SPDX-License-Identifier: ISC
/*
 * Signatures by keys whose private half a signer has (provider-signature(7)): only what libssl
 * calls, which is a whole text in one call.
 *
 * digest_sign() is where a handshake is paused. AddressSanitizer takes variables in paused frames
 * for dead ones, since the stack changes; so those whose address is taken are in the context.
 */
#include "base/panic.h"
#include "tls/provider/internal.h"
#include <openssl/core_dispatch.h>
#include <openssl/core_names.h>
#include <openssl/params.h>
#include <openssl/rsa.h>
#include <stdlib.h>

struct signature {
	const struct tls_remote_key *key;
	const EVP_MD *digest; /* NULL: the text itself is signed */
	struct tls_signing_request request;
	unsigned char bytes[EVP_MAX_MD_SIZE];
	unsigned length;
};

static void *signature_new(void *provider, const char *properties)
{
	(void)provider;
	(void)properties;
	return memory_alloc_zero(1, sizeof(struct signature));
}

static void signature_free(void *data)
{
	free(data);
}

static bool choose_digest(struct signature *signature, const char *name)
{
	const struct tls_library *library = signature->key->library;

	signature->digest = NULL;
	signature->request.hash = TLS_HASH_NONE;
	if (name == NULL || *name == '\0')
		return true;
	for (int hash = TLS_HASH_SHA256; hash <= TLS_HASH_SHA512; hash++)
		if (EVP_MD_is_a(library->digests[hash], name) == 1) {
			signature->digest = library->digests[hash];
			signature->request.hash = (enum tls_hash)hash;
			return true;
		}
	return false;
}

/* Without a value, or with one that is not known: false. */
static bool read_padding(const OSSL_PARAM *param, enum tls_scheme *scheme)
{
	int number = 0;

	if (param->data_type == OSSL_PARAM_UTF8_STRING) {
		if (strcmp(param->data, OSSL_PKEY_RSA_PAD_MODE_PSS) == 0)
			number = RSA_PKCS1_PSS_PADDING;
		else if (strcmp(param->data, OSSL_PKEY_RSA_PAD_MODE_PKCSV15) == 0)
			number = RSA_PKCS1_PADDING;
	} else if (OSSL_PARAM_get_int(param, &number) != 1) {
		return false;
	}
	if (number != RSA_PKCS1_PSS_PADDING && number != RSA_PKCS1_PADDING)
		return false;
	*scheme = number == RSA_PKCS1_PADDING ? TLS_SCHEME_RSA_PKCS1 : TLS_SCHEME_RSA_PSS;
	return true;
}

/* TLS knows no other salt. */
static bool is_salt_right(const OSSL_PARAM *param)
{
	int number = 0;

	if (param->data_type == OSSL_PARAM_UTF8_STRING)
		return strcmp(param->data, OSSL_PKEY_RSA_PSS_SALT_LEN_DIGEST) == 0;
	return OSSL_PARAM_get_int(param, &number) == 1 && number == RSA_PSS_SALTLEN_DIGEST;
}

static int signature_set_params(void *data, const OSSL_PARAM params[])
{
	struct signature *signature = data;
	const OSSL_PARAM *param;

	if (params == NULL)
		return 1;
	param = OSSL_PARAM_locate_const(params, OSSL_SIGNATURE_PARAM_PAD_MODE);
	if (param != NULL && (signature->key->kind != TLS_KEY_RSA ||
			      !read_padding(param, &signature->request.scheme)))
		return 0;
	param = OSSL_PARAM_locate_const(params, OSSL_SIGNATURE_PARAM_PSS_SALTLEN);
	return param == NULL || is_salt_right(param);
}

static const OSSL_PARAM *signature_settable_params(void *data, void *provider)
{
	static const OSSL_PARAM types[] = {
		OSSL_PARAM_utf8_string(OSSL_SIGNATURE_PARAM_PAD_MODE, NULL, 0),
		OSSL_PARAM_utf8_string(OSSL_SIGNATURE_PARAM_PSS_SALTLEN, NULL, 0),
		OSSL_PARAM_END,
	};

	(void)data;
	(void)provider;
	return types;
}

static enum tls_scheme first_scheme(enum tls_key_kind kind)
{
	return kind == TLS_KEY_RSA     ? TLS_SCHEME_RSA_PKCS1
	       : kind == TLS_KEY_ECDSA ? TLS_SCHEME_ECDSA
				       : TLS_SCHEME_ED25519;
}

static int digest_sign_init(void *data, const char *digest, void *key, const OSSL_PARAM params[])
{
	struct signature *signature = data;

	if (key != NULL)
		signature->key = key;
	if (signature->key == NULL || !choose_digest(signature, digest) ||
	    (signature->digest == NULL) != (signature->key->kind == TLS_KEY_ED25519))
		return 0;
	memcpy(signature->request.key, signature->key->id, TLS_KEY_ID_SIZE);
	signature->request.scheme = first_scheme(signature->key->kind);
	return signature_set_params(signature, params);
}

/* What the signer gets of TEXT; false: OpenSSL has no memory, or it is too long. */
static bool prepare_signed_text(struct signature *signature, const unsigned char *text,
				size_t length)
{
	if (signature->digest == NULL) {
		signature->request.data = str_slice((const char *)text, length);
		return length <= TLS_SIGNED_MAX;
	}
	if (EVP_Digest(text, length, signature->bytes, &signature->length, signature->digest,
		       NULL) != 1)
		return false;
	signature->request.data = str_slice((const char *)signature->bytes, signature->length);
	return true;
}

static int digest_sign(void *data, unsigned char *out, size_t *length_out, size_t size,
		       const unsigned char *text, size_t text_length)
{
	struct signature *signature = data;

	if (out == NULL) {
		*length_out = (size_t)EVP_PKEY_get_size(signature->key->public);
		return 1;
	}
	if (!prepare_signed_text(signature, text, text_length))
		return 0;
	*length_out = tls_signing_wait(signature->key->signer, &signature->request, out, size);
	return *length_out > 0;
}

#define SIGNATURE_FUNCTION(id, function)                             \
	{                                                            \
		OSSL_FUNC_SIGNATURE_##id, (void (*)(void))(function) \
	}
static const OSSL_DISPATCH signature_functions[] = {
	SIGNATURE_FUNCTION(NEWCTX, signature_new),
	SIGNATURE_FUNCTION(FREECTX, signature_free),
	SIGNATURE_FUNCTION(DIGEST_SIGN_INIT, digest_sign_init),
	SIGNATURE_FUNCTION(DIGEST_SIGN, digest_sign),
	SIGNATURE_FUNCTION(SET_CTX_PARAMS, signature_set_params),
	SIGNATURE_FUNCTION(SETTABLE_CTX_PARAMS, signature_settable_params),
	{0, NULL},
};

const OSSL_DISPATCH *const tls_remote_signature_functions[TLS_KEY_KINDS + 1] = {
	[TLS_KEY_RSA] = signature_functions,
	[TLS_KEY_ECDSA] = signature_functions,
	[TLS_KEY_ED25519] = signature_functions,
};

const char *const tls_remote_signature_names[TLS_KEY_KINDS + 1] = {
	[TLS_KEY_RSA] = "STAGEPOST-RSA",
	[TLS_KEY_ECDSA] = "STAGEPOST-ECDSA",
	[TLS_KEY_ED25519] = "STAGEPOST-ED25519",
};
