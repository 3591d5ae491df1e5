// SPDX-License-Identifier: ISC
#include "smtp/proxy.h"
#include <arpa/inet.h>
#include <string.h>

enum {
	PROXY_LINE_MAX_SIZE = 107, /* of version 1, with its CRLF */
	HEAD_SIZE = 16,            /* of version 2, before the addresses */
	ADDRESSES_SIZE_IPV4 = 12,
	ADDRESSES_SIZE_IPV6 = 36,
};

static const struct str MARK = STR("PROXY ");
static const struct str SIGNATURE = STR("\r\n\r\n\0\r\nQUIT\n");

static void name_client(struct smtp_proxy *proxy, int family, const unsigned char *address,
			unsigned port)
{
	static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};

	if (family == AF_INET6 && memcmp(address, mapped, sizeof mapped) == 0) {
		family = AF_INET;
		address += sizeof mapped;
	}
	proxy->is_named = inet_ntop(family, address, proxy->address, sizeof proxy->address) != NULL;
	proxy->port = (uint16_t)port;
}

static bool parse_proxy_address(struct str word, int family, unsigned char *address_out)
{
	char text[INET6_ADDRSTRLEN];

	if (word.length == 0 || word.length >= sizeof text ||
	    memchr(word.data, '\0', word.length) != NULL)
		return false;
	memcpy(text, word.data, word.length);
	text[word.length] = '\0';
	return inet_pton(family, text, address_out) == 1;
}

static bool parse_proxy_port(struct str word, unsigned *port_out)
{
	uint64_t port;

	if (!str_to_u64(word, &port) || port > UINT16_MAX ||
	    (word.length > 1 && word.data[0] == '0'))
		return false;
	*port_out = (unsigned)port;
	return true;
}

/* "TCP4 SOURCE DESTINATION PORT PORT", TCP6 likewise, or "UNKNOWN" and anything. */
static bool parse_proxy_words(struct str line, struct smtp_proxy *proxy)
{
	unsigned char source[16];
	unsigned char destination[16];
	unsigned source_port;
	unsigned destination_port;
	struct str words[5] = {{0}};
	int family;

	for (size_t i = 0; i < COUNT_OF(words); i++)
		(void)str_split(&line, ' ', &words[i]);
	if (str_equal(words[0], STR("UNKNOWN")))
		return true;
	if (!str_equal(words[0], STR("TCP4")) && !str_equal(words[0], STR("TCP6")))
		return false;
	family = words[0].data[3] == '4' ? AF_INET : AF_INET6;
	if (line.data != NULL || !parse_proxy_address(words[1], family, source) ||
	    !parse_proxy_address(words[2], family, destination) ||
	    !parse_proxy_port(words[3], &source_port) ||
	    !parse_proxy_port(words[4], &destination_port))
		return false;
	name_client(proxy, family, source, source_port);
	return true;
}

static enum smtp_proxy_state parse_proxy_line(struct str bytes, struct smtp_proxy *out)
{
	size_t length = bytes.length < PROXY_LINE_MAX_SIZE ? bytes.length : PROXY_LINE_MAX_SIZE;
	const char *feed = memchr(bytes.data, '\n', length);
	struct smtp_proxy proxy = {0};

	if (feed == NULL)
		return length < PROXY_LINE_MAX_SIZE ? SMTP_PROXY_MORE : SMTP_PROXY_WRONG;
	proxy.length = (size_t)(feed - bytes.data) + 1;
	if (feed[-1] != '\r' ||
	    !parse_proxy_words(str_slice(bytes.data + MARK.length, proxy.length - MARK.length - 2),
			       &proxy))
		return SMTP_PROXY_WRONG;
	*out = proxy;
	return SMTP_PROXY_DONE;
}

static unsigned big_endian(const unsigned char *bytes)
{
	return (unsigned)bytes[0] << 8 | bytes[1];
}

/* ADDRESSES has SIZE bytes: source, destination, their ports, extras. */
static bool parse_addresses(unsigned family, const unsigned char *addresses, size_t size,
			    struct smtp_proxy *proxy)
{
	switch (family) {
	case 0x11: /* TCP over IPv4 */
		if (size < ADDRESSES_SIZE_IPV4)
			return false;
		name_client(proxy, AF_INET, addresses, big_endian(addresses + 8));
		return true;
	case 0x21: /* TCP over IPv6 */
		if (size < ADDRESSES_SIZE_IPV6)
			return false;
		name_client(proxy, AF_INET6, addresses, big_endian(addresses + 32));
		return true;
	case 0x00: /* unspecified */
	case 0x31: /* a UNIX socket */
		return true;
	default:
		return false;
	}
}

static enum smtp_proxy_state parse_binary(struct str bytes, struct smtp_proxy *out)
{
	enum { LOCAL = 0x20, PROXY = 0x21 };
	const unsigned char *data = (const unsigned char *)bytes.data;
	struct smtp_proxy proxy = {0};

	if (bytes.length > SIGNATURE.length && data[12] != LOCAL && data[12] != PROXY)
		return SMTP_PROXY_WRONG;
	if (bytes.length < HEAD_SIZE)
		return SMTP_PROXY_MORE;
	proxy.length = HEAD_SIZE + big_endian(data + 14);
	if (proxy.length > SMTP_PROXY_MAX)
		return SMTP_PROXY_LONG;
	if (bytes.length < proxy.length)
		return SMTP_PROXY_MORE;
	if (data[12] == PROXY &&
	    !parse_addresses(data[13], data + HEAD_SIZE, proxy.length - HEAD_SIZE, &proxy))
		return SMTP_PROXY_WRONG;
	*out = proxy;
	return SMTP_PROXY_DONE;
}

/* Whether BYTES and TEXT are equal up to the length of the shorter. */
static bool has_same_start(struct str bytes, struct str text)
{
	size_t length = bytes.length < text.length ? bytes.length : text.length;

	return length == 0 || memcmp(bytes.data, text.data, length) == 0;
}

enum smtp_proxy_state smtp_proxy_parse(struct str bytes, struct smtp_proxy *out)
{
	bool is_line = has_same_start(bytes, MARK);

	if (!is_line && !has_same_start(bytes, SIGNATURE))
		return SMTP_PROXY_WRONG;
	if (bytes.length < MARK.length)
		return SMTP_PROXY_MORE;
	return is_line ? parse_proxy_line(bytes, out) : parse_binary(bytes, out);
}
