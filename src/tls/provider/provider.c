// SPDX-License-Identifier: ISC
/* A library context of OpenSSL with a provider of our own (provider(7)). */
#include "base/panic.h"
#include "tls/provider/internal.h"
#include <openssl/core_dispatch.h>

#define OURS "provider=stagepost"

static const OSSL_ALGORITHM *query_provider_operation(void *context, int operation, int *no_cache)
{
	static OSSL_ALGORITHM keys[] = {
		{"RSA:rsaEncryption:1.2.840.113549.1.1.1", OURS, NULL, NULL},
		{"EC:id-ecPublicKey:1.2.840.10045.2.1", OURS, NULL, NULL},
		{"ED25519:1.3.101.112", OURS, NULL, NULL},
		{NULL, NULL, NULL, NULL},
	};
	static OSSL_ALGORITHM signatures[TLS_KEY_KINDS + 1];

	(void)context;
	*no_cache = 0;
	for (int kind = 1; kind <= TLS_KEY_KINDS; kind++) {
		keys[kind - 1].implementation = tls_remote_key_functions[kind];
		signatures[kind - 1] = (OSSL_ALGORITHM){tls_remote_signature_names[kind], OURS,
							tls_remote_signature_functions[kind], NULL};
	}
	switch (operation) {
	case OSSL_OP_KEYMGMT:
		return keys;
	case OSSL_OP_SIGNATURE:
		return signatures;
	default:
		return NULL;
	}
}

static int init_provider(const OSSL_CORE_HANDLE *handle, const OSSL_DISPATCH *core,
			 const OSSL_DISPATCH **functions_out, void **context_out)
{
	static const OSSL_DISPATCH functions[] = {
		{OSSL_FUNC_PROVIDER_QUERY_OPERATION, (void (*)(void))query_provider_operation},
		{0, NULL},
	};

	(void)core;
	*functions_out = functions;
	*context_out = (void *)handle;
	return 1;
}

static const char *digest_name(enum tls_hash hash)
{
	return hash == TLS_HASH_SHA256 ? "SHA256" : hash == TLS_HASH_SHA384 ? "SHA384" : "SHA512";
}

void tls_library_open(struct tls_library *library)
{
	*library = (struct tls_library){.openssl = OSSL_LIB_CTX_new()};
	if (library->openssl == NULL ||
	    OSSL_PROVIDER_add_builtin(library->openssl, "stagepost", init_provider) != 1)
		panic("no memory for TLS");
	/* the first one is found first by those who do not ask for properties */
	library->standard = OSSL_PROVIDER_load(library->openssl, "default");
	library->own = OSSL_PROVIDER_load(library->openssl, "stagepost");
	if (library->standard == NULL || library->own == NULL)
		panic("a provider of OpenSSL cannot be loaded");
	for (int hash = TLS_HASH_SHA256; hash <= TLS_HASH_SHA512; hash++) {
		library->digests[hash] = EVP_MD_fetch(
			library->openssl, digest_name((enum tls_hash)hash), TLS_PROPERTIES);
		if (library->digests[hash] == NULL)
			panic("this OpenSSL has no %s", digest_name((enum tls_hash)hash));
	}
}

void tls_library_close(struct tls_library *library)
{
	for (int hash = TLS_HASH_SHA256; hash <= TLS_HASH_SHA512; hash++)
		EVP_MD_free(library->digests[hash]);
	OSSL_PROVIDER_unload(library->own);
	OSSL_PROVIDER_unload(library->standard);
	OSSL_LIB_CTX_free(library->openssl);
}

SSL_CTX *tls_library_new_context(const struct tls_library *library, enum tls_side side)
{
	SSL_CTX *context =
		SSL_CTX_new_ex(library->openssl, TLS_PROPERTIES,
			       side == TLS_SERVER ? TLS_server_method() : TLS_client_method());

	if (context == NULL)
		panic("no memory for TLS");
	return context;
}
