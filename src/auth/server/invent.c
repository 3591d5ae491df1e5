// SPDX-License-Identifier: ISC
#include "auth/server/invent.h"
#include "base/panic.h"
#include "os/random.h"
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>
#include <string.h>

enum { SEED_SIZE = 32 };

/* Of a password that nobody has said, until there is a user's. */
static const char FIRST_HASH[] =
	"$y$j9T$F5Jx5fExrKuPp53xLKQ..1$58IG3L9BOh6hhVk.1chAoRFPBLzKY6/9IoljUwM8aJ0";

struct auth_inventor {
	unsigned char seed[SEED_SIZE];
	struct buffer hash;
	unsigned iterations[DIRECTORY_PASSWORD_METHODS]; /* 0: no user's keys were seen */
};

struct auth_inventor *auth_inventor_new(struct str seed)
{
	struct auth_inventor *inventor = memory_alloc_zero(1, sizeof *inventor);

	for (size_t i = 0; i < SEED_SIZE; i += sizeof(uint64_t)) {
		uint64_t number = os_random_u64();

		memcpy(inventor->seed + i, &number, sizeof number);
	}
	if (seed.length > 0 &&
	    EVP_Digest(seed.data, seed.length, inventor->seed, NULL, EVP_sha256(), NULL) != 1)
		panic("no memory for a digest");
	inventor->hash.is_secret = true;
	buffer_append_string(&inventor->hash, FIRST_HASH);
	return inventor;
}

void auth_inventor_free(struct auth_inventor *inventor)
{
	if (inventor == NULL)
		return;
	buffer_clear(&inventor->hash);
	explicit_bzero(inventor, sizeof *inventor);
	free(inventor);
}

static void derive_seed(const struct auth_inventor *inventor, const char *what, struct str user,
			unsigned char out[SEED_SIZE])
{
	struct buffer text CLEANUP(buffer_clear) = {0};

	buffer_append_string(&text, what);
	buffer_append_byte(&text, ' ');
	buffer_append_str(&text, user);
	if (HMAC(EVP_sha256(), inventor->seed, SEED_SIZE, (unsigned char *)buffer_data(&text),
		 text.length, out, NULL) == NULL)
		panic("no memory for a digest");
}

void auth_inventor_keys(const struct auth_inventor *inventor, struct str user,
			enum directory_password_method method, struct directory_scram *keys_out)
{
	unsigned iterations = inventor->iterations[method];
	unsigned char salt[SEED_SIZE];

	*keys_out = (struct directory_scram){
		.method = method,
		.iterations = iterations > 0 ? iterations : DIRECTORY_SCRAM_ITERATIONS,
		.salt_length = DIRECTORY_SCRAM_SALT_SIZE,
		.key_length = method == DIRECTORY_PASSWORD_SCRAM_SHA_1 ? 20 : 32};
	derive_seed(inventor, directory_password_method_name(method), user, salt);
	memcpy(keys_out->salt, salt, DIRECTORY_SCRAM_SALT_SIZE);
	derive_seed(inventor, "stored", user, keys_out->stored_key);
	derive_seed(inventor, "server", user, keys_out->server_key);
}

void auth_inventor_learn(struct auth_inventor *inventor, struct str hash)
{
	struct directory_scram keys;

	if (directory_scram_parse(hash, &keys) == 0) {
		inventor->iterations[keys.method] = keys.iterations;
		explicit_bzero(&keys, sizeof keys);
	}
	if (str_equal(hash, buffer_view(&inventor->hash)))
		return;
	buffer_reset(&inventor->hash);
	buffer_append_str(&inventor->hash, hash);
}

struct str auth_inventor_hash(const struct auth_inventor *inventor)
{
	return buffer_view(&inventor->hash);
}

void auth_inventor_stamp(const struct auth_inventor *inventor, struct str hash, struct buffer *out)
{
	unsigned char digest[SEED_SIZE];

	derive_seed(inventor, "login", hash, digest);
	buffer_append(out, (const char *)digest, sizeof digest);
}
