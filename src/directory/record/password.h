// SPDX-License-Identifier: ISC
/*
 * directory/record/password.h - passwords as they are stored: hashed, never in clear.
 *
 * A user's field "password" holds either a hash of crypt(5), "$ID$...", or SCRAM keys in the
 * format of RFC 5803,
 *
 *   SCRAM-SHA-256$32768:SALT$STORED-KEY:SERVER-KEY      the last three in base64
 *
 * A password is first prepared by SASLprep (RFC 4013), so that it does not depend on how a
 * keyboard composes letters; code points that Unicode 3.2 does not assign are allowed. A hash of
 * crypt(5) may also be one of the password as it was typed, as other systems make them.
 */
#ifndef DIRECTORY_RECORD_PASSWORD_H
#define DIRECTORY_RECORD_PASSWORD_H

#include "base/attributes.h"
#include "base/buffer.h"
#include "directory/record/record.h"

enum directory_password_method {
	DIRECTORY_PASSWORD_YESCRYPT,
	DIRECTORY_PASSWORD_BCRYPT,
	DIRECTORY_PASSWORD_ARGON2, /* argon2id */
	DIRECTORY_PASSWORD_SCRAM_SHA_256,
	DIRECTORY_PASSWORD_SCRAM_SHA_1,
	DIRECTORY_PASSWORD_METHODS,
};

enum {
	DIRECTORY_PASSWORD_MAX = 255,       /* bytes, after preparation */
	DIRECTORY_PASSWORD_BCRYPT_MAX = 72, /* bytes; bcrypt ignores the rest */
	DIRECTORY_SCRAM_ITERATIONS = 32768, /* RFC 7677: at least 4096, increasing over time */
	DIRECTORY_SCRAM_ITERATIONS_MAX = 10000000,
	DIRECTORY_SCRAM_SALT_SIZE = 16,
	DIRECTORY_SCRAM_SALT_MAX = 64,
	DIRECTORY_SCRAM_KEY_MAX = 32, /* bytes: SHA-256 */
};

/* "yescrypt", "bcrypt", "argon2", "scram-sha-256", "scram-sha-1" */
const char *directory_password_method_name(enum directory_password_method method);
/* DIRECTORY_PASSWORD_METHODS if no method has that NAME. */
enum directory_password_method directory_password_method_find(struct str name);
/* Whether crypt(3) of this system supports METHOD. */
bool directory_password_is_available(enum directory_password_method method);

/* Appends the hash of PASSWORD to OUT, at the cost that password.c sets for METHOD; slow on
 * purpose. -EINVAL: not a valid password (empty, not UTF-8, has a control character, or RFC 4013
 * prohibits it); -EMSGSIZE: too long for METHOD; -ENOTSUP: METHOD is not available. */
MUST_CHECK int directory_password_hash(enum directory_password_method method, struct str password,
				       struct buffer *out);

/* Whether HASH is a hash of PASSWORD; false also if HASH is malformed. Takes the same time for a
 * wrong password as for the right one. */
bool directory_password_verify(struct str hash, struct str password);

/* Whether TEXT is a complete hash of crypt(5) or RFC 5803; checks the syntax only. */
bool directory_password_is_hash(struct str text);
/* Why RECORD must not be written: it has a password hash that no password can match. NULL: it may.
 * Reading does not check this, so that the user still gets mail. */
const char *directory_password_problem(const struct directory_record *record);

/* Appends the prepared PASSWORD to OUT. -EINVAL as above, -EMSGSIZE over DIRECTORY_PASSWORD_MAX. */
MUST_CHECK int directory_password_prepare(struct str password, struct buffer *out);

/* What a SCRAM server (RFC 5802 section 3) stores for a password. */
struct directory_scram {
	enum directory_password_method method;
	unsigned iterations;
	unsigned char salt[DIRECTORY_SCRAM_SALT_MAX];
	size_t salt_length;
	unsigned char stored_key[DIRECTORY_SCRAM_KEY_MAX];
	unsigned char server_key[DIRECTORY_SCRAM_KEY_MAX];
	size_t key_length; /* of each key */
};

/* Derives the keys of PASSWORD, prepared, with the method, salt and iterations in SCRAM. */
MUST_CHECK int directory_scram_derive(struct directory_scram *scram, struct str password);
/* -EINVAL: HASH is not a valid SCRAM hash. */
MUST_CHECK int directory_scram_parse(struct str hash, struct directory_scram *scram_out);
void directory_scram_print(const struct directory_scram *scram, struct buffer *out);

#endif
