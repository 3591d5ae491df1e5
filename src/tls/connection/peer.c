// SPDX-License-Identifier: ISC
/* What a connection's handshake has said of the peer, and what was agreed upon. */
#include "tls/connection/internal.h"
#include <openssl/x509.h>

void tls_peer_learn(struct tls_connection *connection)
{
	if (!tls_connection_is_verified(connection))
		return;
	connection->arena = arena_new();
	connection->names = tls_names_read(SSL_get0_peer_certificate(connection->openssl),
					   connection->arena, &connection->name_count);
	connection->email =
		tls_names_email(SSL_get0_peer_certificate(connection->openssl), connection->arena);
}

const char *tls_connection_email(const struct tls_connection *connection)
{
	return connection->email;
}

const char *const *tls_connection_names(const struct tls_connection *connection, size_t *count_out)
{
	*count_out = connection->name_count;
	return connection->names;
}

bool tls_connection_has_name(const struct tls_connection *connection, const char *name)
{
	for (size_t i = 0; i < connection->name_count; i++)
		if (str_equal_nocase(str_from(connection->names[i]), str_from(name)))
			return true;
	return false;
}

bool tls_connection_is_verified(const struct tls_connection *connection)
{
	return connection->is_made && SSL_get0_peer_certificate(connection->openssl) != NULL &&
	       SSL_get_verify_mode(connection->openssl) != SSL_VERIFY_NONE &&
	       SSL_get_verify_result(connection->openssl) == X509_V_OK;
}

static void write_hexadecimal(const unsigned char *digest, unsigned length, char *out)
{
	static const char digits[] = "0123456789abcdef";

	for (unsigned i = 0; i < length; i++) {
		out[2 * i] = digits[digest[i] >> 4];
		out[2 * i + 1] = digits[digest[i] & 15];
	}
	out[2 * length] = '\0';
}

static bool digest_key(X509 *certificate, unsigned char *digest, unsigned *length)
{
	unsigned char *der = NULL;
	int size = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &der);
	bool is_done =
		size > 0 && EVP_Digest(der, (size_t)size, digest, length, EVP_sha256(), NULL) == 1;

	OPENSSL_free(der);
	return is_done;
}

bool tls_certificate_fingerprints(X509 *certificate, char certificate_out[TLS_FINGERPRINT_SIZE],
				  char key_out[TLS_FINGERPRINT_SIZE])
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned length = 0;

	if (X509_digest(certificate, EVP_sha256(), digest, &length) != 1)
		return false;
	write_hexadecimal(digest, length, certificate_out);
	if (!digest_key(certificate, digest, &length))
		return false;
	write_hexadecimal(digest, length, key_out);
	return true;
}

bool tls_connection_fingerprints(const struct tls_connection *connection,
				 char certificate_out[TLS_FINGERPRINT_SIZE],
				 char key_out[TLS_FINGERPRINT_SIZE])
{
	X509 *certificate = SSL_get0_peer_certificate(connection->openssl);

	return certificate != NULL &&
	       tls_certificate_fingerprints(certificate, certificate_out, key_out);
}

const char *tls_connection_version(const struct tls_connection *connection)
{
	return SSL_get_version(connection->openssl);
}

const char *tls_connection_cipher(const struct tls_connection *connection)
{
	return SSL_get_cipher_name(connection->openssl);
}

bool tls_connection_has_protocol(const struct tls_connection *connection)
{
	const unsigned char *protocol;
	unsigned length;

	SSL_get0_alpn_selected(connection->openssl, &protocol, &length);
	return length > 0;
}
