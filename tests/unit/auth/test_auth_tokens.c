// SPDX-License-Identifier: ISC
/* What an issuer says of tokens, against a model: any order of questions, answers, cancellations
 * and times; as many answers as are kept, as many questions as are open, and one more. HTTPS and
 * the clock are played. */
#include "auth/server/tokens.h"
#include "base/panic.h"
#include "chance.h"
#include "test.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOKENS = 6, TURNS = 20000, REQUESTS = 12, TEXT = 200 };

struct https_request {
	void (*done)(void *context, const struct https_answer *answer);
	void *context;
	char content[TEXT];
	bool is_open;
};

static struct {
	struct https_request requests[AUTH_TOKENS_OPEN_MAX + 1];
	struct https_request *last;
	unsigned asked;
	int64_t now_us;
	struct auth_tokens *tokens;
	/* of the last end */
	unsigned ends;
	enum sasl_finding finding;
	char user[TEXT], why[TEXT];
} world;

int64_t __wrap_os_clock_wall_us(void);
int64_t __wrap_os_clock_wall_us(void)
{
	return world.now_us;
}

struct https_request *https_ask(struct https *https, const struct https_ask *ask,
				void (*done)(void *context, const struct https_answer *answer),
				void *context)
{
	struct https_request *request = world.requests;

	assert_non_null(https);
	while (request->is_open)
		request++;
	assert_true(request < world.requests + AUTH_TOKENS_OPEN_MAX);
	assert_string_equal(ask->host, "id.test");
	assert_int_equal(ask->port, 8443);
	assert_string_equal(ask->path, "/introspect?a=b");
	assert_int_equal(ask->size_max, 65536);
	assert_int_equal(ask->seconds, 10);
	assert_string_equal(ask->content_type, "application/x-www-form-urlencoded");
	assert_string_equal(ask->authorization, "Basic bWElM0FsOnMlMjVlJTIwJTJCJUMzJUE0");
	request->done = done;
	request->context = context;
	request->is_open = true;
	snprintf(request->content, TEXT, STR_FORMAT, STR_ARGUMENTS(ask->content));
	world.last = request;
	world.asked++;
	return request;
}

void https_cancel(struct https_request *request)
{
	assert_true(request->is_open);
	request->is_open = false;
}

/* --- a model --- */

struct known {
	bool is_kept, is_right;
	int64_t until_us;
	char user[TEXT];
};

struct asked {
	struct auth_token_request *request;
	struct https_request *https; /* NULL: it is not open */
	size_t token;
};

static struct known model[TOKENS];
static struct asked asked[REQUESTS];

static void on_judged(void *context, enum sasl_finding finding, struct str user, const char *why)
{
	assert_ptr_equal(context, &world);
	world.ends++;
	world.finding = finding;
	snprintf(world.user, TEXT, STR_FORMAT, STR_ARGUMENTS(user));
	snprintf(world.why, TEXT, "%s", why != NULL ? why : "");
}

static struct str token_of(size_t number)
{
	static char text[TEXT];

	snprintf(text, TEXT, "token %zu+~-_.\xc3\xa4", number);
	return str_from(text);
}

static bool is_valid(const struct known *known)
{
	int64_t left_us = known->until_us - world.now_us;

	return known->is_kept && left_us > 0 && left_us <= AUTH_TOKENS_KEPT_US;
}

static void expect_kept(const struct known *known)
{
	assert_int_equal(world.finding, known->is_right ? SASL_RIGHT : SASL_WRONG);
	assert_string_equal(world.user, known->is_right ? known->user : "");
	assert_int_equal(world.why[0] != '\0', !known->is_right);
}

