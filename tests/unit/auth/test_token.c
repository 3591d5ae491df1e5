// SPDX-License-Identifier: ISC
/* Signed tokens as RFC 7515 prints them, those that cheat, and what tokens must say. */
#include "auth/token/jwt.h"
#include "base/text/base64.h"
#include "test.h"
#include <errno.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <string.h>

static const char RSA_KEY[] = "-----BEGIN PUBLIC KEY-----\n"
			      "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAofgWCuLjybRlzo0tZWJj\n"
			      "NiuSfb4p4fAkd/wWJcyQoTbji9k0l8W26mPddxHmfHQp+Vaw+4qPCJrcS2mJPMEz\n"
			      "P1Pt0Bm4d4QlL+yRT+SFd2lZS+pCgNMsD1W/YpRPEwOWvG6b32690r2jZ47soMZo\n"
			      "9wGzjb/7OMg0LOL+bSf63kpaSHSXndS5z5rexMdbBYUsLA9e+KXBdQOS+UTo7WTB\n"
			      "EMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6/I5IhlJH7aGhyxX\n"
			      "FvUK+DWNmoudF8NAco9/h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXp\n"
			      "oQIDAQAB\n"
			      "-----END PUBLIC KEY-----\n";
static const char P256_KEY[] = "-----BEGIN PUBLIC KEY-----\n"
			       "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEf83OJ3D2xF1Bg8vub9tLe1gHMzV7\n"
			       "6e8Tus9uPHvRVEXH8UTNG72bfocs3+257rn0s2ldbqkLJK2KRiMohYjlrQ==\n"
			       "-----END PUBLIC KEY-----\n";

#define PRINTED                                                                                    \
	"eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0" \
	"cnVlfQ"
/* RFC 7515 appendix A.2 and A.3 */
static const char RS256[] =
	"eyJhbGciOiJSUzI1NiJ9." PRINTED "."
	"cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2"
	"Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjt"
	"QBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6"
	"IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw";
static const char ES256[] = "eyJhbGciOiJFUzI1NiJ9." PRINTED "."
			    "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxf"
			    "KTUJqPP3-Kg6NU1Q";
static const int64_t BEFORE_US = 1300819379 * SECOND_US;

static const struct auth_token_rules printed = {"joe", "", "iss", ""};
static struct auth_jwt_keys *keys;
static EVP_PKEY *own; /* Ed25519 */

static void add(const char *pem)
{
	struct buffer why = {0};

	assert_int_equal(auth_jwt_keys_add(keys, str_from(pem), &why), 0);
	buffer_clear(&why);
}

static void add_key(EVP_PKEY *key)
{
	BIO *text = BIO_new(BIO_s_mem());
	struct buffer why = {0};
	char *data;
	long length;

	assert_int_equal(PEM_write_bio_PUBKEY(text, key), 1);
	length = BIO_get_mem_data(text, &data);
	assert_int_equal(auth_jwt_keys_add(keys, str_slice(data, (size_t)length), &why), 0);
	BIO_free(text);
	buffer_clear(&why);
}

static int set_up(void **state)
{
	(void)state;
	keys = auth_jwt_keys_new();
	add(RSA_KEY);
	add(P256_KEY);
	own = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
	add_key(own);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	auth_jwt_keys_free(keys);
	EVP_PKEY_free(own);
	return 0;
}

/* What is wrong with TOKEN; NULL: it is USER's. */
static const char *check(struct str token, const struct auth_token_rules *rules, int64_t now_us,
			 const char *user)
{
	struct auth_token_owner owner = {0};
	const char *why = auth_jwt_check(keys, rules, token, now_us, &owner);

	if (why == NULL)
		assert_true(str_equal(buffer_view(&owner.user), str_from(user)));
	else
		assert_int_equal(owner.user.length, 0);
	buffer_clear(&owner.user);
	return why;
}

static void tokens_as_printed(void **state)
{
	(void)state;
	assert_null(check(str_from(RS256), &printed, BEFORE_US, "joe"));
	assert_null(check(str_from(ES256), &printed, BEFORE_US, "joe"));
	assert_non_null(check(str_from(ES256), &printed, BEFORE_US + 61 * SECOND_US, ""));
	assert_null(check(str_from(ES256), &printed, BEFORE_US + 60 * SECOND_US, "joe"));
}

static void every_changed_byte_is_noticed(void **state)
{
	char token[sizeof ES256];

	(void)state;
	for (size_t i = 0; i < sizeof ES256 - 1; i++) {
		memcpy(token, ES256, sizeof token);
		token[i] = token[i] == 'A' ? 'B' : 'A';
		assert_non_null(check(str_slice(token, sizeof token - 1), &printed, BEFORE_US, ""));
		assert_non_null(check(str_slice(ES256, i), &printed, BEFORE_US, ""));
	}
}

