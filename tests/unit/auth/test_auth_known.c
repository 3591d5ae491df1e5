// SPDX-License-Identifier: ISC
/* Clients that are known: as many as there may be, and any order of more, against a model. */
#include "auth/server/known.h"
#include "chance.h"
#include "test.h"
#include <string.h>

enum { CLIENTS = 8, PLACES = 5, TURNS = 5000 };

static struct in6_addr client_of(size_t number)
{
	struct in6_addr address = {.s6_addr = {0x20}};

	memcpy(address.s6_addr + 4, &number, sizeof number);
	return address;
}

static void add(struct auth_known *known, size_t number, int64_t now_us)
{
	struct in6_addr client = client_of(number);

	auth_known_add(known, &client, now_us);
}

static bool has(const struct auth_known *known, size_t number, int64_t now_us)
{
	struct in6_addr client = client_of(number);

	return auth_known_has(known, &client, now_us);
}

/* All but PLACES of the places have clients that are added again and again. */
static void the_latest_are_known(void **state)
{
	struct auth_known *known = auth_known_new();
	size_t latest[PLACES]; /* the latest first */
	size_t count = 0;

	(void)state;
	for (unsigned turn = 0; turn < TURNS; turn++) {
		size_t number = chance(CLIENTS), at = 0;

		if (turn == 0)
			for (size_t i = 0; i < AUTH_KNOWN_MAX - PLACES; i++)
				add(known, 1000 + i, 1);
		add(known, number, 1);
		while (at < count && latest[at] != number)
			at++;
		if (at == count && count < PLACES)
			count++;
		if (at == PLACES)
			break; /* from now on one of the others goes */
		memmove(latest + 1, latest, at * sizeof latest[0]);
		latest[0] = number;
		for (size_t i = 0; i < count; i++)
			assert_true(has(known, latest[i], 1));
		assert_true(has(known, 1000, 1));
	}
	/* in the order in which they came */
	assert_false(has(known, 1000, 1));
	assert_true(has(known, 1001, 1));
	add(known, 1001, 1);
	add(known, 2, 1);
	for (size_t i = 0; i < CLIENTS; i++)
		add(known, i, 1);
	assert_true(has(known, 1001, 1));
	assert_false(has(known, 1002, 1));
	auth_known_free(known);
	auth_known_free(NULL);
}

static void for_so_long(void **state)
{
	struct auth_known *known = auth_known_new();

	(void)state;
	assert_false(has(known, 1, 0));
	add(known, 1, 100);
	assert_true(has(known, 1, 100 + AUTH_KNOWN_US - 1));
	assert_false(has(known, 1, 100 + AUTH_KNOWN_US));
	add(known, 1, 200);
	assert_true(has(known, 1, 100 + AUTH_KNOWN_US));
	assert_false(has(known, 2, 100));
	auth_known_free(known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_latest_are_known),
		cmocka_unit_test(for_so_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
