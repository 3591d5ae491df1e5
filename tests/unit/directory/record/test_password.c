// SPDX-License-Identifier: ISC
#include "base/text/base64.h"
#include "directory/record/password.h"
#include "test.h"
#include <errno.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <string.h>

/* --- SASLprep --- */

static const struct prepare_case {
	const char *text;
	const char *prepared; /* NULL: refused */
} prepare_cases[] = {
	/* RFC 4013 section 3 */
	{"I\xc2\xadX", "IX"},
	{"user", "user"},
	{"USER", "USER"},
	{"\xc2\xaa", "a"},
	{"\xe2\x85\xa8", "IX"},
	{"\x07", NULL},
	{"\xd8\xa7\x31", NULL},
	/* ours */
	{"", NULL},
	{"\xc2\xad", NULL},
	{"a b", "a b"},
	{"a\xc2\xa0\x62", "a b"},
	{"a\xe3\x80\x80\x62", "a b"},
	{"jose\xcc\x81", "jos\xc3\xa9"},
	{"a\x7f", NULL},
	{"a\n", NULL},
	{"\xff", NULL},
	{"\xd8\xa7\xd8\xa8", "\xd8\xa7\xd8\xa8"},
	{"\xd8\xa7"
	 "1\xd8\xa8",
	 "\xd8\xa7"
	 "1\xd8\xa8"},
	{"\xd8\xa7"
	 "a\xd8\xa8",
	 NULL},
	{"\xee\x80\x80", NULL},
	{"a\xe2\x80\x8e", NULL},
};

static void test_prepare(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(prepare_cases); i++) {
		const struct prepare_case *one = &prepare_cases[i];
		struct buffer out = {0};
		int error = directory_password_prepare(str_from(one->text), &out);

		assert_int_equal(error, one->prepared != NULL ? 0 : -EINVAL);
		assert_true(str_equal(buffer_view(&out),
				      str_from(one->prepared != NULL ? one->prepared : "")));
		buffer_clear(&out);
	}
}

/* --- the exchanges in RFC 5802 section 5 and RFC 7677 section 3 --- */

static const struct exchange {
	enum directory_password_method method;
	const char *salt; /* base64, as the rest */
	const char *messages;
	const char *proof;
	const char *signature;
} exchanges[] = {
	{DIRECTORY_PASSWORD_SCRAM_SHA_1, "QSXCR+Q6sek8bf92",
	 "n=user,r=fyko+d2lbbFgONRv9qkxdawL,"
	 "r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,s=QSXCR+Q6sek8bf92,i=4096,"
	 "c=biws,r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j",
	 "v0X8v3Bz2T0CJGbJQyF0X+HI4Ts=", "rmF9pqV8S7suAoZWja4dJRkFsKQ="},
	{DIRECTORY_PASSWORD_SCRAM_SHA_256, "W22ZaJ0SNY7soEsUEjb6gQ==",
	 "n=user,r=rOprNGfwEbeRWgbNEkqO,"
	 "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
	 "s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,"
	 "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0",
	 "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
	 "6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="},
};

static size_t decode(const char *text, unsigned char *out)
{
	size_t length = strlen(text);
	int count = EVP_DecodeBlock(out, (const unsigned char *)text, (int)length);

	assert_true(count > 0);
	for (size_t i = length; text[i - 1] == '='; i--)
		count--;
	return (size_t)count;
}

