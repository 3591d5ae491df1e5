// SPDX-License-Identifier: ISC
/* Whom the store follows of several LDAP servers, and how long it waits. */
#include "store_scene.h"

/* --- who is followed --- */

static void first_is_followed(void)
{
	run_loop();
	assert_true(store->is_up && last_state);
	assert_string_equal(store->operations->followed(store), urls[0]);
	assert_int_equal(store->lost_us, 0);
	assert_true(store->version > 0);
}

static void second_is_followed(void)
{
	run_loop();
	assert_true(store->is_up);
	assert_string_equal(store->operations->followed(store), urls[1]);
}

/* After one that was followed comes the next one, soon. */
static void the_next_server_is_followed(void **state)
{
	static step *const steps[] = {user_at_first,      loaded_at_first, first_is_followed,
				      first_closes,       user_at_second,  loaded_at_second,
				      second_is_followed, second_closes,   NULL};

	(void)state;
	assert_false(store->is_up);
	assert_int_equal(states, 1);
	run_thread(steps, 2);
	assert_int_equal(wait_count, 2);
	assert_int_equal(waits[0], FOLLOW_SLICE_US);
	assert_int_equal(waits[1], FOLLOW_SLICE_US);
	assert_null(store->operations->followed(store));
	assert_true(store->lost_us > 0);
	assert_true(store->is_up); /* for a while */
	assert_int_equal(resets, 2);
	assert_int_equal(states, 2);
}

/* Twice as long each time; what is wrong is said once. */
static void nobody_can_be_followed(void **state)
{
	static const int64_t wanted_s[] = {1, 2, 4, 8, 8, 8};
	static step *const nothing[] = {NULL};
	char words[300];

	(void)state;
	played_ldap.servers[0].bind_code = LDAP_BUSY;
	played_ldap.servers[1].bind_code = LDAP_UNAVAILABLE;
	(void)heard_take();
	run_thread(nothing, COUNT_OF(wanted_s));
	for (size_t i = 0; i < COUNT_OF(wanted_s); i++)
		assert_int_equal(waits[i], wanted_s[i] * SECOND_US);
	snprintf(words, sizeof words,
		 "ldap_lost url=%s reason=bind as anonymous: Server is busy (51): not you\n"
		 "ldap_lost url=%s reason=bind as anonymous: Server is unavailable (52): not you\n",
		 urls[0], urls[1]);
	assert_string_equal(heard_take(), words);
	assert_int_equal(played_ldap.servers[0].accepted, COUNT_OF(wanted_s));
	/* and again when it is something else */
	played_ldap.servers[0].bind_code = LDAP_UNAVAILABLE;
	run_thread(nothing, 1);
	assert_true(is_heard("Server is unavailable (52): not you\n"));
}

static void all_are_busy(void)
{
	played_ldap.servers[0].bind_code = played_ldap.servers[1].bind_code = LDAP_BUSY;
}

static void none_is_busy_after_three_waits(void)
{
	if (wait_count == 3)
		played_ldap.servers[0].bind_code = played_ldap.servers[1].bind_code = 0;
}

/* Once one was followed, waits are short again. */
static void waits_begin_again(void **state)
{
	static step *const load[] = {user_at_first, loaded_at_first, all_are_busy, first_closes,
				     NULL};
	static const int64_t wanted_us[] = {SECOND_US, 2 * SECOND_US, 4 * SECOND_US,
					    FOLLOW_SLICE_US, SECOND_US};

	(void)state;
	all_are_busy();
	at_wait = none_is_busy_after_three_waits;
	run_thread(load, COUNT_OF(wanted_us));
	at_wait = NULL;
	for (size_t i = 0; i < COUNT_OF(wanted_us); i++)
		assert_int_equal(waits[i], wanted_us[i]);
}

static void a_refused_cookie_is_not_sent_again(void **state)
{
	static step *const load[] = {user_at_first, loaded_at_first, first_closes, NULL};
	static step *const refuse[] = {cookie_is_refused, user_at_first, loaded_at_first,
				       first_is_followed, first_closes,  NULL};

	(void)state;
	settings.url_count = 1;
	close_store();
	open_store();
	run_thread(load, 1);
	(void)heard_take();
	run_thread(refuse, 1);
	assert_int_equal(wait_count, 1); /* at once */
	assert_true(is_heard("loaded=full"));
}

static void it_is_told_that_a_cookie_was_refused(void **state)
{
	static step *const load[] = {user_at_first, loaded_at_first, first_closes, NULL};
	static step *const refuse[] = {cookie_is_refused, stop, NULL};

	(void)state;
	run_thread(load, 1);
	(void)heard_take();
	run_thread(refuse, 1);
	assert_true(
		is_heard("reason=search below dc=test: Content Sync Refresh Required (4096)\n"));
	assert_int_equal(wait_count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(the_next_server_is_followed),
		STORE_TEST(nobody_can_be_followed),
		STORE_TEST(waits_begin_again),
		STORE_TEST(a_refused_cookie_is_not_sent_again),
		STORE_TEST(it_is_told_that_a_cookie_was_refused),
	};

	signal(SIGPIPE, SIG_IGN); /* libldap writes as long as it may */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
