// SPDX-License-Identifier: ISC
/* Logins by each mechanism, against the same library's server side and the examples of the RFCs. */
#include "auth/login/exchange.h"
#include "test.h"
#include <gsasl.h>
#include <string.h>

#define BYTES    "0123456789abcdef0123456789abcdef"
#define BYTES_64 "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="

static struct login_exchange *make(const char *mechanism, enum login_flag flag, const char *user,
				   const char *password, const char *nonce)
{
	const struct login_choice choice = {mechanism, flag};
	const struct login_setup setup = {.user = user,
					  .password = password,
					  .nonce = str_from(nonce),
					  .binding = "tls-exporter",
					  .binding_data = STR(BYTES)};

	return login_exchange_new(&choice, &setup);
}

static void the_strongest_is_chosen(void **state)
{
	static const struct {
		const char *offered;
		bool can_bind;
		const char *chosen;
		enum login_flag flag;
		enum login_strength weakest;
	} cases[] = {
		{"LOGIN PLAIN SCRAM-SHA-1 SCRAM-SHA-256", false, "SCRAM-SHA-256", LOGIN_UNBOUND},
		{"LOGIN PLAIN SCRAM-SHA-1 SCRAM-SHA-256", true, "SCRAM-SHA-256", LOGIN_NOT_OFFERED},
		{"LOGIN PLAIN scram-sha-1", false, "SCRAM-SHA-1", LOGIN_UNBOUND},
		{"GSSAPI LOGIN PLAIN", false, "PLAIN", LOGIN_UNBOUND},
		{"LOGIN", false, "LOGIN", LOGIN_UNBOUND},
		{"SCRAM-SHA-256-PLUS SCRAM-SHA-512 CRAM-MD5 PLAINER LOGI", false, NULL,
		 LOGIN_UNBOUND},
		{"", true, NULL, LOGIN_UNBOUND},
		{"  PLAIN", false, "PLAIN", LOGIN_UNBOUND},
		{"SCRAM-SHA-256 scram-sha-256-plus", true, "SCRAM-SHA-256-PLUS", LOGIN_BOUND},
		{"SCRAM-SHA-256-PLUS SCRAM-SHA-256", false, "SCRAM-SHA-256", LOGIN_UNBOUND},
		{"SCRAM-SHA-1-PLUS SCRAM-SHA-256", true, "SCRAM-SHA-1-PLUS", LOGIN_BOUND},
		{"SCRAM-SHA-1-PLUS SCRAM-SHA-256-PLUS", true, "SCRAM-SHA-256-PLUS", LOGIN_BOUND},
		/* a name that nobody knows, put in the place of the one that binds */
		{"SCRAM-SHA-512-PLUS SCRAM-SHA-512 SCRAM-SHA-256", true, "SCRAM-SHA-256",
		 LOGIN_NOT_OFFERED},
		/* the weakest that is allowed, and what is weaker */
		{"LOGIN PLAIN", false, "PLAIN", LOGIN_UNBOUND, LOGIN_BY_PLAIN},
		{"LOGIN", false, NULL, LOGIN_UNBOUND, LOGIN_BY_PLAIN},
		{"LOGIN PLAIN SCRAM-SHA-1", false, "SCRAM-SHA-1", LOGIN_UNBOUND,
		 LOGIN_BY_SCRAM_SHA_1},
		{"LOGIN PLAIN SCRAM-SHA-1", false, NULL, LOGIN_UNBOUND, LOGIN_BY_SCRAM_SHA_256},
		{"SCRAM-SHA-256 SCRAM-SHA-1-PLUS", true, "SCRAM-SHA-1-PLUS", LOGIN_BOUND,
		 LOGIN_BY_SCRAM_SHA_1_PLUS},
		{"SCRAM-SHA-256 SCRAM-SHA-256-PLUS", false, NULL, LOGIN_UNBOUND,
		 LOGIN_BY_SCRAM_SHA_1_PLUS},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct login_choice choice = login_choose(str_from(cases[i].offered),
							  cases[i].can_bind, cases[i].weakest);

		if (cases[i].chosen == NULL)
			assert_null(choice.mechanism);
		else
			assert_string_equal(choice.mechanism, cases[i].chosen);
		assert_int_equal(choice.flag, cases[i].flag);
	}
	assert_false(login_begins("LOGIN"));
	assert_true(login_begins("PLAIN"));
}

