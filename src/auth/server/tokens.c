// SPDX-License-Identifier: ISC
#include "auth/server/tokens.h"
#include "base/panic.h"
#include "base/table.h"
#include "base/text/base64.h"
#include "config/config.h"
#include "os/clock.h"
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

enum {
	DIGEST_SIZE = 32,
	ANSWER_MAX = 64 << 10, /* bytes */
	ANSWER_SECONDS = 10,
};

/* What was said of a token, by its SHA-256. */
struct kept {
	unsigned char digest[DIGEST_SIZE];
	struct buffer user;
	const char *why; /* not accepted; NULL: it is */
	int64_t until_us;
	struct kept *next, *previous; /* oldest first */
	UT_hash_handle hh;
};

struct auth_token_request {
	struct auth_tokens *tokens;
	struct https_request *https;
	unsigned char digest[DIGEST_SIZE];
	auth_token_judged *done;
	void *context;
};

struct auth_tokens {
	struct https *https;
	struct auth_tokens_settings settings;
	char *host;
	char *path;
	uint16_t port;
	struct buffer authorization; /* of HTTP, with a NUL; empty: none */
	unsigned open;
	struct kept *table;
	struct kept *list;
	size_t kept_count;
};

/* --- what is kept --- */

static void drop_kept_token(struct auth_tokens *tokens, struct kept *kept)
{
	HASH_DEL(tokens->table, kept);
	DL_DELETE2(tokens->list, kept, previous, next);
	tokens->kept_count--;
	buffer_clear(&kept->user);
	free(kept);
}

static void keep_token_finding(struct auth_tokens *tokens, const unsigned char *digest,
			       struct str user, const char *why, int64_t until_us)
{
	int64_t most_us = os_clock_wall_us() + AUTH_TOKENS_KEPT_US;
	struct kept *kept;

	HASH_FIND(hh, tokens->table, digest, DIGEST_SIZE, kept);
	if (kept != NULL)
		drop_kept_token(tokens, kept);
	if (tokens->kept_count >= AUTH_TOKENS_KEPT_MAX)
		drop_kept_token(tokens, tokens->list);
	kept = memory_alloc_zero(1, sizeof *kept);
	memcpy(kept->digest, digest, DIGEST_SIZE);
	buffer_append_str(&kept->user, user);
	kept->why = why;
	kept->until_us = until_us < most_us ? until_us : most_us;
	HASH_ADD(hh, tokens->table, digest, DIGEST_SIZE, kept);
	DL_APPEND2(tokens->list, kept, previous, next);
	tokens->kept_count++;
}

/* NULL: nothing that is still valid. A clock that was set back makes it longer than it should be:
 * then it is not valid either. */
static const struct kept *find_kept(struct auth_tokens *tokens, const unsigned char *digest)
{
	int64_t left_us;
	struct kept *kept;

	HASH_FIND(hh, tokens->table, digest, DIGEST_SIZE, kept);
	if (kept == NULL)
		return NULL;
	left_us = kept->until_us - os_clock_wall_us();
	if (left_us > 0 && left_us <= AUTH_TOKENS_KEPT_US)
		return kept;
	drop_kept_token(tokens, kept);
	return NULL;
}

/* --- introspection --- */

static void end_token_request(struct auth_token_request *request, enum sasl_finding finding,
			      struct str user, const char *why)
{
	auth_token_judged *done = request->done;
	void *context = request->context;

	request->tokens->open--;
	free(request);
	done(context, finding, user, why);
}

static void on_introspection_answer(void *context, const struct https_answer *answer)
{
	struct auth_token_request *request = context;
	struct auth_tokens *tokens = request->tokens;
	struct auth_token_owner owner = {0};
	const char *why;

	if (answer->status != HTTPS_OK || answer->code != 200) {
		end_token_request(request, SASL_LATER, STR(""), "the issuer cannot be asked");
		return;
	}
	why = auth_claims_introspected(&tokens->settings.rules, answer->body, os_clock_wall_us(),
				       &owner);
	keep_token_finding(tokens, request->digest, buffer_view(&owner.user), why,
			   why == NULL ? owner.until_us : INT64_MAX);
	end_token_request(request, why == NULL ? SASL_RIGHT : SASL_WRONG, buffer_view(&owner.user),
			  why);
	buffer_clear(&owner.user);
}

/* As application/x-www-form-urlencoded wants it. */
static void append_encoded(struct buffer *out, struct str text)
{
	for (size_t i = 0; i < text.length; i++) {
		unsigned char c = (unsigned char)text.data[i];

		if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		    c == '-' || c == '.' || c == '_' || c == '~')
			buffer_append_byte(out, (char)c);
		else
			buffer_append_format(out, "%%%02X", c);
	}
}

