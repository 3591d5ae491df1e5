// SPDX-License-Identifier: ISC
/* The mechanisms against the conversations that their RFCs print, against the client of GNU SASL,
 * and against clients that cheat. */
#include "auth/protocol.h"
#include "auth/sasl/sasl.h"
#include "base/text/base64.h"
#include "test.h"
#include <gsasl.h>
#include <stdlib.h>
#include <string.h>

static const char PASSWORD[] = "pencil";
static const char EXPORTER[] = "0123456789abcdef0123456789abcdef";
static const char END_POINT[] = "fedcba9876543210fedcba9876543210";

static struct sasl_peer peer;

static void expect_text(struct str found, const char *wanted)
{
	assert_int_equal(found.length, strlen(wanted));
	assert_memory_equal(found.data, wanted, found.length);
}

static struct sasl *begin(const char *mechanism)
{
	return sasl_new(sasl_mechanism_find(str_from(mechanism)), &peer);
}

static void expect_refused(const struct sasl *sasl, enum auth_refusal refusal)
{
	assert_int_equal(sasl_state(sasl), SASL_REFUSED);
	assert_int_equal(sasl_refusal(sasl), refusal);
}

static int set_up(void **state)
{
	(void)state;
	peer = (struct sasl_peer){.exporter = str_from(EXPORTER),
				  .end_point = str_from(END_POINT),
				  .certificate_name = STR("Ann@Example.ORG"),
				  .nonce = STR("3rfcNHYJY1ZVvWVs7j")};
	return 0;
}

static struct directory_scram keys_of(enum directory_password_method method, const char *salt,
				      const char *password)
{
	struct directory_scram keys = {.method = method, .iterations = 4096};
	struct buffer bytes = {0};

	assert_true(base64_decode(str_from(salt), &bytes));
	keys.salt_length = bytes.length;
	memcpy(keys.salt, buffer_data(&bytes), bytes.length);
	buffer_clear(&bytes);
	assert_int_equal(directory_scram_derive(&keys, str_from(password)), 0);
	return keys;
}

/* --- SCRAM as printed --- */

struct conversation {
	const char *mechanism;
	enum directory_password_method method;
	const char *salt;
	const char *nonce;
	const char *messages[4];
};

static const struct conversation conversations[] = {
	{"SCRAM-SHA-1", /* RFC 5802 section 5 */
	 DIRECTORY_PASSWORD_SCRAM_SHA_1,
	 "QSXCR+Q6sek8bf92",
	 "3rfcNHYJY1ZVvWVs7j",
	 {"n,,n=user,r=fyko+d2lbbFgONRv9qkxdawL",
	  "r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,s=QSXCR+Q6sek8bf92,i=4096",
	  "c=biws,r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,p=v0X8v3Bz2T0CJGbJQyF0X+HI4Ts=",
	  "v=rmF9pqV8S7suAoZWja4dJRkFsKQ="}},
	{"SCRAM-SHA-256", /* RFC 7677 section 3 */
	 DIRECTORY_PASSWORD_SCRAM_SHA_256,
	 "W22ZaJ0SNY7soEsUEjb6gQ==",
	 "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0",
	 {"n,,n=user,r=rOprNGfwEbeRWgbNEkqO",
	  "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
	  "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
	  "p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
	  "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="}},
};

/* Up to the final message, which is not yet sent. */
static struct sasl *converse(const struct conversation *is, const char *first)
{
	struct directory_scram keys = keys_of(is->method, is->salt, PASSWORD);
	struct sasl *sasl;

	peer.nonce = str_from(is->nonce);
	sasl = begin(is->mechanism);
	sasl_take(sasl, str_from(first));
	assert_int_equal(sasl_state(sasl), SASL_ASKS_KEYS);
	sasl_answer(sasl, SASL_RIGHT, STR(""), &keys);
	assert_int_equal(sasl_state(sasl), SASL_WANTS_MESSAGE);
	return sasl;
}

static void scram_speaks_as_printed(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(conversations); i++) {
		const struct conversation *is = &conversations[i];
		struct sasl *sasl = converse(is, is->messages[0]);

		expect_text(sasl_user(sasl), "user");
		expect_text(sasl_message(sasl), is->messages[1]);
		sasl_take(sasl, str_from(is->messages[2]));
		assert_int_equal(sasl_state(sasl), SASL_WANTS_MESSAGE);
		expect_text(sasl_message(sasl), is->messages[3]);
		sasl_take(sasl, STR(""));
		assert_int_equal(sasl_state(sasl), SASL_ACCEPTED);
		sasl_free(sasl);
	}
}

