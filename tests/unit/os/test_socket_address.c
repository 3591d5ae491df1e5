// SPDX-License-Identifier: ISC
/* Addresses of sockets as texts, as IPv6, as paths; which are public; and those of this machine. */
#include "base/attributes.h"
#include "os/socket/address.h"
#include "os/socket/interface.h"
#include "test.h"
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

/* --- texts --- */

static void addresses_as_texts(void **state)
{
	static const struct {
		const char *host, *mapped, *full;
		uint16_t port;
	} rows[] = {
		{"192.0.2.1", "::ffff:192.0.2.1", "192.0.2.1:25", 25},
		{"0.0.0.0", "::ffff:0.0.0.0", "0.0.0.0:65535", 65535},
		{"255.255.255.255", "::ffff:255.255.255.255", "255.255.255.255:0", 0},
		{"::", "::", "[::]:1", 1},
		{"2001:db8::1", "2001:db8::1", "[2001:db8::1]:258", 258},
		{"::ffff:192.0.2.1", "::ffff:192.0.2.1", "[::ffff:192.0.2.1]:25", 25},
		{"ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255",
		 "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
		 "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535", 65535},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		bool is_v6 = strchr(rows[i].host, ':') != NULL;
		char text[OS_SOCKET_TEXT_SIZE], host[OS_SOCKET_TEXT_SIZE];
		union os_socket_address address;
		struct in6_addr mapped, expected;

		assert_true(os_socket_address_parse(rows[i].host, rows[i].port, &address));
		assert_int_equal(address.any.sa_family, is_v6 ? AF_INET6 : AF_INET);
		assert_int_equal(os_socket_address_size(&address),
				 is_v6 ? sizeof address.v6 : sizeof address.v4);
		assert_int_equal(os_socket_address_port(&address), rows[i].port);
		assert_int_equal(is_v6 ? address.v6.sin6_port : address.v4.sin_port,
				 htons(rows[i].port));
		os_socket_address_format(&address, text);
		assert_string_equal(text, rows[i].full);
		os_socket_address_format_host(&address, host);
		assert_memory_equal(text + is_v6, host, strlen(host));
		mapped = os_socket_address_mapped(&address);
		assert_int_equal(inet_pton(AF_INET6, rows[i].mapped, &expected), 1);
		assert_memory_equal(&mapped, &expected, sizeof mapped);
		os_socket_address_format_mapped(&mapped, text);
		if (!is_v6)
			assert_string_equal(text, rows[i].host);
		else if (!IN6_IS_ADDR_V4MAPPED(&mapped))
			assert_string_equal(text, host);
		else
			assert_string_equal(text, rows[i].host + 7);
	}
}

static void what_is_no_address(void **state)
{
	static const char *const texts[] = {"",          "1",        "1.2.3", "1.2.3.4.5",
					    "256.1.1.1", "1.2.3.4 ", "[::1]", "fe80::1%lo",
					    "name",      ":::"};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		union os_socket_address address, before;

		memset(&address, 0x5a, sizeof address);
		before = address;
		assert_false(os_socket_address_parse(texts[i], 25, &address));
		assert_memory_equal(&address, &before, sizeof address);
	}
}

static void paths(void **state)
{
	union os_socket_address address;
	char path[sizeof address.local.sun_path + 2], text[OS_SOCKET_TEXT_SIZE];

	(void)state;
	for (size_t length = 0; length <= sizeof address.local.sun_path + 1; length++) {
		memset(path, 'x', length);
		path[length] = '\0';
		memset(&address, 0x5a, sizeof address);
		/* with its NUL */
		assert_int_equal(os_socket_address_of_path(path, &address),
				 length < sizeof address.local.sun_path);
		if (length >= sizeof address.local.sun_path)
			continue;
		assert_int_equal(address.any.sa_family, AF_UNIX);
		assert_string_equal(address.local.sun_path, path);
		assert_int_equal(os_socket_address_size(&address), sizeof address.local);
		assert_false(os_socket_address_is_public(&address));
		os_socket_address_format_host(&address, text);
		assert_string_equal(text, OS_SOCKET_UNIX);
	}
}

