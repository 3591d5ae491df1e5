// SPDX-License-Identifier: ISC
#include "tls/identity.h"
#include "base/panic.h"
#include "tls/identity/internal.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int read_own_certificate(struct tls_identity *identity, const struct tls_signer *signer,
				struct str pem, struct tls_certified *certified,
				struct buffer *reason)
{
	struct tls_remote_key source = {.library = &identity->library, .signer = signer};
	int error = tls_chain_parse(pem, tls_chain_limits, identity->library.openssl,
				    &certified->chain, reason);

	if (error < 0)
		return error;
	certified->certificate = sk_X509_shift(certified->chain);
	source.public = X509_get0_pubkey(certified->certificate);
	error = tls_key_identify(source.public, &source.kind, source.id, reason);
	if (error < 0)
		return error;
	certified->kind = source.kind;
	certified->key = tls_remote_key_new(&source);
	return 0;
}

/* Whether OpenSSL takes it, which also judges the strength of signatures in the chain. */
static int try_certificate(SSL_CTX *trial, const struct tls_certified *certified,
			   struct buffer *reason)
{
	if (SSL_CTX_use_cert_and_key(trial, certified->certificate, certified->key,
				     certified->chain, 1) == 1)
		return 0;
	buffer_append_string(reason, "it cannot be used: ");
	tls_errors_take(reason);
	return -EINVAL;
}

static int read_own_certificates(struct tls_identity *identity,
				 const struct tls_identity_settings *settings, SSL_CTX *trial,
				 struct buffer *reason)
{
	int error = 0;

	while (error == 0 && identity->count < settings->certificate_count) {
		struct tls_certified *certified = &identity->certificates[identity->count];
		struct str chain = settings->certificates[identity->count].chain;

		error = read_own_certificate(identity, settings->signer, chain, certified, reason);
		if (error == 0)
			error = try_certificate(trial, certified, reason);
		identity->count++;
	}
	return error;
}

static int read_certificates(struct tls_identity *identity,
			     const struct tls_identity_settings *settings, struct buffer *reason)
{
	SSL_CTX *trial = tls_library_new_context(&identity->library, TLS_SERVER);
	struct buffer why = {0};
	int error;

	if (settings->certificate_count == 0 || settings->certificate_count > TLS_CERTIFICATES_MAX)
		panic("an identity has 1 to %d certificates", TLS_CERTIFICATES_MAX);
	identity->certificates =
		memory_alloc_zero(settings->certificate_count, sizeof *identity->certificates);
	error = read_own_certificates(identity, settings, trial, &why);
	if (error < 0)
		buffer_append_format(reason, "certificate %zu: " STR_FORMAT, identity->count,
				     STR_ARGUMENTS(buffer_view(&why)));
	buffer_clear(&why);
	SSL_CTX_free(trial);
	return error;
}

/* A session is resumed only by an identity that asks clients for the same: what the ticket says of
 * a client's certificate was verified by the same authorities; and that accepts the same ciphers.
 */
static void make_session_context(struct tls_identity *identity,
				 const struct tls_identity_settings *settings)
{
	const char *ciphers = identity->strength.ciphers != NULL ? identity->strength.ciphers : "";
	unsigned char flags[] = {identity->clients.are_asked, identity->strength.is_1_3};
	EVP_MD_CTX *digest = EVP_MD_CTX_new();

	if (digest == NULL ||
	    EVP_DigestInit_ex2(digest, identity->library.digests[TLS_HASH_SHA256], NULL) != 1 ||
	    EVP_DigestUpdate(digest, flags, sizeof flags) != 1 ||
	    EVP_DigestUpdate(digest, ciphers, strlen(ciphers) + 1) != 1 ||
	    EVP_DigestUpdate(digest, settings->client_authorities.data,
			     settings->client_authorities.length) != 1 ||
	    EVP_DigestFinal_ex(digest, identity->session_context, NULL) != 1)
		panic("no memory for TLS");
	EVP_MD_CTX_free(digest);
}

struct tls_identity *tls_identity_hold(struct tls_identity *identity)
{
	if (identity != NULL)
		identity->users++;
	return identity;
}

void tls_identity_release(struct tls_identity *identity)
{
	if (identity == NULL || --identity->users > 0)
		return;
	tls_choices_free(identity);
	for (size_t i = 0; i < identity->count; i++) {
		struct tls_certified *certified = &identity->certificates[i];
		sk_X509_pop_free(certified->chain, X509_free);
		X509_free(certified->certificate);
		EVP_PKEY_free(certified->key);
	}
	free(identity->certificates);
	free((char *)identity->strength.ciphers);
	tls_clients_free(&identity->clients);
	tls_tickets_free(&identity->tickets);
	tls_library_close(&identity->library);
	free(identity);
	tls_errors_clear();
}

int tls_identity_read(const struct tls_identity_settings *settings,
		      struct tls_identity **identity_out, struct buffer *reason)
{
	struct tls_identity *identity = memory_alloc_zero(1, sizeof *identity);
	int error;

	tls_errors_clear();
	identity->users = 1;
	identity->strength.is_1_3 = settings->strength.is_1_3;
	if (settings->strength.ciphers != NULL)
		identity->strength.ciphers = memory_copy_string(settings->strength.ciphers);
	tls_library_open(&identity->library);
	error = read_certificates(identity, settings, reason);
	if (error < 0)
		tls_identity_release(identity);
	else
		*identity_out = identity;
	return error;
}

int tls_identity_open(const struct tls_identity_settings *settings,
		      struct tls_context **context_out, struct buffer *reason)
{
	struct tls_identity *identity;
	struct tls_context *context;
	int error = tls_identity_read(settings, &identity, reason);

	if (error < 0)
		return error;
	error = tls_clients_read(&identity->clients, settings, identity->library.openssl, reason);
	if (error < 0) {
		tls_identity_release(identity);
		return error;
	}
	make_session_context(identity, settings);
	tls_tickets_read(&identity->tickets, settings, identity->library.openssl);
	context = memory_alloc_zero(1, sizeof *context);
	context->side = TLS_SERVER;
	context->identity = identity;
	context->openssl = tls_choices_make(identity, settings);
	tls_errors_clear();
	*context_out = context;
	return 0;
}

int tls_identity_key(struct str chain, uint8_t key_out[TLS_KEY_ID_SIZE], struct buffer *reason)
{
	STACK_OF(X509) * all;
	enum tls_key_kind kind;
	int error = tls_chain_parse(chain, tls_chain_limits, NULL, &all, reason);

	if (error < 0)
		return error;
	error = tls_key_identify(X509_get0_pubkey(sk_X509_value(all, 0)), &kind, key_out, reason);
	sk_X509_pop_free(all, X509_free);
	tls_errors_clear();
	return error;
}
