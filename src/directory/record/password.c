// SPDX-License-Identifier: ISC
#include "directory/record/password.h"
#include "mail/text/saslprep.h"
#include "os/random.h"
#include <crypt.h>
#include <errno.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

/* The cost of a guess: higher than the default of crypt(3), which for bcrypt is 2^5. Each hash
 * takes a few tenths of a second at most on a core of 2020. */
static const struct method {
	const char *name;
	const char *prefix; /* of crypt(5); NULL: SCRAM */
	unsigned cost;      /* crypt_gensalt(3)'s COUNT (0: its default); iterations of SCRAM */
} methods[DIRECTORY_PASSWORD_METHODS] = {
	[DIRECTORY_PASSWORD_YESCRYPT] = {"yescrypt", "$y$", 5},
	[DIRECTORY_PASSWORD_BCRYPT] = {"bcrypt", "$2b$", 12},
	[DIRECTORY_PASSWORD_ARGON2] = {"argon2", "$argon2id$", 0},
	[DIRECTORY_PASSWORD_SCRAM_SHA_256] = {"scram-sha-256", NULL, DIRECTORY_SCRAM_ITERATIONS},
	[DIRECTORY_PASSWORD_SCRAM_SHA_1] = {"scram-sha-1", NULL, DIRECTORY_SCRAM_ITERATIONS},
};

const char *directory_password_method_name(enum directory_password_method method)
{
	return methods[method].name;
}

enum directory_password_method directory_password_method_find(struct str name)
{
	unsigned method = 0;

	while (method < DIRECTORY_PASSWORD_METHODS &&
	       !str_equal(name, str_from(methods[method].name)))
		method++;
	return method;
}

bool directory_password_is_available(enum directory_password_method method)
{
	const char *prefix = methods[method].prefix;
	char *salt;

	if (prefix == NULL)
		return true;
	salt = crypt_gensalt_ra(prefix, methods[method].cost, NULL, 0);
	free(salt);
	return salt != NULL;
}

/* Hashes PASSWORD with SETTING (a salt, or a hash) by crypt(3); the caller frees the result. NULL
 * on failure. */
static char *crypt_password(const char *setting, const char *password)
{
	void *memory = NULL;
	char *result = NULL;
	int size = 0;
	const char *made = crypt_ra(password, setting, &memory, &size);

	if (made != NULL && made[0] != '*')
		result = strdup(made);
	if (memory != NULL)
		explicit_bzero(memory, (size_t)size);
	free(memory);
	return result;
}

static int hash_crypt(enum directory_password_method method, const char *password,
		      struct buffer *out)
{
	char *salt = crypt_gensalt_ra(methods[method].prefix, methods[method].cost, NULL, 0);
	char *hash;

	if (salt == NULL)
		return -ENOTSUP;
	hash = crypt_password(salt, password);
	free(salt);
	if (hash == NULL)
		return -EIO;
	buffer_append_string(out, hash);
	free(hash);
	return 0;
}

static int hash_scram(enum directory_password_method method, struct str password,
		      struct buffer *out)
{
	struct directory_scram scram = {.method = method,
					.iterations = methods[method].cost,
					.salt_length = DIRECTORY_SCRAM_SALT_SIZE};
	uint64_t salt[DIRECTORY_SCRAM_SALT_SIZE / sizeof(uint64_t)];
	int error;

	for (size_t i = 0; i < COUNT_OF(salt); i++)
		salt[i] = os_random_u64();
	memcpy(scram.salt, salt, sizeof salt);
	error = directory_scram_derive(&scram, password);
	if (error == 0)
		directory_scram_print(&scram, out);
	return error;
}

int directory_password_prepare(struct str password, struct buffer *out)
{
	return mail_saslprep(password, DIRECTORY_PASSWORD_MAX, out);
}

int directory_password_hash(enum directory_password_method method, struct str password,
			    struct buffer *out)
{
	struct buffer prepared = {0};
	int error;

	(void)buffer_reserve(&prepared, DIRECTORY_PASSWORD_MAX + 1); /* so it is never moved */
	error = directory_password_prepare(password, &prepared);
	if (error == 0 && method == DIRECTORY_PASSWORD_BCRYPT &&
	    prepared.length > DIRECTORY_PASSWORD_BCRYPT_MAX)
		error = -EMSGSIZE;
	if (error == 0) {
		size_t length = prepared.length;

		buffer_append_byte(&prepared, '\0');
		error = methods[method].prefix == NULL
				? hash_scram(method, str_slice(buffer_data(&prepared), length), out)
				: hash_crypt(method, buffer_data(&prepared), out);
	}
	if (prepared.length > 0)
		explicit_bzero(buffer_data(&prepared), prepared.length);
	buffer_clear(&prepared);
	return error;
}

static bool verify_scram(const struct directory_scram *kept, struct str password)
{
	struct directory_scram scram = *kept;
	bool is_equal;

	if (directory_scram_derive(&scram, password) < 0)
		return false;
	is_equal = CRYPTO_memcmp(scram.stored_key, kept->stored_key, kept->key_length) == 0;
	explicit_bzero(&scram, sizeof scram);
	return is_equal;
}

static bool verify_crypt(struct str hash, const char *password)
{
	char setting[CRYPT_OUTPUT_SIZE];
	char *made;
	bool is_equal;

	if (hash.length == 0 || hash.length >= sizeof setting || hash.data[0] != '$' ||
	    memchr(hash.data, '\0', hash.length) != NULL)
		return false;
	memcpy(setting, hash.data, hash.length);
	setting[hash.length] = '\0';
	made = crypt_password(setting, password);
	if (made == NULL)
		return false;
	is_equal = strlen(made) == hash.length && CRYPTO_memcmp(made, setting, hash.length) == 0;
	free(made);
	return is_equal;
}

/* Other systems hash the bytes that they get: what comes out of SASLprep is tried first, as it is
 * what is hashed here. */
static bool verify_both(struct str hash, struct str password, struct str prepared)
{
	struct buffer text CLEANUP(buffer_clear) = {.is_secret = true};
	bool is_right = false;

	(void)buffer_reserve(&text, DIRECTORY_PASSWORD_MAX + 1);
	if (prepared.length > 0) {
		buffer_append_str(&text, prepared);
		buffer_append_byte(&text, '\0');
		is_right = verify_crypt(hash, buffer_data(&text));
	}
	if (is_right || str_equal(password, prepared) || password.length == 0 ||
	    password.length > DIRECTORY_PASSWORD_MAX || str_find(password, '\0') >= 0)
		return is_right;
	buffer_reset(&text);
	buffer_append_str(&text, password);
	buffer_append_byte(&text, '\0');
	return verify_crypt(hash, buffer_data(&text));
}

bool directory_password_verify(struct str hash, struct str password)
{
	struct buffer prepared CLEANUP(buffer_clear) = {.is_secret = true};
	struct directory_scram scram;

	(void)buffer_reserve(&prepared, DIRECTORY_PASSWORD_MAX + 1);
	if (directory_password_prepare(password, &prepared) != 0)
		buffer_reset(&prepared);
	if (directory_scram_parse(hash, &scram) != 0)
		return verify_both(hash, password, buffer_view(&prepared));
	return prepared.length > 0 && verify_scram(&scram, buffer_view(&prepared));
}
