// SPDX-License-Identifier: ISC
/* Logins by each mechanism, against the same library's server side and the examples of the RFCs. */
#include "login/exchange.h"
#include "test.h"
#include <gsasl.h>
#include <string.h>

static struct login_library *library;

static int open_library(void **state)
{
	(void)state;
	library = login_library_open();
	return library == NULL ? -1 : 0;
}

static int close_library(void **state)
{
	(void)state;
	login_library_close(library);
	return 0;
}

static void the_strongest_is_chosen(void **state)
{
	static const struct {
		const char *offered;
		const char *chosen;
	} cases[] = {
		{"LOGIN PLAIN SCRAM-SHA-1 SCRAM-SHA-256", "SCRAM-SHA-256"},
		{"LOGIN PLAIN scram-sha-1", "SCRAM-SHA-1"},
		{"GSSAPI LOGIN PLAIN", "PLAIN"},
		{"LOGIN", "LOGIN"},
		{"SCRAM-SHA-256-PLUS SCRAM-SHA-512 CRAM-MD5 PLAINER LOGI", NULL},
		{"", NULL},
		{"  PLAIN", "PLAIN"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		const char *chosen = login_choose(str_from(cases[i].offered));

		if (cases[i].chosen == NULL)
			assert_null(chosen);
		else
			assert_string_equal(chosen, cases[i].chosen);
	}
	assert_false(login_begins("LOGIN"));
	assert_true(login_begins("PLAIN"));
}

/* --- the server side --- */

static const char *server_password;

static int answer(Gsasl *context, Gsasl_session *session, Gsasl_property property)
{
	(void)context;
	if (property == GSASL_PASSWORD)
		return gsasl_property_set(session, GSASL_PASSWORD, server_password);
	if (property == GSASL_SCRAM_ITER)
		return gsasl_property_set(session, GSASL_SCRAM_ITER, "4096");
	if (property == GSASL_SCRAM_SALT)
		return gsasl_property_set(session, GSASL_SCRAM_SALT, "c2FsdHNhbHQ=");
	if (property == GSASL_VALIDATE_SIMPLE) {
		bool is_right =
			strcmp(gsasl_property_fast(session, GSASL_AUTHID), "ann") == 0 &&
			strcmp(gsasl_property_fast(session, GSASL_PASSWORD), server_password) == 0;

		return is_right ? GSASL_OK : GSASL_AUTHENTICATION_ERROR;
	}
	return GSASL_NO_CALLBACK;
}

/* The result of the server's last step. */
static int converse(const char *mechanism, const char *password, bool *is_complete_out)
{
	struct login_exchange *exchange = login_exchange_new(library, mechanism, "ann", password);
	struct buffer response = {0};
	Gsasl_session *session;
	Gsasl *server;
	char *challenge = NULL;
	size_t length = 0;
	int result = GSASL_NEEDS_MORE;

	assert_int_equal(gsasl_init(&server), GSASL_OK);
	gsasl_callback_set(server, answer);
	assert_int_equal(gsasl_server_start(server, mechanism, &session), GSASL_OK);
	if (!login_begins(mechanism))
		result = gsasl_step(session, "", 0, &challenge, &length);
	while (result == GSASL_NEEDS_MORE) {
		buffer_reset(&response);
		assert_null(login_exchange_step(exchange, str_slice(challenge, length), &response));
		gsasl_free(challenge);
		challenge = NULL;
		buffer_append_byte(&response, '\0');
		result = gsasl_step(session, buffer_data(&response), response.length - 1,
				    &challenge, &length);
	}
	if (result == GSASL_OK && length > 0) /* the last word of SCRAM */
		assert_null(login_exchange_step(exchange, str_slice(challenge, length), &response));
	gsasl_free(challenge);
	*is_complete_out = login_exchange_is_complete(exchange);
	gsasl_finish(session);
	gsasl_done(server);
	buffer_clear(&response);
	login_exchange_free(exchange);
	return result;
}

static void right_and_wrong_passwords(void **state)
{
	static const char *const mechanisms[] = {"SCRAM-SHA-256", "SCRAM-SHA-1", "PLAIN", "LOGIN"};
	bool is_complete;

	(void)state;
	server_password = "open, sesame|";
	for (size_t i = 0; i < COUNT_OF(mechanisms); i++) {
		assert_int_equal(converse(mechanisms[i], server_password, &is_complete), GSASL_OK);
		assert_true(is_complete);
		assert_int_equal(converse(mechanisms[i], "sesame", &is_complete),
				 GSASL_AUTHENTICATION_ERROR);
	}
}

/* --- single steps --- */

static const char *step(struct login_exchange *exchange, const char *challenge,
			struct buffer *response)
{
	buffer_reset(response);
	return login_exchange_step(exchange, str_from(challenge), response);
}

/* RFC 4616 section 4 */
static void plain_is_that_of_the_standard(void **state)
{
	struct login_exchange *exchange = login_exchange_new(library, "PLAIN", "tim", "tanstaaf");
	struct buffer response = {0};

	(void)state;
	assert_null(step(exchange, "", &response));
	assert_true(str_equal(buffer_view(&response), STR("\0tim\0tanstaaf")));
	assert_true(login_exchange_is_complete(exchange));
	assert_non_null(step(exchange, "more", &response));
	buffer_clear(&response);
	login_exchange_free(exchange);
}

struct hostile {
	const char *name;
	const char *first; /* NONCE stands for the client's */
	const char *last;  /* NULL: the first is refused */
};

static void append_with_nonce(struct buffer *out, const char *text, struct str first)
{
	const char *place = strstr(text, "NONCE");
	const char *nonce = memmem(first.data, first.length, "r=", 2);

	if (place == NULL || nonce == NULL) {
		buffer_append_string(out, text);
		return;
	}
	nonce += 2;
	buffer_append(out, text, (size_t)(place - text));
	buffer_append(out, nonce, first.length - (size_t)(nonce - first.data));
	buffer_append_string(out, place + strlen("NONCE"));
}

/* A server that does not know the password is found out, and none makes us compute for long. */
static void hostile_servers(void **state)
{
	static const struct hostile cases[] = {
		{"another nonce", "r=abcdef,s=c2FsdA==,i=4096", NULL},
		{"too many rounds", "r=NONCEx,s=c2FsdA==,i=200001", NULL},
		{"far too many rounds", "r=NONCEx,s=c2FsdA==,i=99999999999999999999999", NULL},
		{"no rounds", "r=NONCEx,s=c2FsdA==,i=0", NULL},
		{"rounds below zero", "r=NONCEx,s=c2FsdA==,i=-4096", NULL},
		{"no salt", "r=NONCEx,s=,i=4096", NULL},
		{"nothing", "", NULL},
		{"an extension that must be known", "m=x,r=NONCEx,s=c2FsdA==,i=4096", NULL},
		{"a made up proof", "r=NONCEx,s=c2FsdA==,i=4096", "v=rmF9pqV8S7suAoZWja4dJRkFsKQ="},
		{"an error", "r=NONCEx,s=c2FsdA==,i=4096", "e=unknown-user"},
		{"an empty proof", "r=NONCEx,s=c2FsdA==,i=4096", ""},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct login_exchange *exchange =
			login_exchange_new(library, "SCRAM-SHA-256", "ann", "sesame");
		struct buffer challenge = {0};
		struct buffer response = {0};
		const char *reason;

		assert_null(step(exchange, "", &response));
		append_with_nonce(&challenge, cases[i].first, buffer_view(&response));
		buffer_reset(&response);
		reason = login_exchange_step(exchange, buffer_view(&challenge), &response);
		if ((reason != NULL) != (cases[i].last == NULL))
			fail_msg("%s: %s", cases[i].name, reason != NULL ? reason : "accepted");
		if (cases[i].last != NULL && step(exchange, cases[i].last, &response) == NULL)
			fail_msg("%s: accepted at last", cases[i].name);
		assert_false(login_exchange_is_complete(exchange));
		buffer_clear(&challenge);
		buffer_clear(&response);
		login_exchange_free(exchange);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_strongest_is_chosen),
		cmocka_unit_test(right_and_wrong_passwords),
		cmocka_unit_test(plain_is_that_of_the_standard),
		cmocka_unit_test(hostile_servers),
	};

	return cmocka_run_group_tests(tests, open_library, close_library);
}
