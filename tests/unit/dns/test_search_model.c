// SPDX-License-Identifier: ISC
/* Searches for servers against a model: exchangers of any preference with addresses of both
 * families, of this host and of none, answered in any order; more hosts and addresses than are
 * tried. The DNS is played. */
#include "base/panic.h"
#include "chance.h"
#include "dns/search.h"
#include "test.h"
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	HOSTS = 19,
	HOSTS_TRIED = 16,
	ADDRESSES = 7,
	ADDRESSES_TRIED = 5,
	TURNS = 6000,
	PORT = 2525
};
enum kind { USUAL, OWN, NOBODYS, MALFORMED };

/* --- the DNS --- */

struct dns_query {
	char name[DNS_NAME_SIZE];
	enum dns_type type;
	void (*done)(void *context, const struct dns_answer *answer);
	void *context;
	struct dns_query *next;
};

static struct dns_query *queries;

struct dns_query *dns_query_new(struct dns_resolver *resolver, const char *name, enum dns_type type,
				void (*done)(void *context, const struct dns_answer *answer),
				void *context)
{
	struct dns_query *query = memory_alloc_zero(1, sizeof *query);

	assert_null(resolver);
	*query =
		(struct dns_query){.type = type, .done = done, .context = context, .next = queries};
	snprintf(query->name, sizeof query->name, "%s", name);
	queries = query;
	return query;
}

void dns_query_cancel(struct dns_query *query)
{
	struct dns_query **place = &queries;

	if (query == NULL)
		return;
	while (*place != query)
		place = &(*place)->next;
	*place = query->next;
	free(query);
}

/* --- the world --- */

struct family {
	enum dns_status status;
	size_t count;
	enum kind kinds[ADDRESSES];
	bool is_secure;
};

static struct {
	enum dns_status status; /* of MX */
	bool is_secure, is_null;
	size_t count; /* exchangers: the hosts up to that */
	unsigned preferences[HOSTS];
	size_t self; /* that has our name; HOSTS: none */
	struct family v6[HOSTS], v4[HOSTS];
	bool is_relay;
	enum dns_families families;
	const struct dns_servers *found;
	unsigned ends;
} world;

static void make_family(struct family *family)
{
	*family =
		(struct family){.status = (enum dns_status)chance(4), .is_secure = chance(2) == 0};
	if (chance(2) == 0)
		family->status = DNS_FOUND;
	if (family->status == DNS_FOUND)
		family->count = 1 + chance(ADDRESSES);
	for (size_t i = 0; i < family->count; i++)
		family->kinds[i] = chance(12) > 0 ? USUAL : (enum kind)(1 + chance(3));
}

/* Preferences differ, so that there is one order. */
static void make_world(void)
{
	memset(&world, 0, sizeof world);
	world.status = chance(4) > 0 ? DNS_FOUND : (enum dns_status)chance(4);
	world.is_secure = chance(2) == 0;
	world.is_relay = chance(6) == 0;
	world.families = (enum dns_families)chance(4);
	world.count = world.status == DNS_FOUND ? 1 + chance(chance(3) > 0 ? 4 : HOSTS) : 1;
	world.is_null = world.status == DNS_FOUND && chance(20) == 0;
	world.self = chance(5) == 0 ? chance(HOSTS) : HOSTS;
	for (size_t i = 0; i < HOSTS; i++) {
		world.preferences[i] = (unsigned)(i * 10 + chance(10));
		make_family(&world.v6[i]);
		make_family(&world.v4[i]);
	}
}

static size_t host_of(const char *name)
{
	return strcmp(name, "d.x") == 0 ? 0 : strtoul(name + 1, NULL, 10);
}

static void answer_mx(struct dns_answer *answer)
{
	static char data[HOSTS][16];
	static char *pointers[HOSTS];
	static int lengths[HOSTS];

	answer->status = world.status;
	answer->is_secure = world.is_secure;
	answer->data = pointers;
	answer->lengths = lengths;
	if (world.status != DNS_FOUND)
		return;
	answer->count = world.is_null ? 1 : world.count;
	for (size_t i = 0; i < answer->count; i++) {
		size_t at = answer->count - 1 - i; /* the best one last */

		data[at][0] = (char)(world.preferences[i] >> 8);
		data[at][1] = (char)world.preferences[i];
		snprintf(data[at] + 2, 14, "%ch%02zu%cx", 3, i, 1);
		pointers[at] = data[at];
		lengths[at] = 9;
		if (world.is_null) {
			data[at][2] = '\0';
			lengths[at] = 3;
		}
	}
}

