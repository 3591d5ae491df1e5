// SPDX-License-Identifier: ISC
/* Which kind of key an EVP_PKEY is, and its identifier. */
#include "base/panic.h"
#include "tls/internal.h"
#include <errno.h>
#include <openssl/x509.h>

enum { RSA_BITS_MIN = 2048, RSA_BITS_MAX = 8192, GROUP_SIZE = 80 };

static bool has_known_curve(const EVP_PKEY *key)
{
	char group[GROUP_SIZE];
	int curve;

	if (EVP_PKEY_get_group_name(key, group, sizeof group, NULL) != 1)
		return false;
	curve = OBJ_txt2nid(group);
	return curve == NID_X9_62_prime256v1 || curve == NID_secp384r1 || curve == NID_secp521r1;
}

static int refuse_public_key(const char *what, struct buffer *reason)
{
	buffer_append_string(reason, what);
	return -EINVAL;
}

static int find_kind_of_key(const EVP_PKEY *key, enum tls_key_kind *kind_out, struct buffer *reason)
{
	int bits = EVP_PKEY_get_bits(key);

	if (EVP_PKEY_is_a(key, "RSA") == 1) {
		if (bits < RSA_BITS_MIN || bits > RSA_BITS_MAX) {
			buffer_append_format(reason, "its RSA key has %d bits, not %d to %d", bits,
					     RSA_BITS_MIN, RSA_BITS_MAX);
			return -EINVAL;
		}
		*kind_out = TLS_KEY_RSA;
	} else if (EVP_PKEY_is_a(key, "EC") == 1) {
		if (!has_known_curve(key))
			return refuse_public_key(
				"the curve of its key is not P-256, P-384 or P-521", reason);
		*kind_out = TLS_KEY_ECDSA;
	} else if (EVP_PKEY_is_a(key, "ED25519") == 1) {
		*kind_out = TLS_KEY_ED25519;
	} else {
		return refuse_public_key("its key is not RSA, ECDSA or Ed25519", reason);
	}
	return 0;
}

/* Encoded again, so that it does not depend on how a file has written the same key. */
static void digest_public(EVP_PKEY *key, uint8_t id_out[TLS_KEY_ID_SIZE])
{
	unsigned char *der = NULL;
	int size = i2d_PUBKEY(key, &der);

	if (size <= 0 || EVP_Digest(der, (size_t)size, id_out, NULL, EVP_sha256(), NULL) != 1)
		panic("no memory for TLS");
	OPENSSL_free(der);
}

int tls_key_identify(EVP_PKEY *key, enum tls_key_kind *kind_out, uint8_t id_out[TLS_KEY_ID_SIZE],
		     struct buffer *reason)
{
	int error = find_kind_of_key(key, kind_out, reason);

	if (error == 0)
		digest_public(key, id_out);
	return error;
}
