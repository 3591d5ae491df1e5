// SPDX-License-Identifier: ISC
/*
 * Sessions of who follows LDAP servers, with played ones: what is loaded, how fresh the copy is,
 * and how each session ends. Each scene is a list of what the server does while nothing comes from
 * it.
 */
#include "directory/store/ldap/follow/session.h"
#include "directory/store/sqlite/sqlite.h"
#include "heard.h"
#include "ldap_scene.h"
#include "os/clock.h"
#include "scratch.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char CSN_1[] = "20261120192556.362513Z#000000#001#000000";
static const char CSN_2[] = "20261121000000.000000Z#000000#001#000000";
#define COOKIE(csn) "rid=000,csn=" csn
static const char COOKIE_1[] = COOKIE("20261120192556.362513Z#000000#001#000000");
static const char COOKIE_2[] = COOKIE("20261121000000.000000Z#000000#001#000000");

static char folder[SCRATCH_SIZE], path[SCRATCH_SIZE + 16];
static struct os_loop *loop;
static struct directory_store *store;
static struct follower_settings settings;
static struct follower *follower;

/* --- scenes --- */

typedef void step(void);

static step *const *script; /* NULL: nothing is left to be done */
static bool was_loaded;
static int64_t begun_us;

/* A step in which nothing comes for a slice of the time. */
static void wait_a_slice(void)
{
}

static bool do_next(void)
{
	step *next = script != NULL ? *script : NULL;

	if (next == NULL)
		return false;
	script++;
	next();
	return next != wait_a_slice;
}

/* The session of server NUMBER, in which STEPS are done one after the other. */
static enum session_end run_session(size_t number, step *const *steps)
{
	enum session_end end;

	script = steps;
	played_ldap.idle = do_next;
	begun_us = played_ldap.now_us;
	buffer_reset(&why);
	buffer_reset(&played_ldap.heard);
	end = session_run(follower, number, &was_loaded, &why);
	script = NULL;
	(void)heard_take();
	follower_write_notes(follower);
	played_ldap.servers[0].is_silent = false;
	played_ldap_turn();
	assert_int_equal(played_ldap.open, 0);
	return end;
}

static void open_follower(void)
{
	assert_int_equal(follower_new(loop, &settings, NULL, NULL, &follower, &why), 0);
}

static int set_up_session(void **state)
{
	(void)set_up(state);
	loop = os_loop_new();
	assert_int_equal(scratch_make(folder), 0);
	snprintf(path, sizeof path, "%s/copy.db", folder);
	assert_int_equal(store_sqlite_open(loop, path, &store, &why), 0);
	settings = (struct follower_settings){
		.path = path, .server_count = 2, .login = {.base = "dc=test"}};
	settings.servers = calloc(2, sizeof *settings.servers);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(
			link_server_parse(played_ldap.servers[i].url, &settings.servers[i], &why),
			0);
	assert_int_equal(entry_map_new(NULL, 0, &settings.map, &why), 0);
	open_follower();
	return 0;
}

static int tear_down_session(void **state)
{
	assert_true(follower_free(follower));
	store->operations->free(store);
	entry_map_free(settings.map);
	for (size_t i = 0; i < 2; i++)
		link_server_clear(&settings.servers[i]);
	free(settings.servers);
	os_loop_free(loop);
	assert_int_equal(scratch_remove(folder), 0);
	return tear_down(state);
}

static uint64_t entries(void)
{
	return copy_entry_count(follower->copy);
}

static void assert_cookie(const char *cookie)
{
	struct str has = copy_cookie(follower->copy);

	if (!str_equal(has, str_from(cookie)))
		fail_msg(STR_FORMAT, STR_ARGUMENTS(has));
}

/* --- what servers do --- */

static void user_1(void)
{
	played_ldap_entry(0, SYNC_ADD, 1, "uid=a,dc=test", "uid", "a", NULL);
}

static void user_2(void)
{
	played_ldap_entry(0, SYNC_ADD, 2, "uid=b,dc=test", "uid", "b", NULL);
}

static void users_3_and_4(void)
{
	played_ldap_entry(0, SYNC_ADD, 3, "uid=c,dc=test", "uid", "c", NULL);
	played_ldap_entry(0, SYNC_MODIFY, 4, "uid=d,dc=test", "uid", "d", NULL);
}

static void no_name(void)
{
	played_ldap_entry(0, SYNC_ADD, 9, "no name", "uid", "x", NULL);
}

static void delete_2(void)
{
	played_ldap_entry(0, SYNC_DELETE, 2, "uid=b,dc=test", NULL, NULL, COOKIE_2);
}

static void present_2(void)
{
	played_ldap_entry(0, SYNC_PRESENT, 2, "uid=b,dc=test", NULL, NULL, NULL);
}

static void present_1_and_2(void)
{
	played_ldap_uuids(0, false, (const uint8_t[]){2, 1}, 2);
}