static void sign(EVP_PKEY *key, const char *header, const char *claims, struct buffer *out)
{
	static const char letters[] = "+/=";
	struct buffer text = {0};
	struct buffer signature = {0};
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	unsigned char bytes[256];
	size_t length = sizeof bytes;

	base64_append(&text, str_from(header));
	while (text.length > 0 && buffer_data(&text)[text.length - 1] == '=')
		buffer_truncate(&text, text.length - 1);
	buffer_append_byte(&text, '.');
	base64_append(&text, str_from(claims));
	while (buffer_data(&text)[text.length - 1] == '=')
		buffer_truncate(&text, text.length - 1);
	for (size_t i = 0; i < text.length; i++)
		if (strchr(letters, buffer_data(&text)[i]) != NULL)
			buffer_data(&text)[i] = buffer_data(&text)[i] == '+' ? '-' : '_';
	assert_int_equal(EVP_DigestSignInit(context, NULL, NULL, NULL, key), 1);
	assert_int_equal(EVP_DigestSign(context, bytes, &length,
					(unsigned char *)buffer_data(&text), text.length),
			 1);
	EVP_MD_CTX_free(context);
	base64_append(&signature, str_slice((char *)bytes, length));
	while (buffer_data(&signature)[signature.length - 1] == '=')
		buffer_truncate(&signature, signature.length - 1);
	for (size_t i = 0; i < signature.length; i++)
		if (strchr(letters, buffer_data(&signature)[i]) != NULL)
			buffer_data(&signature)[i] = buffer_data(&signature)[i] == '+' ? '-' : '_';
	buffer_append_str(out, buffer_view(&text));
	buffer_append_byte(out, '.');
	buffer_append_str(out, buffer_view(&signature));
	buffer_clear(&text);
	buffer_clear(&signature);
}

static void only_some_headers_are_allowed(void **state)
{
	static const struct {
		const char *header;
		bool is_good;
	} cases[] = {
		{"{\"alg\":\"EdDSA\"}", true},
		{"{\"alg\":\"EdDSA\",\"typ\":\"JWT\",\"kid\":\"x\"}", true},
		{"{\"alg\":\"EdDSA\",\"typ\":\"at+jwt\"}", true},
		{"{\"alg\":\"EdDSA\",\"typ\":\"logout+jwt\"}", false},
		{"{\"alg\":\"EdDSA\",\"typ\":1}", false},
		{"{\"alg\":\"EdDSA\",\"crit\":[\"x\"]}", false},
		{"{\"alg\":\"EdDSA\",\"b64\":false}", false},
		{"{\"alg\":\"none\"}", false},
		{"{\"alg\":\"None\"}", false},
		{"{\"alg\":\"HS256\"}", false},
		{"{\"alg\":\"RS256\"}", false}, /* the key is of another kind */
		{"{\"alg\":\"ES256\"}", false},
		{"{\"alg\":\"EdDSA\",\"alg\":\"EdDSA\"}", false},
		{"{\"alg\":[\"EdDSA\"]}", false},
		{"{}", false},
		{"[\"EdDSA\"]", false},
		{"", false},
	};
	static const struct auth_token_rules rules = {"", "", "sub", ""};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct buffer token = {0};
		const char *why;

		sign(own, cases[i].header, "{\"sub\":\"ann\",\"exp\":2000}", &token);
		why = check(buffer_view(&token), &rules, 1000 * SECOND_US, "ann");
		assert_int_equal(why == NULL, cases[i].is_good);
		buffer_clear(&token);
	}
}

/* EdDSA names no digest: with an RSA key OpenSSL would choose one. */
static void an_algorithm_has_keys_of_its_kind(void **state)
{
	static const struct auth_token_rules rules = {"", "", "sub", ""};
	EVP_PKEY *rsa = EVP_PKEY_Q_keygen(NULL, NULL, "RSA", (size_t)2048);
	struct buffer token = {0};

	(void)state;
	add_key(rsa);
	sign(rsa, "{\"alg\":\"RS256\"}", "{\"sub\":\"ann\",\"exp\":2000}", &token);
	assert_null(check(buffer_view(&token), &rules, 1000 * SECOND_US, "ann"));
	buffer_reset(&token);
	sign(rsa, "{\"alg\":\"EdDSA\"}", "{\"sub\":\"ann\",\"exp\":2000}", &token);
	assert_non_null(check(buffer_view(&token), &rules, 1000 * SECOND_US, ""));
	buffer_clear(&token);
	EVP_PKEY_free(rsa);
}

