// SPDX-License-Identifier: ISC
#include "scratch.h"
#include "test.h"
#include "tls/private_key.h"
#include "tls_scene.h"
#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct tls_private_key *read_key(EVP_PKEY *openssl)
{
	struct buffer pem = {0};
	struct buffer reason = {0};
	struct tls_private_key *key = NULL;

	tls_scene_write_key(openssl, &pem);
	assert_int_equal(tls_private_key_read(buffer_view(&pem), &key, &reason), 0);
	assert_int_equal(reason.length, 0);
	assert_int_equal(ERR_peek_error(), 0);
	buffer_clear(&pem);
	return key;
}

static const EVP_MD *digest_of(enum tls_hash hash)
{
	return hash == TLS_HASH_SHA256   ? EVP_sha256()
	       : hash == TLS_HASH_SHA384 ? EVP_sha384()
	       : hash == TLS_HASH_SHA512 ? EVP_sha512()
					 : NULL;
}

/* Verifies by means of OpenSSL alone that SIGNATURE is that of TEXT. */
static bool is_right(EVP_PKEY *key, enum tls_scheme scheme, enum tls_hash hash, struct str text,
		     const uint8_t *signature, size_t length)
{
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	EVP_PKEY_CTX *parameters;
	bool is_verified;

	assert_int_equal(EVP_DigestVerifyInit(context, &parameters, digest_of(hash), NULL, key), 1);
	if (scheme == TLS_SCHEME_RSA_PSS) {
		assert_int_equal(EVP_PKEY_CTX_set_rsa_padding(parameters, RSA_PKCS1_PSS_PADDING),
				 1);
		assert_int_equal(
			EVP_PKEY_CTX_set_rsa_pss_saltlen(parameters, RSA_PSS_SALTLEN_DIGEST), 1);
	}
	is_verified = EVP_DigestVerify(context, signature, length, (const unsigned char *)text.data,
				       text.length) == 1;
	EVP_MD_CTX_free(context);
	ERR_clear_error();
	return is_verified;
}

static const struct {
	const char *type;
	size_t bits;
	enum tls_key_kind kind;
	enum tls_scheme scheme;
	enum tls_hash hash;
} SIGNATURES[] = {
	{"RSA", 2048, TLS_KEY_RSA, TLS_SCHEME_RSA_PKCS1, TLS_HASH_SHA256},
	{"RSA", 2048, TLS_KEY_RSA, TLS_SCHEME_RSA_PKCS1, TLS_HASH_SHA512},
	{"RSA", 2048, TLS_KEY_RSA, TLS_SCHEME_RSA_PSS, TLS_HASH_SHA256},
	{"RSA", 2048, TLS_KEY_RSA, TLS_SCHEME_RSA_PSS, TLS_HASH_SHA384},
	{"RSA", 3072, TLS_KEY_RSA, TLS_SCHEME_RSA_PSS, TLS_HASH_SHA512},
	{"P-256", 0, TLS_KEY_ECDSA, TLS_SCHEME_ECDSA, TLS_HASH_SHA256},
	{"P-384", 0, TLS_KEY_ECDSA, TLS_SCHEME_ECDSA, TLS_HASH_SHA384},
	{"P-521", 0, TLS_KEY_ECDSA, TLS_SCHEME_ECDSA, TLS_HASH_SHA512},
	{"ED25519", 0, TLS_KEY_ED25519, TLS_SCHEME_ED25519, TLS_HASH_NONE},
};

static void signatures_are_right(void **state)
{
	const struct str text = STR("what a handshake has said so far");

	(void)state;
	for (size_t i = 0; i < COUNT_OF(SIGNATURES); i++) {
		EVP_PKEY *openssl = tls_scene_key(SIGNATURES[i].type, SIGNATURES[i].bits);
		struct tls_private_key *key = read_key(openssl);
		enum tls_hash hash = SIGNATURES[i].hash;
		unsigned char digest[EVP_MAX_MD_SIZE];
		unsigned digest_length;
		struct str data = text;
		uint8_t signature[TLS_SIGNATURE_MAX];
		size_t length = 0;

		if (hash != TLS_HASH_NONE) {
			EVP_Digest(text.data, text.length, digest, &digest_length, digest_of(hash),
				   NULL);
			data = str_slice((const char *)digest, digest_length);
		}
		assert_int_equal(tls_private_key_kind(key), SIGNATURES[i].kind);
		assert_int_equal(tls_private_key_sign(key, SIGNATURES[i].scheme, hash, data,
						      signature, &length),
				 0);
		assert_true(is_right(openssl, SIGNATURES[i].scheme, hash, text, signature, length));
		signature[length / 2] ^= 1;
		assert_false(
			is_right(openssl, SIGNATURES[i].scheme, hash, text, signature, length));
		assert_int_equal(ERR_peek_error(), 0);
		tls_private_key_free(key);
		EVP_PKEY_free(openssl);
	}
}

