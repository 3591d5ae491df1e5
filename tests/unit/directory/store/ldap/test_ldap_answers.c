// SPDX-License-Identifier: ISC
/* When the store that follows LDAP servers answers, and with what it begins. */
#include "store_scene.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(answers_have_an_end),
		STORE_TEST(a_restart_goes_on),
		STORE_TEST(few_entries_are_accepted_if_they_are_to_be),
		STORE_TEST(nothing_is_changed_through_it),
		STORE_TEST(settings_and_files_are_checked),
	};

	signal(SIGPIPE, SIG_IGN); /* libldap writes as long as it may */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
