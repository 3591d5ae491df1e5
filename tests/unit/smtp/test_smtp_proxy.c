// SPDX-License-Identifier: ISC
#include "smtp/proxy.h"
#include "test.h"
#include <string.h>

#define SIGNATURE "\r\n\r\n\0\r\nQUIT\n"
#define IPV4               \
	"\xc0\x00\x02\x07" \
	"\x0a\x00\x00\x01" \
	"\xcf\x78"         \
	"\x00\x19"
#define IPV6                                         \
	"\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x07" \
	"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01"         \
	"\xcf\x78"                                   \
	"\x00\x19"
#define MAPPED                                         \
	"\0\0\0\0\0\0\0\0\0\0\xff\xff\xc0\x00\x02\x07" \
	"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01"           \
	"\xcf\x78"                                     \
	"\x00\x19"

/* ADDRESS: NULL: wrong; "": not named. */
struct sample {
	struct str bytes;
	const char *address;
	unsigned port;
};

static const struct sample samples[] = {
	{STR("PROXY TCP4 192.0.2.7 10.0.0.1 53112 25\r\n"), "192.0.2.7", 53112},
	{STR("PROXY TCP4 192.0.2.7 10.0.0.1 0 65535\r\n"), "192.0.2.7", 0},
	{STR("PROXY TCP6 2001:DB8::7 ::1 53112 25\r\n"), "2001:db8::7", 53112},
	{STR("PROXY TCP6 ::ffff:192.0.2.7 ::1 1 25\r\n"), "192.0.2.7", 1},
	{STR("PROXY UNKNOWN\r\n"), "", 0},
	{STR("PROXY UNKNOWN ffff:f...f:ffff ffff:f...f:ffff 65535 65535\r\n"), "", 0},
	{STR("PROXY UNKNOWN \0\r\n"), "", 0},
	{STR("PROXY TCP4 192.0.2.7 10.0.0.1 53112 25\n"), NULL, 0},
	{STR("PROXY UNKNOWN\n"), NULL, 0},
	{STR("PROXY \r\n"), NULL, 0},
	{STR("PROXY \n"), NULL, 0},
	{STR("PROXY UNKNOWNX\r\n"), NULL, 0},
	{STR("proxy UNKNOWN\r\n"), NULL, 0},
	{STR("PROXY  UNKNOWN\r\n"), NULL, 0},
	{STR("PROXY TCP5 192.0.2.7 10.0.0.1 1 25\r\n"), NULL, 0},
	{STR("PROXY tcp4 192.0.2.7 10.0.0.1 1 25\r\n"), NULL, 0},
	{STR("PROXY TCP4\r\n"), NULL, 0},
	{STR("PROXY TCP4 192.0.2.7 10.0.0.1 1\r\n"), NULL, 0},
	{STR("PROXY TCP4 192.0.2.7 10.0.0.1 1 25 \r\n"), NULL, 0},
	{STR("PROXY TCP4 192.0.2.7 10.0.0.1 1 25 x\r\n"), NULL, 0},
	{STR("PROXY TCP4 192.0.2.7  10.0.0.1 1 25\r\n"), NULL, 0},
	{STR("PROXY TCP4 192.0.2 10.0.0.1 1 25\r\n"), NULL, 0},
	{STR("PROXY TCP4 192.0.2.07 10.0.0.1 1 25\r\n"), NULL, 0},
	{STR("PROXY TCP4 192.0.2.7\0 10.0.0.1 1 25\r\n"), NULL, 0},
	{STR("PROXY TCP4 ::1 ::1 1 25\r\n"), NULL, 0},
	{STR("PROXY TCP6 192.0.2.7 ::1 1 25\r\n"), NULL, 0},
	{STR("PROXY TCP4 192.0.2.7 x 1 25\r\n"), NULL, 0},
	{STR("PROXY TCP4 192.0.2.7 10.0.0.1 65536 25\r\n"), NULL, 0},
	{STR("PROXY TCP4 192.0.2.7 10.0.0.1 01 25\r\n"), NULL, 0},
	{STR("PROXY TCP4 192.0.2.7 10.0.0.1 +1 25\r\n"), NULL, 0},
	{STR("PROXY TCP4 192.0.2.7 10.0.0.1 1 x\r\n"), NULL, 0},
	{STR("EHLO x\r\n"), NULL, 0},
	{STR("\r\n\r\n\0\r\nQUIT\r\n"), NULL, 0},
	{STR(SIGNATURE "\x21\x11\x00\x0c" IPV4), "192.0.2.7", 53112},
	{STR(SIGNATURE "\x21\x11\x00\x0f" IPV4 "\x04\x00\x00"), "192.0.2.7", 53112},
	{STR(SIGNATURE "\x21\x21\x00\x24" IPV6), "2001:db8::7", 53112},
	{STR(SIGNATURE "\x21\x21\x00\x24" MAPPED), "192.0.2.7", 53112},
	{STR(SIGNATURE "\x20\x11\x00\x0c" IPV4), "", 0},
	{STR(SIGNATURE "\x20\x00\x00\x00"), "", 0},
	{STR(SIGNATURE "\x20\xff\x00\x01x"), "", 0},
	{STR(SIGNATURE "\x21\x00\x00\x00"), "", 0},
	{STR(SIGNATURE "\x21\x31\x00\x02xx"), "", 0},
	{STR(SIGNATURE "\x11\x11\x00\x0c" IPV4), NULL, 0},
	{STR(SIGNATURE "\x22\x11\x00\x0c" IPV4), NULL, 0},
	{STR(SIGNATURE "\x21\x12\x00\x0c" IPV4), NULL, 0},
	{STR(SIGNATURE "\x21\x22\x00\x24" IPV6), NULL, 0},
	{STR(SIGNATURE "\x21\x11\x00\x0b" IPV4), NULL, 0},
	{STR(SIGNATURE "\x21\x21\x00\x0c" IPV4), NULL, 0},
	{STR(SIGNATURE "\x21\x11\x07\xf1"), NULL, 0},
	{STR(SIGNATURE "\x21\x11\xff\xff"), NULL, 0},
};

