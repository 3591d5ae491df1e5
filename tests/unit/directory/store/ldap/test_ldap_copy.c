// SPDX-License-Identifier: ISC
/* What follows from entries that come, change, move and go, in whatever order. */
#include "directory/store/ldap/copy/copy.h"
#include "directory/store/ldap/dn.h"
#include "directory/store/sqlite/sqlite.h"
#include "ldif.h"
#include "os/loop.h"
#include "scratch.h"
#include "test.h"
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

struct fixture {
	char directory[SCRATCH_SIZE];
	char path[SCRATCH_SIZE + 16];
	struct os_loop *loop;
	struct directory_store *store;
	struct copy *copy;
	struct entry_map *map;
	struct buffer conflicts;
	struct copy_counts counts;
};

static void on_conflict(void *context, struct str key, struct str first, struct str second)
{
	struct fixture *fixture = context;

	buffer_append_format(&fixture->conflicts,
			     STR_FORMAT ": " STR_FORMAT ", not " STR_FORMAT "\n",
			     STR_ARGUMENTS(key), STR_ARGUMENTS(first), STR_ARGUMENTS(second));
}

static void open_copy(struct fixture *fixture, const char *shape)
{
	struct buffer why = {0};

	if (copy_open(fixture->path, str_from(shape), on_conflict, fixture, &fixture->copy, &why) <
	    0)
		fail_msg(STR_FORMAT, STR_ARGUMENTS(buffer_view(&why)));
}

static int set_up(void **state)
{
	static const char *const nodes[] = {"node.key=cn", "node.address=labeledURI",
					    "node.group=ou"};
	static struct fixture fixture;
	struct buffer why = {0};

	fixture = (struct fixture){.loop = os_loop_new()};
	assert_int_equal(scratch_make(fixture.directory), 0);
	snprintf(fixture.path, sizeof(fixture.path), "%s/copy.db", fixture.directory);
	if (store_sqlite_open(fixture.loop, fixture.path, &fixture.store, &why) < 0)
		fail_msg(STR_FORMAT, STR_ARGUMENTS(buffer_view(&why)));
	assert_int_equal(entry_map_new(nodes, COUNT_OF(nodes), &fixture.map, &why), 0);
	open_copy(&fixture, "a");
	*state = &fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	copy_close(fixture->copy);
	fixture->store->operations->free(fixture->store);
	entry_map_free(fixture->map);
	os_loop_free(fixture->loop);
	buffer_clear(&fixture->conflicts);
	return scratch_remove(fixture->directory);
}

static struct sync_uuid uuid_of(int number)
{
	struct sync_uuid uuid = {0};

	uuid.bytes[SYNC_UUID_SIZE - 1] = (uint8_t)number;
	return uuid;
}

static void on_bad(void *context, struct str dn, const char *reason)
{
	(void)context;
	fail_msg(STR_FORMAT ": %s", STR_ARGUMENTS(dn), reason);
}

static void put(struct fixture *fixture, int number, const char *ldif)
{
	struct arena *arena = arena_new();
	struct entry entry = ldif_parse(arena, ldif);
	struct sync_uuid uuid = uuid_of(number);
	struct buffer name = {0};
	struct mapping mapping;

	assert_int_equal(dn_normalize(entry.dn, &name), 0);
	entry_map_apply(fixture->map, &entry, arena, on_bad, NULL, &mapping);
	copy_put(fixture->copy, &uuid, buffer_view(&name), &mapping);
	buffer_clear(&name);
	arena_free(arena);
}

static void drop(struct fixture *fixture, int number)
{
	struct sync_uuid uuid = uuid_of(number);

	copy_delete(fixture->copy, &uuid);
}

static void commit(struct fixture *fixture)
{
	fixture->counts = (struct copy_counts){0};
	assert_int_equal(copy_commit(fixture->copy, &fixture->counts), 0);
}

/* All rows of SQL, columns between spaces, a line each. */
static void read_rows(struct fixture *fixture, const char *sql, struct buffer *out)
{
	sqlite3 *database = NULL;
	sqlite3_stmt *statement = NULL;

	assert_int_equal(sqlite3_open(fixture->path, &database), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(database, sql, -1, &statement, NULL), SQLITE_OK);
	while (sqlite3_step(statement) == SQLITE_ROW) {
		for (int i = 0; i < sqlite3_column_count(statement); i++)
			buffer_append_format(out, "%s%s", i > 0 ? " " : "",
					     (const char *)sqlite3_column_text(statement, i));
		buffer_append_byte(out, '\n');
	}
	sqlite3_finalize(statement);
	sqlite3_close(database);
}

