// SPDX-License-Identifier: ISC
/* Sessions of who follows LDAP servers: what is loaded, and how each ends. */
#include "session_scene.h"

/* --- what is loaded --- */

static void all_is_loaded_and_then_only_changes(void **state)
{
	static step *const changes[] = {delete_2, loaded_with_deletions, server_closes, NULL};
	char wanted[300];

	(void)state;
	load(load_two);
	snprintf(wanted, sizeof wanted,
		 "ldap_followed url=%s loaded=full entries=2 changed=2 deleted=0 record_count=2\n",
		 settings.servers[0].url);
	assert_string_equal(heard_take(), wanted);
	assert_heard("bind 3 \"\" \"\"\n"
		     "search \"\" 0, 0 at most, time 0, types 0 (objectClass=*) namingContexts\n"
		     "search \"dc=test\" 0, 0 at most, time 0, types 0 (objectClass=*) contextCSN\n"
		     "search \"dc=test\" 2, 0 at most, time 0, types 0 (objectClass=*) sync\n");
	assert_cookie(COOKIE_1);
	load(changes);
	snprintf(wanted, sizeof wanted,
		 "ldap_followed url=%s loaded=changes entries=1 changed=0 deleted=1 "
		 "record_count=1\n",
		 settings.servers[0].url);
	assert_string_equal(heard_take(), wanted);
	assert_cookie(COOKIE_2);
}

/* Without a cookie again: what is not reported is not there any more. */
static void all_is_loaded_once_more(void **state)
{
	static step *const some[] = {present_2, users_3_and_4, loaded, server_closes, NULL};
	static step *const ids[] = {present_1_and_2, present_but_not_done, loaded_with_deletions,
				    server_closes, NULL};
	static step *const deletions[] = {present_1_and_2, loaded_with_deletions, server_closes,
					  NULL};

	(void)state;
	load(load_two);
	follower->is_reload = true;
	load(some);
	assert_int_equal(entries(), 3);
	load(load_two);
	assert_int_equal(entries(), 2);
	load(ids);
	assert_int_equal(entries(), 2);
	load(deletions);
	assert_int_equal(entries(), 2);
}

static void changes_come_afterwards(void **state)
{
	static step *const later[] = {user_1,          user_2,       loaded,     users_3_and_4,
				      deleted_1_and_3, wait_a_slice, new_cookie, wait_a_slice,
				      server_closes,   NULL};
	static step *const deletions[] = {deleted_1_and_3, deletions_are_not_all,
					  loaded_with_deletions, server_closes, NULL};

	(void)state;
	load(later);
	assert_int_equal(entries(), 2);
	assert_cookie(COOKIE_2);
	load(deletions);
	assert_int_equal(entries(), 2);
}

static void a_cookie_may_be_anything(void **state)
{
	static step *const opaque[] = {user_1,       loaded,        opaque_cookie,
				       wait_a_slice, server_closes, NULL};

	(void)state;
	load(opaque);
	assert_cookie("what a cookie");
}

/* What was not committed is not there. */
static void a_load_is_lost(void **state)
{
	static step *const lost[] = {user_1, user_2, server_closes, NULL};

	(void)state;
	assert_int_equal(run_session(0, lost), SESSION_LOST);
	assert_false(was_loaded);
	assert_int_equal(entries(), 0);
	assert_cookie("");
}

static void entries_without_a_name_are_told(void **state)
{
	static step *const bad[] = {user_1, no_name, loaded, server_closes, NULL};

	(void)state;
	load(bad);
	assert_int_equal(entries(), 1);
	assert_non_null(
		strstr(heard_take(), "ldap_entry_bad dn=no name reason=its name cannot be read\n"));
}

/* --- what is not plausible --- */

static void few_entries_are_not_believed(void **state)
{
	static step *const one[] = {present_1, loaded, server_closes, NULL};
	static step *const two[] = {present_1_and_2, loaded, server_closes, NULL};
	static step *const none[] = {loaded, server_closes, NULL};

	(void)state;
	load(load_four);
	follower->is_reload = true;
	assert_int_equal(run_session(0, one), SESSION_LOST);
	assert_false(was_loaded);
	assert_why("it shows only 1 of 4 entries below the base; may the account read them? If all "
		   "is well: stagepost directory accept");
	assert_int_equal(run_session(0, none), SESSION_LOST);
	assert_why("it shows only 0 of 4 entries below the base; may the account read them? If all "
		   "is well: stagepost directory accept");
	assert_int_equal(entries(), 4);
	load(two);
	assert_int_equal(entries(), 2);
	follower_accept(follower);
	load(none);
	assert_int_equal(entries(), 0);
	/* once */
	assert_false(follower->is_accepted);
}

static void an_empty_directory_is_not_believed(void **state)
{
	static step *const none[] = {loaded, server_closes, NULL};

	(void)state;
	assert_int_equal(run_session(0, none), SESSION_LOST);
	assert_why("it shows only 0 of 0 entries below the base; may the account read them? If all "
		   "is well: stagepost directory accept");
}

/* --- what is malformed --- */

static void plain_entry(void)
{
	played_ldap_plain_entry(0, "uid=a,dc=test");
}

static void malformed_info(void)
{
	played_ldap_intermediate(0, LDAP_SYNC_INFO, STR("what?"));
}

static void other_info(void)
{
	played_ldap_intermediate(0, "1.2.3", STR("what?"));
}

static void reference(void)
{
	played_ldap_reference(0);
}

