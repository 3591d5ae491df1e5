// SPDX-License-Identifier: ISC
/* Sessions of who follows LDAP servers: silence, how fresh the copy is, and the way back to a
 * preferred server. */
#include "session_scene.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
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