/* Anybody has the public key: as the secret of an HMAC it would sign everything. */
static void the_public_key_is_no_secret(void **state)
{
	static const char text[] = "eyJhbGciOiJIUzI1NiJ9." PRINTED;
	unsigned char mac[32];
	struct buffer token = {0};
	size_t length = 0;

	(void)state;
	assert_non_null(EVP_Q_mac(NULL, "HMAC", NULL, "SHA256", NULL, RSA_KEY, strlen(RSA_KEY),
				  (const unsigned char *)text, strlen(text), mac, sizeof mac,
				  &length));
	buffer_append_string(&token, text);
	buffer_append_byte(&token, '.');
	base64_append(&token, str_slice((char *)mac, 32));
	buffer_truncate(&token, token.length - 1);
	for (size_t i = strlen(text); i < token.length; i++) {
		char *c = &buffer_data(&token)[i];

		*c = *c == '+' ? '-' : *c == '/' ? '_' : *c;
	}
	assert_string_equal(check(buffer_view(&token), &printed, BEFORE_US, ""),
			    "the token's header or algorithm is not allowed");
	buffer_clear(&token);
	assert_string_equal(check(STR("eyJhbGciOiJub25lIn0." PRINTED "."), &printed, BEFORE_US, ""),
			    "not a signed token");
}

