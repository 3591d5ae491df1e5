// SPDX-License-Identifier: ISC
/* Names as the DNS has them, at their bounds; and whose an address is. */
#include "chance.h"
#include "dns/name.h"
#include "dns/self.h"
#include "test.h"
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

enum { TURNS = 5000, WIRE = 300 };

/* Labels of those lengths; returns the length with the root. */
static size_t write_name(char *wire, const size_t *labels, size_t count, char *text)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
	size_t length = 0, written = 0;

	for (size_t i = 0; i < count; i++) {
		wire[length++] = (char)labels[i];
		if (i > 0)
			text[written++] = '.';
		for (size_t k = 0; k < labels[i]; k++) {
			char byte = letters[chance(sizeof letters - 1)];

			wire[length++] = byte;
			text[written++] =
				byte >= 'A' && byte <= 'Z' ? (char)(byte - 'A' + 'a') : byte;
		}
	}
	wire[length++] = '\0';
	text[written] = '\0';
	return length;
}

static void any_name_is_read(void **state)
{
	(void)state;
	for (unsigned turn = 0; turn < TURNS; turn++) {
		char wire[WIRE + 64], text[WIRE + 64], name[DNS_NAME_SIZE] = "as it was";
		size_t labels[140], count = 0, length = 1,
				    wanted = chance(4) > 0 ? chance(60) : 250 + chance(8);
		size_t most = 1 + chance(63);
		bool is_read;

		while (length < wanted && count < COUNT_OF(labels)) {
			labels[count] = wanted - length > most + 2 ? most
					: wanted - length > 1      ? wanted - length - 1
								   : 1;
			if (labels[count] > 63)
				labels[count] = 63;
			length += labels[count++] + 1;
		}
		length = write_name(wire, labels, count, text);
		is_read = dns_name_parse(str_slice(wire, length), name);
		assert_int_equal(is_read, strlen(text) < DNS_NAME_SIZE);
		if (is_read)
			assert_string_equal(name, text);
		/* exactly one name */
		assert_false(dns_name_parse(str_slice(wire, length - 1), name));
		wire[length] = '\0';
		assert_false(dns_name_parse(str_slice(wire, length + 1), name));
	}
}

static void a_label_has_a_longest(void **state)
{
	(void)state;
	for (size_t length = 62; length <= 64; length++) {
		char wire[WIRE], text[WIRE], name[DNS_NAME_SIZE];
		size_t whole = write_name(wire, &length, 1, text);

		assert_int_equal(dns_name_parse(str_slice(wire, whole), name), length <= 63);
	}
}

static void only_some_bytes_are_of_hosts(void **state)
{
	(void)state;
	for (int byte = 0; byte < 256; byte++) {
		char wire[] = {2, 'a', (char)byte, 0}, name[DNS_NAME_SIZE];
		bool is_letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
				 (byte >= '0' && byte <= '9');

		assert_int_equal(dns_name_parse(str_slice(wire, sizeof wire), name),
				 is_letter || byte == '-' || byte == '_');
	}
}

/* --- whose an address is --- */

static bool is_own(const void *context, const struct in6_addr *address)
{
	(void)context;
	return address->s6_addr[15] == 77;
}

static void targets(void **state)
{
	static const struct {
		const char *address;
		enum dns_target target;
	} rows[] = {
		{"192.0.2.1", DNS_TARGET_SELF},
		{"192.0.2.2", DNS_TARGET_HOST},
		{"192.0.2.77", DNS_TARGET_SELF},
		{"127.0.0.1", DNS_TARGET_SELF},
		{"127.255.255.255", DNS_TARGET_SELF},
		{"128.0.0.1", DNS_TARGET_HOST},
		{"126.255.255.255", DNS_TARGET_HOST},
		{"0.0.0.0", DNS_TARGET_SELF},
		{"224.0.0.1", DNS_TARGET_NONE},
		{"223.255.255.255", DNS_TARGET_HOST},
		{"239.255.255.255", DNS_TARGET_NONE},
		{"240.0.0.1", DNS_TARGET_NONE},
		{"255.255.255.255", DNS_TARGET_NONE},
		{"169.254.0.1", DNS_TARGET_NONE},
		{"169.253.255.255", DNS_TARGET_HOST},
		{"169.255.0.0", DNS_TARGET_HOST},
		{"10.0.0.1", DNS_TARGET_HOST},
		{"::1", DNS_TARGET_SELF},
		{"::", DNS_TARGET_SELF},
		{"::2", DNS_TARGET_SELF},
		{"2001:db8::1", DNS_TARGET_SELF},
		{"2001:db8::2", DNS_TARGET_HOST},
		{"ff02::1", DNS_TARGET_NONE},
		{"fe80::1", DNS_TARGET_NONE},
		{"febf::1", DNS_TARGET_NONE},
		{"fec0::1", DNS_TARGET_HOST},
		{"fe7f::1", DNS_TARGET_HOST},
		{"::ffff:192.0.2.1", DNS_TARGET_SELF},
		{"::ffff:192.0.2.2", DNS_TARGET_HOST},
		{"::ffff:224.0.0.1", DNS_TARGET_NONE},
		{"::192.0.2.1", DNS_TARGET_SELF},
		{"64:ff9b::192.0.2.1", DNS_TARGET_SELF},
		{"64:ff9b::192.0.2.2", DNS_TARGET_HOST},
		{"2002:c000:201::1", DNS_TARGET_SELF},
		{"2002:c000:202::1", DNS_TARGET_HOST},
	};
	struct in6_addr own[2];
	struct dns_self self = {
		.hostname = "us.x", .addresses = own, .address_count = 2, .is_own = is_own};

	(void)state;
	assert_int_equal(inet_pton(AF_INET6, "::ffff:192.0.2.1", &own[0]), 1);
	assert_int_equal(inet_pton(AF_INET6, "2001:db8::1", &own[1]), 1);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		union os_socket_address address = {0};
		enum dns_target target;

		address.v4.sin_family = AF_INET;
		if (inet_pton(AF_INET, rows[i].address, &address.v4.sin_addr) != 1) {
			address.v6.sin6_family = AF_INET6;
			assert_int_equal(
				inet_pton(AF_INET6, rows[i].address, &address.v6.sin6_addr), 1);
		}
		target = dns_self_target(&self, &address);
		if (target != rows[i].target)
			fail_msg("%s: %d", rows[i].address, (int)target);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_name_is_read),
		cmocka_unit_test(a_label_has_a_longest),
		cmocka_unit_test(only_some_bytes_are_of_hosts),
		cmocka_unit_test(targets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
