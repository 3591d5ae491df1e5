// SPDX-License-Identifier: ISC
/* Mechanisms with a token of OAuth 2.0: OAUTHBEARER (RFC 7628), and XOAUTH2 (Google's and
 * Microsoft's, older). */
#include "auth/sasl/internal.h"

/* RFC 7628 section 3.2.2, and what XOAUTH2's servers say: the client answers anything to it, and
 * is then refused. */
static const char FAILURE_BEARER[] = "{\"status\":\"invalid_token\"}";
static const char FAILURE_XOAUTH2[] = "{\"status\":\"401\",\"schemes\":\"bearer\",\"scope\":\"\"}";
/* For the log. */
static const char NOT_ACCEPTED[] = "the token is not accepted";

/* RFC 6750 section 2.1: b64token. */
static bool is_token(struct str token)
{
	for (size_t i = 0; i < token.length; i++)
		if (token.data[i] <= ' ' || token.data[i] > '~')
			return false;
	return token.length > 0;
}

/* The fields "NAME=VALUE" of BODY, each ended by ^A, and another one at the end. */
static bool find_token(struct str body, const char *name, struct str *token_out)
{
	struct str field = STR("x");
	size_t found = 0;

	while (str_split(&body, '\1', &field) && body.data != NULL && field.length > 0) {
		ptrdiff_t equals = str_find(field, '=');
		struct str value = str_skip(field, (size_t)equals + 1);

		if (equals <= 0)
			return false;
		if (!str_equal_nocase(str_slice(field.data, (size_t)equals), str_from(name)))
			continue;
		if (value.length < 7 || !str_equal_nocase(str_slice(value.data, 7), STR("Bearer ")))
			return false;
		*token_out = str_trim(str_skip(value, 7));
		found++;
	}
	return found == 1 && field.length == 0 && body.data != NULL && body.length == 0 &&
	       is_token(*token_out);
}

/* The user whom the client names outside of the token; empty: it names none. */
static void ask_about_token(struct sasl *sasl, struct str user, struct str token)
{
	if (user.length > 0) {
		sasl_ask(sasl, SASL_ASKS_TOKEN, STR(""), user, token);
		return;
	}
	buffer_append_str(&sasl->secret, token);
	sasl->state = SASL_ASKS_TOKEN;
}

/* After the failure was told; the token's owner stays unknown. */
static bool refuse_after_failure(struct sasl *sasl)
{
	if (sasl->step > 0)
		sasl_refuse(sasl, AUTH_FAILED, NOT_ACCEPTED);
	return sasl->step > 0;
}

/* "n,a=USER," ^A fields ^A */
static void take_bearer(struct sasl *sasl, struct str message)
{
	struct buffer user CLEANUP(buffer_clear) = {0};
	struct sasl_gs2 gs2;
	struct str token = STR("");

	if (refuse_after_failure(sasl))
		return;
	if (!sasl_gs2_take(&message, &gs2) || gs2.flag == 'p' ||
	    (gs2.as.length > 0 && !sasl_gs2_name(gs2.as, &user)) ||
	    !str_starts_with(message, STR("\1")) ||
	    !find_token(str_skip(message, 1), "auth", &token))
		sasl_refuse_malformed(sasl);
	else
		ask_about_token(sasl, buffer_view(&user), token);
}

/* "user=" USER ^A "auth=Bearer " TOKEN ^A ^A */
static void take_xoauth2(struct sasl *sasl, struct str message)
{
	struct str token = STR("");
	struct str user;

	if (refuse_after_failure(sasl))
		return;
	if (!str_starts_with(message, STR("user=")) || !str_split(&message, '\1', &user) ||
	    message.data == NULL || user.length <= 5 || !find_token(message, "auth", &token))
		sasl_refuse_malformed(sasl);
	else
		ask_about_token(sasl, str_skip(user, 5), token);
}

/* USER owns the token, and must be the one whom the client names. */
static void answer_bearer_token(struct sasl *sasl, enum sasl_finding finding, struct str user,
				const char *failure)
{
	bool is_named = sasl->user.length > 0;

	if (finding == SASL_RIGHT && is_named && !str_equal(buffer_view(&sasl->user), user))
		finding = SASL_WRONG;
	if (finding == SASL_RIGHT && !is_named)
		buffer_append_str(&sasl->user, user);
	if (finding != SASL_WRONG) {
		sasl_conclude(sasl, finding, user, NULL);
		return;
	}
	sasl->has_failed = true;
	sasl->reason = NOT_ACCEPTED;
	sasl_challenge(sasl, str_from(failure));
}

static void answer_bearer(struct sasl *sasl, enum sasl_finding finding, struct str user,
			  const struct directory_scram *keys)
{
	(void)keys;
	answer_bearer_token(sasl, finding, user, FAILURE_BEARER);
}

static void answer_xoauth2(struct sasl *sasl, enum sasl_finding finding, struct str user,
			   const struct directory_scram *keys)
{
	(void)keys;
	answer_bearer_token(sasl, finding, user, FAILURE_XOAUTH2);
}

const struct sasl_kind sasl_oauthbearer = {NULL, take_bearer, answer_bearer};
const struct sasl_kind sasl_xoauth2 = {NULL, take_xoauth2, answer_xoauth2};