/* Every other final message than the right one is refused. */
static void scram_refuses_any_changed_byte(void **state)
{
	const struct conversation *is = &conversations[1];
	size_t length = strlen(is->messages[2]);
	char text[256];

	(void)state;
	for (size_t i = 0; i < length; i++) {
		struct sasl *sasl = converse(is, is->messages[0]);

		memcpy(text, is->messages[2], length + 1);
		text[i] ^= 1;
		sasl_take(sasl, str_slice(text, length));
		assert_int_equal(sasl_state(sasl), SASL_REFUSED);
		sasl_free(sasl);
	}
	for (size_t i = 0; i < length; i++) {
		struct sasl *sasl = converse(is, is->messages[0]);

		sasl_take(sasl, str_slice(is->messages[2], i));
		assert_int_equal(sasl_state(sasl), SASL_REFUSED);
		sasl_free(sasl);
	}
}

/* What was heard of one conversation is worth nothing in the next. */
static void scram_refuses_replay(void **state)
{
	struct conversation again = conversations[0];
	struct sasl *sasl;

	(void)state;
	again.nonce = "anothernonce";
	sasl = converse(&again, again.messages[0]);
	sasl_take(sasl, str_from(again.messages[2]));
	expect_refused(sasl, AUTH_FAILED);
	assert_string_equal(sasl_reason(sasl), "the nonce is of another conversation");
	sasl_free(sasl);
}

/* The server's signature was sent; only nothing can follow it. */
static void scram_ends_with_an_empty_message(void **state)
{
	struct sasl *sasl = converse(&conversations[0], conversations[0].messages[0]);

	(void)state;
	assert_true(sasl_has_told(sasl)); /* who leaves now has the salt */
	sasl_take(sasl, str_from(conversations[0].messages[2]));
	assert_false(sasl_has_told(sasl)); /* but has proven something */
	sasl_take(sasl, STR("x"));
	expect_refused(sasl, AUTH_MALFORMED);
	sasl_free(sasl);
}

static void scram_first_messages_are_checked(void **state)
{
	static const struct {
		const char *mechanism;
		const char *message;
		bool is_offered; /* -PLUS */
		int refusal;     /* -1: none */
	} cases[] = {
		{"SCRAM-SHA-256", "n,,n=user,r=abc", true, -1},
		{"SCRAM-SHA-256", "y,,n=user,r=abc", false, -1},
		{"SCRAM-SHA-256", "n,a=user,n=user,r=abc", false, -1},
		{"SCRAM-SHA-256", "n,,n=user,r=abc,x=later", false, -1},
		{"SCRAM-SHA-256-PLUS", "p=tls-exporter,,n=user,r=abc", true, -1},
		{"SCRAM-SHA-256-PLUS", "p=tls-server-end-point,,n=user,r=abc", true, -1},
		/* somebody took -PLUS out of the offer */
		{"SCRAM-SHA-256", "y,,n=user,r=abc", true, AUTH_FAILED},
		{"SCRAM-SHA-256", "p=tls-exporter,,n=user,r=abc", true, AUTH_FAILED},
		{"SCRAM-SHA-256-PLUS", "n,,n=user,r=abc", true, AUTH_FAILED},
		{"SCRAM-SHA-256-PLUS", "y,,n=user,r=abc", true, AUTH_FAILED},
		{"SCRAM-SHA-256-PLUS", "p=tls-unique,,n=user,r=abc", true, AUTH_FAILED},
		{"SCRAM-SHA-256", "n,a=other,n=user,r=abc", false, AUTH_FAILED},
		{"SCRAM-SHA-256", "", false, AUTH_MALFORMED},
		{"SCRAM-SHA-256", "n", false, AUTH_MALFORMED},
		{"SCRAM-SHA-256", "n,", false, AUTH_MALFORMED},
		{"SCRAM-SHA-256", "n,,", false, AUTH_MALFORMED},
		{"SCRAM-SHA-256", "x,,n=user,r=abc", false, AUTH_MALFORMED},
		{"SCRAM-SHA-256", "nn,,n=user,r=abc", false, AUTH_MALFORMED},
		{"SCRAM-SHA-256", "p,,n=user,r=abc", false, AUTH_MALFORMED},
		{"SCRAM-SHA-256", "p=,,n=user,r=abc", false, AUTH_MALFORMED},
		{"SCRAM-SHA-256", "n,user,n=user,r=abc", false, AUTH_MALFORMED},
		{"SCRAM-SHA-256", "n,a=,n=user,r=abc", false, AUTH_MALFORMED},
		{"SCRAM-SHA-256", "n,,m=x,n=user,r=abc", false, AUTH_MALFORMED},
		{"SCRAM-SHA-256", "n,,n=user", false, AUTH_MALFORMED},
		{"SCRAM-SHA-256", "n,,n=user,r=", false, AUTH_MALFORMED},
		{"SCRAM-SHA-256", "n,,n=user,r=a b", false, AUTH_MALFORMED},
		{"SCRAM-SHA-256", "n,,n=,r=abc", false, AUTH_MALFORMED},
		{"SCRAM-SHA-256", "n,,n=us=er,r=abc", false, AUTH_MALFORMED},
		{"SCRAM-SHA-256", "n,,n=user=2,r=abc", false, AUTH_MALFORMED},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct sasl *sasl;

		peer.is_binding_offered = cases[i].is_offered;
		sasl = begin(cases[i].mechanism);
		sasl_take(sasl, str_from(cases[i].message));
		if (cases[i].refusal < 0)
			assert_int_equal(sasl_state(sasl), SASL_ASKS_KEYS);
		else
			expect_refused(sasl, (enum auth_refusal)cases[i].refusal);
		sasl_free(sasl);
	}
}