static void write_address(char *out, bool is_v6, size_t host, size_t i, enum kind kind)
{
	static const unsigned char own[] = {11, 250, 0, 1}, nobodys[] = {224, 0, 0, 1};
	unsigned char v4[] = {11, (unsigned char)host, (unsigned char)i, 1};

	memcpy(v4, kind == OWN ? own : kind == NOBODYS ? nobodys : v4, 4);
	if (!is_v6) {
		memcpy(out, v4, 4);
		return;
	}
	/* those inside of IPv6 ones count as they are */
	memset(out, 0, 16);
	memcpy(out, kind == USUAL ? "\x26\x00" : "\0\0", 2);
	if (kind != USUAL)
		memset(out + 10, 0xff, 2);
	memcpy(out + 12, v4, 4);
}

static void answer_addresses(const struct dns_query *query, struct dns_answer *answer)
{
	static char data[ADDRESSES][16];
	static char *pointers[ADDRESSES];
	static int lengths[ADDRESSES];
	size_t host = host_of(query->name);
	bool is_v6 = query->type == DNS_TYPE_AAAA;
	const struct family *family = is_v6 ? &world.v6[host] : &world.v4[host];

	answer->status = family->status;
	answer->is_secure = family->is_secure;
	answer->data = pointers;
	answer->lengths = lengths;
	answer->count = family->count;
	for (size_t i = 0; i < family->count; i++) {
		pointers[i] = data[i];
		lengths[i] = is_v6 == (family->kinds[i] != MALFORMED) ? 16 : 4;
		write_address(data[i], is_v6, host, i, family->kinds[i]);
	}
}

/* In any order. */
static void answer_all(void)
{
	while (queries != NULL) {
		struct dns_answer answer = {.reason = "no name server answers", .canonical = ""};
		struct dns_query *query = queries;
		struct dns_query copy;

		for (size_t skip = chance(5); skip > 0 && query->next != NULL; skip--)
			query = query->next;
		copy = *query;
		if (copy.type == DNS_TYPE_MX)
			answer_mx(&answer);
		else
			answer_addresses(&copy, &answer);
		dns_query_cancel(query);
		copy.done(copy.context, &answer);
	}
}

static void on_servers(void *context, const struct dns_servers *servers)
{
	assert_ptr_equal(context, &world);
	world.found = servers;
	world.ends++;
}

/* --- the model --- */

struct expected {
	struct {
		size_t host;
		bool is_v6, is_secure;
	} list[DNS_SERVERS_MAX];
	size_t count;
	const char *status;
	bool is_backup, is_nobodys;
};

/* A relay's address may be any. */
static bool is_usable(enum kind kind)
{
	return kind == USUAL || (world.is_relay && kind != MALFORMED);
}

static size_t count_tried(const struct family *family)
{
	size_t count = 0;

	for (size_t i = 0; i < family->count; i++)
		count += is_usable(family->kinds[i]);
	return count < ADDRESSES_TRIED ? count : ADDRESSES_TRIED;
}

static bool meets(const struct family *family, enum kind kind)
{
	for (size_t i = 0; i < family->count; i++)
		if (!world.is_relay && family->kinds[i] == kind)
			return true;
	return false;
}

static bool is_insecure(const struct family *family)
{
	return family->status != DNS_FAILED && !family->is_secure;
}

static void expect_host(struct expected *expected, size_t host, bool *is_family_missing)
{
	size_t counts[2] = {count_tried(&world.v4[host]), count_tried(&world.v6[host])};
	bool is_v6_first = world.families == DNS_IPV6_FIRST || world.families == DNS_IPV6_ONLY;
	bool is_only = world.families == DNS_IPV4_ONLY || world.families == DNS_IPV6_ONLY;

	for (size_t n = 0; n < ADDRESSES_TRIED; n++)
		for (int second = 0; second < (is_only ? 1 : 2); second++) {
			bool is_v6 = is_v6_first != (second == 1);

			if (n >= counts[is_v6] || expected->count == DNS_SERVERS_MAX)
				continue;
			expected->list[expected->count].host = host;
			expected->list[expected->count].is_v6 = is_v6;
			expected->list[expected->count++].is_secure =
				!is_insecure(&world.v6[host]) && !is_insecure(&world.v4[host]);
		}
	*is_family_missing |= is_only && counts[!is_v6_first] > 0;
}

