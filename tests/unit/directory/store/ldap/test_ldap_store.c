// SPDX-License-Identifier: ISC
/*
 * The store that follows LDAP servers, with played ones: which it follows, how long it waits, and
 * when it answers. What its thread does is done here, between turns of the loop.
 */
#include "directory/store/ldap/follow/internal.h"
#include "directory/store/ldap/ldap.h"
#include "heard.h"
#include "ldap_scene.h"
#include "os/clock.h"
#include "scratch.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TTL_US = 60000000, WAITS_MAX = 16 };

static const char COOKIE_1[] = "rid=000,csn=20261120192556.362513Z#000000#001#000000";

static char folder[SCRATCH_SIZE], path[SCRATCH_SIZE + 16];
static struct os_loop *loop;
static struct directory_store *store;
static const char *urls[3];
static struct store_ldap_settings settings;

/* --- the thread, and its waits --- */

static void *(*routine)(void *context);
static struct follower *follower;
static int64_t waits[WAITS_MAX];
static unsigned wait_count, waits_most;
static void (*at_wait)(void); /* or NULL */

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  void *(*call)(void *context), void *context);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  void *(*call)(void *context), void *context)
{
	sigset_t blocked;

	(void)thread, (void)attributes;
	/* signals are the loop's */
	assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &blocked), 0);
	assert_true(sigismember(&blocked, SIGTERM));
	routine = call;
	follower = context;
	return 0;
}

int __wrap_pthread_clockjoin_np(pthread_t thread, void **result, clockid_t clock,
				const struct timespec *until);
int __wrap_pthread_clockjoin_np(pthread_t thread, void **result, clockid_t clock,
				const struct timespec *until)
{
	(void)thread, (void)result, (void)clock;
	assert_int_equal(until->tv_sec,
			 (played_ldap.now_us + FOLLOWER_PATIENCE_S * SECOND_US) / SECOND_US);
	return 0;
}

int __wrap_pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
				  const struct timespec *until);
int __wrap_pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
				  const struct timespec *until)
{
	int64_t until_us = until->tv_sec * SECOND_US + until->tv_nsec / 1000;

	(void)condition, (void)mutex;
	assert_true(wait_count < WAITS_MAX);
	waits[wait_count++] = until_us - played_ldap.now_us;
	if (at_wait != NULL)
		at_wait();
	if (wait_count == waits_most)
		atomic_store(&follower->is_stopping, true);
	played_ldap.now_us = until_us;
	return ETIMEDOUT;
}

/* --- the loop --- */

static struct os_timer *end;
static unsigned resets, changes, states;
static bool last_state;

static void end_turn(void *context)
{
	(void)context;
	os_loop_stop(loop);
}

static void run_loop(void)
{
	for (int i = 0; i < 3; i++) {
		os_timer_start(end, 0);
		os_loop_run(loop);
	}
}

static void on_changed(void *context, const struct directory_key *keys, const uint64_t *versions,
		       size_t count)
{
	(void)context, (void)keys, (void)versions;
	changes += (unsigned)count;
}

static void on_reset(void *context)
{
	(void)context;
	resets++;
}

static void on_state(void *context, bool is_up)
{
	(void)context;
	states++;
	last_state = is_up;
}

static const struct directory_store_handler handler = {on_changed, on_reset, on_state};

static void open_store(void)
{
	assert_int_equal(store_ldap_new(loop, &settings, &store, &why), 0);
	store->handler = &handler;
	resets = changes = states = 0;
	assert_int_equal(store_ldap_open(store, &why), 0);
	routine = NULL;
	run_loop();
	assert_non_null(routine);
}

static void close_store(void)
{
	store->operations->free(store);
	played_ldap_turn();
}

static int set_up_store(void **state)
{
	(void)set_up(state);
	loop = os_loop_new();
	end = os_timer_new(loop, end_turn, NULL);
	assert_int_equal(scratch_make(folder), 0);
	snprintf(path, sizeof path, "%s/copy.db", folder);
	for (size_t i = 0; i < 3; i++)
		urls[i] = played_ldap.servers[i].url;
	settings = (struct store_ldap_settings){
		.path = path, .urls = urls, .url_count = 2, .base = "dc=test", .ttl_us = TTL_US};
	wait_count = waits_most = 0;
	open_store();
	return 0;
}