static void assert_rows(struct fixture *fixture, const char *sql, const char *expected)
{
	struct buffer found = {0};

	read_rows(fixture, sql, &found);
	if (!str_equal(buffer_view(&found), str_from(expected)))
		fail_msg("%s\n--- found\n" STR_FORMAT "--- expected\n%s", sql,
			 STR_ARGUMENTS(buffer_view(&found)), expected);
	buffer_clear(&found);
}

#define ADDRESSES "SELECT address, kind, coalesce(owner, '') FROM address ORDER BY address"
#define MEMBERS   "SELECT list, member FROM member ORDER BY list, member"
#define CHANGES   "SELECT count(*) FROM change"

#define ANN "uid=ann,ou=people,dc=x\nuid: ann\nmail: ann@x.org\n"
#define BOB "uid=bob,ou=people,dc=x\nuid: bob\nmail: bob@x.org\n"
#define STAFF                                                              \
	"cn=staff,dc=x\nobjectClass: groupOfNames\nmail: staff@x.org\n"    \
	"member: uid=ann,ou=people,dc=x\nmember: uid=bob,ou=people,dc=x\n" \
	"owner: uid=bob,ou=people,dc=x\n"

static void test_entries(void **state)
{
	struct fixture *fixture = *state;

	put(fixture, 1, ANN "mailAlternateAddress: a@x.org\nuserPassword: {CRYPT}$6$s$h\n");
	put(fixture, 2, BOB "mailForwardingAddress: b@y.org\nmailForwardingAddress: bob@x.org\n");
	assert_rows(fixture, ADDRESSES, ""); /* before the commit */
	commit(fixture);
	assert_rows(fixture, ADDRESSES, "a@x.org alias \nann@x.org mailbox \nbob@x.org forward \n");
	assert_rows(fixture, "SELECT * FROM target ORDER BY address, position",
		    "a@x.org 0 ann@x.org\nbob@x.org 0 b@y.org\nbob@x.org 1 bob@x.org\n");
	assert_rows(fixture, "SELECT name, password FROM password", "ann $6$s$h\n");
	put(fixture, 1, ANN);
	put(fixture, 2, BOB);
	commit(fixture);
	assert_rows(fixture, ADDRESSES, "ann@x.org mailbox \nbob@x.org mailbox \n");
	assert_rows(fixture, "SELECT * FROM target", "");
	assert_rows(fixture, "SELECT * FROM password", "");
	drop(fixture, 1);
	drop(fixture, 9);
	commit(fixture);
	assert_int_equal(fixture->counts.deleted, 1);
	assert_rows(fixture, ADDRESSES, "bob@x.org mailbox \n");
	assert_rows(fixture, "SELECT name FROM \"user\"", "bob\n");
}

static void test_same_again(void **state)
{
	struct fixture *fixture = *state;
	struct buffer before = {0};

	put(fixture, 1, ANN "mailAlternateAddress: a@x.org\nuserPassword: {CRYPT}$6$s$h\n");
	put(fixture, 3, STAFF);
	commit(fixture);
	read_rows(fixture, CHANGES, &before);
	buffer_append_byte(&before, '\0');
	put(fixture, 1, ANN "mailAlternateAddress: a@x.org\nuserPassword: {CRYPT}$6$s$h\n");
	put(fixture, 3, STAFF);
	commit(fixture);
	assert_int_equal(fixture->counts.entries, 0);
	assert_int_equal(fixture->counts.records, 0);
	assert_rows(fixture, CHANGES, buffer_data(&before));
	/* another entry says the same */
	put(fixture, 11, ANN "mailAlternateAddress: a@x.org\nuserPassword: {CRYPT}$6$s$h\n");
	drop(fixture, 1);
	commit(fixture);
	assert_int_equal(fixture->counts.entries, 1);
	assert_int_equal(fixture->counts.records, 0);
	assert_rows(fixture, CHANGES, buffer_data(&before));
	buffer_clear(&before);
}

