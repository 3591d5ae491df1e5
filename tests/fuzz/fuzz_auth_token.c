// SPDX-License-Identifier: ISC
/*
 * tests/fuzz/fuzz_auth_token.c - tokens, what issuers say of them, and files of keys.
 *
 * The first byte: a token, its claims, an introspection, or a file.
 */
#include "auth/client.h"
#include "auth/token/jwt.h"
#include "base/panic.h"
#include "directory/record/key.h"
#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct auth_token_rules rules = {"i", "a", "email", "mail"};
static const int64_t NOW_US = 1000 * SECOND_US;

static void check_owner(const char *why, struct auth_token_owner *owner)
{
	struct buffer again = {0};

	if (why != NULL && owner->user.length > 0)
		panic("a user of a token that is not accepted");
	if (why == NULL) {
		if (owner->user.length == 0 || owner->user.length > AUTH_USER_MAX)
			panic("a token of nobody");
		if (directory_key_normalize(DIRECTORY_USER, buffer_view(&owner->user), &again) < 0)
			panic("a user with a name that is not valid");
		check_equal(buffer_view(&owner->user), buffer_view(&again), "users");
		if (NOW_US >= owner->until_us && NOW_US - owner->until_us >= AUTH_TOKEN_LEEWAY_US)
			panic("a token that has ended");
	}
	buffer_clear(&again);
	buffer_clear(&owner->user);
}

static void check_token(struct str text)
{
	struct auth_jwt_keys *keys = auth_jwt_keys_new();
	struct auth_token_owner owner = {0};

	if (auth_jwt_check(keys, &rules, text, NOW_US, &owner) == NULL)
		panic("a token that no key has signed");
	auth_jwt_keys_free(keys);
}

static void check_claims(struct str text)
{
	struct auth_token_owner owner = {0};

	check_owner(auth_claims_check(&rules, text, true, NOW_US, &owner), &owner);
}

static void check_introspection(struct str text)
{
	struct auth_token_owner owner = {0};

	check_owner(auth_claims_introspected(&rules, text, NOW_US, &owner), &owner);
}

static void check_file(struct str text)
{
	struct auth_jwt_keys *keys = auth_jwt_keys_new();
	struct buffer why = {0};
	int error = auth_jwt_keys_add(keys, text, &why);

	if ((error == 0) == (why.length > 0) || (error == 0 && auth_jwt_keys_count(keys) == 0))
		panic("a file of keys with %zu keys: %d", auth_jwt_keys_count(keys), error);
	buffer_clear(&why);
	auth_jwt_keys_free(keys);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const checks[])(struct str text) = {check_token, check_claims,
							  check_introspection, check_file};
	struct input input = {str_slice((const char *)data, size)};

	checks[input_byte(&input) % COUNT_OF(checks)](input.rest);
	return 0;
}
