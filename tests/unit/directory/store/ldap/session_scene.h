// SPDX-License-Identifier: ISC
/*
 * tests/unit/directory/store/ldap/session_scene.h - sessions of who follows LDAP servers, with
 * played ones. Each scene is a list of what the server does while nothing comes from it.
 */
#ifndef TESTS_UNIT_LDAP_SESSION_SCENE_H
#define TESTS_UNIT_LDAP_SESSION_SCENE_H

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
static inline void wait_a_slice(void)
{
}

static inline bool do_next(void)
{
	step *next = script != NULL ? *script : NULL;

	if (next == NULL)
		return false;
	script++;
	next();
	return next != wait_a_slice;
}

/* The session of server NUMBER, in which STEPS are done one after the other. */
static inline enum session_end run_session(size_t number, step *const *steps)
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

static inline void open_follower(void)
{
	assert_int_equal(follower_new(loop, &settings, NULL, NULL, &follower, &why), 0);
}

static inline int set_up_session(void **state)
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

static inline int tear_down_session(void **state)
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

static inline uint64_t entries(void)
{
	return copy_entry_count(follower->copy);
}

static inline void assert_cookie(const char *cookie)
{
	struct str has = copy_cookie(follower->copy);

	if (!str_equal(has, str_from(cookie)))
		fail_msg(STR_FORMAT, STR_ARGUMENTS(has));
}

/* --- what servers do --- */

static inline void user_1(void)
{
	played_ldap_entry(0, SYNC_ADD, 1, "uid=a,dc=test", "uid", "a", NULL);
}

static inline void user_2(void)
{
	played_ldap_entry(0, SYNC_ADD, 2, "uid=b,dc=test", "uid", "b", NULL);
}

static inline void users_3_and_4(void)
{
	played_ldap_entry(0, SYNC_ADD, 3, "uid=c,dc=test", "uid", "c", NULL);
	played_ldap_entry(0, SYNC_MODIFY, 4, "uid=d,dc=test", "uid", "d", NULL);
}

static inline void no_name(void)
{
	played_ldap_entry(0, SYNC_ADD, 9, "no name", "uid", "x", NULL);
}

static inline void delete_2(void)
{
	played_ldap_entry(0, SYNC_DELETE, 2, "uid=b,dc=test", NULL, NULL, COOKIE_2);
}

static inline void present_2(void)
{
	played_ldap_entry(0, SYNC_PRESENT, 2, "uid=b,dc=test", NULL, NULL, NULL);
}

static inline void present_1_and_2(void)
{
	played_ldap_uuids(0, false, (const uint8_t[]){2, 1}, 2);
}

static inline void present_1(void)
{
	played_ldap_uuids(0, false, (const uint8_t[]){1}, 1);
}

static inline void deleted_1_and_3(void)
{
	played_ldap_uuids(0, true, (const uint8_t[]){1, 3}, 2);
}

static inline void loaded(void)
{
	played_ldap_refreshed(0, SYNC_REFRESH_PRESENT, true, COOKIE_1);
}

static inline void present_but_not_done(void)
{
	played_ldap_refreshed(0, SYNC_REFRESH_PRESENT, false, NULL);
}

static inline void loaded_with_deletions(void)
{
	played_ldap_refreshed(0, SYNC_REFRESH_DELETE, true, COOKIE_2);
}

static inline void deletions_are_not_all(void)
{
	played_ldap_refreshed(0, SYNC_REFRESH_DELETE, false, COOKIE_2);
}

static inline void new_cookie(void)
{
	played_ldap_refreshed(0, SYNC_NEW_COOKIE, false, COOKIE_2);
}

static inline void opaque_cookie(void)
{
	played_ldap_refreshed(0, SYNC_NEW_COOKIE, false, "what a cookie");
}

static inline void server_closes(void)
{
	played_ldap_close(0);
}

static inline void server_is_silent(void)
{
	played_ldap.servers[0].is_silent = true;
}

static inline void stop(void)
{
	atomic_store(&follower->is_stopping, true);
}

static inline void time_passes(void)
{
	played_ldap.now_us += SECOND_US;
}

static step *const load_two[] = {user_1, user_2, loaded, server_closes, NULL};
static step *const load_four[] = {user_1, user_2, users_3_and_4, loaded, server_closes, NULL};

static inline void load(step *const *steps)
{
	assert_int_equal(run_session(0, steps), SESSION_LOST);
	assert_why("Can't contact LDAP server (-1)");
	assert_true(was_loaded);
}

#define SESSION_TEST(name) cmocka_unit_test_setup_teardown(name, set_up_session, tear_down_session)

#endif