/* --- the server side --- */

static const char *server_password;
static const char *server_binding; /* in base64 */

static int answer(Gsasl *context, Gsasl_session *session, Gsasl_property property)
{
	(void)context;
	if (property == GSASL_PASSWORD)
		return gsasl_property_set(session, GSASL_PASSWORD, server_password);
	if (property == GSASL_CB_TLS_EXPORTER && server_binding != NULL)
		return gsasl_property_set(session, GSASL_CB_TLS_EXPORTER, server_binding);
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
static int converse(const char *mechanism, enum login_flag flag, const char *password,
		    bool *is_complete_out)
{
	struct login_exchange *exchange =
		make(mechanism, flag, "ann", password, "0123456789abcdef");
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
	static const struct login_choice choices[] = {{"SCRAM-SHA-256", LOGIN_UNBOUND},
						      {"SCRAM-SHA-1", LOGIN_UNBOUND},
						      {"SCRAM-SHA-256-PLUS", LOGIN_BOUND},
						      {"SCRAM-SHA-1-PLUS", LOGIN_BOUND},
						      {"PLAIN", LOGIN_UNBOUND},
						      {"LOGIN", LOGIN_UNBOUND}};
	bool is_complete;

	(void)state;
	server_password = "open, sesame|";
	for (size_t i = 0; i < COUNT_OF(choices); i++) {
		server_binding = choices[i].flag == LOGIN_BOUND ? BYTES_64 : NULL;
		assert_int_equal(converse(choices[i].mechanism, choices[i].flag, server_password,
					  &is_complete),
				 GSASL_OK);
		assert_true(is_complete);
		assert_int_equal(
			converse(choices[i].mechanism, choices[i].flag, "sesame", &is_complete),
			GSASL_AUTHENTICATION_ERROR);
	}
}

/* The same bytes in both forms (RFC 4013), as the other library prepares them. */
static void passwords_are_prepared(void **state)
{
	bool is_complete;

	(void)state;
	server_binding = NULL;
	server_password = "\xc3\xb6"
			  "ffne\xc2\xa0"
			  "dich IX";
	assert_int_equal(converse("SCRAM-SHA-256", LOGIN_UNBOUND,
				  "o\xcc\x88"
				  "ff\xc2\xadne dich \xe2\x85\xa8",
				  &is_complete),
			 GSASL_OK);
	assert_true(is_complete);
}

/* With the right password in the hands of who sits in between. */
static void another_connection_is_noticed(void **state)
{
	bool is_complete;

	(void)state;
	server_password = "sesame";
	server_binding = "YW5vdGhlciBjb25uZWN0aW9uIGFub3RoZXIgY29ubmU=";
	assert_int_not_equal(
		converse("SCRAM-SHA-256-PLUS", LOGIN_BOUND, server_password, &is_complete),
		GSASL_OK);
	assert_false(is_complete);
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
	struct login_exchange *exchange = make("PLAIN", LOGIN_UNBOUND, "tim", "tanstaaf", "");
	struct buffer response = {0};

	(void)state;
	assert_null(step(exchange, "", &response));
	assert_true(str_equal(buffer_view(&response), STR("\0tim\0tanstaaf")));
	assert_true(login_exchange_is_complete(exchange));
	assert_non_null(step(exchange, "more", &response));
	buffer_clear(&response);
	login_exchange_free(exchange);
}

/* RFC 5802 section 5, RFC 7677 section 3 */
static void scram_is_that_of_the_standards(void **state)
{
	static const struct {
		const char *mechanism, *nonce, *first, *challenge, *proof, *signature;
	} cases[] = {
		{"SCRAM-SHA-1", "fyko+d2lbbFgONRv9qkxdawL", "n,,n=user,r=fyko+d2lbbFgONRv9qkxdawL",
		 "r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,s=QSXCR+Q6sek8bf92,i=4096",
		 "c=biws,r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,"
		 "p=v0X8v3Bz2T0CJGbJQyF0X+HI4Ts=",
		 "v=rmF9pqV8S7suAoZWja4dJRkFsKQ="},
		{"SCRAM-SHA-256", "rOprNGfwEbeRWgbNEkqO", "n,,n=user,r=rOprNGfwEbeRWgbNEkqO",
		 "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
		 "s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
		 "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
		 "p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
		 "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct login_exchange *exchange =
			make(cases[i].mechanism, LOGIN_UNBOUND, "user", "pencil", cases[i].nonce);
		struct buffer response = {0};

		assert_null(step(exchange, "", &response));
		assert_true(str_equal(buffer_view(&response), str_from(cases[i].first)));
		assert_null(step(exchange, cases[i].challenge, &response));
		assert_true(str_equal(buffer_view(&response), str_from(cases[i].proof)));
		assert_false(login_exchange_is_complete(exchange));
		assert_null(step(exchange, cases[i].signature, &response));
		assert_int_equal(response.length, 0);
		assert_true(login_exchange_is_complete(exchange));
		assert_non_null(step(exchange, cases[i].signature, &response));
		buffer_clear(&response);
		login_exchange_free(exchange);
	}
}

/* What the server learns of a binding that it did not offer, or has to be told. */
static void the_header_tells_of_the_binding(void **state)
{
	static const struct {
		enum login_flag flag;
		const char *first, *final;
	} cases[] = {
		{LOGIN_UNBOUND, "n,,n=a=2Cb=3Dc,r=1234", "c=biws,"},
		{LOGIN_NOT_OFFERED, "y,,n=a=2Cb=3Dc,r=1234", "c=eSws,"},
		{LOGIN_BOUND, "p=tls-exporter,,n=a=2Cb=3Dc,r=1234",
		 "c=cD10bHMtZXhwb3J0ZXIsLDAxMjM0NTY3ODlhYmNkZWYwMTIzNDU2Nzg5YWJjZGVm,"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct login_exchange *exchange =
			make(cases[i].flag == LOGIN_BOUND ? "SCRAM-SHA-256-PLUS" : "SCRAM-SHA-256",
			     cases[i].flag, "a,b=c", "x", "1234");
		struct buffer response = {0};

		assert_null(step(exchange, "", &response));
		assert_true(str_equal(buffer_view(&response), str_from(cases[i].first)));
		assert_null(step(exchange, "r=12345,s=c2FsdA==,i=4096", &response));
		assert_true(str_starts_with(buffer_view(&response), str_from(cases[i].final)));
		buffer_clear(&response);
		login_exchange_free(exchange);
	}
}

/* Neither is sent in another form than the server has it. */
static void what_cannot_be_prepared_is_not_sent(void **state)
{
	struct buffer response = {0};
	struct login_exchange *exchange =
		make("SCRAM-SHA-256", LOGIN_UNBOUND, "an\a", "sesame", "1234");

	(void)state;
	assert_non_null(step(exchange, "", &response));
	login_exchange_free(exchange);
	exchange = make("SCRAM-SHA-256", LOGIN_UNBOUND, "ann", "ses\xff", "1234");
	assert_non_null(step(exchange, "r=1", &response)); /* the server does not begin */
	login_exchange_free(exchange);
	exchange = make("SCRAM-SHA-256", LOGIN_UNBOUND, "ann", "ses\xff", "1234");
	assert_null(step(exchange, "", &response));
	assert_non_null(step(exchange, "r=12345,s=c2FsdA==,i=4096", &response));
	assert_false(login_exchange_is_complete(exchange));
	login_exchange_free(exchange);
	buffer_clear(&response);
}

/* As long as a name and a password may be, and one byte longer. */
static void what_is_too_long_is_not_sent(void **state)
{
	char text[LOGIN_PASSWORD_MAX + 2];

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		size_t user = i < 2 ? LOGIN_USER_MAX + i : 1;
		size_t password = i < 2 ? 1 : LOGIN_PASSWORD_MAX + i - 2;
		struct buffer response = {0};
		struct login_exchange *exchange;
		const char *problem;

		memset(text, 'x', sizeof text);
		text[sizeof text - 1] = '\0';
		exchange = make("SCRAM-SHA-256", LOGIN_UNBOUND, text + sizeof text - 1 - user,
				text + sizeof text - 1 - password, "1234");
		problem = step(exchange, "", &response);
		if (problem == NULL)
			problem = step(exchange, "r=12345,s=c2FsdA==,i=4096", &response);
		assert_int_equal(problem == NULL, i % 2 == 0);
		buffer_clear(&response);
		login_exchange_free(exchange);
	}
}

_Static_assert(LOGIN_ROUNDS_MAX == 200000, "what a hostile server is tried with");

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
		{"as many as may be", "r=NONCEx,s=c2FsdA==,i=200000",
		 "v=rmF9pqV8S7suAoZWja4dJRkFsKQ="},
		{"far too many rounds", "r=NONCEx,s=c2FsdA==,i=99999999999999999999999", NULL},
		{"no rounds", "r=NONCEx,s=c2FsdA==,i=0", NULL},
		{"rounds of 31 bits", "r=NONCEx,s=c2FsdA==,i=2147483648", NULL},
		{"few rounds", "r=NONCEx,s=c2FsdA==,i=4095", NULL},
		{"an error at once", "e=other-error", NULL},
		{"rounds below zero", "r=NONCEx,s=c2FsdA==,i=-4096", NULL},
		{"no salt", "r=NONCEx,s=,i=4096", NULL},
		{"nothing", "", NULL},
		{"our nonce alone", "r=NONCE,s=c2FsdA==,i=4096", NULL},
		{"a salt that is not base64", "r=NONCEx,s=c2FsdA,i=4096", NULL},
		{"another order", "s=c2FsdA==,r=NONCEx,i=4096", NULL},
		{"half of a proof", "r=NONCEx,s=c2FsdA==,i=4096", "v=rmF9pqV8S7suAoZWja4dJQ=="},
		{"an extension that must be known", "m=x,r=NONCEx,s=c2FsdA==,i=4096", NULL},
		{"a made up proof", "r=NONCEx,s=c2FsdA==,i=4096", "v=rmF9pqV8S7suAoZWja4dJRkFsKQ="},
		{"another's proof", "r=NONCEx,s=c2FsdA==,i=4096",
		 "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="},
		{"an error", "r=NONCEx,s=c2FsdA==,i=4096", "e=unknown-user"},
		{"an empty proof", "r=NONCEx,s=c2FsdA==,i=4096", ""},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct login_exchange *exchange =
			make("SCRAM-SHA-256", LOGIN_UNBOUND, "ann", "sesame", "0123456789abcdef");
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

/* So that the log says what is to be put right, or that somebody sits in between. */
static void errors_of_the_server_are_told_apart(void **state)
{
	static const struct {
		const char *last, *reason;
	} cases[] = {
		{"e=invalid-proof", "it says that the password is wrong"},
		{"e=unknown-user", "it does not know the user"},
		{"e=channel-bindings-dont-match",
		 "it has another TLS connection than this: somebody may sit in between"},
		{"e=server-does-support-channel-binding,x=y",
		 "it offers what its offer here lacked: somebody may sit in between"},
		{"e=invalid-proo", "it reports an error of SCRAM"},
		{"v=rmF9pqV8S7suAoZWja4dJRkFsKQ=", "it does not know the password"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct login_exchange *exchange =
			make("SCRAM-SHA-256", LOGIN_UNBOUND, "ann", "sesame", "1234");
		struct buffer response = {0};

		assert_null(step(exchange, "", &response));
		assert_null(step(exchange, "r=12345,s=c2FsdA==,i=4096", &response));
		assert_string_equal(step(exchange, cases[i].last, &response), cases[i].reason);
		assert_false(login_exchange_is_complete(exchange));
		buffer_clear(&response);
		login_exchange_free(exchange);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_strongest_is_chosen),
		cmocka_unit_test(right_and_wrong_passwords),
		cmocka_unit_test(passwords_are_prepared),
		cmocka_unit_test(another_connection_is_noticed),
		cmocka_unit_test(scram_is_that_of_the_standards),
		cmocka_unit_test(the_header_tells_of_the_binding),
		cmocka_unit_test(what_cannot_be_prepared_is_not_sent),
		cmocka_unit_test(what_is_too_long_is_not_sent),
		cmocka_unit_test(plain_is_that_of_the_standard),
		cmocka_unit_test(hostile_servers),
		cmocka_unit_test(errors_of_the_server_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
