// SPDX-License-Identifier: ISC
/* Reads the certificates of a PEM text. */
#include "base/panic.h"
#include "tls/certificate.h"
#include "tls/identity.h"
#include "tls/internal.h"
#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>

const struct tls_chain_limits tls_chain_limits = {TLS_CHAIN_SIZE_MAX, TLS_CHAIN_MAX};

/* Reads the next certificate: 1 and *CERTIFICATE_OUT; 0 at the end; -EINVAL. */
static int next_certificate_of_pem(BIO *bio, OSSL_LIB_CTX *library, X509 **certificate_out,
				   struct buffer *reason)
{
	X509 *certificate = X509_new_ex(library, TLS_PROPERTIES);
	unsigned long error;

	if (certificate == NULL)
		panic("no memory for TLS");
	if (PEM_read_bio_X509(bio, &certificate, tls_deny_passphrase, NULL) != NULL) {
		*certificate_out = certificate;
		return 1;
	}
	X509_free(certificate);
	error = ERR_peek_last_error();
	if (ERR_GET_LIB(error) != ERR_LIB_PEM || ERR_GET_REASON(error) != PEM_R_NO_START_LINE)
		return tls_errors_refuse("a certificate in it is damaged", reason);
	tls_errors_clear();
	return 0;
}

static int read_pem_chain(BIO *bio, OSSL_LIB_CTX *library, int count_max, STACK_OF(X509) * chain,
			  struct buffer *reason)
{
	X509 *certificate;
	int found;

	while ((found = next_certificate_of_pem(bio, library, &certificate, reason)) > 0) {
		if (sk_X509_push(chain, certificate) <= 0)
			panic("no memory for TLS");
		if (sk_X509_num(chain) > count_max)
			return tls_errors_refuse("it holds too many certificates", reason);
	}
	if (found == 0 && sk_X509_num(chain) == 0)
		return tls_errors_refuse("it holds no certificate in PEM form", reason);
	return found;
}

int tls_chain_parse(struct str pem, struct tls_chain_limits limits, OSSL_LIB_CTX *library,
		    STACK_OF(X509) * *chain_out, struct buffer *reason)
{
	STACK_OF(X509) *chain = sk_X509_new_null();
	BIO *bio;
	int error;

	tls_errors_clear();
	if (pem.length > limits.size) {
		sk_X509_free(chain);
		return tls_errors_refuse("it is too large", reason);
	}
	bio = BIO_new_mem_buf(pem.length > 0 ? pem.data : "", (int)pem.length);
	if (chain == NULL || bio == NULL)
		panic("no memory for TLS");
	error = read_pem_chain(bio, library, limits.count, chain, reason);
	BIO_free(bio);
	tls_errors_clear();
	if (error < 0) {
		sk_X509_pop_free(chain, X509_free);
		return error;
	}
	*chain_out = chain;
	return 0;
}