static void what_does_not_fit_is_refused(void **state)
{
	enum { RSA_KEY, EC_KEY, ED_KEY };
	static char data[TLS_SIGNED_MAX + 1];
	static const struct {
		int type; /* of keys */
		int scheme;
		int hash;
		size_t length;
	} cases[] = {
		{RSA_KEY, TLS_SCHEME_ECDSA, TLS_HASH_SHA256, 32},
		{RSA_KEY, TLS_SCHEME_ED25519, TLS_HASH_NONE, 32},
		{RSA_KEY, TLS_SCHEME_RSA_PSS, TLS_HASH_NONE, 32},
		{RSA_KEY, TLS_SCHEME_RSA_PSS, TLS_HASH_SHA256, 31},
		{RSA_KEY, TLS_SCHEME_RSA_PSS, TLS_HASH_SHA256, 48},
		{RSA_KEY, TLS_SCHEME_RSA_PKCS1, TLS_HASH_SHA384, 32},
		{RSA_KEY, TLS_SCHEME_RSA_PKCS1, 99, 32},
		{RSA_KEY, 0, TLS_HASH_SHA256, 32},
		{RSA_KEY, 99, TLS_HASH_SHA256, 32},
		{RSA_KEY, -1, TLS_HASH_SHA256, 32},
		{EC_KEY, TLS_SCHEME_RSA_PSS, TLS_HASH_SHA256, 32},
		{EC_KEY, TLS_SCHEME_ED25519, TLS_HASH_NONE, 32},
		{EC_KEY, TLS_SCHEME_ECDSA, TLS_HASH_SHA256, 0},
		{EC_KEY, TLS_SCHEME_ECDSA, TLS_HASH_SHA256, 33},
		{ED_KEY, TLS_SCHEME_ECDSA, TLS_HASH_SHA256, 32},
		{ED_KEY, TLS_SCHEME_ED25519, TLS_HASH_SHA256, 32},
		{ED_KEY, TLS_SCHEME_ED25519, TLS_HASH_NONE, TLS_SIGNED_MAX + 1},
	};

	EVP_PKEY *keys[] = {tls_scene_key("RSA", 2048), tls_scene_key("P-256", 0),
			    tls_scene_key("ED25519", 0)};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct tls_private_key *key = read_key(keys[cases[i].type]);
		uint8_t signature[TLS_SIGNATURE_MAX];
		size_t length = 77;

		assert_int_equal(tls_private_key_sign(key, (enum tls_scheme)cases[i].scheme,
						      (enum tls_hash)cases[i].hash,
						      str_slice(data, cases[i].length), signature,
						      &length),
				 -EINVAL);
		assert_int_equal(length, 77);
		assert_int_equal(ERR_peek_error(), 0);
		tls_private_key_free(key);
	}
	for (size_t i = 0; i < COUNT_OF(keys); i++)
		EVP_PKEY_free(keys[i]);
}

static void ids_are_those_of_the_public_key(void **state)
{
	static const char *const types[] = {"RSA", "P-256", "ED25519"};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(types); i++) {
		EVP_PKEY *openssl = tls_scene_key(types[i], 2048);
		struct tls_private_key *key = read_key(openssl);
		unsigned char *der = NULL;
		int size = i2d_PUBKEY(openssl, &der);
		unsigned char digest[EVP_MAX_MD_SIZE];

		EVP_Digest(der, (size_t)size, digest, NULL, EVP_sha256(), NULL);
		assert_memory_equal(tls_private_key_id(key), digest, TLS_KEY_ID_SIZE);
		OPENSSL_free(der);
		tls_private_key_free(key);
		EVP_PKEY_free(openssl);
	}
}

static void refuse(struct str pem, const char *expected)
{
	struct buffer reason = {0};
	struct tls_private_key *key = NULL;

	assert_int_equal(tls_private_key_read(pem, &key, &reason), -EINVAL);
	assert_null(key);
	buffer_append_byte(&reason, '\0');
	assert_string_equal(buffer_data(&reason), expected);
	assert_int_equal(ERR_peek_error(), 0);
	buffer_clear(&reason);
}