static void test_members(void **state)
{
	struct fixture *fixture = *state;

	put(fixture, 3, STAFF); /* before its members */
	put(fixture, 1, ANN);
	commit(fixture);
	assert_rows(fixture, MEMBERS, "staff@x.org ann@x.org\n");
	assert_rows(fixture, "SELECT owner FROM address WHERE kind = 'list'", "postmaster@x.org\n");
	put(fixture, 2, BOB);
	commit(fixture);
	assert_rows(fixture, MEMBERS, "staff@x.org ann@x.org\nstaff@x.org bob@x.org\n");
	assert_rows(fixture, "SELECT owner FROM address WHERE kind = 'list'", "bob@x.org\n");
	put(fixture, 2, "uid=bob,ou=people,dc=x\nuid: bob\nmail: robert@x.org\n");
	commit(fixture);
	assert_rows(fixture, MEMBERS, "staff@x.org ann@x.org\nstaff@x.org robert@x.org\n");
	assert_rows(fixture, "SELECT owner FROM address WHERE kind = 'list'", "robert@x.org\n");
	drop(fixture, 1);
	commit(fixture);
	assert_rows(fixture, MEMBERS, "staff@x.org robert@x.org\n");
	put(fixture, 2, "uid=bob,ou=people,dc=x\nuid: bob\n"); /* no address any more */
	commit(fixture);
	assert_rows(fixture, MEMBERS, "");
	assert_rows(fixture, "SELECT owner FROM address WHERE kind = 'list'", "postmaster@x.org\n");
}

static void test_list_moves(void **state)
{
	struct fixture *fixture = *state;

	put(fixture, 1, ANN);
	put(fixture, 3, STAFF);
	commit(fixture);
	put(fixture, 3,
	    "cn=staff,dc=x\nobjectClass: groupOfNames\nmail: all@x.org\n"
	    "member: uid=ann,ou=people,dc=x\nrfc822MailMember: c@y.org\n");
	commit(fixture);
	assert_rows(fixture, MEMBERS, "all@x.org ann@x.org\nall@x.org c@y.org\n");
	assert_rows(fixture, ADDRESSES, "all@x.org list postmaster@x.org\nann@x.org mailbox \n");
	drop(fixture, 3);
	commit(fixture);
	assert_rows(fixture, MEMBERS, "");
}

static void test_rename(void **state)
{
	struct fixture *fixture = *state;

	put(fixture, 5, "ou=people,dc=x\nou: people\n");
	put(fixture, 6, "ou=people-old,dc=x\nou: people-old\n");
	put(fixture, 1, ANN);
	put(fixture, 2, BOB);
	put(fixture, 3, STAFF);
	commit(fixture);
	/* the server tells of the entry that was renamed, and not of those below */
	put(fixture, 5, "ou=folk,dc=x\nou: folk\n");
	commit(fixture);
	assert_rows(fixture, "SELECT dn FROM ldap_entry ORDER BY dn",
		    "dc=x,cn=staff\ndc=x,ou=folk\ndc=x,ou=folk,uid=ann\ndc=x,ou=folk,uid=bob\n"
		    "dc=x,ou=people-old\n");
	assert_rows(fixture, MEMBERS, "");
	put(fixture, 3,
	    "cn=staff,dc=x\nobjectClass: groupOfNames\nmail: staff@x.org\n"
	    "member: uid=ann,ou=folk,dc=x\n");
	commit(fixture);
	assert_rows(fixture, MEMBERS, "staff@x.org ann@x.org\n");
}

static void test_conflict(void **state)
{
	struct fixture *fixture = *state;

	put(fixture, 1, ANN);
	put(fixture, 2,
	    "cn=group,dc=x\nobjectClass: groupOfNames\nmail: ann@x.org\nowner: a@y.org\n");
	commit(fixture);
	assert_rows(fixture, ADDRESSES, "ann@x.org list a@y.org\n"); /* cn=group comes first */
	assert_true(str_equal(buffer_view(&fixture->conflicts),
			      STR("ann@x.org: dc=x,cn=group, not dc=x,ou=people,uid=ann\n")));
	drop(fixture, 2);
	commit(fixture);
	assert_rows(fixture, ADDRESSES, "ann@x.org mailbox \n");
}

static void test_keep_only(void **state)
{
	struct fixture *fixture = *state;
	const struct sync_uuid left[] = {uuid_of(2), uuid_of(3)};

	put(fixture, 1, ANN);
	put(fixture, 2, BOB);
	commit(fixture);
	put(fixture, 3, STAFF);
	copy_keep_only(fixture->copy, left, 2);
	commit(fixture);
	assert_rows(fixture, ADDRESSES, "bob@x.org mailbox \nstaff@x.org list bob@x.org\n");
	assert_rows(fixture, MEMBERS, "staff@x.org bob@x.org\n");
	copy_keep_only(fixture->copy, left, 0);
	commit(fixture);
	assert_int_equal(copy_entry_count(fixture->copy), 0);
	assert_rows(fixture, ADDRESSES, "");
}

