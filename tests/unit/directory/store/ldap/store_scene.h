// SPDX-License-Identifier: ISC
/*
 * tests/unit/directory/store/ldap/store_scene.h - the store that follows LDAP servers, with played
 * ones. What its thread does is done here, between turns of the loop.
 */
#ifndef TESTS_UNIT_LDAP_STORE_SCENE_H
#define TESTS_UNIT_LDAP_STORE_SCENE_H

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

static inline void end_turn(void *context)
{
	(void)context;
	os_loop_stop(loop);
}

static inline void run_loop(void)
{
	for (int i = 0; i < 3; i++) {
		os_timer_start(end, 0);
		os_loop_run(loop);
	}
}

static inline void on_changed(void *context, const struct directory_key *keys,
			      const uint64_t *versions, size_t count)
{
	(void)context, (void)keys, (void)versions;
	changes += (unsigned)count;
}

static inline void on_reset(void *context)
{
	(void)context;
	resets++;
}

static inline void on_state(void *context, bool is_up)
{
	(void)context;
	states++;
	last_state = is_up;
}

static const struct directory_store_handler handler = {on_changed, on_reset, on_state};

static inline void open_store(void)
{
	assert_int_equal(store_ldap_new(loop, &settings, &store, &why), 0);
	store->handler = &handler;
	resets = changes = states = 0;
	assert_int_equal(store_ldap_open(store, &why), 0);
	routine = NULL;
	run_loop();
	assert_non_null(routine);
}

static inline void close_store(void)
{
	store->operations->free(store);
	played_ldap_turn();
}

static inline int set_up_store(void **state)
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

static inline int tear_down_store(void **state)
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

static inline bool do_next(void)
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
static inline void run_thread(step *const *steps, unsigned most)
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

static inline void user_at_first(void)
{
	played_ldap_entry(0, SYNC_ADD, 1, "uid=a,dc=test", "uid", "a", NULL);
}

static inline void loaded_at_first(void)
{
	played_ldap_refreshed(0, SYNC_REFRESH_PRESENT, true, COOKIE_1);
}

static inline void nothing_has_changed(void)
{
	played_ldap_refreshed(0, SYNC_REFRESH_DELETE, true, NULL);
}

static inline void first_closes(void)
{
	played_ldap_close(0);
}

static inline void user_at_second(void)
{
	run_loop();
	played_ldap_entry(1, SYNC_ADD, 1, "uid=a,dc=test", "uid", "a", NULL);
}

static inline void loaded_at_second(void)
{
	played_ldap_refreshed(1, SYNC_REFRESH_PRESENT, true, COOKIE_1);
}

static inline void second_closes(void)
{
	played_ldap_close(1);
}

static inline void cookie_is_refused(void)
{
	played_ldap_sync_ends(0, LDAP_SYNC_REFRESH_REQUIRED, "");
}

static inline void stop(void)
{
	atomic_store(&follower->is_stopping, true);
}

static inline bool is_heard(const char *words)
{
	return strstr(heard_take(), words) != NULL;
}

#define STORE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up_store, tear_down_store)

#endif
