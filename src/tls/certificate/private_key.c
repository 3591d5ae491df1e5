// SPDX-License-Identifier: ISC
#include "tls/private_key.h"
#include "base/panic.h"
#include "os/file/file.h"
#include "tls/internal.h"
#include <errno.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <stdlib.h>
#include <string.h>

struct tls_private_key {
	EVP_PKEY *openssl;
	enum tls_key_kind kind;
	uint8_t id[TLS_KEY_ID_SIZE];
};

static int refuse_private_key(const char *what, struct buffer *reason)
{
	tls_errors_clear();
	buffer_append_string(reason, what);
	return -EINVAL;
}

/* Nobody could enter a passphrase. */
static int deny_passphrase(char *text, int size, int is_new, void *context)
{
	bool *has_passphrase = context;

	(void)text;
	(void)size;
	(void)is_new;
	*has_passphrase = true;
	return -1;
}

static EVP_PKEY *parse_private_key(struct str pem, bool *has_passphrase)
{
	BIO *bio = BIO_new_mem_buf(pem.data, (int)pem.length);
	EVP_PKEY *key;

	if (bio == NULL)
		panic("no memory for TLS");
	key = PEM_read_bio_PrivateKey(bio, NULL, deny_passphrase, has_passphrase);
	BIO_free(bio);
	tls_errors_clear();
	return key;
}

int tls_private_key_read(struct str pem, struct tls_private_key **key_out, struct buffer *reason)
{
	struct tls_private_key *key;
	bool has_passphrase = false;
	EVP_PKEY *openssl;
	int error;

	tls_errors_clear();
	if (pem.length > TLS_KEY_FILE_SIZE_MAX)
		return refuse_private_key("it is too large for a private key", reason);
	openssl = pem.length > 0 ? parse_private_key(pem, &has_passphrase) : NULL;
	if (openssl == NULL && has_passphrase)
		return refuse_private_key("the private key has a passphrase", reason);
	if (openssl == NULL)
		return refuse_private_key("it holds no private key in PEM form", reason);
	key = memory_alloc_zero(1, sizeof *key);
	key->openssl = openssl;
	error = tls_key_identify(openssl, &key->kind, key->id, reason);
	if (error < 0) {
		tls_private_key_free(key);
		return error;
	}
	*key_out = key;
	return 0;
}

/* Not into a buffer, which would leave copies behind as it grows. */
static int read_private_key_file(const char *path, char *memory, size_t size)
{
	int file = os_file_open(OS_FILE_HERE, path, OS_FILE_READ | OS_FILE_NO_BLOCK);
	ssize_t count;

	if (file < 0)
		return file;
	count = os_file_read(file, memory, size, 0);
	os_file_close(file);
	return (int)count;
}

int tls_private_key_open(const char *path, struct tls_private_key **key_out, struct buffer *reason)
{
	char *memory = memory_alloc(TLS_KEY_FILE_SIZE_MAX + 1);
	int length = read_private_key_file(path, memory, TLS_KEY_FILE_SIZE_MAX + 1);
	int error;

	if (length > TLS_KEY_FILE_SIZE_MAX)
		length = -EFBIG;
	if (length < 0) {
		buffer_append_string(reason, strerror(-length));
		error = length;
	} else {
		error = tls_private_key_read(str_slice(memory, (size_t)length), key_out, reason);
	}
	OPENSSL_cleanse(memory, TLS_KEY_FILE_SIZE_MAX + 1);
	free(memory);
	return error;
}

/* OpenSSL overwrites the numbers of a private key when it frees them. */
void tls_private_key_free(struct tls_private_key *key)
{
	if (key == NULL)
		return;
	EVP_PKEY_free(key->openssl);
	OPENSSL_cleanse(key, sizeof *key);
	free(key);
	tls_errors_clear();
}

const uint8_t *tls_private_key_id(const struct tls_private_key *key)
{
	return key->id;
}

enum tls_key_kind tls_private_key_kind(const struct tls_private_key *key)
{
	return key->kind;
}

static const EVP_MD *find_digest(enum tls_hash hash)
{
	switch (hash) {
	case TLS_HASH_SHA256:
		return EVP_sha256();
	case TLS_HASH_SHA384:
		return EVP_sha384();
	case TLS_HASH_SHA512:
		return EVP_sha512();
	case TLS_HASH_NONE:
		break;
	}
	return NULL;
}

static bool is_scheme_of_key(enum tls_key_kind kind, enum tls_scheme scheme)
{
	switch (scheme) {
	case TLS_SCHEME_RSA_PKCS1:
	case TLS_SCHEME_RSA_PSS:
		return kind == TLS_KEY_RSA;
	case TLS_SCHEME_ECDSA:
		return kind == TLS_KEY_ECDSA;
	case TLS_SCHEME_ED25519:
		return kind == TLS_KEY_ED25519;
	}
	return false;
}

static bool sign_text(const struct tls_private_key *key, struct str data, uint8_t *signature,
		      size_t *length)
{
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	bool is_done = context != NULL &&
		       EVP_DigestSignInit(context, NULL, NULL, NULL, key->openssl) == 1 &&
		       EVP_DigestSign(context, signature, length, (const unsigned char *)data.data,
				      data.length) == 1;

	EVP_MD_CTX_free(context);
	return is_done;
}

static bool set_padding(EVP_PKEY_CTX *context, enum tls_scheme scheme)
{
	if (scheme == TLS_SCHEME_RSA_PKCS1)
		return EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PADDING) == 1;
	if (scheme == TLS_SCHEME_RSA_PSS)
		return EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PSS_PADDING) == 1 &&
		       EVP_PKEY_CTX_set_rsa_pss_saltlen(context, RSA_PSS_SALTLEN_DIGEST) == 1;
	return true;
}

static bool sign_digest(const struct tls_private_key *key, enum tls_scheme scheme,
			const EVP_MD *digest, struct str data, uint8_t *signature, size_t *length)
{
	EVP_PKEY_CTX *context = EVP_PKEY_CTX_new(key->openssl, NULL);
	bool is_done = context != NULL && EVP_PKEY_sign_init(context) == 1 &&
		       set_padding(context, scheme) &&
		       EVP_PKEY_CTX_set_signature_md(context, digest) == 1 &&
		       EVP_PKEY_sign(context, signature, length, (const unsigned char *)data.data,
				     data.length) == 1;

	EVP_PKEY_CTX_free(context);
	return is_done;
}

int tls_private_key_sign(const struct tls_private_key *key, enum tls_scheme scheme,
			 enum tls_hash hash, struct str data,
			 uint8_t signature_out[TLS_SIGNATURE_MAX], size_t *length_out)
{
	const EVP_MD *digest = find_digest(hash);
	size_t length = TLS_SIGNATURE_MAX;
	bool is_done;

	if (!is_scheme_of_key(key->kind, scheme))
		return -EINVAL;
	tls_errors_clear();
	if (scheme == TLS_SCHEME_ED25519) {
		if (hash != TLS_HASH_NONE || data.length > TLS_SIGNED_MAX)
			return -EINVAL;
		is_done = sign_text(key, data, signature_out, &length);
	} else {
		if (digest == NULL || data.length != (size_t)EVP_MD_get_size(digest))
			return -EINVAL;
		is_done = sign_digest(key, scheme, digest, data, signature_out, &length);
	}
	tls_errors_clear();
	if (!is_done)
		return -EINVAL;
	*length_out = length;
	return 0;
}