/* Each with each: equal exactly if they are the same host and port. */
static void which_are_equal(void **state)
{
	static const struct {
		const char *host;
		uint16_t port;
		int same;
	} rows[] = {{"192.0.2.1", 25, 1},       {"::ffff:192.0.2.1", 25, 1},
		    {"192.0.2.1", 26, 2},       {"192.0.2.2", 25, 3},
		    {"2001:db8::1", 25, 4},     {"2001:db8::1", 281, 5},
		    {"2001:db8:0:0::1", 25, 4}, {"::192.0.2.1", 25, 6}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		for (size_t n = 0; n < COUNT_OF(rows); n++) {
			union os_socket_address a, b;

			assert_true(os_socket_address_parse(rows[i].host, rows[i].port, &a));
			assert_true(os_socket_address_parse(rows[n].host, rows[n].port, &b));
			assert_int_equal(os_socket_address_is_equal(&a, &b),
					 rows[i].same == rows[n].same);
		}
}

/* --- public ones: the first and last of each range, and their neighbours --- */

static const struct {
	const char *first, *last;
} special_v4[] = {
	{"0.0.0.0", "0.255.255.255"},       {"10.0.0.0", "10.255.255.255"},
	{"100.64.0.0", "100.127.255.255"},  {"127.0.0.0", "127.255.255.255"},
	{"169.254.0.0", "169.254.255.255"}, {"172.16.0.0", "172.31.255.255"},
	{"192.0.0.0", "192.0.0.255"},       {"192.168.0.0", "192.168.255.255"},
	{"224.0.0.0", "255.255.255.255"},
};

static bool is_special(uint32_t v4)
{
	for (size_t i = 0; i < COUNT_OF(special_v4); i++)
		if (v4 >= ntohl(inet_addr(special_v4[i].first)) &&
		    v4 <= ntohl(inet_addr(special_v4[i].last)))
			return true;
	return false;
}

/* As itself, mapped, and by 6to4. */
static void check_public_v4(uint32_t v4)
{
	union os_socket_address address = {.v4 = {.sin_family = AF_INET}};
	union os_socket_address mapped = {.v6 = {.sin6_family = AF_INET6}};
	union os_socket_address to4 = {.v6 = {.sin6_family = AF_INET6}};

	v4 = htonl(v4);
	memcpy(&address.v4.sin_addr, &v4, 4);
	mapped.v6.sin6_addr = os_socket_address_mapped(&address);
	to4.v6.sin6_addr.s6_addr[0] = 0x20;
	to4.v6.sin6_addr.s6_addr[1] = 0x02;
	memcpy(&to4.v6.sin6_addr.s6_addr[2], &v4, 4);
	assert_int_equal(os_socket_address_is_public(&address), !is_special(ntohl(v4)));
	assert_int_equal(os_socket_address_is_public(&mapped), !is_special(ntohl(v4)));
	assert_int_equal(os_socket_address_is_public(&to4), !is_special(ntohl(v4)));
}

static void which_are_public(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(special_v4); i++) {
		uint32_t first = ntohl(inet_addr(special_v4[i].first)),
			 last = ntohl(inet_addr(special_v4[i].last));

		check_public_v4(first - 1);
		check_public_v4(first);
		check_public_v4(last);
		check_public_v4(last + 1);
	}
	for (unsigned high = 0; high < 0x10000; high++) {
		union os_socket_address address = {.v6 = {.sin6_family = AF_INET6}};

		address.v6.sin6_addr.s6_addr[0] = (uint8_t)(high >> 8);
		address.v6.sin6_addr.s6_addr[1] = (uint8_t)high;
		memset(&address.v6.sin6_addr.s6_addr[2], 8, 4); /* 8.8.8.8 by 6to4 */
		assert_int_equal(os_socket_address_is_public(&address),
				 high >= 0x2000 && high < 0x4000);
	}
}

/* --- of this machine --- */

static struct ifaddrs *interfaces;
static unsigned freed;

int __wrap_getifaddrs(struct ifaddrs **out);
int __wrap_getifaddrs(struct ifaddrs **out)
{
	if (interfaces == NULL) {
		errno = ENOBUFS;
		return -1;
	}
	*out = interfaces;
	return 0;
}

void __wrap_freeifaddrs(struct ifaddrs *list);
void __wrap_freeifaddrs(struct ifaddrs *list)
{
	assert_ptr_equal(list, interfaces);
	freed++;
}

static void addresses_of_interfaces(void **state)
{
	static const char *const texts[] = {"192.0.2.1", NULL,        "2001:db8::1",
					    "packet",    "127.0.0.1", "::1"};
	static const char *const expected[] = {"::ffff:192.0.2.1", "2001:db8::1",
					       "::ffff:127.0.0.1", "::1"};
	struct ifaddrs list[COUNT_OF(texts)] = {0};
	union os_socket_address addresses[COUNT_OF(texts)];
	struct sockaddr packet = {.sa_family = AF_PACKET};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		list[i].ifa_next = i + 1 < COUNT_OF(texts) ? &list[i + 1] : NULL;
		if (texts[i] == NULL)
			continue;
		list[i].ifa_addr = &packet;
		if (os_socket_address_parse(texts[i], 0, &addresses[i]))
			list[i].ifa_addr = &addresses[i].any;
	}
	interfaces = list;
	for (size_t size = 0; size < 7; size++) {
		size_t count = size < COUNT_OF(expected) ? size : COUNT_OF(expected);
		struct in6_addr out[7], one;

		freed = 0;
		assert_int_equal(os_interface_addresses(out, size), count);
		assert_int_equal(freed, 1);
		for (size_t i = 0; i < count; i++) {
			assert_int_equal(inet_pton(AF_INET6, expected[i], &one), 1);
			assert_memory_equal(&out[i], &one, sizeof one);
		}
	}
	for (size_t i = 0; i < COUNT_OF(expected); i++) {
		struct in6_addr one;

		assert_int_equal(inet_pton(AF_INET6, expected[i], &one), 1);
		assert_true(os_interface_has(&one));
		one.s6_addr[15] ^= 0x10;
		/* all of 127.0.0.0/8 is this machine's */
		assert_int_equal(os_interface_has(&one), i == 2);
		one.s6_addr[15] ^= 0x10;
		one.s6_addr[12] ^= 1;
		assert_false(os_interface_has(&one));
	}
	interfaces = NULL;
	{
		struct in6_addr out[1];

		assert_int_equal(os_interface_addresses(out, 1), -ENOBUFS);
		assert_int_equal(inet_pton(AF_INET6, "::1", &out[0]), 1);
		assert_false(os_interface_has(out));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_as_texts),
		cmocka_unit_test(what_is_no_address),
		cmocka_unit_test(paths),
		cmocka_unit_test(which_are_equal),
		cmocka_unit_test(which_are_public),
		cmocka_unit_test(addresses_of_interfaces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