static void check(size_t number, const struct sample *sample, const struct smtp_proxy *proxy)
{
	bool is_named = sample->address[0] != '\0';

	if (proxy->is_named != is_named || proxy->length != sample->bytes.length ||
	    (is_named &&
	     (strcmp(proxy->address, sample->address) != 0 || proxy->port != sample->port)))
		fail_msg("case %zu: %s %u, %zu bytes", number, proxy->address, proxy->port,
			 proxy->length);
}

/* Byte by byte, then with the client's first bytes after it. */
static void headers_are_read_strictly(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(samples); i++) {
		struct str bytes = samples[i].bytes;
		enum smtp_proxy_state result = SMTP_PROXY_MORE;
		struct smtp_proxy proxy;
		size_t length;
		char more[300];

		for (length = 0; result == SMTP_PROXY_MORE && length <= bytes.length; length++)
			result = smtp_proxy_parse(str_slice(bytes.data, length), &proxy);
		if (result == SMTP_PROXY_LONG) /* as headers_have_bounds() looks at */
			result = SMTP_PROXY_WRONG;
		if (result != (samples[i].address != NULL ? SMTP_PROXY_DONE : SMTP_PROXY_WRONG))
			fail_msg("case %zu: %d after %zu bytes", i, result, length - 1);
		if (result != SMTP_PROXY_DONE)
			continue;
		check(i, &samples[i], &proxy);
		memcpy(more, bytes.data, bytes.length);
		memcpy(more + bytes.length, "EHLO x\r\n", 8);
		assert_int_equal(smtp_proxy_parse(str_slice(more, bytes.length + 8), &proxy),
				 SMTP_PROXY_DONE);
		check(i, &samples[i], &proxy);
	}
}

static void headers_have_bounds(void **state)
{
	char bytes[SMTP_PROXY_MAX] = "PROXY UNKNOWN ";
	struct smtp_proxy proxy;

	(void)state;
	memset(bytes + 14, 'x', sizeof bytes - 14);
	assert_int_equal(smtp_proxy_parse(str_slice(bytes, 106), &proxy), SMTP_PROXY_MORE);
	assert_int_equal(smtp_proxy_parse(str_slice(bytes, 107), &proxy), SMTP_PROXY_WRONG);
	memcpy(bytes + 105, "\r\n", 2);
	assert_int_equal(smtp_proxy_parse(str_slice(bytes, 107), &proxy), SMTP_PROXY_DONE);
	memcpy(bytes + 105, "x\r\n", 3);
	assert_int_equal(smtp_proxy_parse(str_slice(bytes, 108), &proxy), SMTP_PROXY_WRONG);
	memcpy(bytes, SIGNATURE "\x21\x11\x07\xf0", 16);
	assert_int_equal(smtp_proxy_parse(str_slice(bytes, sizeof bytes - 1), &proxy),
			 SMTP_PROXY_MORE);
	assert_int_equal(smtp_proxy_parse(str_slice(bytes, sizeof bytes), &proxy), SMTP_PROXY_DONE);
	assert_int_equal(proxy.length, sizeof bytes);
	memcpy(bytes, SIGNATURE "\x21\x11\x07\xf1", 16);
	assert_int_equal(smtp_proxy_parse(str_slice(bytes, 16), &proxy), SMTP_PROXY_LONG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(headers_are_read_strictly),
		cmocka_unit_test(headers_have_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
