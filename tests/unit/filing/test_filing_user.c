// SPDX-License-Identifier: ISC
/* Whose mailbox an address is, and what follows the '+' in it. */
#include "base/arena.h"
#include "filing/user.h"
#include "test.h"

static void addresses_have_users_and_details(void **state)
{
	static const struct {
		const char *address, *user, *detail, *written; /* USER NULL: it is refused */
	} rows[] = {
		{"scuba@example.org", "scuba@example.org", "", ""},
		{"scuba+@example.org", "scuba@example.org", "", ""},
		{"scuba+a@example.org", "scuba@example.org", "a", "a"},
		{"Scuba+Lists+Dev@Example.ORG", "scuba@example.org", "lists+dev", "Lists+Dev"},
		{"\"scuba+a b\"@example.org", "scuba@example.org", "a b", "a b"},
		{"+a@example.org", "+a@example.org", "", ""},
		{"scuba", NULL, NULL, NULL},
		{"scuba@", NULL, NULL, NULL},
		{"@example.org", NULL, NULL, NULL},
		{"sc uba@example.org", "\"sc uba\"@example.org", "", ""},
	};
	struct arena *arena = arena_new();

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct str user = STR("-"), detail = STR("-"), written = STR("-");
		int error = filing_user(str_from(rows[i].address), arena, &user, &detail, &written);
		const char *wanted = rows[i].user != NULL ? rows[i].user : "-";

		if ((error == 0) != (rows[i].user != NULL) || !str_equal(user, str_from(wanted)))
			fail_msg("%s: %d " STR_FORMAT, rows[i].address, error, STR_ARGUMENTS(user));
		if (!str_equal(detail, str_from(error == 0 ? rows[i].detail : "-")) ||
		    !str_equal(written, str_from(error == 0 ? rows[i].written : "-")))
			fail_msg("%s: \"" STR_FORMAT "\" \"" STR_FORMAT "\"", rows[i].address,
				 STR_ARGUMENTS(detail), STR_ARGUMENTS(written));
		assert_int_equal(filing_user(str_from(rows[i].address), arena, &user, NULL, NULL),
				 error);
	}
	arena_free(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_have_users_and_details),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
