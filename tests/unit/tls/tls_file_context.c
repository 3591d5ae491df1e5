// SPDX-License-Identifier: ISC
#include "tls_file_context.h"
#include "base/panic.h"
#include "tls/internal.h"

static void must(int result, const char *path)
{
	if (result != 1)
		panic("%s cannot be used", path);
}

static void use_certificate(SSL_CTX *openssl, const struct tls_file_context *settings)
{
	const char *key = settings->key != NULL ? settings->key : settings->certificate;

	must(SSL_CTX_use_certificate_chain_file(openssl, settings->certificate),
	     settings->certificate);
	must(SSL_CTX_use_PrivateKey_file(openssl, key, SSL_FILETYPE_PEM), key);
}

static void use_authority(SSL_CTX *openssl, const char *path)
{
	STACK_OF(X509_NAME) *names = SSL_load_client_CA_file(path);

	must(names != NULL, path);
	SSL_CTX_set_client_CA_list(openssl, names);
	must(SSL_CTX_load_verify_locations(openssl, path, NULL), path);
	SSL_CTX_set_verify(openssl, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
}

struct tls_context *tls_file_context_open(enum tls_side side,
					  const struct tls_file_context *settings)
{
	struct tls_context *context = memory_alloc_zero(1, sizeof *context);

	context->side = side;
	context->openssl =
		SSL_CTX_new(side == TLS_SERVER ? TLS_server_method() : TLS_client_method());
	must(context->openssl != NULL, "OpenSSL");
	tls_context_set_rules(context->openssl);
	tls_context_set_protocol(context->openssl, side, settings->protocol, context->protocol);
	if (settings->certificate != NULL)
		use_certificate(context->openssl, settings);
	if (settings->authority != NULL)
		use_authority(context->openssl, settings->authority);
	tls_errors_clear();
	return context;
}