static struct expected expect(void)
{
	struct expected expected = {.status = "2.0.0"};
	unsigned self = UINT32_MAX;
	size_t hosts = world.is_relay || world.status != DNS_FOUND ? 1 : world.count;
	bool is_failed = false, is_nobodys = false, is_family_missing = false;
	size_t tried = 0;

	if (!world.is_relay &&
	    (world.status == DNS_NO_NAME || world.status == DNS_FAILED || world.is_null)) {
		expected.status = world.is_null                ? "5.1.10"
				  : world.status == DNS_FAILED ? "4.4.3"
							       : "5.1.2";
		return expected;
	}
	if (!world.is_relay && world.status == DNS_FOUND && world.self < hosts)
		self = world.preferences[world.self];
	for (size_t i = 0; i < hosts && tried < HOSTS_TRIED; i++) {
		unsigned preference =
			world.is_relay || world.status != DNS_FOUND ? 0 : world.preferences[i];

		if (self != UINT32_MAX && preference >= self && world.preferences[i] >= self)
			break;
		tried++;
	}
	for (size_t i = 0; i < tried; i++) {
		is_failed |= world.v6[i].status == DNS_FAILED || world.v4[i].status == DNS_FAILED;
		is_nobodys |= meets(&world.v6[i], NOBODYS) || meets(&world.v4[i], NOBODYS);
		if ((meets(&world.v6[i], OWN) || meets(&world.v4[i], OWN)) &&
		    (world.status != DNS_FOUND ? 0 : world.preferences[i]) < self)
			self = world.status != DNS_FOUND ? 0 : world.preferences[i];
	}
	for (size_t i = 0; i < tried; i++)
		if (self == UINT32_MAX ||
		    (world.status == DNS_FOUND && world.preferences[i] < self))
			expect_host(&expected, i, &is_family_missing);
	expected.is_backup = self != UINT32_MAX;
	if (expected.count == 0)
		expected.status = self != UINT32_MAX  ? "5.4.6"
				  : is_failed         ? "4.4.3"
				  : is_family_missing ? "4.4.4"
				  : world.is_relay    ? "4.4.3"
						      : "5.4.4";
	expected.is_nobodys = is_nobodys;
	return expected;
}

/* Which of a family's usable addresses it is; they come in any order. */
static size_t address_of(const struct dns_server *server, size_t host, bool is_v6)
{
	const struct family *family = is_v6 ? &world.v6[host] : &world.v4[host];
	const void *found = is_v6 ? (const void *)&server->address.v6.sin6_addr
				  : (const void *)&server->address.v4.sin_addr;
	char bytes[16];

	for (size_t i = 0; i < family->count; i++) {
		write_address(bytes, is_v6, host, i, family->kinds[i]);
		if (is_usable(family->kinds[i]) && memcmp(found, bytes, is_v6 ? 16 : 4) == 0)
			return i;
	}
	fail_msg("an address of host %zu that is not to be tried", host);
	return 0;
}

/* No address is tried twice (those of this host, and of none, have one address each). */
static void check_addresses(const struct expected *expected)
{
	static bool is_seen[HOSTS][2][ADDRESSES];

	memset(is_seen, 0, sizeof is_seen);
	for (size_t i = 0; i < expected->count; i++) {
		size_t host = expected->list[i].host;
		bool is_v6 = expected->list[i].is_v6;
		size_t address = address_of(&world.found->list[i], host, is_v6);
		const struct family *family = is_v6 ? &world.v6[host] : &world.v4[host];

		assert_true(!is_seen[host][is_v6][address] || family->kinds[address] != USUAL);
		is_seen[host][is_v6][address] = true;
	}
}

static void check_server(const struct dns_server *server, const struct expected *expected, size_t i)
{
	size_t host = expected->list[i].host;
	bool is_v6 = expected->list[i].is_v6,
	     is_named = !world.is_relay && world.status == DNS_FOUND;
	char name[10] = "d.x";

	if (is_named)
		snprintf(name, sizeof name, "h%02zu.x", host);
	assert_string_equal(server->host, name);
	assert_string_equal(server->canonical, name);
	assert_int_equal(server->is_host_secure, world.is_relay || world.is_secure);
	assert_int_equal(server->is_addresses_secure, expected->list[i].is_secure);
	if (is_v6) {
		assert_int_equal(server->address.v6.sin6_family, AF_INET6);
		assert_int_equal(server->address.v6.sin6_port, htons(PORT));
	} else {
		assert_int_equal(server->address.v4.sin_family, AF_INET);
		assert_int_equal(server->address.v4.sin_port, htons(PORT));
	}
}