static void malformed_messages_end_a_session(void **state)
{
	static const struct {
		step *steps[5];
		const char *words;
	} rows[] = {
		{{plain_entry}, "it sent an entry without a Sync State control (RFC 4533)"},
		{{user_1, loaded, plain_entry},
		 "it sent an entry without a Sync State control (RFC 4533)"},
		{{malformed_info}, "it sent a malformed Sync Info message (RFC 4533)"},
		{{user_1, loaded, malformed_info},
		 "it sent a malformed Sync Info message (RFC 4533)"},
	};
	static step *const others[] = {other_info, reference,  user_1,        loaded,
				       reference,  other_info, server_closes, NULL};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		assert_int_equal(run_session(0, rows[i].steps), SESSION_LOST);
		assert_why(rows[i].words);
	}
	load(others);
}

/* --- how a session ends --- */

static void search_ends(void)
{
	played_ldap_sync_ends(0, LDAP_BUSY, "later");
}

static void search_ends_without_words(void)
{
	played_ldap_sync_ends(0, LDAP_INSUFFICIENT_ACCESS, "");
}

static void cookie_is_refused(void)
{
	played_ldap_sync_ends(0, LDAP_SYNC_REFRESH_REQUIRED, "");
}

static void a_search_ends_after_all(void **state)
{
	static const struct {
		step *steps[4];
		enum session_end end;
		const char *words;
	} rows[] = {
		{{search_ends}, SESSION_LOST, "search below dc=test: Server is busy (51): later"},
		{{user_1, loaded, search_ends},
		 SESSION_LOST,
		 "search below dc=test: Server is busy (51): later"},
		{{search_ends_without_words},
		 SESSION_LOST,
		 "search below dc=test: Insufficient access (50)"},
		{{cookie_is_refused},
		 SESSION_REFUSED,
		 "search below dc=test: Content Sync Refresh Required (4096)"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		assert_int_equal(run_session(0, rows[i].steps), rows[i].end);
		assert_why(rows[i].words);
	}
}

static void each_request_of_the_beginning_fails(void **state)
{
	static step *const steps[] = {user_1, loaded, server_closes, NULL};
	static const char *const refusals[] = {
		"bind as anonymous: Server is busy (51): it is refused", NULL, NULL,
		"search below dc=test: Server is busy (51): it is refused"};

	(void)state;
	for (unsigned at = 1; at <= 4; at++)
		for (int fault = PLAYED_LDAP_REFUSES; fault <= PLAYED_LDAP_BABBLES; fault++) {
			/* only what is not needed may be refused */
			bool may_go_on = fault == PLAYED_LDAP_REFUSES && refusals[at - 1] == NULL;

			played_ldap_fail_at(at, (enum played_ldap_fault)fault, LDAP_BUSY);
			assert_int_equal(run_session(0, may_go_on ? steps : NULL), SESSION_LOST);
			assert_int_equal(was_loaded, may_go_on);
			if (fault == PLAYED_LDAP_REFUSES && !may_go_on)
				assert_why(refusals[at - 1]);
			assert_true(played_ldap.now_us - begun_us <= 22 * SECOND_US);
			played_ldap.servers[0].is_silent = false;
			played_ldap_turn();
		}
}

static void a_server_that_is_behind_is_not_used(void **state)
{
	char words[400];

	(void)state;
	load(load_two);
	played_ldap.servers[1].csn = "20251120192556.362513Z#000000#001#000000";
	assert_int_equal(run_session(1, NULL), SESSION_BEHIND);
	snprintf(words, sizeof words,
		 "it lacks changes that are known here: it has %s, known is %s",
		 played_ldap.servers[1].csn, CSN_1);
	assert_why(words);
	assert_false(session_try(follower, 1));
	played_ldap.servers[1].csn = CSN_1;
	assert_true(session_try(follower, 1));
	played_ldap.servers[1].csn = CSN_2;
	assert_true(session_try(follower, 1));
	/* who hides it is believed */
	played_ldap.servers[1].csn = NULL;
	assert_true(session_try(follower, 1));
	played_ldap.servers[1].contexts[0] = NULL;
	assert_true(session_try(follower, 1));
	played_ldap.servers[1].bind_code = LDAP_BUSY;
	assert_false(session_try(follower, 1));
	played_ldap_stop(1);
	assert_false(session_try(follower, 1));
	played_ldap_turn();
}

static void it_stops_when_it_is_told_to(void **state)
{
	static step *const steps[] = {user_1, loaded, wait_a_slice, stop, NULL};

	(void)state;
	assert_int_equal(run_session(0, steps), SESSION_STOPPED);
	assert_why("");
	atomic_store(&follower->is_stopping, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SESSION_TEST(all_is_loaded_and_then_only_changes),
		SESSION_TEST(all_is_loaded_once_more),
		SESSION_TEST(changes_come_afterwards),
		SESSION_TEST(a_cookie_may_be_anything),
		SESSION_TEST(a_load_is_lost),
		SESSION_TEST(entries_without_a_name_are_told),
		SESSION_TEST(few_entries_are_not_believed),
		SESSION_TEST(an_empty_directory_is_not_believed),
		SESSION_TEST(malformed_messages_end_a_session),
		SESSION_TEST(a_search_ends_after_all),
		SESSION_TEST(each_request_of_the_beginning_fails),
		SESSION_TEST(a_server_that_is_behind_is_not_used),
		SESSION_TEST(it_stops_when_it_is_told_to),
	};

	signal(SIGPIPE, SIG_IGN); /* libldap writes as long as it may */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
