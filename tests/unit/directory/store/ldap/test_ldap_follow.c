// SPDX-License-Identifier: ISC
/* How much of what an LDAP server says is kept, and how much of it is logged. */
#include "directory/store/ldap/copy/copy.h"
#include "directory/store/ldap/follow/session.h"
#include "os/clock.h"
#include "test.h"
#include <stdlib.h>
#include <string.h>

static struct follower follower;
static struct session session;
static struct buffer why;
static struct sync_info_value info; /* what the next message says */
static uint64_t entries;            /* in the copy */
static unsigned logged[3];          /* bad entries, and how many there were; others */
static int64_t bad_told;            /* the number in the log */

/* --- libldap, and the copy --- */

int message_entry(LDAP *ld, LDAPMessage *message, struct arena *arena, struct entry *entry_out)
{
	(void)ld, (void)message, (void)arena;
	*entry_out = (struct entry){.dn = STR("no name")};
	return 0;
}

int message_sync_state(LDAP *ld, LDAPMessage *message, struct arena *arena,
		       struct sync_state_value *value_out)
{
	(void)ld, (void)message, (void)arena;
	*value_out = (struct sync_state_value){.state = SYNC_ADD};
	return 0;
}

int message_sync_info(LDAP *ld, LDAPMessage *message, struct arena *arena,
		      struct sync_info_value *value_out)
{
	(void)ld, (void)message, (void)arena;
	*value_out = info;
	return 0;
}

void entry_map_apply(const struct entry_map *map, const struct entry *entry, struct arena *arena,
		     mapping_bad *bad, void *context, struct mapping *mapping_out)
{
	(void)map, (void)entry, (void)arena, (void)bad, (void)context, (void)mapping_out;
	fail_msg("it has no name");
}

void copy_put(struct copy *copy, const struct sync_uuid *uuid, struct str name,
	      const struct mapping *mapping)
{
	(void)copy, (void)uuid, (void)name, (void)mapping;
	fail_msg("it has no name");
}

void copy_delete(struct copy *copy, const struct sync_uuid *uuid)
{
	(void)copy, (void)uuid;
}

void copy_keep_only(struct copy *copy, const struct sync_uuid *uuids, size_t count)
{
	(void)copy, (void)uuids, (void)count;
}

void copy_set_cookie(struct copy *copy, struct str cookie)
{
	(void)copy, (void)cookie;
}

void copy_set_fresh(struct copy *copy, int64_t wall_us)
{
	(void)copy, (void)wall_us;
}

uint64_t copy_entry_count(struct copy *copy)
{
	(void)copy;
	return entries;
}

int copy_commit(struct copy *copy, struct copy_counts *counts)
{
	(void)copy, (void)counts;
	return 0;
}

const char *copy_error_text(const struct copy *copy)
{
	(void)copy;
	return "";
}

void os_wakeup_send(struct os_wakeup *wakeup)
{
	(void)wakeup;
}

void log_write(enum log_name name, const struct log_field *fields)
{
	size_t kind = name == EVENT_LDAP_ENTRY_BAD ? 0 : name == EVENT_LDAP_UNUSABLE ? 1 : 2;

	logged[kind]++;
	if (kind == 1)
		bad_told = fields[1].number;
}

/* --- a session that loads --- */

static int set_up(void **state)
{
	static const struct link_server server = {.url = (char *)"ldap://test"};

	(void)state;
	memset(logged, 0, sizeof logged);
	entries = 0;
	info = (struct sync_info_value){.info = SYNC_NEW_COOKIE};
	follower = (struct follower){.last_note = &follower.notes};
	pthread_mutex_init(&follower.mutex, NULL);
	session = (struct session){.follower = &follower,
				   .server = &server,
				   .arena = arena_new(),
				   .present_max = FOLLOW_PRESENT_MAX,
				   .why = &why};
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	follower_write_notes(&follower);
	pthread_mutex_destroy(&follower.mutex);
	arena_free(session.arena);
	buffer_clear(&session.present);
	buffer_clear(&why);
	return 0;
}

static void load_bad_entries(unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		session_on_entry(&session, NULL);
	follower_write_notes(&follower);
}

static void end_load(void)
{
	info = (struct sync_info_value){.info = SYNC_REFRESH_DELETE, .is_refresh_done = true};
	session_on_info(&session, NULL);
	assert_true(session.is_loaded && !session.is_over);
	follower_write_notes(&follower);
}

/* The log has as many of a load as may be, and if there were more their number; but each of those
 * that come later. */
static void bad_entries_are_logged(void **state)
{
	for (unsigned count = FOLLOW_ENTRIES_BAD_MAX - 1; count <= FOLLOW_ENTRIES_BAD_MAX + 1;
	     count++) {
		bool is_over = count > FOLLOW_ENTRIES_BAD_MAX;

		set_up(state);
		load_bad_entries(count);
		assert_int_equal(logged[0], is_over ? FOLLOW_ENTRIES_BAD_MAX : count);
		end_load();
		assert_int_equal(logged[1], is_over);
		if (is_over)
			assert_int_equal(bad_told, count);
		load_bad_entries(2);
		assert_int_equal(logged[0], (is_over ? FOLLOW_ENTRIES_BAD_MAX : count) + 2);
		tear_down(state);
	}
}

/* Lines that wait for the loop's thread. */
static void so_many_lines_wait(void **state)
{
	(void)state;
	for (unsigned i = 0; i <= FOLLOW_NOTES_MAX; i++) {
		follower_note(&follower, EVENT_LDAP_ENTRY_BAD, log_string(dn, "a"),
			      log_string(reason, "b"));
		assert_int_equal(follower.note_count,
				 i < FOLLOW_NOTES_MAX ? i + 1 : FOLLOW_NOTES_MAX);
	}
	follower_write_notes(&follower);
	assert_int_equal(logged[0], FOLLOW_NOTES_MAX);
	follower_note(&follower, EVENT_LDAP_ENTRY_BAD, log_string(dn, "a"),
		      log_string(reason, "b"));
	follower_write_notes(&follower);
	assert_int_equal(logged[0], FOLLOW_NOTES_MAX + 1);
}

/* So many that are not in the copy, and each that is in it twice. What is there already is memory
 * that nobody touches. */
static void so_many_entries_are_present(void **state)
{
	static const struct sync_uuid uuids[3];

	(void)state;
	info = (struct sync_info_value){.info = SYNC_ID_SET, .uuids = uuids, .uuid_count = 1};
	(void)buffer_reserve(&session.present, FOLLOW_PRESENT_MAX + sizeof uuids);
	buffer_commit(&session.present, FOLLOW_PRESENT_MAX - sizeof *uuids);
	session_on_info(&session, NULL);
	assert_false(session.is_over);
	entries = 1;
	info.uuid_count = 2;
	session_on_info(&session, NULL);
	assert_false(session.is_over);
	info.uuid_count = 1;
	session_on_info(&session, NULL);
	assert_true(session.is_over);
	assert_int_equal(session.end, SESSION_LOST);
	assert_true(str_equal(buffer_view(&why), STR("it names too many entries")));
}

#define FOLLOW_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_entries_are_logged),
		FOLLOW_TEST(so_many_lines_wait),
		FOLLOW_TEST(so_many_entries_are_present),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