static void write_secret(EVP_PKEY *key, struct buffer *pem)
{
	BIO *bio = BIO_new(BIO_s_mem());
	char *data;
	long length;

	assert_int_equal(PEM_write_bio_PrivateKey(bio, key, EVP_aes_128_cbc(),
						  (const unsigned char *)"secret", 6, NULL, NULL),
			 1);
	length = BIO_get_mem_data(bio, &data);
	buffer_append(pem, data, (size_t)length);
	BIO_free(bio);
}

static void what_is_no_key_is_told(void **state)
{
	static const struct {
		const char *type;
		size_t bits;
		const char *reason;
	} kinds[] = {
		{"RSA", 1024, "its RSA key has 1024 bits, not 2048 to 8192"},
		{"P-224", 0, "the curve of its key is not P-256, P-384 or P-521"},
		{"secp256k1", 0, "the curve of its key is not P-256, P-384 or P-521"},
		{"ED448", 0, "its key is not RSA, ECDSA or Ed25519"},
		{"X25519", 0, "its key is not RSA, ECDSA or Ed25519"},
	};
	static char large[TLS_KEY_FILE_SIZE_MAX + 1];
	struct buffer pem = {0};
	EVP_PKEY *key = tls_scene_key("P-256", 0);

	(void)state;
	refuse(STR(""), "it holds no private key in PEM form");
	refuse(STR("-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----\n"),
	       "it holds no private key in PEM form");
	refuse(str_slice(large, sizeof large), "it is too large for a private key");
	write_secret(key, &pem);
	refuse(buffer_view(&pem), "the private key has a passphrase");
	buffer_clear(&pem);
	tls_scene_write_key(key, &pem);
	refuse(str_slice(buffer_data(&pem), pem.length / 2), "it holds no private key in PEM form");
	EVP_PKEY_free(key);
	for (size_t i = 0; i < COUNT_OF(kinds); i++) {
		key = tls_scene_key(kinds[i].type, kinds[i].bits);
		buffer_reset(&pem);
		tls_scene_write_key(key, &pem);
		refuse(buffer_view(&pem), kinds[i].reason);
		EVP_PKEY_free(key);
	}
	buffer_clear(&pem);
}

static void write_file(const char *path, struct str text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(text.data, 1, text.length, file), text.length);
	assert_int_equal(fclose(file), 0);
}

static void open_wrong(const char *path, int error, const char *expected)
{
	struct buffer reason = {0};
	struct tls_private_key *key = NULL;

	assert_int_equal(tls_private_key_open(path, &key, &reason), error);
	assert_null(key);
	buffer_append_byte(&reason, '\0');
	assert_string_equal(buffer_data(&reason), expected);
	buffer_clear(&reason);
}

static void files_are_read(void **state)
{
	char directory[SCRATCH_SIZE];
	char path[SCRATCH_SIZE + 8];
	struct buffer text = {0};
	struct buffer reason = {0};
	EVP_PKEY *openssl = tls_scene_key("P-384", 0);
	X509 *certificate =
		tls_scene_certificate(&(struct tls_scene_certificate){.name = "a", .key = openssl});
	struct tls_private_key *key;

	(void)state;
	assert_int_equal(scratch_make(directory), 0);
	snprintf(path, sizeof path, "%s/key", directory);
	open_wrong(path, -ENOENT, "No such file or directory");
	open_wrong(directory, -EISDIR, "Is a directory");
	tls_scene_write(certificate, &text); /* a file may have both, in any order */
	write_file(path, buffer_view(&text));
	open_wrong(path, -EINVAL, "it holds no private key in PEM form");
	tls_scene_write_key(openssl, &text);
	write_file(path, buffer_view(&text));
	assert_int_equal(tls_private_key_open(path, &key, &reason), 0);
	assert_int_equal(tls_private_key_kind(key), TLS_KEY_ECDSA);
	tls_private_key_free(key);
	while (text.length <= TLS_KEY_FILE_SIZE_MAX)
		buffer_append_string(&text, "----------------\n");
	write_file(path, buffer_view(&text));
	open_wrong(path, -EFBIG, "File too large");
	X509_free(certificate);
	EVP_PKEY_free(openssl);
	buffer_clear(&text);
	assert_int_equal(scratch_remove(directory), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(signatures_are_right),
		cmocka_unit_test(what_does_not_fit_is_refused),
		cmocka_unit_test(ids_are_those_of_the_public_key),
		cmocka_unit_test(what_is_no_key_is_told),
		cmocka_unit_test(files_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