static void a_nonce_is_as_long_as_it_may_be(void **state)
{
	(void)state;
	for (size_t length = SASL_CLIENT_NONCE_MAX; length <= SASL_CLIENT_NONCE_MAX + 1; length++) {
		struct buffer first CLEANUP(buffer_clear) = {0};
		struct sasl *sasl = begin("SCRAM-SHA-256");

		buffer_append_string(&first, "n,,n=user,r=");
		for (size_t i = 0; i < length; i++)
			buffer_append_byte(&first, 'x');
		sasl_take(sasl, buffer_view(&first));
		assert_int_equal(sasl_state(sasl),
				 length == SASL_CLIENT_NONCE_MAX ? SASL_ASKS_KEYS : SASL_REFUSED);
		sasl_free(sasl);
	}
}

static void no_binding_without_tls(void **state)
{
	struct sasl *sasl;

	(void)state;
	peer.exporter = peer.end_point = STR("");
	sasl = begin("SCRAM-SHA-256-PLUS");
	sasl_take(sasl, STR("p=tls-exporter,,n=user,r=abc"));
	expect_refused(sasl, AUTH_FAILED);
	sasl_free(sasl);
}

static void names_are_unescaped_and_canonical(void **state)
{
	struct sasl *sasl = begin("SCRAM-SHA-1");

	(void)state;
	sasl_take(sasl, STR("n,,n=\"A=3Db=2CC\"@Example.ORG,r=abc"));
	expect_text(sasl_user(sasl), "\"a=b,c\"@example.org");
	sasl_answer(sasl, SASL_LATER, STR(""), NULL);
	expect_refused(sasl, AUTH_TEMPORARY);
	sasl_free(sasl);
}

/* --- SCRAM with another implementation's client --- */