static void ask_one(struct asked *one, size_t token)
{
	unsigned ends = world.ends, before = world.asked;
	char expected[TEXT];

	one->request = NULL;
	auth_tokens_ask(world.tokens, token_of(token), on_judged, &world, &one->request);
	if (is_valid(&model[token])) {
		assert_int_equal(world.ends, ends + 1);
		assert_int_equal(world.asked, before);
		assert_null(one->request);
		expect_kept(&model[token]);
		return;
	}
	assert_int_equal(world.ends, ends);
	assert_int_equal(world.asked, before + 1);
	assert_non_null(one->request);
	model[token].is_kept = false;
	one->https = world.last;
	one->token = token;
	snprintf(expected, TEXT, "token=token%%20%zu%%2B~-_.%%C3%%A4&token_type_hint=access_token",
		 token);
	assert_string_equal(one->https->content, expected);
}

static void answer_with(struct https_request *request, enum https_status status, unsigned code,
			const char *body)
{
	const struct https_answer answer = {
		.status = status, .code = code, .reason = "x", .type = "", .body = str_from(body)};

	request->is_open = false;
	request->done(request->context, &answer);
}

static void answer_one(struct asked *one)
{
	struct known *known = &model[one->token];
	unsigned ends = world.ends;
	struct https_request *https = one->https;
	int64_t seconds = world.now_us / SECOND_US + 1 + (int64_t)chance(100);
	char body[TEXT];

	one->https = NULL;
	switch (chance(4)) {
	case 0:
		answer_with(https, HTTPS_FAILED, 0, "");
		break;
	case 1:
		answer_with(https, HTTPS_OK, chance(2) == 0 ? 500 : 201,
			    "{\"active\":true,\"username\":\"x@a.test\"}");
		break;
	case 2:
		answer_with(https, HTTPS_OK, 200, "{\"active\":false}");
		*known = (struct known){.is_kept = true,
					.until_us = world.now_us + AUTH_TOKENS_KEPT_US};
		assert_int_equal(world.ends, ends + 1);
		expect_kept(known);
		return;
	default:
		snprintf(body, TEXT,
			 "{\"active\":true,\"name\":\"u%zu@a.test\",\"exp\":%" PRId64 "}",
			 one->token, seconds);
		answer_with(https, HTTPS_OK, 200, body);
		*known = (struct known){
			.is_kept = true, .is_right = true, .until_us = seconds * SECOND_US};
		if (known->until_us > world.now_us + AUTH_TOKENS_KEPT_US)
			known->until_us = world.now_us + AUTH_TOKENS_KEPT_US;
		snprintf(known->user, TEXT, "u%zu@a.test", one->token);
		assert_int_equal(world.ends, ends + 1);
		expect_kept(known);
		return;
	}
	assert_int_equal(world.ends, ends + 1);
	assert_int_equal(world.finding, SASL_LATER);
	assert_string_equal(world.why, "the issuer cannot be asked");
}

static void do_something(struct asked *one)
{
	switch (chance(12)) {
	case 0:
		world.now_us += (int64_t)chance(70) * SECOND_US;
		break;
	case 1:
		world.now_us -= (int64_t)chance(30) * SECOND_US; /* it was set back */
		break;
	case 2:
		if (one->https != NULL)
			auth_token_request_cancel(one->request);
		one->https = NULL;
		break;
	case 3:
	case 4:
	case 5:
	case 6:
		if (one->https != NULL)
			answer_one(one);
		break;
	default:
		if (one->https == NULL)
			ask_one(one, chance(TOKENS));
	}
}

static void any_order(void **state)
{
	(void)state;
	for (unsigned turn = 0; turn < TURNS; turn++)
		do_something(&asked[chance(REQUESTS)]);
	for (size_t i = 0; i < REQUESTS; i++)
		if (asked[i].https != NULL)
			auth_token_request_cancel(asked[i].request);
	auth_token_request_cancel(NULL);
}

/* --- bounds --- */

static bool is_asked(size_t token)
{
	struct auth_token_request *request = NULL;
	unsigned before = world.asked;

	auth_tokens_ask(world.tokens, token_of(token), on_judged, &world, &request);
	if (world.asked == before)
		return false;
	answer_with(world.last, HTTPS_OK, 200, "{\"active\":false}");
	return true;
}