static int tear_down_store(void **state)
{
	close_store();
	os_timer_free(end);
	os_loop_free(loop);
	(void)heard_take();
	assert_int_equal(scratch_remove(folder), 0);
	return tear_down(state);
}

/* --- scenes --- */

typedef void step(void);

static step *const *script;
static unsigned idle_count;

static bool do_next(void)
{
	if (*script == NULL) {
		if (++idle_count > 1000)
			fail_msg("it waits for ever");
		return false;
	}
	(*script++)();
	return true;
}

/* The whole life of the thread: STEPS are done while it waits for a server, and it is stopped in
 * its wait of the number MOST, if it does not stop before. */
static void run_thread(step *const *steps, unsigned most)
{
	script = steps;
	idle_count = 0;
	wait_count = 0;
	waits_most = most;
	played_ldap.idle = do_next;
	assert_null(routine(follower));
	atomic_store(&follower->is_stopping, false);
	assert_null(*script);
	run_loop();
	played_ldap_turn();
	assert_int_equal(played_ldap.open, 0);
}

static void user_at_first(void)
{
	played_ldap_entry(0, SYNC_ADD, 1, "uid=a,dc=test", "uid", "a", NULL);
}

static void loaded_at_first(void)
{
	played_ldap_refreshed(0, SYNC_REFRESH_PRESENT, true, COOKIE_1);
}

static void nothing_has_changed(void)
{
	played_ldap_refreshed(0, SYNC_REFRESH_DELETE, true, NULL);
}

static void first_closes(void)
{
	played_ldap_close(0);
}

static void user_at_second(void)
{
	run_loop();
	played_ldap_entry(1, SYNC_ADD, 1, "uid=a,dc=test", "uid", "a", NULL);
}

static void loaded_at_second(void)
{
	played_ldap_refreshed(1, SYNC_REFRESH_PRESENT, true, COOKIE_1);
}

static void second_closes(void)
{
	played_ldap_close(1);
}

static void cookie_is_refused(void)
{
	played_ldap_sync_ends(0, LDAP_SYNC_REFRESH_REQUIRED, "");
}

static void stop(void)
{
	atomic_store(&follower->is_stopping, true);
}

static bool is_heard(const char *words)
{
	return strstr(heard_take(), words) != NULL;
}

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

/* --- when it answers --- */

static int got_error;
static unsigned got;

static void on_got(void *context, int error, const struct directory_record *const *records,
		   uint64_t version)
{
	(void)context, (void)version;
	got++;
	got_error = error;
	if (error == 0)
		assert_non_null(records[0]);
}

static void on_listed(void *context, int error, const struct directory_page *page, uint64_t version)
{
	(void)context, (void)page, (void)version;
	got++;
	got_error = error;
}

static int read_user(void)
{
	const struct directory_key key = {DIRECTORY_USER, STR("a")};
	int first_error;

	got = 0;
	directory_store_begin(store);
	store->operations->get(store, &key, 1, on_got, NULL);
	first_error = got_error;
	store->operations->list(store, DIRECTORY_USER, STR(""), STR(""), 10, on_listed, NULL);
	directory_store_end(store);
	assert_int_equal(got, 2);
	assert_int_equal(got_error, first_error);
	return got_error;
}

/* Until the TTL after the copy was fresh is over, and again once it is. */
static void answers_have_an_end(void **state)
{
	static step *const load[] = {user_at_first, loaded_at_first, first_closes, NULL};

	(void)state;
	assert_int_equal(read_user(), -ENOTCONN);
	run_thread(load, 1);
	assert_int_equal(read_user(), 0);
	played_ldap.now_us = store->fresh_us + TTL_US - 1;
	assert_int_equal(read_user(), 0);
	run_loop();
	assert_true(store->is_up);
	played_ldap.now_us = store->fresh_us + TTL_US;
	assert_int_equal(read_user(), -ENOTCONN);
	run_thread(load, 1);
	assert_int_equal(read_user(), 0);
	assert_true(last_state);
}