static void present_1(void)
{
	played_ldap_uuids(0, false, (const uint8_t[]){1}, 1);
}

static void deleted_1_and_3(void)
{
	played_ldap_uuids(0, true, (const uint8_t[]){1, 3}, 2);
}

static void loaded(void)
{
	played_ldap_refreshed(0, SYNC_REFRESH_PRESENT, true, COOKIE_1);
}

static void present_but_not_done(void)
{
	played_ldap_refreshed(0, SYNC_REFRESH_PRESENT, false, NULL);
}

static void loaded_with_deletions(void)
{
	played_ldap_refreshed(0, SYNC_REFRESH_DELETE, true, COOKIE_2);
}

static void deletions_are_not_all(void)
{
	played_ldap_refreshed(0, SYNC_REFRESH_DELETE, false, COOKIE_2);
}

static void new_cookie(void)
{
	played_ldap_refreshed(0, SYNC_NEW_COOKIE, false, COOKIE_2);
}

static void opaque_cookie(void)
{
	played_ldap_refreshed(0, SYNC_NEW_COOKIE, false, "what a cookie");
}

static void server_closes(void)
{
	played_ldap_close(0);
}

static void server_is_silent(void)
{
	played_ldap.servers[0].is_silent = true;
}

static void stop(void)
{
	atomic_store(&follower->is_stopping, true);
}

static void time_passes(void)
{
	played_ldap.now_us += SECOND_US;
}

static step *const load_two[] = {user_1, user_2, loaded, server_closes, NULL};
static step *const load_four[] = {user_1, user_2, users_3_and_4, loaded, server_closes, NULL};

static void load(step *const *steps)
{
	assert_int_equal(run_session(0, steps), SESSION_LOST);
	assert_why("Can't contact LDAP server (-1)");
	assert_true(was_loaded);
}

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

			played_ldap_fail_at(at, fault, LDAP_BUSY);
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

/* --- silence --- */

static unsigned probes(void)
{
	static const char probe[] = "contextCSN\n";
	struct str rest = buffer_view(&played_ldap.heard);
	unsigned count = 0;
	const char *at;

	while ((at = memmem(rest.data, rest.length, probe, strlen(probe))) != NULL) {
		rest = str_skip(rest, (size_t)(at - rest.data) + strlen(probe));
		count++;
	}
	return count - 1; /* the first one is asked at the beginning */
}

/* It is asked every two seconds, and has three for the answer. */
static void a_server_becomes_silent(void **state)
{
	static step *const steps[] = {user_1, loaded, server_is_silent, NULL};

	(void)state;
	assert_int_equal(run_session(0, steps), SESSION_LOST);
	assert_true(was_loaded);
	assert_why("it says nothing any more");
	assert_in_range(played_ldap.now_us - begun_us, FOLLOW_SILENCE_US,
			FOLLOW_PROBE_US + FOLLOW_SILENCE_US + 2 * FOLLOW_SLICE_US);
}

static bool stop_after_ten_seconds(void)
{
	if (script != NULL && *script != NULL)
		return do_next();
	if (played_ldap.now_us - begun_us >= 10 * SECOND_US)
		stop();
	return false;
}

static void an_idle_server_is_asked_now_and_then(void **state)
{
	static step *const steps[] = {user_1, loaded, NULL};

	(void)state;
	script = steps;
	played_ldap.idle = stop_after_ten_seconds;
	begun_us = played_ldap.now_us;
	assert_int_equal(session_run(follower, 0, &was_loaded, &why), SESSION_STOPPED);
	assert_in_range(probes(), 4, 6);
	atomic_store(&follower->is_stopping, false);
	played_ldap_turn();
}

/* Something that is no answer comes with each slice of the time. */
static bool babble(void)
{
	if (*script != NULL)
		return do_next();
	if (played_ldap.now_us - begun_us > 1000 * SECOND_US)
		fail_msg("it goes on for ever");
	played_ldap.now_us += FOLLOW_SLICE_US;
	played_ldap_unsolicited(0);
	return true;
}

static void a_server_talks_but_does_not_answer(void **state)
{
	static step *const steps[] = {user_1, loaded, NULL};

	(void)state;
	script = steps;
	played_ldap.servers[0].answers_no_probe = true;
	played_ldap.idle = babble;
	begun_us = played_ldap.now_us;
	assert_int_equal(session_run(follower, 0, &was_loaded, &why), SESSION_LOST);
	assert_why("it talks, but answers nothing any more");
	assert_in_range(played_ldap.now_us - begun_us, FOLLOW_ANSWER_US,
			FOLLOW_ANSWER_US + 5 * SECOND_US);
	played_ldap_turn();
}

/* --- how fresh the copy is --- */

static void server_has_csn_1(void)
{
	played_ldap.servers[0].csn = CSN_1;
}

static void server_has_csn_2(void)
{
	played_ldap.servers[0].csn = CSN_2;
}