/* Both sides until one has had enough; whether both accept. */
static bool talk(Gsasl *library, const char *mechanism, const char *password, const char *exporter)
{
	struct buffer binding = {0};
	struct directory_scram keys =
		keys_of(strstr(mechanism, "256") != NULL ? DIRECTORY_PASSWORD_SCRAM_SHA_256
							 : DIRECTORY_PASSWORD_SCRAM_SHA_1,
			"QSXCR+Q6sek8bf92", PASSWORD);
	struct sasl *sasl = begin(mechanism);
	Gsasl_session *client;
	int result = GSASL_NEEDS_MORE;

	base64_append(&binding, str_from(exporter));
	buffer_append_byte(&binding, '\0');
	assert_int_equal(gsasl_client_start(library, mechanism, &client), GSASL_OK);
	(void)gsasl_property_set(client, GSASL_AUTHID, "ann");
	(void)gsasl_property_set(client, GSASL_PASSWORD, password);
	if (strstr(mechanism, "PLUS") != NULL)
		(void)gsasl_property_set(client, GSASL_CB_TLS_EXPORTER, buffer_data(&binding));
	while (sasl_state(sasl) == SASL_WANTS_MESSAGE && result == GSASL_NEEDS_MORE) {
		struct str message = sasl_message(sasl);
		char *out = NULL;
		size_t size = 0;

		result = gsasl_step(client, message.data, message.length, &out, &size);
		if (result != GSASL_OK && result != GSASL_NEEDS_MORE)
			break;
		sasl_take(sasl, str_slice(out, size));
		gsasl_free(out);
		if (sasl_state(sasl) == SASL_ASKS_KEYS)
			sasl_answer(sasl, SASL_RIGHT, STR(""), &keys);
		else if (sasl_state(sasl) == SASL_ASKS_PASSWORD)
			sasl_answer(sasl,
				    str_equal(sasl_secret(sasl), str_from(PASSWORD)) ? SASL_RIGHT
										     : SASL_WRONG,
				    STR(""), NULL);
	}
	result = result == GSASL_OK && sasl_state(sasl) == SASL_ACCEPTED;
	if (result)
		expect_text(sasl_user(sasl), "ann");
	gsasl_finish(client);
	sasl_free(sasl);
	buffer_clear(&binding);
	return result;
}

static void gnu_sasl_logs_in(void **state)
{
	static const char *const names[] = {"PLAIN",
					    "LOGIN",
					    "SCRAM-SHA-1",
					    "SCRAM-SHA-256",
					    "SCRAM-SHA-1-PLUS",
					    "SCRAM-SHA-256-PLUS"};
	Gsasl *library;

	(void)state;
	assert_int_equal(gsasl_init(&library), GSASL_OK);
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		assert_true(talk(library, names[i], PASSWORD, EXPORTER));
		assert_false(talk(library, names[i], "pencils", EXPORTER));
		if (strstr(names[i], "PLUS") != NULL) /* somebody between has two sessions */
			assert_false(talk(library, names[i], PASSWORD,
					  "another session of TLS's own key"));
	}
	gsasl_done(library);
}

/* --- passwords in clear, and none --- */

static void plain_messages_are_checked(void **state)
{
	static const struct {
		struct str message;
		int refusal; /* -1: none */
	} cases[] = {
		{STR("\0ann\0secret"), -1},
		{STR("ANN\0ann\0secret"), -1},
		{STR("bob\0ann\0secret"), AUTH_FAILED},
		{STR("\0a nn@\0secret"), AUTH_FAILED},
		{STR("a@\0ann\0secret"), AUTH_FAILED},
		{STR(""), AUTH_MALFORMED},
		{STR("\0ann"), AUTH_MALFORMED},
		{STR("\0ann\0"), AUTH_MALFORMED},
		{STR("\0\0secret"), AUTH_MALFORMED},
		{STR("\0ann\0sec\0ret"), AUTH_MALFORMED},
		{STR("ann secret"), AUTH_MALFORMED},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct sasl *sasl = begin("PLAIN");

		sasl_take(sasl, cases[i].message);
		if (cases[i].refusal < 0) {
			assert_int_equal(sasl_state(sasl), SASL_ASKS_PASSWORD);
			expect_text(sasl_user(sasl), "ann");
			expect_text(sasl_secret(sasl), "secret");
			sasl_answer(sasl, SASL_RIGHT, STR(""), NULL);
			assert_int_equal(sasl_state(sasl), SASL_ACCEPTED);
			assert_int_equal(sasl_secret(sasl).length, 0);
		} else {
			expect_refused(sasl, (enum auth_refusal)cases[i].refusal);
		}
		sasl_free(sasl);
	}
}

