// SPDX-License-Identifier: ISC
#include "auth/token/claims.h"
#include "auth/client.h"
#include "directory/record/key.h"
#include <jansson.h>
#include <math.h>
#include <string.h>

static const double TIME_MAX = 253402300800.0; /* seconds: the year 10000 */

static void unref_claims(json_t **json)
{
	json_decref(*json);
}

static bool is_claim_text(const json_t *value, const char *wanted)
{
	return json_is_string(value) && strcmp(json_string_value(value), wanted) == 0;
}

/* A text, or a list that has it. */
static bool names_audience(const json_t *value, const char *wanted)
{
	if (!json_is_array(value))
		return is_claim_text(value, wanted);
	for (size_t i = 0; i < json_array_size(value); i++)
		if (is_claim_text(json_array_get(value, i), wanted))
			return true;
	return false;
}

/* Scopes with spaces between (RFC 8693 section 4.2), or a list. */
static bool has_scope(const json_t *value, const char *wanted)
{
	struct str rest;
	struct str word;

	if (json_is_array(value))
		return names_audience(value, wanted);
	if (!json_is_string(value))
		return false;
	rest = str_from(json_string_value(value));
	while (str_split(&rest, ' ', &word))
		if (str_equal(word, str_from(wanted)))
			return true;
	return false;
}

/* A time in seconds; false: it is none. */
static bool time_of_claim(const json_t *value, int64_t *us_out)
{
	double seconds = json_number_value(value);

	if (!json_is_number(value) || !isfinite(seconds) || seconds < 0 || seconds > TIME_MAX)
		return false;
	*us_out = (int64_t)(seconds * (double)SECOND_US);
	return true;
}

static const char *check_times(const json_t *claims, bool must_end, int64_t now_us,
			       int64_t *until_us_out)
{
	const json_t *end = json_object_get(claims, "exp");
	static const char *const begins[] = {"nbf", "iat"};

	*until_us_out = INT64_MAX;
	if (end == NULL && must_end)
		return "the token has no end";
	if (end != NULL && !time_of_claim(end, until_us_out))
		return "the token's end is no time";
	if (end != NULL && now_us >= *until_us_out + AUTH_TOKEN_LEEWAY_US)
		return "the token has expired";
	for (size_t i = 0; i < COUNT_OF(begins); i++) {
		const json_t *begin = json_object_get(claims, begins[i]);
		int64_t begin_us;

		if (begin != NULL && !time_of_claim(begin, &begin_us))
			return "the token's begin is no time";
		if (begin != NULL && now_us < begin_us - AUTH_TOKEN_LEEWAY_US)
			return "the token is not valid yet";
	}
	return NULL;
}

/* OpenID Connect Core section 5.1; some issuers write it as a text, others not at all. */
static bool is_unverified(const json_t *verified)
{
	return verified != NULL && !json_is_true(verified) && !is_claim_text(verified, "true");
}

static const char *check_claims(const struct auth_token_rules *rules, const json_t *claims,
				bool must_end, int64_t now_us, struct auth_token_owner *owner)
{
	const json_t *user = json_object_get(claims, rules->claim);
	const char *why = check_times(claims, must_end, now_us, &owner->until_us);

	if (why != NULL)
		return why;
	if (*rules->issuer != '\0' && !is_claim_text(json_object_get(claims, "iss"), rules->issuer))
		return "the token is of another issuer";
	if (*rules->audience != '\0' &&
	    !names_audience(json_object_get(claims, "aud"), rules->audience))
		return "the token is for another audience";
	if (*rules->scope != '\0' && !has_scope(json_object_get(claims, "scope"), rules->scope) &&
	    !has_scope(json_object_get(claims, "scp"), rules->scope))
		return "the token lacks the scope";
	if (strcmp(rules->claim, "email") == 0 &&
	    is_unverified(json_object_get(claims, "email_verified")))
		return "the issuer has not verified the address";
	if (!json_is_string(user) || json_string_length(user) > AUTH_USER_MAX ||
	    directory_key_normalize(DIRECTORY_USER,
				    str_slice(json_string_value(user), json_string_length(user)),
				    &owner->user) < 0)
		return "the token names no user";
	return owner->user.length > AUTH_USER_MAX ? "the token names no user" : NULL;
}

static json_t *parse_claims(struct str json)
{
	json_t *value = json_loadb(json.data, json.length, JSON_REJECT_DUPLICATES, NULL);

	if (json_is_object(value))
		return value;
	json_decref(value);
	return NULL;
}

/* So that what is refused leaves nothing. */
static const char *finish_token_owner(const char *why, struct auth_token_owner *found,
				      struct auth_token_owner *owner_out)
{
	if (why == NULL)
		*owner_out = *found;
	else
		buffer_clear(&found->user);
	return why;
}

const char *auth_claims_check(const struct auth_token_rules *rules, struct str json, bool must_end,
			      int64_t now_us, struct auth_token_owner *owner_out)
{
	json_t *claims CLEANUP(unref_claims) = parse_claims(json);
	struct auth_token_owner found = {0};

	if (claims == NULL)
		return "the claims are no object of JSON";
	return finish_token_owner(check_claims(rules, claims, must_end, now_us, &found), &found,
				  owner_out);
}

const char *auth_claims_introspected(const struct auth_token_rules *rules, struct str json,
				     int64_t now_us, struct auth_token_owner *owner_out)
{
	json_t *claims CLEANUP(unref_claims) = parse_claims(json);
	struct auth_token_owner found = {0};

	if (claims == NULL)
		return "the answer is no object of JSON";
	if (!json_is_true(json_object_get(claims, "active")))
		return "the token is not active";
	return finish_token_owner(check_claims(rules, claims, false, now_us, &found), &found,
				  owner_out);
}