static int64_t fresh_after(step *const *steps)
{
	follower->fresh_us = INT64_MIN;
	played_ldap.now_us = SECOND_US; /* so that the first probe is a second later */
	(void)run_session(0, steps);
	return follower_fresh_us(follower);
}

/* Once all that the server had when it was asked is here. */
static void a_copy_is_fresh(void **state)
{
	static step *const steps[] = {server_has_csn_1, user_1,      loaded,       time_passes,
				      wait_a_slice,     time_passes, wait_a_slice, wait_a_slice,
				      wait_a_slice,     stop,        NULL};
	int64_t fresh_us;

	(void)state;
	fresh_us = fresh_after(steps);
	assert_in_range(fresh_us, begun_us + 1, played_ldap.now_us);
	assert_int_equal(follower_lost_us(follower), 0);
	assert_true(copy_fresh_us(follower->copy) > 0);
	atomic_store(&follower->is_stopping, false);
}

/* A change that was made before it was asked has not come; but it is none of ours if nothing comes
 * until it has answered again. */
static void a_copy_is_fresh_after_two_answers(void **state)
{
	static step *const one[] = {user_1,      loaded,       server_has_csn_2,
				    time_passes, wait_a_slice, wait_a_slice,
				    stop,        NULL};
	static step *const two[] = {
		user_1,      loaded,       server_has_csn_2, time_passes, wait_a_slice, time_passes,
		time_passes, wait_a_slice, wait_a_slice,     stop,        NULL};
	static step *const more[] = {user_1,       loaded,       server_has_csn_2, time_passes,
				     wait_a_slice, wait_a_slice, user_2,           time_passes,
				     time_passes,  wait_a_slice, wait_a_slice,     stop,
				     NULL};
	int64_t fresh_us;

	(void)state;
	/* as it was when the load began */
	assert_int_equal(fresh_after(one), begun_us);
	assert_int_equal(probes(), 1);
	atomic_store(&follower->is_stopping, false);
	fresh_us = fresh_after(two);
	assert_int_equal(probes(), 2);
	assert_in_range(fresh_us, begun_us + 1, begun_us + 2 * SECOND_US);
	atomic_store(&follower->is_stopping, false);
	assert_int_equal(fresh_after(more), begun_us);
	atomic_store(&follower->is_stopping, false);
}

/* --- the way back to a preferred server --- */

static void user_at_second(void)
{
	played_ldap_entry(1, SYNC_ADD, 1, "uid=a,dc=test", "uid", "a", NULL);
}

static void loaded_at_second(void)
{
	played_ldap_refreshed(1, SYNC_REFRESH_PRESENT, true, COOKIE_1);
}

/* The first one is looked for after a minute, and then each time after twice as long. */
static void a_preferred_server_is_looked_for(void **state)
{
	static step *const steps[] = {user_at_second, loaded_at_second, NULL};

	(void)state;
	assert_int_equal(run_session(1, steps), SESSION_RETURN);
	assert_in_range(played_ldap.now_us - begun_us, FOLLOW_RETURN_US,
			FOLLOW_RETURN_US + SECOND_US);
}

static bool return_later(void)
{
	int64_t past_us = played_ldap.now_us - begun_us;

	if (*script != NULL)
		return do_next();
	if (past_us > FOLLOW_RETURN_US + SECOND_US)
		played_ldap.servers[0].bind_code = 0;
	if (past_us > 10 * (int64_t)FOLLOW_RETURN_US)
		fail_msg("it never looks again");
	return false;
}

static void a_preferred_server_comes_back_later(void **state)
{
	static step *const steps[] = {user_at_second, loaded_at_second, NULL};

	(void)state;
	script = steps;
	played_ldap.idle = return_later;
	played_ldap.servers[0].bind_code = LDAP_BUSY;
	begun_us = played_ldap.now_us;
	assert_int_equal(session_run(follower, 1, &was_loaded, &why), SESSION_RETURN);
	assert_int_equal(played_ldap.servers[0].accepted, 2);
	assert_in_range(played_ldap.now_us - begun_us, 3 * (int64_t)FOLLOW_RETURN_US,
			3 * (int64_t)FOLLOW_RETURN_US + SECOND_US);
	played_ldap_turn();
}

#define SESSION_TEST(name) cmocka_unit_test_setup_teardown(name, set_up_session, tear_down_session)

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
		SESSION_TEST(a_server_becomes_silent),
		SESSION_TEST(an_idle_server_is_asked_now_and_then),
		SESSION_TEST(a_server_talks_but_does_not_answer),
		SESSION_TEST(a_copy_is_fresh),
		SESSION_TEST(a_copy_is_fresh_after_two_answers),
		SESSION_TEST(a_preferred_server_is_looked_for),
		SESSION_TEST(a_preferred_server_comes_back_later),
	};

	signal(SIGPIPE, SIG_IGN); /* libldap writes as long as it may */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