static void long_names_and_messages_are_refused(void **state)
{
	static char text[AUTH_MESSAGE_MAX + 1];
	struct sasl *sasl = begin("PLAIN");

	(void)state;
	memset(text, 'a', sizeof text);
	sasl_take(sasl, str_slice(text, sizeof text));
	expect_refused(sasl, AUTH_MALFORMED);
	sasl_free(sasl);
	sasl = begin("LOGIN");
	sasl_take(sasl, str_slice(text, AUTH_MESSAGE_MAX));
	sasl_take(sasl, STR("secret"));
	expect_refused(sasl, AUTH_FAILED);
	sasl_free(sasl);
}

static void login_asks_twice(void **state)
{
	struct sasl *sasl = begin("LOGIN");

	(void)state;
	expect_text(sasl_message(sasl), "Username:");
	sasl_take(sasl, STR("Ann"));
	expect_text(sasl_message(sasl), "Password:");
	sasl_take(sasl, STR("secret"));
	expect_text(sasl_user(sasl), "ann");
	expect_text(sasl_secret(sasl), "secret");
	sasl_answer(sasl, SASL_WRONG, STR(""), NULL);
	expect_refused(sasl, AUTH_FAILED);
	sasl_free(sasl);
	sasl = begin("LOGIN");
	sasl_take(sasl, STR(""));
	expect_refused(sasl, AUTH_MALFORMED);
	sasl_free(sasl);
	sasl = begin("LOGIN");
	sasl_take(sasl, STR("Ann"));
	sasl_take(sasl, STR("secret\0x"));
	expect_refused(sasl, AUTH_MALFORMED);
	sasl_free(sasl);
}

static void external_is_who_the_certificate_names(void **state)
{
	static const struct {
		const char *as;
		bool is_good;
	} cases[] = {{"", true}, {"ann@example.org", true}, {"bob@example.org", false}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct sasl *sasl = begin("EXTERNAL");

		sasl_take(sasl, str_from(cases[i].as));
		if (cases[i].is_good) {
			assert_int_equal(sasl_state(sasl), SASL_ASKS_CERTIFICATE);
			expect_text(sasl_user(sasl), "ann@example.org");
		} else {
			expect_refused(sasl, AUTH_FAILED);
		}
		sasl_free(sasl);
	}
}

/* --- tokens --- */

/* RFC 7628 section 4.1, and more. */
static void bearer_messages_are_checked(void **state)
{
	static const struct {
		const char *mechanism;
		const char *message;
		const char *user;
		const char *token; /* NULL: malformed */
	} cases[] = {
		{"OAUTHBEARER",
		 "n,a=user@example.com,\1host=server.example.com\1port=143\1"
		 "auth=Bearer vF9dft4qmTc2Nvb3RlckBhbHRhdmlzdGEuY29tCg==\1\1",
		 "user@example.com", "vF9dft4qmTc2Nvb3RlckBhbHRhdmlzdGEuY29tCg=="},
		{"OAUTHBEARER", "n,,\1auth=bearer abc\1\1", "", "abc"},
		{"OAUTHBEARER", "y,,\1auth=Bearer abc\1\1", "", "abc"},
		{"OAUTHBEARER", "p=tls-exporter,,\1auth=Bearer abc\1\1", "", NULL},
		{"OAUTHBEARER", "n,,\1auth=Bearer abc\1", "", NULL},
		{"OAUTHBEARER", "n,,\1auth=Bearer abc\1\1x", "", NULL},
		{"OAUTHBEARER", "n,,\1auth=Bearer abc", "", NULL},
		{"OAUTHBEARER", "n,,\1auth=Basic abc\1\1", "", NULL},
		{"OAUTHBEARER", "n,,\1auth=Bearer \1\1", "", NULL},
		{"OAUTHBEARER", "n,,\1auth=Bearer a b\1\1", "", NULL},
		{"OAUTHBEARER", "n,,\1auth=Bearer a\1auth=Bearer b\1\1", "", NULL},
		{"OAUTHBEARER", "n,,\1host=x\1\1", "", NULL},
		{"OAUTHBEARER", "n,,\1\1", "", NULL},
		{"OAUTHBEARER", "n,,", "", NULL},
		{"OAUTHBEARER", "", "", NULL},
		{"XOAUTH2", "user=Ann@example.com\1auth=Bearer abc\1\1", "ann@example.com", "abc"},
		{"XOAUTH2", "user=\1auth=Bearer abc\1\1", "", NULL},
		{"XOAUTH2", "user=ann\1\1", "", NULL},
		{"XOAUTH2", "user=ann", "", NULL},
		{"XOAUTH2", "auth=Bearer abc\1\1", "", NULL},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct sasl *sasl = begin(cases[i].mechanism);

		sasl_take(sasl, str_from(cases[i].message));
		if (cases[i].token != NULL) {
			assert_int_equal(sasl_state(sasl), SASL_ASKS_TOKEN);
			expect_text(sasl_user(sasl), cases[i].user);
			expect_text(sasl_secret(sasl), cases[i].token);
		} else {
			expect_refused(sasl, AUTH_MALFORMED);
		}
		sasl_free(sasl);
	}
}