static void test_state(void **state)
{
	struct fixture *fixture = *state;

	put(fixture, 1, ANN);
	copy_set_cookie(fixture->copy, STR("one"));
	copy_set_fresh(fixture->copy, 1234567);
	commit(fixture);
	put(fixture, 2, BOB);
	copy_set_cookie(fixture->copy, STR("two"));
	copy_rollback(fixture->copy);
	assert_true(str_equal(copy_cookie(fixture->copy), STR("one")));
	copy_close(fixture->copy);
	open_copy(fixture, "a");
	assert_true(str_equal(copy_cookie(fixture->copy), STR("one")));
	assert_int_equal(copy_fresh_us(fixture->copy), 1234567);
	assert_rows(fixture, ADDRESSES, "ann@x.org mailbox \n");
	copy_close(fixture->copy);
	open_copy(fixture, "b"); /* another map */
	assert_int_equal(copy_cookie(fixture->copy).length, 0);
	assert_rows(fixture, ADDRESSES, "ann@x.org mailbox \n");
}

static void test_error(void **state)
{
	struct fixture *fixture = *state;
	struct copy_counts counts = {0};
	sqlite3 *database = NULL;

	assert_int_equal(sqlite3_open(fixture->path, &database), SQLITE_OK);
	assert_int_equal(sqlite3_exec(database, "DROP TABLE member", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(database);
	put(fixture, 1, ANN);
	put(fixture, 3, STAFF);
	copy_set_cookie(fixture->copy, STR("one"));
	assert_int_equal(copy_commit(fixture->copy, &counts), -EIO);
	assert_string_equal(copy_error_text(fixture->copy), "no such table: member");
	assert_int_equal(copy_cookie(fixture->copy).length, 0);
	assert_rows(fixture, ADDRESSES, "");
	put(fixture, 1, ANN); /* it goes on */
	commit(fixture);
	assert_rows(fixture, ADDRESSES, "ann@x.org mailbox \n");
}

static void run_sql(struct fixture *fixture, const char *sql)
{
	sqlite3 *database = NULL;

	assert_int_equal(sqlite3_open(fixture->path, &database), SQLITE_OK);
	assert_int_equal(sqlite3_exec(database, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(database);
}

/* Before there were nodes, names of members and owners had the numbers of tables that came. */
static void test_old_numbers(void **state)
{
	struct fixture *fixture = *state;

	put(fixture, 1, ANN);
	put(fixture, 2, BOB);
	put(fixture, 3, STAFF);
	commit(fixture);
	copy_close(fixture->copy);
	run_sql(fixture, "UPDATE ldap_claim SET tbl = tbl - 94 WHERE tbl IN (100, 101);"
			 "DELETE FROM ldap_state WHERE name = 'claims'");
	assert_rows(fixture, "SELECT count(*) FROM ldap_claim WHERE tbl IN (6, 7)", "3\n");
	open_copy(fixture, "b");
	put(fixture, 2, "uid=bob,ou=people,dc=x\nuid: bob\nmail: robert@x.org\n");
	put(fixture, 4,
	    "cn=a1,dc=x\nobjectClass: device\ncn: a1\nlabeledURI: a.example:627\nou: core\n"
	    "ou: out\n");
	commit(fixture);
	assert_rows(fixture, MEMBERS, "staff@x.org ann@x.org\nstaff@x.org robert@x.org\n");
	assert_rows(fixture, "SELECT owner FROM address WHERE kind = 'list'", "robert@x.org\n");
	for (unsigned i = 0; i < 2; i++) {
		assert_rows(fixture, "SELECT name, address FROM node", "a1 a.example:627\n");
		assert_rows(fixture, "SELECT * FROM \"group\" ORDER BY position",
			    "a1 0 core\na1 1 out\n");
		assert_rows(fixture, "SELECT count(*) FROM ldap_claim WHERE tbl IN (6, 100, 101)",
			    "4\n");
		copy_close(fixture->copy);
		open_copy(fixture, "b");
	}
	drop(fixture, 4);
	commit(fixture);
	assert_rows(fixture,
		    "SELECT (SELECT count(*) FROM node) + (SELECT count(*) FROM \"group\")", "0\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(entries), TEST(same_again),  TEST(members),   TEST(list_moves),
		TEST(rename),  TEST(conflict),    TEST(keep_only), TEST(state),
		TEST(error),   TEST(old_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
