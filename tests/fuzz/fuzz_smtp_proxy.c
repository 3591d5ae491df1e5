// SPDX-License-Identifier: ISC
/*
 * tests/fuzz/fuzz_smtp_proxy.c - the PROXY header: read whole and byte by byte it
 * must come to the same, within its bound, and name a real address.
 */
#include "base/panic.h"
#include "smtp/proxy.h"
#include <arpa/inet.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool are_equal(const struct smtp_proxy *a, const struct smtp_proxy *b)
{
	return a->length == b->length && a->is_named == b->is_named && a->port == b->port &&
	       strcmp(a->address, b->address) == 0;
}

static void check_address(const struct smtp_proxy *proxy)
{
	unsigned char address[16];

	if (proxy->is_named && inet_pton(AF_INET, proxy->address, address) != 1 &&
	    inet_pton(AF_INET6, proxy->address, address) != 1)
		panic("%s is no address", proxy->address);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str bytes = str_slice((const char *)data, size);
	enum smtp_proxy_state whole;
	enum smtp_proxy_state state = SMTP_PROXY_MORE;
	struct smtp_proxy proxy = {0};
	struct smtp_proxy again = {0};

	if (size > SMTP_PROXY_MAX)
		bytes.length = SMTP_PROXY_MAX;
	whole = smtp_proxy_parse(bytes, &proxy);
	for (size_t i = 0; state == SMTP_PROXY_MORE && i <= bytes.length; i++)
		state = smtp_proxy_parse(str_slice(bytes.data, i), &again);
	if (state != whole || !are_equal(&proxy, &again))
		panic("whole and in pieces differ");
	if (bytes.length == SMTP_PROXY_MAX && whole == SMTP_PROXY_MORE)
		panic("not decided at the bound");
	if (proxy.length > bytes.length)
		panic("longer than what was given");
	check_address(&proxy);
	return 0;
}