static void claims_are_checked(void **state)
{
	static const struct auth_token_rules rules = {"i", "a", "email", "mail"};
	static const struct {
		const char *json;
		const char *why; /* NULL: good */
	} cases[] = {
#define GOOD "\"iss\":\"i\",\"aud\":\"a\",\"scope\":\"x mail\",\"email\":\"Ann@Example.org\""
		{"{" GOOD ",\"exp\":1000}", NULL},
		{"{" GOOD ",\"exp\":1000.5,\"nbf\":1,\"iat\":1}", NULL},
		{"{" GOOD ",\"exp\":941,\"nbf\":1060,\"iat\":1060}", NULL}, /* a minute of leeway */
		{"{" GOOD ",\"exp\":940}", "the token has expired"},
		{"{" GOOD ",\"exp\":2000,\"nbf\":1061}", "the token is not valid yet"},
		{"{" GOOD ",\"exp\":2000,\"iat\":1061}", "the token is not valid yet"},
		{"{" GOOD "}", "the token has no end"},
		{"{" GOOD ",\"exp\":\"2000\"}", "the token's end is no time"},
		{"{" GOOD ",\"exp\":1e300}", "the token's end is no time"},
		{"{" GOOD ",\"exp\":-1}", "the token's end is no time"},
		{"{" GOOD ",\"exp\":2000,\"nbf\":null}", "the token's begin is no time"},
		{"{" GOOD ",\"exp\":2000,\"email_verified\":true}", NULL},
		{"{" GOOD ",\"exp\":2000,\"email_verified\":false}",
		 "the issuer has not verified the address"},
		/* some issuers write it as a text */
		{"{" GOOD ",\"exp\":2000,\"email_verified\":\"true\"}", NULL},
		{"{" GOOD ",\"exp\":2000,\"email_verified\":\"false\"}",
		 "the issuer has not verified the address"},
		{"{" GOOD ",\"exp\":2000,\"email_verified\":0}",
		 "the issuer has not verified the address"},
		{"{" GOOD ",\"exp\":2000,\"exp\":3000}", "the claims are no object of JSON"},
		{"{" GOOD ",\"exp\":2000} x", "the claims are no object of JSON"},
		{"[]", "the claims are no object of JSON"},
		{"", "the claims are no object of JSON"},
		{"{\"iss\":\"i\",\"aud\":[\"b\",\"a\"],\"scp\":[\"mail\"],\"email\":\"ann\","
		 "\"exp\":2000}",
		 NULL},
		{"{\"iss\":\"j\",\"aud\":\"a\",\"scope\":\"mail\",\"email\":\"ann\",\"exp\":2000}",
		 "the token is of another issuer"},
		{"{\"iss\":[\"i\"],\"aud\":\"a\",\"scope\":\"mail\",\"email\":\"ann\",\"exp\":"
		 "2000}",
		 "the token is of another issuer"},
		{"{\"iss\":\"i\",\"aud\":[\"ab\"],\"scope\":\"mail\",\"email\":\"ann\",\"exp\":"
		 "2000}",
		 "the token is for another audience"},
		{"{\"iss\":\"i\",\"scope\":\"mail\",\"email\":\"ann\",\"exp\":2000}",
		 "the token is for another audience"},
		{"{\"iss\":\"i\",\"aud\":\"a\",\"scope\":\"mails "
		 "xmail\",\"email\":\"ann\",\"exp\":2000}",
		 "the token lacks the scope"},
		{"{\"iss\":\"i\",\"aud\":\"a\",\"scope\":\"mail\",\"exp\":2000}",
		 "the token names no user"},
		{"{\"iss\":\"i\",\"aud\":\"a\",\"scope\":\"mail\",\"email\":7,\"exp\":2000}",
		 "the token names no user"},
		{"{\"iss\":\"i\",\"aud\":\"a\",\"scope\":\"mail\",\"email\":\"a@\",\"exp\":2000}",
		 "the token names no user"},
		{"{\"iss\":\"i\",\"aud\":\"a\",\"scope\":\"mail\",\"email\":\"a\\u0000b\",\"exp\":"
		 "2000}",
		 "the claims are no object of JSON"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct auth_token_owner owner = {0};
		const char *why = auth_claims_check(&rules, str_from(cases[i].json), true,
						    1000 * SECOND_US, &owner);

		if (cases[i].why == NULL) {
			assert_null(why);
			assert_true(owner.user.length >= 3);
		} else {
			assert_string_equal(why, cases[i].why);
			assert_int_equal(owner.user.length, 0);
		}
		buffer_clear(&owner.user);
	}
}

static void an_issuer_says_whether_it_is_active(void **state)
{
	static const struct auth_token_rules rules = {"", "", "username", ""};
	static const struct {
		const char *json;
		bool is_good;
	} cases[] = {{"{\"active\":true,\"username\":\"ann\"}", true},
		     {"{\"active\":true,\"username\":\"ann\",\"exp\":939}", false},
		     {"{\"active\":false,\"username\":\"ann\"}", false},
		     {"{\"active\":\"true\",\"username\":\"ann\"}", false},
		     {"{\"username\":\"ann\"}", false},
		     {"true", false}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct auth_token_owner owner = {0};

		assert_int_equal(auth_claims_introspected(&rules, str_from(cases[i].json),
							  1000 * SECOND_US, &owner) == NULL,
				 cases[i].is_good);
		buffer_clear(&owner.user);
	}
}

/* As many keys as there may be, and one more. */
static void keys_have_a_bound(void **state)
{
	struct auth_jwt_keys *many = auth_jwt_keys_new();
	BIO *text = BIO_new(BIO_s_mem());
	struct buffer why = {0};
	char *data;
	long length;

	(void)state;
	assert_int_equal(PEM_write_bio_PUBKEY(text, own), 1);
	length = BIO_get_mem_data(text, &data);
	for (size_t i = 0; i <= AUTH_JWT_KEYS_MAX; i++) {
		assert_int_equal(auth_jwt_keys_add(many, str_slice(data, (size_t)length), &why),
				 i < AUTH_JWT_KEYS_MAX ? 0 : -EFBIG);
		assert_int_equal(auth_jwt_keys_count(many),
				 i < AUTH_JWT_KEYS_MAX ? i + 1 : AUTH_JWT_KEYS_MAX);
	}
	assert_true(str_equal(buffer_view(&why), STR("more than 64 keys")));
	buffer_clear(&why);
	BIO_free(text);
	auth_jwt_keys_free(many);
	auth_jwt_keys_free(NULL);
}

static void files_of_keys_are_checked(void **state)
{
	static const char *const wrong[] = {
		"", "no key",
		/* RSA of 512 bits */
		"-----BEGIN PUBLIC KEY-----\n"
		"MFwwDQYJKoZIhvcNAQEBBQADSwAwSAJBAKj34GkxFhD90vcNLYLInFEX6Ppy1tPf\n"
		"9Cnzj4p4WGeKLs1Pt8QuKUpRKfFLfRYC9AIKjbJTWit+CqvjWYzvQwECAwEAAQ==\n"
		"-----END PUBLIC KEY-----\n",
		"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"};
	struct buffer why = {0};

	(void)state;
	assert_int_equal(auth_jwt_keys_count(keys), 3);
	for (size_t i = 0; i < COUNT_OF(wrong); i++) {
		buffer_reset(&why);
		assert_true(auth_jwt_keys_add(keys, str_from(wrong[i]), &why) < 0);
		assert_true(why.length > 0);
	}
	assert_int_equal(auth_jwt_keys_count(keys), 3);
	buffer_clear(&why);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(keys_have_a_bound, set_up, tear_down),
		cmocka_unit_test_setup_teardown(tokens_as_printed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(every_changed_byte_is_noticed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(only_some_headers_are_allowed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_algorithm_has_keys_of_its_kind, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(the_public_key_is_no_secret, set_up, tear_down),
		cmocka_unit_test(claims_are_checked),
		cmocka_unit_test(an_issuer_says_whether_it_is_active),
		cmocka_unit_test_setup_teardown(files_of_keys_are_checked, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
