// SPDX-License-Identifier: ISC
/* SCRAM keys (RFC 5802 section 3, RFC 7677) in their stored form (RFC 5803). */
#include "directory/record/password.h"
#include <errno.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <string.h>

static const struct kind {
	enum directory_password_method method;
	const char *name;
	const EVP_MD *(*hash)(void);
	size_t size;
} kinds[] = {
	{DIRECTORY_PASSWORD_SCRAM_SHA_256, "SCRAM-SHA-256", EVP_sha256, 32},
	{DIRECTORY_PASSWORD_SCRAM_SHA_1, "SCRAM-SHA-1", EVP_sha1, 20},
};

static const struct kind *kind_of(enum directory_password_method method)
{
	for (size_t i = 0; i < COUNT_OF(kinds); i++)
		if (kinds[i].method == method)
			return &kinds[i];
	return NULL;
}

static bool compute_scram_hmac(const struct kind *kind, const unsigned char *key, const char *text,
			       unsigned char *out)
{
	return HMAC(kind->hash(), key, (int)kind->size, (const unsigned char *)text, strlen(text),
		    out, NULL) != NULL;
}

int directory_scram_derive(struct directory_scram *scram, struct str password)
{
	const struct kind *kind = kind_of(scram->method);
	unsigned char salted[DIRECTORY_SCRAM_KEY_MAX];
	unsigned char client[DIRECTORY_SCRAM_KEY_MAX];
	bool good;

	if (kind == NULL || password.length > DIRECTORY_PASSWORD_MAX)
		return -EINVAL;
	good = PKCS5_PBKDF2_HMAC(password.data, (int)password.length, scram->salt,
				 (int)scram->salt_length, (int)scram->iterations, kind->hash(),
				 (int)kind->size, salted) == 1 &&
	       compute_scram_hmac(kind, salted, "Client Key", client) &&
	       compute_scram_hmac(kind, salted, "Server Key", scram->server_key) &&
	       EVP_Digest(client, kind->size, scram->stored_key, NULL, kind->hash(), NULL) == 1;
	scram->key_length = kind->size;
	explicit_bzero(salted, sizeof salted);
	explicit_bzero(client, sizeof client);
	return good ? 0 : -EIO;
}

/* Decodes padded base64 of 1 to SIZE bytes; returns their number, or 0 if TEXT is malformed. */
static size_t decode_scram_base64(struct str text, unsigned char *out, size_t size)
{
	unsigned char bytes[DIRECTORY_SCRAM_SALT_MAX + 3];
	size_t padding = 0;
	int length;

	if (text.length == 0 || text.length % 4 != 0 || text.length / 4 * 3 > sizeof bytes)
		return 0;
	while (padding < 2 && text.data[text.length - 1 - padding] == '=')
		padding++;
	length = EVP_DecodeBlock(bytes, (const unsigned char *)text.data, (int)text.length);
	if (length < 3 || (size_t)length - padding > size)
		return 0;
	memcpy(out, bytes, (size_t)length - padding);
	return (size_t)length - padding;
}

static void encode_scram_base64(const unsigned char *bytes, size_t length, struct buffer *out)
{
	char *place = buffer_reserve(out, (length + 2) / 3 * 4 + 1);

	buffer_commit(out, (size_t)EVP_EncodeBlock((unsigned char *)place, bytes, (int)length));
}

static const struct kind *kind_find(struct str name)
{
	for (size_t i = 0; i < COUNT_OF(kinds); i++)
		if (str_equal_nocase(name, str_from(kinds[i].name)))
			return &kinds[i];
	return NULL;
}

int directory_scram_parse(struct str hash, struct directory_scram *scram_out)
{
	struct directory_scram scram = {0};
	const struct kind *kind;
	struct str name;
	struct str iterations;
	struct str salt;
	struct str stored;
	uint64_t number;

	if (!str_split(&hash, '$', &name) || !str_split(&hash, ':', &iterations) ||
	    !str_split(&hash, '$', &salt) || !str_split(&hash, ':', &stored))
		return -EINVAL;
	kind = kind_find(name);
	if (kind == NULL || !str_to_u64(iterations, &number) || number == 0 ||
	    number > DIRECTORY_SCRAM_ITERATIONS_MAX)
		return -EINVAL;
	scram.method = kind->method;
	scram.iterations = (unsigned)number;
	scram.key_length = kind->size;
	scram.salt_length = decode_scram_base64(salt, scram.salt, sizeof scram.salt);
	if (scram.salt_length == 0 ||
	    decode_scram_base64(stored, scram.stored_key, sizeof scram.stored_key) != kind->size ||
	    decode_scram_base64(hash, scram.server_key, sizeof scram.server_key) != kind->size)
		return -EINVAL;
	*scram_out = scram;
	return 0;
}

void directory_scram_print(const struct directory_scram *scram, struct buffer *out)
{
	buffer_append_format(out, "%s$%u:", kind_of(scram->method)->name, scram->iterations);
	encode_scram_base64(scram->salt, scram->salt_length, out);
	buffer_append_byte(out, '$');
	encode_scram_base64(scram->stored_key, scram->key_length, out);
	buffer_append_byte(out, ':');
	encode_scram_base64(scram->server_key, scram->key_length, out);
}
