// SPDX-License-Identifier: ISC
/* Public keys from files in PEM form. */
#include "auth/token/internal.h"
#include "base/panic.h"
#include <errno.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <string.h>

struct auth_jwt_keys *auth_jwt_keys_new(void)
{
	return memory_alloc_zero(1, sizeof(struct auth_jwt_keys));
}

void auth_jwt_keys_free(struct auth_jwt_keys *keys)
{
	if (keys == NULL)
		return;
	for (size_t i = 0; i < keys->count; i++)
		EVP_PKEY_free(keys->keys[i].key);
	free(keys);
}

size_t auth_jwt_keys_count(const struct auth_jwt_keys *keys)
{
	return keys->count;
}

static enum auth_jwt_kind kind_of_token_key(const EVP_PKEY *key)
{
	char group[32] = "";

	if (EVP_PKEY_is_a(key, "RSA") && EVP_PKEY_get_bits(key) >= AUTH_JWT_RSA_BITS)
		return AUTH_JWT_RSA;
	if (EVP_PKEY_is_a(key, "ED25519"))
		return AUTH_JWT_ED25519;
	if (!EVP_PKEY_is_a(key, "EC") ||
	    EVP_PKEY_get_group_name(key, group, sizeof group, NULL) != 1)
		return AUTH_JWT_UNUSABLE;
	if (strcmp(group, "prime256v1") == 0)
		return AUTH_JWT_P256;
	return strcmp(group, "secp384r1") == 0 ? AUTH_JWT_P384 : AUTH_JWT_UNUSABLE;
}

/* The key of one block of PEM; NULL: it has none. */
static EVP_PKEY *read_block(const char *name, const unsigned char *data, long length)
{
	EVP_PKEY *key = NULL;
	X509 *certificate;

	if (strcmp(name, PEM_STRING_PUBLIC) == 0)
		return d2i_PUBKEY(NULL, &data, length);
	if (strcmp(name, PEM_STRING_X509) != 0)
		return NULL;
	certificate = d2i_X509(NULL, &data, length);
	if (certificate != NULL)
		key = X509_get_pubkey(certificate);
	X509_free(certificate);
	return key;
}

static int add_token_key(struct auth_jwt_keys *keys, EVP_PKEY *key, struct buffer *why)
{
	enum auth_jwt_kind kind = key == NULL ? AUTH_JWT_UNUSABLE : kind_of_token_key(key);
	int error = 0;

	if (kind == AUTH_JWT_UNUSABLE)
		error = -EINVAL;
	else if (keys->count == AUTH_JWT_KEYS_MAX)
		error = -EFBIG;
	if (error == 0) {
		keys->keys[keys->count++] = (struct auth_jwt_key){kind, key};
		return 0;
	}
	EVP_PKEY_free(key);
	if (error == -EFBIG)
		buffer_append_format(why, "more than %d keys", AUTH_JWT_KEYS_MAX);
	else
		buffer_append_string(why, "a key cannot be used; allowed: public keys and "
					  "certificates of RSA with 2048 bits or more, P-256, "
					  "P-384, Ed25519");
	return error;
}

int auth_jwt_keys_add(struct auth_jwt_keys *keys, struct str pem, struct buffer *why)
{
	BIO *file = BIO_new_mem_buf(pem.data, (int)pem.length);
	size_t before = keys->count;
	unsigned char *data;
	char *header;
	char *name;
	long length;
	int error = 0;

	if (file == NULL)
		panic("no memory for keys");
	while (error == 0 && PEM_read_bio(file, &name, &header, &data, &length) == 1) {
		error = add_token_key(keys, read_block(name, data, length), why);
		OPENSSL_free(name);
		OPENSSL_free(header);
		OPENSSL_clear_free(data, (size_t)length);
	}
	BIO_free(file);
	ERR_clear_error();
	if (error == 0 && keys->count == before) {
		buffer_append_string(why, "there is no public key and no certificate in PEM form");
		error = -EINVAL;
	}
	return error;
}
