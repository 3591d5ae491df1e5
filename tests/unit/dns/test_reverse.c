// SPDX-License-Identifier: ISC
/* The search for a client's name, with a DNS that is played here. */
#include "base/panic.h"
#include "dns/reverse.h"
#include "test.h"
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

enum { QUERIES_MAX = 32 };

struct dns_query {
	char name[DNS_NAME_SIZE];
	enum dns_type type;
	void (*done)(void *context, const struct dns_answer *answer);
	void *context;
};

static struct {
	struct dns_query *queries[QUERIES_MAX];
	size_t count;
	size_t open;
	struct dns_reverse_answer answer;
	char name[DNS_NAME_SIZE];
	unsigned done;
} world;

struct dns_query *dns_query_new(struct dns_resolver *resolver, const char *name, enum dns_type type,
				void (*done)(void *context, const struct dns_answer *answer),
				void *context)
{
	struct dns_query *query = memory_alloc_zero(1, sizeof *query);

	(void)resolver;
	assert_true(world.count < QUERIES_MAX);
	strcpy(query->name, name);
	query->type = type;
	query->done = done;
	query->context = context;
	world.queries[world.count++] = query;
	world.open++;
	return query;
}

static void forget(struct dns_query *query)
{
	for (size_t i = 0; i < world.count; i++)
		if (world.queries[i] == query)
			world.queries[i] = NULL;
	world.open--;
	free(query);
}

void dns_query_cancel(struct dns_query *query)
{
	if (query != NULL)
		forget(query);
}

/* The query number INDEX has this answer: RDATA of LENGTH bytes, COUNT times. */
static void answer(size_t index, enum dns_status status, const char *const *rdata, int length,
		   size_t count, uint32_t ttl)
{
	struct dns_query query = *world.queries[index];
	char *data[64] = {NULL};
	int lengths[64];
	struct dns_answer given = {status, "", data, lengths, count, ttl};

	for (size_t i = 0; i < count; i++) {
		data[i] = (char *)(uintptr_t)rdata[i];
		lengths[i] = length > 0 ? length : (int)strlen(rdata[i]) + 1;
	}
	forget(world.queries[index]);
	query.done(query.context, &given);
}

static void on_done(void *context, const struct dns_reverse_answer *found)
{
	(void)context;
	world.answer = *found;
	strcpy(world.name, found->name);
	world.done++;
}

static struct dns_reverse *begin(const char *address)
{
	struct in6_addr mapped;

	memset(&world, 0, sizeof world);
	assert_int_equal(inet_pton(AF_INET6, address, &mapped), 1);
	return dns_reverse_new(NULL, &mapped, on_done, NULL);
}

static void end(struct dns_reverse *reverse)
{
	dns_reverse_free(reverse);
	dns_reverse_free(NULL);
	assert_int_equal(world.open, 0);
}

static const char *const one_name[] = {"\2mx\1X"};
static const char *const two_names[] = {"\1a\1x", "\1b\1x"};
static const char *const here[] = {"\xc0\0\2\7"};
static const char *const elsewhere[] = {"\xc0\0\2\10"};

static void what_is_asked(void **state)
{
	struct dns_reverse *reverse = begin("::ffff:192.0.2.7");

	(void)state;
	assert_string_equal(world.queries[0]->name, "7.2.0.192.in-addr.arpa");
	assert_int_equal(world.queries[0]->type, DNS_TYPE_PTR);
	end(reverse);
	reverse = begin("2001:db8::567:89ab");
	assert_string_equal(world.queries[0]->name,
			    "b.a.9.8.7.6.5.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2."
			    "ip6.arpa");
	answer(0, DNS_FOUND, one_name, 0, 1, 60);
	assert_int_equal(world.queries[1]->type, DNS_TYPE_AAAA);
	end(reverse);
}

