// SPDX-License-Identifier: ISC
/* What binds an exchange within a connection to it, so that it cannot be passed on through another
 * (RFC 5056). */
#include "tls/connection/internal.h"
#include <openssl/objects.h>
#include <openssl/x509.h>

enum { EXPORTER_SIZE = 32 };

/* TLS 1.2 binds it to the whole handshake only with the extended master secret (RFC 9266 section
 * 4). */
size_t tls_connection_exporter(const struct tls_connection *connection,
			       unsigned char out[TLS_BINDING_MAX])
{
	static const char label[] = "EXPORTER-Channel-Binding";
	SSL *openssl = connection->openssl;

	if (!connection->is_made ||
	    (SSL_version(openssl) < TLS1_3_VERSION && SSL_get_extms_support(openssl) != 1) ||
	    SSL_export_keying_material(openssl, out, EXPORTER_SIZE, label, sizeof label - 1,
				       (const unsigned char *)"", 0, 1) != 1) {
		tls_errors_clear();
		return 0;
	}
	return EXPORTER_SIZE;
}

/* That of the signature, but SHA-256 in place of MD5 and SHA-1; NULL: it has none. */
static const EVP_MD *digest_of_signature(X509 *certificate)
{
	int digest = NID_undef;

	if (X509_get_signature_info(certificate, &digest, NULL, NULL, NULL) != 1 ||
	    digest == NID_undef)
		return NULL;
	if (digest == NID_md5 || digest == NID_sha1)
		digest = NID_sha256;
	return EVP_get_digestbynid(digest);
}

size_t tls_connection_end_point(const struct tls_connection *connection,
				unsigned char out[TLS_BINDING_MAX])
{
	SSL *openssl = connection->openssl;
	X509 *certificate = SSL_is_server(openssl) ? SSL_get_certificate(openssl)
						   : SSL_get0_peer_certificate(openssl);
	const EVP_MD *digest = certificate != NULL ? digest_of_signature(certificate) : NULL;
	unsigned length = 0;

	if (!connection->is_made || digest == NULL ||
	    X509_digest(certificate, digest, out, &length) != 1)
		length = 0;
	tls_errors_clear();
	return length;
}