/* A restart goes on with what is known, and with its cookie; not with that of other settings. */
static void a_restart_goes_on(void **state)
{
	static step *const load[] = {user_at_first, loaded_at_first, first_closes, NULL};
	static step *const again[] = {nothing_has_changed, first_closes, NULL};
	static const char *const map[] = {"user.key=cn"};

	(void)state;
	run_thread(load, 1);
	close_store();
	open_store();
	assert_true(store->is_up);
	assert_true(store->fresh_us > INT64_MIN && store->lost_us > 0);
	assert_int_equal(read_user(), 0);
	(void)heard_take();
	run_thread(again, 1);
	assert_true(is_heard("loaded=changes"));
	settings.map = (const char **)map;
	settings.map_count = 1;
	close_store();
	open_store();
	(void)heard_take();
	run_thread(load, 1);
	assert_true(is_heard("loaded=full"));
}

static void few_entries_are_accepted_if_they_are_to_be(void **state)
{
	static step *const load[] = {user_at_first, loaded_at_first, first_closes, NULL};
	static step *const none[] = {loaded_at_first, NULL};
	static const char *const map[] = {"user.key=cn"};

	(void)state;
	run_thread(load, 1);
	settings.map = (const char **)map;
	settings.map_count = 1;
	close_store();
	open_store();
	played_ldap.servers[1].bind_code = LDAP_BUSY;
	run_thread(none, 1);
	assert_true(is_heard("it shows only 0 of 1 entries"));
	store->operations->accept(store);
	run_thread((step *const[]){loaded_at_first, first_closes, NULL}, 1);
	assert_true(is_heard("loaded=full entries=0"));
}

static void on_change_refused(void *context, int error, const bool *existed, uint64_t version)
{
	(void)context, (void)version;
	assert_null(existed);
	got_error = error;
}

static void nothing_is_changed_through_it(void **state)
{
	(void)state;
	store->operations->change(store, NULL, 0, on_change_refused, NULL);
	assert_int_equal(got_error, -EOPNOTSUPP);
}

/* --- what cannot be opened --- */

static void settings_and_files_are_checked(void **state)
{
	struct directory_store *other = NULL;
	struct store_ldap_settings wrong = settings;

	(void)state;
	wrong.base = "no name";
	assert_int_equal(store_ldap_new(loop, &wrong, &other, &why), -EINVAL);
	assert_why("base \"no name\" is not the name of an entry");
	wrong = settings;
	urls[1] = "http://host";
	assert_int_equal(store_ldap_new(loop, &wrong, &other, &why), -EINVAL);
	urls[1] = played_ldap.servers[1].url;
	wrong.map = (const char **)(const char *const[]){"no=such=map"};
	wrong.map_count = 1;
	buffer_reset(&why);
	assert_int_equal(store_ldap_new(loop, &wrong, &other, &why), -EINVAL);
	assert_null(other);
	wrong = settings;
	wrong.path = "/nonexistent/copy.db";
	assert_int_equal(store_ldap_new(loop, &wrong, &other, &why), 0);
	buffer_reset(&why);
	assert_true(store_ldap_open(other, &why) < 0);
	assert_true(why.length > 0);
	other->operations->free(other);
}

#define STORE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up_store, tear_down_store)

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(the_next_server_is_followed),
		STORE_TEST(nobody_can_be_followed),
		STORE_TEST(waits_begin_again),
		STORE_TEST(a_refused_cookie_is_not_sent_again),
		STORE_TEST(it_is_told_that_a_cookie_was_refused),
		STORE_TEST(answers_have_an_end),
		STORE_TEST(a_restart_goes_on),
		STORE_TEST(few_entries_are_accepted_if_they_are_to_be),
		STORE_TEST(nothing_is_changed_through_it),
		STORE_TEST(settings_and_files_are_checked),
	};

	signal(SIGPIPE, SIG_IGN); /* libldap writes as long as it may */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
