// SPDX-License-Identifier: ISC
/*
 * tls/private_key.h - a private key, and signatures with it: for the process `keys` alone, which is
 * the signer of all others (tls/signer.h).
 *
 * The bytes of a file and of a key are overwritten before their memory is freed.
 */
#ifndef TLS_PRIVATE_KEY_H
#define TLS_PRIVATE_KEY_H

#include "base/attributes.h"
#include "base/buffer.h"
#include "tls/signer.h"

enum { TLS_KEY_FILE_SIZE_MAX = 64 * 1024 }; /* it may also hold the certificates */

struct tls_private_key;

/* Reads the first private key of PEM, which other blocks may surround. It has no passphrase. 0; or
 * -EINVAL, with the REASON: "the private key has a passphrase". */
MUST_CHECK int tls_private_key_read(struct str pem, struct tls_private_key **key_out,
				    struct buffer *reason);
/* The same from the file PATH: 0, or -errno with the REASON, which does not contain PATH. -EFBIG:
 * larger than TLS_KEY_FILE_SIZE_MAX. */
MUST_CHECK int tls_private_key_open(const char *path, struct tls_private_key **key_out,
				    struct buffer *reason);
/* NULL is allowed. */
void tls_private_key_free(struct tls_private_key *key);

/* TLS_KEY_ID_SIZE bytes: SHA-256 of the SubjectPublicKeyInfo. */
const uint8_t *tls_private_key_id(const struct tls_private_key *key);
enum tls_key_kind tls_private_key_kind(const struct tls_private_key *key);

/* Signs DATA, which is a digest made with HASH; with Ed25519 HASH is TLS_HASH_NONE, and DATA the
 * text itself, at most TLS_SIGNED_MAX bytes. 0; or -EINVAL: SCHEME is not for this key, or HASH or
 * DATA not for SCHEME; all of them may have come from outside. */
MUST_CHECK int tls_private_key_sign(const struct tls_private_key *key, enum tls_scheme scheme,
				    enum tls_hash hash, struct str data,
				    uint8_t signature_out[TLS_SIGNATURE_MAX], size_t *length_out);

#endif
