// SPDX-License-Identifier: ISC
#include "filing/lock/name.h"
#include "base/panic.h"
#include <openssl/evp.h>
#include <stdio.h>

enum { DIGEST_SIZE = 32, TEXT_DIGITS = 48 };

void lock_name_make(struct str text, struct lock_name *out)
{
	static const char prefix[] = "stagepost/";
	unsigned char digest[DIGEST_SIZE];
	char *end = out->text + sizeof prefix - 1;

	if (EVP_Digest(text.data, text.length, digest, NULL, EVP_sha256(), NULL) != 1)
		panic("SHA-256 failed");
	memcpy(out->text, prefix, sizeof prefix);
	for (size_t i = 0; i < TEXT_DIGITS / 2; i++)
		snprintf(end + 2 * i, 3, "%02x", digest[i]);
	out->key = 0;
	for (size_t i = 0; i < sizeof out->key; i++)
		out->key = out->key << 8 | digest[i];
}
