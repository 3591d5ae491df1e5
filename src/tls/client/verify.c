// SPDX-License-Identifier: ISC
/* What clients verify by: authorities, TLSA records, fingerprints; and when two requests are equal.
 */
#include "base/panic.h"
#include "tls/client/internal.h"
#include "tls/internal.h"
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

struct tls_authorities {
	SSL_CTX *openssl; /* has the store */
};

int tls_authorities_open(const char *file, struct tls_authorities **authorities_out,
			 struct buffer *reason)
{
	SSL_CTX *openssl = SSL_CTX_new(TLS_client_method());
	struct tls_authorities *authorities;
	int error;

	tls_errors_clear();
	if (openssl == NULL)
		panic("no memory for TLS");
	error = tls_files_read_authorities(openssl, file, reason);
	if (error < 0) {
		SSL_CTX_free(openssl);
		return error;
	}
	authorities = memory_alloc_zero(1, sizeof *authorities);
	authorities->openssl = openssl;
	*authorities_out = authorities;
	return 0;
}

void tls_authorities_free(struct tls_authorities *authorities)
{
	if (authorities == NULL)
		return;
	SSL_CTX_free(authorities->openssl);
	free(authorities);
}

X509_STORE *tls_authorities_store(const struct tls_authorities *authorities)
{
	return SSL_CTX_get_cert_store(authorities->openssl);
}

static int value_of_hex_digit(char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	if (digit >= 'a' && digit <= 'f')
		return digit - 'a' + 10;
	if (digit >= 'A' && digit <= 'F')
		return digit - 'A' + 10;
	return -1;
}

bool tls_fingerprint_parse(const char *text, char digest_out[TLS_SHA256_SIZE])
{
	if (strlen(text) != 2 * (size_t)TLS_SHA256_SIZE)
		return false;
	for (size_t i = 0; i < TLS_SHA256_SIZE; i++) {
		int high = value_of_hex_digit(text[2 * i]);
		int low = value_of_hex_digit(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		digest_out[i] = (char)(high * 16 + low);
	}
	return true;
}

static bool is_certificate(struct str data)
{
	const unsigned char *place = (const unsigned char *)data.data;
	X509 *certificate = d2i_X509(NULL, &place, (long)data.length);
	bool is_whole = certificate != NULL && X509_get0_pubkey(certificate) != NULL &&
			place == (const unsigned char *)data.data + data.length;

	X509_free(certificate);
	tls_errors_clear();
	return is_whole;
}

static bool is_public_key(struct str data)
{
	const unsigned char *place = (const unsigned char *)data.data;
	EVP_PKEY *key = d2i_PUBKEY(NULL, &place, (long)data.length);
	bool is_whole = key != NULL && place == (const unsigned char *)data.data + data.length;

	EVP_PKEY_free(key);
	tls_errors_clear();
	return is_whole;
}

bool tls_tlsa_is_usable(const struct tls_tlsa *record)
{
	if (record->usage != TLS_TLSA_USAGE_TA && record->usage != TLS_TLSA_USAGE_EE)
		return false;
	if (record->selector != TLS_TLSA_CERTIFICATE && record->selector != TLS_TLSA_KEY)
		return false;
	switch (record->matching) {
	case TLS_TLSA_SHA256:
		return record->data.length == TLS_SHA256_SIZE;
	case TLS_TLSA_SHA512:
		return record->data.length == TLS_SHA512_SIZE;
	case TLS_TLSA_FULL:
		return record->selector == TLS_TLSA_KEY ? is_public_key(record->data)
							: is_certificate(record->data);
	default:
		return false;
	}
}

/* With its length, so that no two lists have the same bytes. */
static void add_to_key_digest(EVP_MD_CTX *digest, const void *data, size_t size)
{
	uint64_t length = size;

	if (EVP_DigestUpdate(digest, &length, sizeof length) != 1 ||
	    EVP_DigestUpdate(digest, data, size) != 1)
		panic("no memory for TLS");
}

static void add_text_to_key_digest(EVP_MD_CTX *digest, const char *text)
{
	add_to_key_digest(digest, text != NULL ? text : "", text != NULL ? strlen(text) : 0);
}

static void add_texts(EVP_MD_CTX *digest, const char *const *texts, size_t count)
{
	add_to_key_digest(digest, &count, sizeof count);
	for (size_t i = 0; i < count; i++)
		add_text_to_key_digest(digest, texts[i]);
}

static void add_records(EVP_MD_CTX *digest, const struct tls_tlsa *records, size_t count)
{
	add_to_key_digest(digest, &count, sizeof count);
	for (size_t i = 0; i < count; i++) {
		const uint8_t kind[] = {records[i].usage, records[i].selector, records[i].matching};

		add_to_key_digest(digest, kind, sizeof kind);
		add_to_key_digest(digest, records[i].data.data, records[i].data.length);
	}
}

void tls_client_key(const struct tls_client_request *request, uint8_t key_out[TLS_CLIENT_KEY_SIZE])
{
	const struct tls_verify *verify = &request->verify;
	EVP_MD_CTX *digest = EVP_MD_CTX_new();

	if (digest == NULL || EVP_DigestInit_ex(digest, EVP_sha256(), NULL) != 1)
		panic("no memory for TLS");
	add_text_to_key_digest(digest, request->host);
	add_text_to_key_digest(digest, request->peer);
	if (request->certificate != NULL)
		add_to_key_digest(digest, &request->certificate->number,
				  sizeof request->certificate->number);
	add_to_key_digest(digest, &verify->by, sizeof verify->by);
	add_to_key_digest(digest, &verify->is_tried, sizeof verify->is_tried);
	add_to_key_digest(digest, &verify->authorities, sizeof verify->authorities);
	add_texts(digest, verify->names, verify->name_count);
	add_texts(digest, verify->fingerprints, verify->fingerprint_count);
	add_records(digest, verify->records, verify->record_count);
	add_to_key_digest(digest, &request->strength.is_1_3, sizeof request->strength.is_1_3);
	add_text_to_key_digest(digest, request->strength.ciphers);
	if (EVP_DigestFinal_ex(digest, key_out, NULL) != 1)
		panic("no memory for TLS");
	EVP_MD_CTX_free(digest);
}
