// SPDX-License-Identifier: ISC
/* Contexts of OpenSSL that offer some of an identity's certificates. */
#include "base/panic.h"
#include "tls/identity/internal.h"

/* No SHA-1, nor what no signer knows. */
static const char SIGNATURES[] =
	"ecdsa_secp256r1_sha256:ecdsa_secp384r1_sha384:ecdsa_secp521r1_sha512:ed25519:"
	"rsa_pss_rsae_sha256:rsa_pss_rsae_sha384:rsa_pss_rsae_sha512:"
	"rsa_pss_pss_sha256:rsa_pss_pss_sha384:rsa_pss_pss_sha512:"
	"rsa_pkcs1_sha256:rsa_pkcs1_sha384:rsa_pkcs1_sha512";

void tls_identity_set_signatures(SSL_CTX *openssl)
{
	if (SSL_CTX_set1_sigalgs_list(openssl, SIGNATURES) != 1)
		panic("this OpenSSL has not the signatures of TLS");
}

void tls_identity_use(SSL_CTX *openssl, const struct tls_certified *certified)
{
	if (SSL_CTX_use_cert_and_key(openssl, certified->certificate, certified->key,
				     certified->chain, 1) != 1)
		panic("no memory for TLS");
}

SSL_CTX *tls_offer_new_context(struct tls_identity *identity, const struct tls_offer *offer)
{
	SSL_CTX *openssl = tls_library_new_context(&identity->library, TLS_SERVER);

	tls_context_set_rules(openssl);
	tls_context_set_strength(openssl, &identity->strength);
	(void)SSL_CTX_set_mode(openssl, SSL_MODE_NO_AUTO_CHAIN);
	SSL_CTX_set_read_ahead(openssl, 1); /* a call for a record, not one for its head, too */
	tls_identity_set_signatures(openssl);
	if (SSL_CTX_set_session_id_context(openssl, identity->session_context,
					   sizeof identity->session_context) != 1)
		panic("no memory for TLS");
	for (int kind = 1; kind <= TLS_KEY_KINDS; kind++)
		if (offer->by_kind[kind] >= 0)
			tls_identity_use(openssl, &identity->certificates[offer->by_kind[kind]]);
	tls_clients_apply(&identity->clients, openssl);
	tls_tickets_apply(&identity->tickets, openssl);
	return openssl;
}