/* The one that was told first goes. */
static void so_many_answers_are_kept(void **state)
{
	(void)state;
	for (size_t i = 0; i < AUTH_TOKENS_KEPT_MAX; i++)
		assert_true(is_asked(i));
	assert_false(is_asked(0));
	assert_false(is_asked(AUTH_TOKENS_KEPT_MAX - 1));
	assert_true(is_asked(AUTH_TOKENS_KEPT_MAX));
	assert_false(is_asked(1));
	assert_true(is_asked(0));
	assert_true(is_asked(1)); /* whose place that took */
}

static void so_many_are_asked_at_once(void **state)
{
	struct auth_token_request *requests[AUTH_TOKENS_OPEN_MAX + 1] = {NULL};

	(void)state;
	for (size_t i = 0; i < AUTH_TOKENS_OPEN_MAX; i++) {
		auth_tokens_ask(world.tokens, token_of(i), on_judged, &world, &requests[i]);
		assert_non_null(requests[i]);
	}
	assert_int_equal(world.ends, 0);
	for (size_t i = 0; i < 2; i++) {
		auth_tokens_ask(world.tokens, token_of(1000), on_judged, &world,
				&requests[AUTH_TOKENS_OPEN_MAX]);
		assert_int_equal(world.ends, i + 1);
		assert_int_equal(world.finding, SASL_LATER);
		assert_string_equal(world.why, "too many tokens are being asked for");
	}
	/* one that ends, or is cancelled, makes room */
	answer_with(&world.requests[7], HTTPS_FAILED, 0, "");
	auth_token_request_cancel(requests[8]);
	for (size_t i = 0; i < 2; i++) {
		struct auth_token_request *request = NULL;

		auth_tokens_ask(world.tokens, token_of(2000 + i), on_judged, &world, &request);
		assert_non_null(request);
		requests[7 + i] = request;
	}
	for (size_t i = 0; i < AUTH_TOKENS_OPEN_MAX; i++)
		auth_token_request_cancel(requests[i]);
}

static struct auth_jwt_keys *no_keys;

static void make_tokens(const char *url, bool has_https)
{
	static char https;
	const struct auth_tokens_settings settings = {.rules = {"", "", "name", ""},
						      .keys = no_keys,
						      .url = url,
						      .user = "ma:l",
						      .secret = STR("s%e +\xc3\xa4")};

	world.tokens =
		auth_tokens_new(has_https ? (struct https *)(void *)&https : NULL, &settings);
}

static void nobody_can_be_asked(void **state)
{
	static const char *const urls[] = {"", "https://id.test:8443/introspect?a=b"};

	(void)state;
	for (unsigned ways = 0; ways < 4; ways++) {
		struct auth_token_request *request = NULL;

		auth_tokens_free(world.tokens);
		make_tokens(urls[ways & 1], (ways & 2) != 0);
		assert_int_equal(auth_tokens_are_known(world.tokens), ways == 3);
		if (ways == 3)
			continue;
		auth_tokens_ask(world.tokens, token_of(0), on_judged, &world, &request);
		assert_null(request);
		assert_int_equal(world.finding, SASL_WRONG);
		assert_string_equal(world.why, "there are no keys for tokens");
	}
	auth_tokens_free(NULL);
}

static int set_up(void **state)
{
	(void)state;
	memset(&world, 0, sizeof world);
	memset(model, 0, sizeof model);
	memset(asked, 0, sizeof asked);
	world.now_us = 1700000000 * SECOND_US;
	no_keys = auth_jwt_keys_new();
	make_tokens("https://id.test:8443/introspect?a=b", true);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	auth_tokens_free(world.tokens);
	auth_jwt_keys_free(no_keys);
	return 0;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(any_order),
		CASE(so_many_answers_are_kept),
		CASE(so_many_are_asked_at_once),
		CASE(nobody_can_be_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
