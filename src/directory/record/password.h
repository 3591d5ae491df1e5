// SPDX-License-Identifier: ISC
/*
 * directory/record/password.h - passwords as they are kept: never themselves.
 *
 * Two kinds of text stand in a user's field "password": what crypt(5) has, "$ID$...", and
 * SCRAM keys as RFC 5803 writes them,
 *
 *   SCRAM-SHA-256$32768:SALT$STORED-KEY:SERVER-KEY      the last three in base64
 *
 * A password is prepared by SASLprep (RFC 4013) first, so that it is the same however a
 * keyboard composes its letters; code points that Unicode 3.2 did not have are let through.
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
	DIRECTORY_PASSWORD_MAX = 255,       /* bytes, prepared */
	DIRECTORY_PASSWORD_BCRYPT_MAX = 72, /* bytes that bcrypt looks at */
	DIRECTORY_SCRAM_ITERATIONS = 32768, /* RFC 7677: at least 4096, and more with time */
	DIRECTORY_SCRAM_ITERATIONS_MAX = 10000000,
	DIRECTORY_SCRAM_SALT_SIZE = 16,
	DIRECTORY_SCRAM_SALT_MAX = 64,
	DIRECTORY_SCRAM_KEY_MAX = 32, /* bytes: of SHA-256 */
};

/* "yescrypt", "bcrypt", "argon2", "scram-sha-256", "scram-sha-1" */
const char *directory_password_method_name(enum directory_password_method method);
/* DIRECTORY_PASSWORD_METHODS when there is none of that NAME. */
enum directory_password_method directory_password_method_find(struct str name);
/* Whether this system's crypt(3) has it. */
bool directory_password_is_available(enum directory_password_method method);

/* Appends what is to be kept of PASSWORD to OUT, at the cost that password.c has for METHOD; takes
 * a moment, by intent. -EINVAL: no
 * password (empty, not UTF-8, a control character, RFC 4013 prohibits it); -EMSGSIZE: too
 * long for METHOD; -ENOTSUP: not available. */
MUST_CHECK int directory_password_hash(enum directory_password_method method, struct str password,
				       struct buffer *out);

/* Whether HASH was made of PASSWORD; false also for what is no hash. Takes as long for a
 * wrong password as for the right one. */
bool directory_password_verify(struct str hash, struct str password);

/* Whether TEXT is whole and of a method that crypt(5) or RFC 5803 names; a pure look at it. */
bool directory_password_is_hash(struct str text);
/* Why RECORD must not be written: a password of it could never be the right one. NULL: it may.
 * Those that are read are not asked for that: mail of the user goes on. */
const char *directory_password_problem(const struct directory_record *record);

/* Appends PASSWORD prepared to OUT. -EINVAL as above, -EMSGSIZE over DIRECTORY_PASSWORD_MAX. */
MUST_CHECK int directory_password_prepare(struct str password, struct buffer *out);

/* What a SCRAM server (RFC 5802 section 3) has to know of a password. */
struct directory_scram {
	enum directory_password_method method;
	unsigned iterations;
	unsigned char salt[DIRECTORY_SCRAM_SALT_MAX];
	size_t salt_length;
	unsigned char stored_key[DIRECTORY_SCRAM_KEY_MAX];
	unsigned char server_key[DIRECTORY_SCRAM_KEY_MAX];
	size_t key_length; /* of both */
};

/* The keys of PASSWORD, prepared, with the method, salt and iterations that are in SCRAM. */
MUST_CHECK int directory_scram_derive(struct directory_scram *scram, struct str password);
/* -EINVAL when HASH is none of SCRAM. */
MUST_CHECK int directory_scram_parse(struct str hash, struct directory_scram *scram_out);
void directory_scram_print(const struct directory_scram *scram, struct buffer *out);

#endif