/* RFC 7628 section 4.3: why is told first, and whatever the client says to that, it fails. */
static void a_wrong_token_is_told_and_then_refused(void **state)
{
	struct sasl *sasl = begin("OAUTHBEARER");

	(void)state;
	sasl_take(sasl, STR("n,,\1auth=Bearer abc\1\1"));
	sasl_answer(sasl, SASL_WRONG, STR(""), NULL);
	expect_text(sasl_message(sasl), "{\"status\":\"invalid_token\"}");
	assert_true(sasl_has_failed(sasl));
	assert_string_equal(sasl_reason(sasl), "the token is not accepted");
	sasl_take(sasl, STR("n,,\1auth=Bearer abc\1\1"));
	expect_refused(sasl, AUTH_FAILED);
	sasl_free(sasl);
}

static void a_token_is_its_owners(void **state)
{
	struct sasl *sasl = begin("XOAUTH2");

	(void)state;
	sasl_take(sasl, STR("user=bob\1auth=Bearer abc\1\1"));
	sasl_answer(sasl, SASL_RIGHT, STR("ann"), NULL);
	assert_int_equal(sasl_state(sasl), SASL_WANTS_MESSAGE);
	sasl_take(sasl, STR(""));
	expect_refused(sasl, AUTH_FAILED);
	sasl_free(sasl);
	sasl = begin("OAUTHBEARER");
	sasl_take(sasl, STR("n,,\1auth=Bearer abc\1\1"));
	sasl_answer(sasl, SASL_RIGHT, STR("ann"), NULL);
	assert_int_equal(sasl_state(sasl), SASL_ACCEPTED);
	expect_text(sasl_user(sasl), "ann");
	sasl_free(sasl);
}

static void only_known_names_are_mechanisms(void **state)
{
	(void)state;
	assert_null(sasl_mechanism_find(STR("CRAM-MD5")));
	assert_null(sasl_mechanism_find(STR("")));
	for (size_t i = 0; i < sasl_mechanism_count; i++) {
		assert_ptr_equal(sasl_mechanism_find(str_from(sasl_mechanisms[i].name)),
				 &sasl_mechanisms[i]);
		/* none without TLS */
		assert_true(sasl_mechanisms[i].needs & AUTH_NEEDS_SECURED);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(scram_speaks_as_printed, set_up),
		cmocka_unit_test_setup(scram_refuses_any_changed_byte, set_up),
		cmocka_unit_test_setup(scram_refuses_replay, set_up),
		cmocka_unit_test_setup(scram_ends_with_an_empty_message, set_up),
		cmocka_unit_test_setup(scram_first_messages_are_checked, set_up),
		cmocka_unit_test_setup(a_nonce_is_as_long_as_it_may_be, set_up),
		cmocka_unit_test_setup(no_binding_without_tls, set_up),
		cmocka_unit_test_setup(names_are_unescaped_and_canonical, set_up),
		cmocka_unit_test_setup(gnu_sasl_logs_in, set_up),
		cmocka_unit_test_setup(plain_messages_are_checked, set_up),
		cmocka_unit_test_setup(long_names_and_messages_are_refused, set_up),
		cmocka_unit_test_setup(login_asks_twice, set_up),
		cmocka_unit_test_setup(external_is_who_the_certificate_names, set_up),
		cmocka_unit_test_setup(bearer_messages_are_checked, set_up),
		cmocka_unit_test_setup(a_wrong_token_is_told_and_then_refused, set_up),
		cmocka_unit_test_setup(a_token_is_its_owners, set_up),
		cmocka_unit_test_setup(only_known_names_are_mechanisms, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