/* What a server does with the keys: RFC 5802 section 3. */
static void check_exchange(const struct exchange *exchange)
{
	bool is_256 = exchange->method == DIRECTORY_PASSWORD_SCRAM_SHA_256;
	const EVP_MD *hash = is_256 ? EVP_sha256() : EVP_sha1();
	struct directory_scram scram = {.method = exchange->method, .iterations = 4096};
	unsigned char expected[64];
	unsigned char client[64];
	unsigned char signature[64];
	unsigned char stored[64];

	scram.salt_length = decode(exchange->salt, scram.salt);
	assert_int_equal(directory_scram_derive(&scram, STR("pencil")), 0);
	assert_int_equal(scram.key_length, is_256 ? 32 : 20);
	assert_non_null(HMAC(hash, scram.server_key, (int)scram.key_length,
			     (const unsigned char *)exchange->messages, strlen(exchange->messages),
			     signature, NULL));
	assert_int_equal(decode(exchange->signature, expected), scram.key_length);
	assert_memory_equal(signature, expected, scram.key_length);

	assert_non_null(HMAC(hash, scram.stored_key, (int)scram.key_length,
			     (const unsigned char *)exchange->messages, strlen(exchange->messages),
			     signature, NULL));
	assert_int_equal(decode(exchange->proof, client), scram.key_length);
	for (size_t i = 0; i < scram.key_length; i++)
		client[i] ^= signature[i];
	assert_int_equal(EVP_Digest(client, scram.key_length, stored, NULL, hash, NULL), 1);
	assert_memory_equal(stored, scram.stored_key, scram.key_length);
}

static void test_exchanges(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(exchanges); i++)
		check_exchange(&exchanges[i]);
}

/* The first is what PostgreSQL 15 keeps of "pencil", for who reads this form, too. */
static const struct text_case {
	const char *hash;
	bool is_scram;
} text_cases[] = {
	{"SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$"
	 "WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:"
	 "wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=",
	 true},
	{"SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$"
	 "WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=",
	 false},
	{"SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7A==:"
	 "wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=",
	 false},
	{"SCRAM-SHA-256$0:W22ZaJ0SNY7soEsUEjb6gQ==$"
	 "WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:"
	 "wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=",
	 false},
	{"SCRAM-SHA-256$4000000000:W22ZaJ0SNY7soEsUEjb6gQ==$"
	 "WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:"
	 "wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=",
	 false},
	{"SCRAM-MD5$4096:W22ZaJ0SNY7soEsUEjb6gQ==$"
	 "WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:"
	 "wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=",
	 false},
	{"SCRAM-SHA-256$4096:$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:"
	 "wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=",
	 false},
	{"SCRAM-SHA-256$4096:====$====:====", false},
	{"", false},
};

static void test_scram_text(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(text_cases); i++) {
		const struct text_case *one = &text_cases[i];
		struct directory_scram scram;
		struct buffer out = {0};

		assert_int_equal(directory_scram_parse(str_from(one->hash), &scram),
				 one->is_scram ? 0 : -EINVAL);
		assert_int_equal(directory_password_verify(str_from(one->hash), STR("pencil")),
				 one->is_scram);
		if (!one->is_scram)
			continue;
		directory_scram_print(&scram, &out);
		assert_true(str_equal(buffer_view(&out), str_from(one->hash)));
		buffer_clear(&out);
	}
}

/* --- hashes --- */

static const struct verify_case {
	const char *hash;
	const char *password;
	bool is_right;
} verify_cases[] = {
	/* the usual vectors of bcrypt and sha512crypt */
	{"$2b$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW", "U*U", true},
	{"$2b$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW", "U*V", false},
	{"$6$saltstring$svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl/O817G3uBnI"
	 "FNjnQJuesI68u4OTLiBFdcbYEdFCoEOfaS35inz1",
	 "Hello world!", true},
	{"$6$saltstring$svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl/O817G3uBnI"
	 "FNjnQJuesI68u4OTLiBFdcbYEdFCoEOfaS35inz1",
	 "Hello world", false},
	/* of the bytes as they were typed, with a numeral that SASLprep makes IX of */
	{"$6$saltstring$gEsx2uqJiqWl9/q3hwYYixv2LNQa7JhY1FFicMS9jb18ogMCgRb1EqjA9YomoXiXCYMQoMAS07"
	 "BHOuvDQX7900",
	 "\xe2\x85\xa8 pencil", true},
	{"$6$saltstring$gEsx2uqJiqWl9/q3hwYYixv2LNQa7JhY1FFicMS9jb18ogMCgRb1EqjA9YomoXiXCYMQoMAS07"
	 "BHOuvDQX7900",
	 "IX pencil", false},
	{"$6$saltstring$", "Hello world!", false},
	{"$6$saltstring", "Hello world!", false},
	{"rl.3StKT.4T8M", "password", false}, /* DES is none of ours */
	{"*", "", false},
	{"*0", "x", false},
	{"$", "x", false},
	{"$y$", "x", false},
};

