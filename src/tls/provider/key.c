// SPDX-License-Identifier: ISC
/* Keys whose private half a signer has: their management (provider-keymgmt(7)). */
#include "base/panic.h"
#include "tls/provider/internal.h"
#include <openssl/core_dispatch.h>
#include <openssl/core_names.h>
#include <openssl/param_build.h>
#include <stdlib.h>

/* The parameter by which tls_remote_key_new() passes the source of a key. */
#define SOURCE "stagepost-key"

static void *key_new(void *provider)
{
	(void)provider;
	return memory_alloc_zero(1, sizeof(struct tls_remote_key));
}

static void key_free(void *data)
{
	struct tls_remote_key *key = data;

	if (key == NULL)
		return;
	EVP_PKEY_free(key->public);
	free(key);
}

/* The private half too, as far as anybody can tell. */
static int key_has(const void *data, int selection)
{
	const struct tls_remote_key *key = data;

	(void)selection;
	return key->public != NULL;
}

/* Nothing but tls_remote_key_new() makes such keys. */
static int key_import(void *data, int selection, const OSSL_PARAM *params)
{
	struct tls_remote_key *key = data;
	const OSSL_PARAM *source = OSSL_PARAM_locate_const(params, SOURCE);

	(void)selection;
	if (source == NULL || source->data_size != sizeof *key || key->public != NULL)
		return 0;
	memcpy(key, source->data, sizeof *key);
	return EVP_PKEY_up_ref(key->public);
}

static const OSSL_PARAM *key_import_types(int selection)
{
	static const OSSL_PARAM types[] = {OSSL_PARAM_octet_string(SOURCE, NULL, 0),
					   OSSL_PARAM_END};

	(void)selection;
	return types;
}

/* The public half alone, with which libssl compares a certificate's key. */
static int key_export(void *data, int selection, OSSL_CALLBACK *take, void *context)
{
	const struct tls_remote_key *key = data;
	OSSL_PARAM *params = NULL;
	int is_taken;

	(void)selection;
	if (EVP_PKEY_todata(key->public, EVP_PKEY_PUBLIC_KEY, &params) != 1)
		return 0;
	is_taken = take(params, context);
	OSSL_PARAM_free(params);
	return is_taken;
}

static const OSSL_PARAM *key_export_types(int selection)
{
	static const OSSL_PARAM types[] = {
		OSSL_PARAM_BN(OSSL_PKEY_PARAM_RSA_N, NULL, 0),
		OSSL_PARAM_BN(OSSL_PKEY_PARAM_RSA_E, NULL, 0),
		OSSL_PARAM_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, NULL, 0),
		OSSL_PARAM_octet_string(OSSL_PKEY_PARAM_PUB_KEY, NULL, 0),
		OSSL_PARAM_END,
	};

	(void)selection;
	return types;
}

static int key_get_params(void *data, OSSL_PARAM params[])
{
	const struct tls_remote_key *key = data;

	return EVP_PKEY_get_params(key->public, params);
}

static const OSSL_PARAM *key_gettable_params(void *provider)
{
	static const OSSL_PARAM types[] = {
		OSSL_PARAM_int(OSSL_PKEY_PARAM_BITS, NULL),
		OSSL_PARAM_int(OSSL_PKEY_PARAM_SECURITY_BITS, NULL),
		OSSL_PARAM_int(OSSL_PKEY_PARAM_MAX_SIZE, NULL),
		OSSL_PARAM_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, NULL, 0),
		OSSL_PARAM_utf8_string(OSSL_PKEY_PARAM_DEFAULT_DIGEST, NULL, 0),
		OSSL_PARAM_utf8_string(OSSL_PKEY_PARAM_MANDATORY_DIGEST, NULL, 0),
		OSSL_PARAM_END,
	};

	(void)provider;
	return types;
}

static const char *operation_name(int operation, enum tls_key_kind kind)
{
	return operation == OSSL_OP_SIGNATURE ? tls_remote_signature_names[kind] : NULL;
}

static const char *operation_name_rsa(int operation)
{
	return operation_name(operation, TLS_KEY_RSA);
}

static const char *operation_name_ecdsa(int operation)
{
	return operation_name(operation, TLS_KEY_ECDSA);
}

static const char *operation_name_ed25519(int operation)
{
	return operation_name(operation, TLS_KEY_ED25519);
}

#define KEY_FUNCTION(id, function)                                 \
	{                                                          \
		OSSL_FUNC_KEYMGMT_##id, (void (*)(void))(function) \
	}
#define FUNCTIONS(operation_name)                                                               \
	KEY_FUNCTION(NEW, key_new), KEY_FUNCTION(FREE, key_free), KEY_FUNCTION(HAS, key_has),   \
		KEY_FUNCTION(IMPORT, key_import), KEY_FUNCTION(IMPORT_TYPES, key_import_types), \
		KEY_FUNCTION(EXPORT, key_export), KEY_FUNCTION(EXPORT_TYPES, key_export_types), \
		KEY_FUNCTION(GET_PARAMS, key_get_params),                                       \
		KEY_FUNCTION(GETTABLE_PARAMS, key_gettable_params),                             \
		KEY_FUNCTION(QUERY_OPERATION_NAME, operation_name),                             \
	{                                                                                       \
		0, NULL                                                                         \
	}

static const OSSL_DISPATCH rsa[] = {FUNCTIONS(operation_name_rsa)};
static const OSSL_DISPATCH ecdsa[] = {FUNCTIONS(operation_name_ecdsa)};
static const OSSL_DISPATCH ed25519[] = {FUNCTIONS(operation_name_ed25519)};

const OSSL_DISPATCH *const tls_remote_key_functions[TLS_KEY_KINDS + 1] = {
	[TLS_KEY_RSA] = rsa,
	[TLS_KEY_ECDSA] = ecdsa,
	[TLS_KEY_ED25519] = ed25519,
};

static const char *type_name(enum tls_key_kind kind)
{
	return kind == TLS_KEY_RSA ? "RSA" : kind == TLS_KEY_ECDSA ? "EC" : "ED25519";
}

EVP_PKEY *tls_remote_key_new(const struct tls_remote_key *source)
{
	OSSL_PARAM params[] = {
		OSSL_PARAM_octet_string(SOURCE, (void *)source, sizeof *source),
		OSSL_PARAM_END,
	};
	EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(
		source->library->openssl, type_name(source->kind), "provider=stagepost");
	EVP_PKEY *key = NULL;

	if (context == NULL || EVP_PKEY_fromdata_init(context) != 1 ||
	    EVP_PKEY_fromdata(context, &key, EVP_PKEY_KEYPAIR, params) != 1)
		panic("OpenSSL does not take a key of our provider");
	EVP_PKEY_CTX_free(context);
	return key;
}
