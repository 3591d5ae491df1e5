// SPDX-License-Identifier: ISC
/* What a mechanism asks, and who answers it. */
#include "auth/server/internal.h"
#include "base/panic.h"
#include "directory/wire/frame.h"
#include "os/clock.h"

static struct auth_server *server_of_attempt(const struct auth_attempt *attempt)
{
	return attempt->asker->server;
}

/* REASON: of a failure; NULL: the mechanism's. */
static void conclude_mechanism(struct auth_attempt *attempt, enum sasl_finding finding,
			       struct str user, const struct directory_scram *keys,
			       const char *reason)
{
	attempt->reason = reason;
	sasl_answer(attempt->sasl, finding, user, keys);
	auth_attempt_advance(attempt);
}

/* --- a user's record --- */

struct found {
	enum { USER_ACTIVE, USER_INACTIVE, USER_NONE, USER_LATER } is;
	const struct directory_answer_text *answer;
};

static struct found read_user_record(const struct directory_answer_text *answer)
{
	struct found found = {.is = USER_ACTIVE, .answer = answer};
	struct str name;
	struct str value;

	if (answer->error != DIRECTORY_ERROR_NONE)
		found.is = USER_LATER;
	else if (!answer->exists)
		found.is = USER_NONE;
	for (size_t i = 0; found.is == USER_ACTIVE && i < answer->result_count; i++) {
		directory_frame_split_result(answer->results[i], &name, &value);
		if (str_equal(name, STR("state")) && !str_equal(value, STR("active")))
			found.is = USER_INACTIVE;
	}
	return found;
}

static const char *reason_of(const struct found *found)
{
	switch (found->is) {
	case USER_NONE:
		return "no such user";
	case USER_INACTIVE:
		return "the user is not active";
	case USER_LATER:
		return "the directory does not answer";
	default:
		return NULL;
	}
}

/* The next password of the record from *POSITION on; false: there is none. */
static bool next_hash(const struct found *found, size_t *position, struct str *hash_out)
{
	struct str name;

	if (found->is != USER_ACTIVE)
		return false;
	while (*position < found->answer->result_count) {
		directory_frame_split_result(found->answer->results[(*position)++], &name,
					     hash_out);
		if (str_equal(name, STR("password")))
			return true;
	}
	return false;
}

/* --- passwords --- */

/* HASH: that of the password; empty: an LDAP server has judged. */
static void on_judged(void *context, enum sasl_finding finding, struct str hash)
{
	struct auth_attempt *attempt = context;

	attempt->check = NULL;
	auth_login_stamp(server_of_attempt(attempt), hash, &attempt->stamp);
	conclude_mechanism(attempt, finding, STR(""), NULL, attempt->reason);
}

static enum auth_trust trust_of(const struct auth_attempt *attempt)
{
	struct auth_server *server = server_of_attempt(attempt);
	int64_t now_us = os_clock_boot_us();

	if (auth_failures_count(server->failures, &attempt->address, now_us) > 0)
		return AUTH_SUSPECT;
	return auth_known_has(server->known, &attempt->client, now_us) ? AUTH_KNOWN : AUTH_NEW;
}

static void check_password(struct auth_attempt *attempt, const struct found *found)
{
	struct auth_server *server = server_of_attempt(attempt);
	bool is_bound = server->config->auth.users == CONFIG_AUTH_LDAP;
	struct auth_password *password =
		auth_password_new(is_bound ? server->ways.binder : NULL, sasl_user(attempt->sasl),
				  sasl_secret(attempt->sasl));
	size_t position = 0;
	size_t count = 0;
	struct str hash;

	while (!is_bound && next_hash(found, &position, &hash)) {
		auth_password_add_hash(password, hash);
		auth_inventor_learn(server->inventor, hash);
		count++;
	}
	if (!is_bound && count == 0)
		auth_password_add_hash(password, auth_inventor_hash(server->inventor));
	if (found->is != USER_ACTIVE || (!is_bound && count == 0))
		auth_password_spoil(password);
	attempt->reason = reason_of(found);
	attempt->check = auth_password_check(password, server->checks, &attempt->client,
					     trust_of(attempt), on_judged, attempt);
	if (attempt->check == NULL)
		conclude_mechanism(attempt, SASL_LATER, STR(""), NULL,
				   "too many checks are waiting");
}

/* --- SCRAM --- */

/* The same work whether the user has keys, or exists, or not: a client may cancel then, and measure
 * again. */