static const struct form_case {
	const char *text;
	bool is_hash;
} form_cases[] = {
	{"$2b$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW", true},
	{"$2b$5$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeWx", false},
	{"$2b$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOe", false},
	{"$2x$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW", false},
	{"$1$saltsalt$qjXMvbEw8oaL.CzflDtaK/", true},
	{"$6$saltstring$svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl/O817G3uBnI"
	 "FNjnQJuesI68u4OTLiBFdcbYEdFCoEOfaS35inz1",
	 true},
	{"$6$saltstring$svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl/O817G3uBnI"
	 "FNjnQJuesI68u4OTLiBFdcbYEdFCoEOfaS35in!1",
	 false},
	{"$6$saltstring$svn8UoSV", false},
	{"$1$saltsalt$qjXMvbEw8oaL.CzflDta /", false},
	{"$1$saltsalt$qjXMvbEw8oaL.CzflDta\t/", false},
	{"$1$saltsalt$qjXMvbEw8oaL.CzflDta\x7f/", false},
	{"$1$saltsalt$qjXMvbEw8oaL.CzflDta:/", false},
	{"$1$salt salt$qjXMvbEw8oaL.CzflDtaK/", false},
	{"$1$salt:alt$qjXMvbEw8oaL.CzflDtaK/", false},
	{"$6$a$b", false},
	{"$9$saltstring$svn8UoSVapNtMuq1ukKS4t", false},
	{"rl.3StKT.4T8M", false},
	{"secret", false},
	{"*", false},
	{"$", false},
	{"", false},
	{"SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$"
	 "WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:"
	 "wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=",
	 true},
	{"SCRAM-SHA-1$4096:W22ZaJ0SNY7soEsUEjb6gQ==$"
	 "WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:"
	 "wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=",
	 false},
	{"SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$x:y", false},
	{"SCRAM-SHA-256$", false},
};

static void test_forms(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(form_cases); i++)
		if (directory_password_is_hash(str_from(form_cases[i].text)) !=
		    form_cases[i].is_hash)
			fail_msg("%s", form_cases[i].text);
}

static void test_verify(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(verify_cases); i++) {
		const struct verify_case *one = &verify_cases[i];

		if (directory_password_verify(str_from(one->hash), str_from(one->password)) !=
		    one->is_right)
			fail_msg("%s for %s", one->hash, one->password);
	}
	assert_false(directory_password_verify((struct str){"$6$saltstring\0$x", 16}, STR("x")));
}

static void check_method(enum directory_password_method method)
{
	struct buffer first = {0};
	struct buffer second = {0};

	assert_int_equal(directory_password_hash(method, STR("jos\xc3\xa9 pencil"), &first), 0);
	assert_int_equal(directory_password_hash(method, STR("jos\xc3\xa9 pencil"), &second), 0);
	assert_false(str_equal(buffer_view(&first), buffer_view(&second)));
	assert_true(directory_password_is_hash(buffer_view(&first)));
	if (method == DIRECTORY_PASSWORD_BCRYPT)
		assert_true(str_starts_with(buffer_view(&first), STR("$2b$12$")));
	assert_true(directory_password_verify(buffer_view(&first), STR("jos\xc3\xa9 pencil")));
	assert_true(directory_password_verify(buffer_view(&first), STR("jose\xcc\x81 pencil")));
	assert_false(directory_password_verify(buffer_view(&first), STR("jos\xc3\xa9 pencim")));
	assert_false(directory_password_verify(buffer_view(&first), STR("")));
	buffer_clear(&first);
	buffer_clear(&second);
}

static void test_methods(void **state)
{
	struct buffer out = {0};

	(void)state;
	for (unsigned method = 0; method < DIRECTORY_PASSWORD_METHODS; method++) {
		const char *name = directory_password_method_name(method);

		assert_int_equal(directory_password_method_find(str_from(name)), method);
		if (directory_password_is_available(method))
			check_method(method);
		else
			assert_int_equal(directory_password_hash(method, STR("x"), &out), -ENOTSUP);
	}
	assert_true(directory_password_is_available(DIRECTORY_PASSWORD_YESCRYPT));
	assert_true(directory_password_is_available(DIRECTORY_PASSWORD_BCRYPT));
	assert_int_equal(directory_password_method_find(STR("md5")), DIRECTORY_PASSWORD_METHODS);
}