static struct auth_token_request *introspect_token(struct auth_tokens *tokens, struct str token,
						   const unsigned char *digest,
						   auth_token_judged *done, void *context)
{
	struct buffer form CLEANUP(buffer_clear) = {.is_secret = true};
	struct auth_token_request *request = memory_alloc_zero(1, sizeof *request);
	const struct https_ask ask = {
		.host = tokens->host,
		.port = tokens->port,
		.path = tokens->path,
		.size_max = ANSWER_MAX,
		.seconds = ANSWER_SECONDS,
		.content_type = "application/x-www-form-urlencoded",
		.authorization = tokens->authorization.length > 0
					 ? buffer_data(&tokens->authorization)
					 : NULL,
	};
	struct https_ask with = ask;

	buffer_append_string(&form, "token=");
	append_encoded(&form, token);
	buffer_append_string(&form, "&token_type_hint=access_token");
	with.content = buffer_view(&form);
	request->tokens = tokens;
	request->done = done;
	request->context = context;
	memcpy(request->digest, digest, DIGEST_SIZE);
	tokens->open++;
	request->https = https_ask(tokens->https, &with, on_introspection_answer, request);
	return request;
}

void auth_token_request_cancel(struct auth_token_request *request)
{
	if (request == NULL)
		return;
	https_cancel(request->https);
	request->tokens->open--;
	free(request);
}

/* --- for the caller --- */

static bool has_introspection(const struct auth_tokens *tokens)
{
	return tokens->https != NULL && tokens->host != NULL;
}

bool auth_tokens_are_known(const struct auth_tokens *tokens)
{
	return auth_jwt_keys_count(tokens->settings.keys) > 0 || has_introspection(tokens);
}

/* Whether the keys can say whose it is: then nobody else is asked. */
static const char *check_signed(struct auth_tokens *tokens, struct str token,
				struct auth_token_owner *owner)
{
	if (auth_jwt_keys_count(tokens->settings.keys) == 0)
		return "there are no keys for tokens";
	return auth_jwt_check(tokens->settings.keys, &tokens->settings.rules, token,
			      os_clock_wall_us(), owner);
}

void auth_tokens_ask(struct auth_tokens *tokens, struct str token, auth_token_judged *done,
		     void *context, struct auth_token_request **request_out)
{
	struct auth_token_owner owner = {0};
	const char *why = check_signed(tokens, token, &owner);
	unsigned char digest[DIGEST_SIZE];
	const struct kept *kept;

	if (why == NULL || !has_introspection(tokens)) {
		done(context, why == NULL ? SASL_RIGHT : SASL_WRONG, buffer_view(&owner.user), why);
		buffer_clear(&owner.user);
		return;
	}
	if (EVP_Digest(token.data, token.length, digest, NULL, EVP_sha256(), NULL) != 1)
		panic("no memory for a digest");
	kept = find_kept(tokens, digest);
	if (kept != NULL) {
		done(context, kept->why == NULL ? SASL_RIGHT : SASL_WRONG, buffer_view(&kept->user),
		     kept->why);
		return;
	}
	if (tokens->open >= AUTH_TOKENS_OPEN_MAX) {
		done(context, SASL_LATER, STR(""), "too many tokens are being asked for");
		return;
	}
	*request_out = introspect_token(tokens, token, digest, done, context);
}

/* RFC 6749 section 2.3.1: both are encoded first. */
static void set_authorization(struct auth_tokens *tokens)
{
	struct buffer pair CLEANUP(buffer_clear) = {.is_secret = true};

	tokens->authorization.is_secret = true;
	if (*tokens->settings.user == '\0')
		return;
	append_encoded(&pair, str_from(tokens->settings.user));
	buffer_append_byte(&pair, ':');
	append_encoded(&pair, tokens->settings.secret);
	buffer_append_string(&tokens->authorization, "Basic ");
	base64_append(&tokens->authorization, buffer_view(&pair));
	buffer_append_byte(&tokens->authorization, '\0');
}

static char *copy_of_token_text(struct str text)
{
	char *result = memory_alloc_zero(text.length + 1, 1);

	memcpy(result, text.data, text.length);
	return result;
}

struct auth_tokens *auth_tokens_new(struct https *https,
				    const struct auth_tokens_settings *settings)
{
	struct auth_tokens *tokens = memory_alloc_zero(1, sizeof *tokens);
	struct str host;
	struct str path;

	tokens->https = https;
	tokens->settings = *settings;
	if (config_url_split(str_from(settings->url), &host, &tokens->port, &path)) {
		tokens->host = copy_of_token_text(host);
		tokens->path = copy_of_token_text(path);
	}
	set_authorization(tokens);
	return tokens;
}

void auth_tokens_free(struct auth_tokens *tokens)
{
	if (tokens == NULL)
		return;
	while (tokens->list != NULL)
		drop_kept_token(tokens, tokens->list);
	buffer_clear(&tokens->authorization);
	free(tokens->host);
	free(tokens->path);
	free(tokens);
}
