// SPDX-License-Identifier: ISC
/* The mark by which a name of a file tells which message it holds. */
#include "base/panic.h"
#include "filing/mailstore/internal.h"
#include <openssl/evp.h>
#include <stdio.h>

void mailstore_mark(const struct mailstore_location *location, char out[MAILSTORE_MARK_SIZE])
{
	struct buffer whole = {0};
	unsigned char digest[DECODE_DIGEST_SIZE];

	/* the digest first: its length is fixed */
	buffer_append(&whole, location->digest, DECODE_DIGEST_SIZE);
	buffer_append_str(&whole, location->id);
	if (EVP_Digest(buffer_data(&whole), whole.length, digest, NULL, EVP_sha256(), NULL) != 1)
		panic("SHA-256 is not available");
	buffer_clear(&whole);
	for (size_t i = 0; i < MAILSTORE_MARK_SIZE / 2; i++)
		snprintf(out + 2 * i, 3, "%02x", digest[i]);
}