static void a_name_that_leads_back(void **state)
{
	struct dns_reverse *reverse = begin("::ffff:192.0.2.7");

	(void)state;
	answer(0, DNS_FOUND, one_name, 0, 1, 600);
	assert_string_equal(world.queries[1]->name, "mx.x");
	assert_int_equal(world.queries[1]->type, DNS_TYPE_A);
	answer(1, DNS_FOUND, here, 4, 1, 60);
	assert_int_equal(world.done, 1);
	assert_string_equal(world.name, "mx.x");
	assert_int_equal(world.answer.ttl, 60);
	assert_false(world.answer.is_temporary);
	end(reverse);
}

static void the_first_that_is_confirmed_counts(void **state)
{
	struct dns_reverse *reverse = begin("::ffff:192.0.2.7");

	(void)state;
	answer(0, DNS_FOUND, two_names, 0, 2, 600);
	answer(2, DNS_FOUND, here, 4, 1, 60);
	assert_string_equal(world.name, "b.x");
	assert_int_equal(world.open, 0); /* the other is not asked about any more */
	end(reverse);
	reverse = begin("::ffff:192.0.2.7");
	answer(0, DNS_FOUND, two_names, 0, 2, 600);
	answer(1, DNS_FOUND, elsewhere, 4, 1, 60);
	assert_int_equal(world.done, 0);
	answer(2, DNS_FAILED, NULL, 0, 0, 0);
	assert_string_equal(world.name, "");
	assert_true(world.answer.is_temporary);
	end(reverse);
}

static void those_without_a_name(void **state)
{
	static const struct {
		enum dns_status status;
		bool is_temporary;
	} cases[] = {{DNS_NO_NAME, false}, {DNS_NO_DATA, false}, {DNS_FAILED, true}};
	static const char *const bad[] = {"", "\1", "\3a\0b", "\3a b", "\5a.b.c", "\77x"};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct dns_reverse *reverse = begin("::ffff:192.0.2.7");

		answer(0, cases[i].status, NULL, 0, 0, 30);
		assert_int_equal(world.done, 1);
		assert_string_equal(world.name, "");
		assert_int_equal(world.answer.is_temporary, cases[i].is_temporary);
		end(reverse);
	}
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct dns_reverse *reverse = begin("::ffff:192.0.2.7");

		answer(0, DNS_FOUND, &bad[i], 0, 1, 30);
		assert_int_equal(world.done, 1);
		assert_string_equal(world.name, "");
		end(reverse);
	}
}

static void names_are_bounded(void **state)
{
	const char *names[64];
	struct dns_reverse *reverse = begin("::ffff:192.0.2.7");

	(void)state;
	for (size_t i = 0; i < COUNT_OF(names); i++)
		names[i] = one_name[0];
	answer(0, DNS_FOUND, names, 0, 64, 30);
	assert_int_equal(world.open, DNS_REVERSE_NAMES_MAX);
	end(reverse);
}

static void names_of_hosts(void **state)
{
	static const struct {
		const char *text;
		bool is_host;
	} cases[] = {{"mx.example.org", true},
		     {"a", true},
		     {"a-b_c.d1", true},
		     {"", false},
		     {".", false},
		     {"a.", false},
		     {".a", false},
		     {"a..b", false},
		     {"A", false},
		     {"a b", false},
		     {"a\n", false},
		     {"a)", false}};
	char label[70];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		assert_int_equal(dns_name_is_host(str_from(cases[i].text)), cases[i].is_host);
	memset(label, 'a', sizeof label);
	assert_true(dns_name_is_host(str_slice(label, 63)));
	assert_false(dns_name_is_host(str_slice(label, 64)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_asked),
		cmocka_unit_test(a_name_that_leads_back),
		cmocka_unit_test(the_first_that_is_confirmed_counts),
		cmocka_unit_test(those_without_a_name),
		cmocka_unit_test(names_are_bounded),
		cmocka_unit_test(names_of_hosts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