static void any_domain(void **state)
{
	struct in6_addr own = {.s6_addr = {[10] = 0xff, 0xff, 11, 250, 0, 1}};

	(void)state;
	for (unsigned turn = 0; turn < TURNS; turn++) {
		struct dns_self self = {.hostname = "us.x", .addresses = &own, .address_count = 1};
		struct dns_search *search;
		struct expected expected;
		char name[10];

		make_world();
		if (world.self < HOSTS) {
			snprintf(name, sizeof name, "H%02zu.x", world.self);
			self.hostname = name;
		}
		search = world.is_relay ? dns_search_relay(NULL, "d.x", PORT, on_servers, &world)
					: dns_search_exchangers(NULL, "d.x", &self, PORT,
								on_servers, &world);
		dns_search_prefer(search, world.families);
		assert_int_equal(world.ends, 0);
		answer_all();
		assert_int_equal(world.ends, 1);
		expected = expect();
		if (strcmp(world.found->verdict.status, expected.status) != 0 ||
		    world.found->count != expected.count)
			fail_msg("turn %u: %s %s with %zu, not %s with %zu", turn,
				 world.found->verdict.status, world.found->verdict.text,
				 world.found->count, expected.status, expected.count);
		if (strcmp(expected.status, "5.4.4") == 0)
			assert_string_equal(
				world.found->verdict.text,
				expected.is_nobodys
					? "the mail exchangers of d.x have no address of a host"
					: "no mail exchanger of d.x has an address");
		assert_int_equal(world.found->is_backup, expected.is_backup);
		for (size_t i = 0; i < expected.count; i++)
			check_server(&world.found->list[i], &expected, i);
		check_addresses(&expected);
		dns_search_free(search);
	}
}

/* Each address of a host is as often at each position as any other. */
static void a_host_of_several_addresses(void **state)
{
	unsigned positions[ADDRESSES][ADDRESSES_TRIED] = {{0}};
	const unsigned turns = 7000;

	(void)state;
	for (unsigned turn = 0; turn < turns; turn++) {
		struct dns_search *search;

		memset(&world, 0, sizeof world);
		world.is_relay = true;
		world.v4[0] = (struct family){.status = DNS_FOUND, .count = ADDRESSES};
		world.v6[0].status = DNS_NO_DATA;
		search = dns_search_relay(NULL, "d.x", PORT, on_servers, &world);
		answer_all();
		assert_int_equal(world.found->count, ADDRESSES_TRIED);
		for (size_t i = 0; i < ADDRESSES_TRIED; i++)
			positions[address_of(&world.found->list[i], 0, false)][i]++;
		dns_search_free(search);
	}
	for (size_t address = 0; address < ADDRESSES; address++)
		for (size_t i = 0; i < ADDRESSES_TRIED; i++)
			assert_in_range(positions[address][i], 800, 1200); /* 1,000 +- 29 */
}

/* Nothing of it is left, whatever it waited for. */
static void one_that_is_given_up(void **state)
{
	const struct dns_self self = {.hostname = "us.x"};

	(void)state;
	for (unsigned answers = 0; answers < 20; answers++) {
		struct dns_search *search;

		make_world();
		world.is_relay = world.is_null = false;
		world.status = DNS_FOUND;
		world.count = 10;
		search = dns_search_exchangers(NULL, "d.x", &self, PORT, on_servers, &world);
		for (unsigned i = 0; i < answers; i++) {
			struct dns_answer answer = {.reason = "", .canonical = ""};
			struct dns_query copy = *queries;

			if (copy.type == DNS_TYPE_MX)
				answer_mx(&answer);
			else
				answer_addresses(&copy, &answer);
			dns_query_cancel(queries);
			copy.done(copy.context, &answer);
		}
		dns_search_free(search);
		assert_null(queries);
		assert_int_equal(world.ends, 0);
	}
	dns_search_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_domain),
		cmocka_unit_test(a_host_of_several_addresses),
		cmocka_unit_test(one_that_is_given_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
