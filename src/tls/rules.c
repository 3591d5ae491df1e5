// SPDX-License-Identifier: ISC
/* The versions, ciphers and limits of all contexts, and what is a server's name. */
#include "base/panic.h"
#include "tls/internal.h"
#include <openssl/x509v3.h>

static const char RULES_CIPHERS[] = "ECDHE+AESGCM:ECDHE+CHACHA20:DHE+AESGCM:DHE+CHACHA20:!aNULL";

enum {
	RULES_CHAIN_MAX = 8,           /* intermediate certificates of a peer */
	RULES_CHAIN_SIZE = 100 * 1024, /* bytes of all that it sends: more ends the handshake */
};

void tls_context_set_rules(SSL_CTX *openssl)
{
	(void)SSL_CTX_set_options(openssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
						   SSL_OP_NO_TICKET |
						   SSL_OP_CIPHER_SERVER_PREFERENCE |
						   SSL_OP_CLEANSE_PLAINTEXT); /* passwords */
	(void)SSL_CTX_set_session_cache_mode(openssl, SSL_SESS_CACHE_OFF);
	(void)SSL_CTX_set_mode(openssl, SSL_MODE_ENABLE_PARTIAL_WRITE |
						SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
						SSL_MODE_RELEASE_BUFFERS);
	/* a read ends after a record without data, so that who sends only these keeps nobody */
	(void)SSL_CTX_clear_mode(openssl, SSL_MODE_AUTO_RETRY);
	SSL_CTX_set_verify_depth(openssl, RULES_CHAIN_MAX);
	(void)SSL_CTX_set_max_cert_list(openssl, RULES_CHAIN_SIZE);
	if (SSL_CTX_set_min_proto_version(openssl, TLS1_2_VERSION) != 1 ||
	    SSL_CTX_set_num_tickets(openssl, 0) != 1 ||
	    SSL_CTX_set_cipher_list(openssl, RULES_CIPHERS) != 1)
		panic("this OpenSSL has no ciphers for TLS 1.2");
}

void tls_context_set_strength(SSL_CTX *openssl, const struct tls_strength *strength)
{
	if (strength->is_1_3 && SSL_CTX_set_min_proto_version(openssl, TLS1_3_VERSION) != 1)
		panic("this OpenSSL has no TLS 1.3");
	if (strength->ciphers != NULL && SSL_CTX_set_cipher_list(openssl, strength->ciphers) != 1)
		panic("this OpenSSL has none of the ciphers of TLS 1.2 that are set");
}

void tls_rules_set_names(X509_VERIFY_PARAM *rules, enum tls_common_name common_name)
{
	unsigned flags = X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS;

	if (common_name == TLS_COMMON_NAME_NEVER)
		flags |= X509_CHECK_FLAG_NEVER_CHECK_SUBJECT;
	X509_VERIFY_PARAM_set_hostflags(rules, flags);
}