static void answer_found_keys(struct auth_attempt *attempt, const struct found *found)
{
	const struct auth_server *server = server_of_attempt(attempt);
	enum directory_password_method method =
		sasl_mechanism_find(str_from(attempt->mechanism_name))->keys;
	struct buffer text CLEANUP(buffer_clear) = {.is_secret = true};
	struct directory_scram invented;
	struct directory_scram keys;
	size_t position = 0;
	struct str hash;
	bool has_keys = false;

	auth_inventor_keys(server->inventor, sasl_user(attempt->sasl), method, &invented);
	directory_scram_print(&invented, &text);
	while (!has_keys && next_hash(found, &position, &hash))
		has_keys = directory_scram_parse(hash, &keys) == 0 && keys.method == method;
	if (!has_keys && directory_scram_parse(buffer_view(&text), &keys) < 0)
		panic("invented keys are malformed");
	auth_login_stamp(server, has_keys ? hash : buffer_view(&text), &attempt->stamp);
	auth_inventor_learn(server->inventor,
			    has_keys ? hash : auth_inventor_hash(server->inventor));
	conclude_mechanism(attempt, SASL_RIGHT, STR(""), &keys,
			   has_keys                   ? NULL
			   : found->is == USER_ACTIVE ? "the user has no keys of this mechanism"
						      : reason_of(found));
	explicit_bzero(&invented, sizeof invented);
	explicit_bzero(&keys, sizeof keys);
}

/* --- what the record decides --- */

static void on_record_of_attempt(void *context, const struct directory_answer_text *answer)
{
	struct auth_attempt *attempt = context;
	const struct found found = read_user_record(answer);
	enum sasl_state question = sasl_state(attempt->sasl);

	if (found.is == USER_LATER)
		conclude_mechanism(attempt, SASL_LATER, STR(""), NULL, reason_of(&found));
	else if (question == SASL_ASKS_PASSWORD)
		check_password(attempt, &found);
	else if (question == SASL_ASKS_KEYS)
		answer_found_keys(attempt, &found);
	else {
		auth_login_stamp(server_of_attempt(attempt), STR(""), &attempt->stamp);
		conclude_mechanism(attempt, found.is == USER_ACTIVE ? SASL_RIGHT : SASL_WRONG,
				   buffer_view(&attempt->owner), NULL, reason_of(&found));
	}
}

static void ask_user_record(struct auth_attempt *attempt, struct str user)
{
	attempt->question.answered = on_record_of_attempt;
	attempt->question.context = attempt;
	directory_client_get(server_of_attempt(attempt)->directory, "user", user,
			     DIRECTORY_PATIENCE_US, &attempt->question);
}

/* --- tokens --- */

static void on_token_judged(void *context, enum sasl_finding finding, struct str user,
			    const char *why)
{
	struct auth_attempt *attempt = context;

	attempt->token = NULL;
	if (finding != SASL_RIGHT || server_of_attempt(attempt)->directory == NULL) {
		conclude_mechanism(attempt, finding, user, NULL, why);
		return;
	}
	buffer_reset(&attempt->owner);
	buffer_append_str(&attempt->owner, user);
	ask_user_record(attempt, buffer_view(&attempt->owner));
}

static void ask_token(struct auth_attempt *attempt)
{
	auth_tokens_ask(server_of_attempt(attempt)->tokens, sasl_secret(attempt->sasl),
			on_token_judged, attempt, &attempt->token);
}

/* --- */

static void refuse_attempt(struct auth_attempt *attempt)
{
	struct buffer user CLEANUP(buffer_clear) = {0};
	const char *reason = attempt->reason != NULL ? attempt->reason : sasl_reason(attempt->sasl);

	buffer_append_str(&user, sasl_user(attempt->sasl));
	auth_attempt_refuse(attempt, sasl_refusal(attempt->sasl), buffer_view(&user), reason);
}

/* A failure counts when the client learns of it, whether it then answers or not. */
static void challenge_or_fail(struct auth_attempt *attempt)
{
	const char *reason = attempt->reason != NULL ? attempt->reason : sasl_reason(attempt->sasl);

	if (sasl_has_failed(attempt->sasl))
		auth_attempt_fail(attempt, sasl_user(attempt->sasl), reason);
	else
		auth_attempt_challenge(attempt, sasl_message(attempt->sasl));
}

void auth_attempt_advance(struct auth_attempt *attempt)
{
	struct sasl *sasl = attempt->sasl;

	attempt->state = ATTEMPT_ASKS;
	switch (sasl_state(sasl)) {
	case SASL_WANTS_MESSAGE:
		challenge_or_fail(attempt);
		break;
	case SASL_ASKS_TOKEN:
		ask_token(attempt);
		break;
	case SASL_ASKS_PASSWORD:
	case SASL_ASKS_KEYS:
	case SASL_ASKS_CERTIFICATE:
		ask_user_record(attempt, sasl_user(sasl));
		break;
	case SASL_ACCEPTED:
		auth_attempt_accept(attempt, sasl_user(sasl));
		break;
	case SASL_REFUSED:
		refuse_attempt(attempt);
		break;
	}
}