/* A hash of SCRAM with so many iterations, and a salt and keys of so many bytes. */
static void append_scram(struct buffer *out, unsigned iterations, size_t salt, size_t stored,
			 size_t server)
{
	static const char bytes[DIRECTORY_SCRAM_SALT_MAX + 2];

	buffer_append_format(out, "SCRAM-SHA-256$%u:", iterations);
	base64_append(out, str_slice(bytes, salt));
	buffer_append_byte(out, '$');
	base64_append(out, str_slice(bytes, stored));
	buffer_append_byte(out, ':');
	base64_append(out, str_slice(bytes, server));
}

/* What may be written can be read. */
static void test_scram_bounds(void **state)
{
	static const struct {
		unsigned iterations;
		size_t salt, stored, server;
		bool is_hash;
	} cases[] = {
		{1, 1, 32, 32, true},
		{DIRECTORY_SCRAM_ITERATIONS_MAX, DIRECTORY_SCRAM_SALT_MAX, 32, 32, true},
		{DIRECTORY_SCRAM_ITERATIONS_MAX + 1, 16, 32, 32, false},
		{4096, DIRECTORY_SCRAM_SALT_MAX + 1, 32, 32, false},
		{4096, DIRECTORY_SCRAM_SALT_MAX + 2, 32, 32, false},
		{4096, DIRECTORY_SCRAM_SALT_MAX - 1, 32, 32, true},
		{0, 16, 32, 32, false},
		{4096, 0, 32, 32, false},
		{4096, 16, 31, 32, false},
		{4096, 16, 33, 32, false},
		{4096, 16, 32, 31, false},
		{4096, 16, 32, 33, false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct buffer hash CLEANUP(buffer_clear) = {0};
		struct directory_scram scram;

		append_scram(&hash, cases[i].iterations, cases[i].salt, cases[i].stored,
			     cases[i].server);
		assert_int_equal(directory_scram_parse(buffer_view(&hash), &scram),
				 cases[i].is_hash ? 0 : -EINVAL);
		if (cases[i].is_hash)
			assert_int_equal(scram.salt_length, cases[i].salt);
		assert_int_equal(directory_password_is_hash(buffer_view(&hash)), cases[i].is_hash);
	}
}

static void test_bounds(void **state)
{
	enum { LONGEST_OF_BCRYPT = DIRECTORY_PASSWORD_BCRYPT_MAX };

	char text[DIRECTORY_PASSWORD_MAX + 1];
	struct buffer out = {0};

	(void)state;
	memset(text, 'x', sizeof text);
	assert_int_equal(directory_password_prepare(str_slice(text, sizeof text), &out), -EMSGSIZE);
	assert_int_equal(directory_password_prepare(str_slice(text, sizeof text - 1), &out), 0);
	buffer_clear(&out);
	assert_int_equal(directory_password_hash(DIRECTORY_PASSWORD_BCRYPT,
						 str_slice(text, LONGEST_OF_BCRYPT + 1), &out),
			 -EMSGSIZE);
	assert_int_equal(directory_password_hash(DIRECTORY_PASSWORD_BCRYPT,
						 str_slice(text, LONGEST_OF_BCRYPT), &out),
			 0);
	/* all of its bytes count */
	text[LONGEST_OF_BCRYPT - 1] = 'y';
	assert_false(
		directory_password_verify(buffer_view(&out), str_slice(text, LONGEST_OF_BCRYPT)));
	assert_int_equal(directory_password_hash(DIRECTORY_PASSWORD_YESCRYPT, STR("a\n"), &out),
			 -EINVAL);
	buffer_clear(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_prepare),    cmocka_unit_test(test_exchanges),
		cmocka_unit_test(test_scram_text), cmocka_unit_test(test_forms),
		cmocka_unit_test(test_verify),     cmocka_unit_test(test_methods),
		cmocka_unit_test(test_bounds),     cmocka_unit_test(test_scram_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
