// SPDX-License-Identifier: ISC
/* Errors of OpenSSL as one line: any that wait, in their order, with what they have to say. And
 * digests as texts. */
#include "chance.h"
#include "test.h"
#include "tls/client/internal.h"
#include "tls/internal.h"
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <string.h>

static const struct {
	int library, reason;
	const char *data; /* NULL: none */
	const char *text;
} errors[] = {
	{ERR_LIB_SSL, SSL_R_NO_SHARED_CIPHER, NULL, "no shared cipher"},
	{ERR_LIB_SSL, SSL_R_NO_SHARED_CIPHER, "for this", "no shared cipher (for this)"},
	{ERR_LIB_SSL, SSL_R_NO_SHARED_CIPHER, "", "no shared cipher"},
	{ERR_LIB_SYS, ENOENT, NULL, "No such file or directory"},
	{ERR_LIB_SYS, EACCES, "calling fopen(x)", "Permission denied"},
	{ERR_LIB_USER, 777, NULL, "error 40000309 of OpenSSL"},
	{ERR_LIB_USER, 777, "data", "error 40000309 of OpenSSL (data)"},
};

static void raise_error(size_t i, struct buffer *expected)
{
	if (errors[i].data != NULL)
		ERR_raise_data(errors[i].library, errors[i].reason, "%s", errors[i].data);
	else
		ERR_raise(errors[i].library, errors[i].reason);
	if (expected->length > 0)
		buffer_append_string(expected, ", ");
	buffer_append_string(expected, errors[i].text);
}

static void any_errors(void **state)
{
	(void)state;
	for (unsigned turn = 0; turn < 3000; turn++) {
		struct buffer expected = {0}, out = {0}, reason = {0};
		size_t count = chance(5), seed[5];

		for (size_t i = 0; i < count; i++)
			raise_error(seed[i] = chance(COUNT_OF(errors)), &expected);
		buffer_append_string(&out, "before: ");
		tls_errors_take(&out);
		if (!str_equal(str_skip(buffer_view(&out), 8), buffer_view(&expected)))
			fail_msg(STR_FORMAT " for " STR_FORMAT, STR_ARGUMENTS(buffer_view(&out)),
				 STR_ARGUMENTS(buffer_view(&expected)));
		assert_int_equal(ERR_peek_error(), 0);
		buffer_reset(&expected);
		for (size_t i = 0; i < count; i++)
			raise_error(seed[i], &expected);
		assert_int_equal(tls_errors_refuse("It cannot be", &reason), -EINVAL);
		assert_true(str_starts_with(buffer_view(&reason), STR("It cannot be")));
		if (count == 0)
			assert_int_equal(reason.length, 12);
		else
			assert_true(str_equal(str_skip(buffer_view(&reason), 14),
					      buffer_view(&expected)));
		assert_int_equal(ERR_peek_error(), 0);
		buffer_clear(&expected);
		buffer_clear(&out);
		buffer_clear(&reason);
	}
}

static void errors_are_forgotten(void **state)
{
	struct buffer unused = {0}, out = {0};
	char passphrase[10] = "as before";

	(void)state;
	raise_error(0, &unused);
	raise_error(1, &unused);
	tls_errors_clear();
	tls_errors_take(&out);
	assert_int_equal(out.length, 0);
	/* nobody is there to type one */
	assert_int_equal(tls_deny_passphrase(passphrase, sizeof passphrase, 0, NULL), -1);
	assert_string_equal(passphrase, "as before");
	buffer_clear(&unused);
	buffer_clear(&out);
}

/* --- fingerprints --- */

/* Each byte at each place of a digest. */
static void each_byte_of_a_fingerprint(void **state)
{
	static const char digits[] = "0123456789abcdef";
	char text[2 * TLS_SHA256_SIZE + 2], digest[TLS_SHA256_SIZE];

	(void)state;
	for (size_t place = 0; place < 2 * (size_t)TLS_SHA256_SIZE; place++)
		for (int byte = 1; byte < 256; byte++) {
			const char *digit =
				strchr(digits, byte >= 'A' && byte <= 'F' ? byte + 32 : byte);
			size_t value = digit != NULL ? (size_t)(digit - digits) : 0;

			memset(text, '5', sizeof text);
			text[2 * TLS_SHA256_SIZE] = '\0';
			text[place] = (char)byte;
			assert_int_equal(tls_fingerprint_parse(text, digest), digit != NULL);
			for (size_t i = 0; digit != NULL && i < TLS_SHA256_SIZE; i++)
				assert_int_equal((unsigned char)digest[i], i != place / 2 ? 0x55
									   : place % 2 == 0
										   ? value * 16 + 5
										   : 0x50 + value);
		}
	memset(text, '5', sizeof text);
	text[2 * TLS_SHA256_SIZE + 1] = '\0';
	assert_false(tls_fingerprint_parse(text, digest));
	text[2 * TLS_SHA256_SIZE - 1] = '\0';
	assert_false(tls_fingerprint_parse(text, digest));
	assert_false(tls_fingerprint_parse("", digest));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_errors),
		cmocka_unit_test(errors_are_forgotten),
		cmocka_unit_test(each_byte_of_a_fingerprint),
	};

	OPENSSL_init_ssl(OPENSSL_INIT_LOAD_SSL_STRINGS, NULL); /* the texts of its errors */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
