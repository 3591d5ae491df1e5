// SPDX-License-Identifier: ISC
/* Certificates that clients present. */
#include "base/panic.h"
#include "tls/client/internal.h"
#include "tls/identity/internal.h"
#include <stdlib.h>

static SSL_CTX *new_client_context(struct tls_identity *identity)
{
	SSL_CTX *openssl = tls_library_new_context(&identity->library, TLS_CLIENT);

	tls_client_set_rules(openssl);
	tls_identity_set_signatures(openssl);
	tls_identity_use(openssl, &identity->certificates[0]);
	return openssl;
}

int tls_client_certificate_open(struct str chain, const struct tls_signer *signer,
				struct tls_client_certificate **certificate_out,
				struct buffer *reason)
{
	static uint64_t number;
	const struct tls_certificate one = {.chain = chain};
	const struct tls_identity_settings settings = {
		.certificates = &one, .certificate_count = 1, .signer = signer};
	struct tls_client_certificate *certificate;
	struct tls_identity *identity;
	int error = tls_identity_read(&settings, &identity, reason);

	if (error < 0)
		return error;
	certificate = memory_alloc_zero(1, sizeof *certificate);
	certificate->number = ++number;
	certificate->identity = identity;
	certificate->openssl = new_client_context(identity);
	tls_errors_clear();
	*certificate_out = certificate;
	return 0;
}

void tls_client_certificate_free(struct tls_client_certificate *certificate)
{
	if (certificate == NULL)
		return;
	SSL_CTX_free(certificate->openssl);
	tls_identity_release(certificate->identity);
	free(certificate);
}
