// SPDX-License-Identifier: ISC
/* Lists of the PostgreSQL store against a plain model: pages of any size, rows that are no records,
 * counts, and changes since a version. */
#include "store_scene.h"

static struct {
	struct buffer text; /* "KEY KEY", of bad ones "!KEY" */
	struct str last;
	size_t count, malformed;
	int error;
} page;

static void on_listed(void *context, int error, const struct directory_page *found,
		      uint64_t version)
{
	(void)context, (void)version;
	answered++;
	page.error = error;
	page.count = found->count;
	page.malformed = found->malformed_count;
	for (size_t i = 0; i < found->count; i++) {
		const struct known *one = find_known(&found->records[i].key);

		assert_true(is_same_record(&found->records[i], &one->record));
		buffer_append_str(&page.text, found->records[i].key.name);
		buffer_append_byte(&page.text, '\n');
		page.last = arena_copy_str(arena, found->records[i].key.name);
	}
	for (size_t i = 0; i < found->malformed_count; i++) {
		assert_true(found->malformed[i].reason.length > 0);
		buffer_append_format(&page.text, "!" STR_FORMAT "\n",
				     STR_ARGUMENTS(found->malformed[i].key));
	}
}

static void list_page(enum directory_table table, struct str prefix, struct str after, size_t limit)
{
	answered = 0;
	postgresql_list(store, table, prefix, after, limit, on_listed, NULL);
	fake_database_end_turn();
	while (fake_database_is_asked(FAKE_READ)) {
		fake_database_answer(FAKE_READ);
		fake_database_end_turn();
	}
	assert_int_equal(answered, 1);
}

static int compare_texts(const void *one, const void *other)
{
	return strcmp(*(const char *const *)one, *(const char *const *)other);
}

/* The keys of TABLE that begin with PREFIX, in their order, each with its line's end. */
static struct buffer plain_list(enum directory_table table, struct str prefix)
{
	static char *names[KEYS_MAX];
	struct buffer text = {0};
	size_t count = 0;

	for (size_t i = 0; i < known_count; i++)
		if (known[i].exists && known[i].key.table == table &&
		    str_starts_with(known[i].key.name, prefix))
			names[count++] = arena_copy(arena, known[i].key.name);
	qsort(names, count, sizeof names[0], compare_texts);
	for (size_t i = 0; i < count; i++)
		buffer_append_format(&text, "%s\n", names[i]);
	return text;
}

static void pages_have_all_records(void **state)
{
	static const size_t limits[] = {1, 2, 7, 199, 200, 201, 1000};

	(void)state;
	for (unsigned turn = 0; turn < 60; turn++) {
		change_something();
		if (turn % 20 == 19)
			settle();
	}
	for (unsigned table = DIRECTORY_NO_TABLE + 1; table < DIRECTORY_LISTED_TABLES; table++)
		for (size_t i = 0; i < 2 * COUNT_OF(limits); i++) {
			struct str prefix = i % 2 == 0 ? STR("") : STR("a");
			struct buffer expected CLEANUP(buffer_clear) = plain_list(table, prefix);

			page.last = STR("");
			do
				list_page(table, prefix, page.last, limits[i / 2]);
			while (page.error == 0 && page.count == limits[i / 2]);
			assert_int_equal(page.error, 0);
			assert_true(str_equal(buffer_view(&page.text), buffer_view(&expected)));
			buffer_clear(&page.text);
		}
	assert_int_equal(fake_database_largest(), POSTGRESQL_RECORDS_MAX);
}

static void on_counted(void *context, int error, uint64_t count)
{
	*(uint64_t *)context = count;
	page.error = error;
}

static void all_are_counted(void **state)
{
	uint64_t found = 99, expected = 0;

	(void)state;
	for (unsigned turn = 0; turn < 20; turn++)
		change_something();
	settle();
	for (size_t i = 0; i < known_count; i++)
		expected += known[i].exists && (known[i].key.table == DIRECTORY_DOMAIN ||
						known[i].key.table == DIRECTORY_ADDRESS);
	postgresql_count(store, on_counted, &found);
	fake_database_answer(FAKE_READ);
	assert_int_equal(page.error, 0);
	assert_int_equal(found, expected);
	postgresql_count(store, on_counted, &found);
	fake_database_fail(FAKE_READ, -EPERM, "42501");
	assert_int_equal(page.error, -EIO);
	fake_database_lose(FAKE_READ);
	postgresql_count(store, on_counted, &found);
	assert_int_equal(page.error, -ENOTCONN);
	fake_database_return(FAKE_READ);
}

/* --- rows that are no records --- */

static void malformed_rows_are_told(void **state)
{
	const struct directory_key bad = {DIRECTORY_ADDRESS, STR("b@d.example")};

	(void)state;
	fake_database_spoil("B@d.example", "mailbox");
	fake_database_spoil("b@d.example", "nonsense");
	fake_database_spoil("c@d.example", NULL);
	postgresql_get(store, &bad, 1, note_error, NULL);
	fake_database_end_turn();
	fake_database_answer(FAKE_READ);
	assert_int_equal(got_error, -EBADMSG);
	fake_database_end_turn();
	for (size_t limit = 1; limit <= 4; limit++) {
		static const char *const expected[] = {
			"!B@d.example\n", "!B@d.example\n!b@d.example\n",
			"!B@d.example\n!b@d.example\n!c@d.example\n"};

		list_page(DIRECTORY_ADDRESS, STR(""), STR(""), limit);
		assert_int_equal(page.error, 0);
		assert_int_equal(page.count, 0);
		assert_true(str_equal(buffer_view(&page.text),
				      str_from(expected[limit < 3 ? limit - 1 : 2])));
		buffer_clear(&page.text);
	}
}

/* --- what was missed --- */

static struct {
	int error;
	size_t count;
	uint64_t first, last;
} missed;

static void on_missed(void *context, int error, const struct directory_key *keys,
		      const uint64_t *versions, size_t count)
{
	(void)context;
	assert_true(error == 0 || keys == NULL);
	missed.error = error;
	missed.count = count;
	missed.first = count > 0 ? versions[0] : 0;
	missed.last = count > 0 ? versions[count - 1] : 0;
}

static void changes_since_a_version(void **state)
{
	uint64_t newest;

	(void)state;
	for (unsigned turn = 0; turn < 20; turn++)
		change_something();
	settle();
	newest = fake_database_version();
	assert_true(newest > 20);
	for (uint64_t version = 0; version <= newest + 1; version++)
		for (size_t limit = 1; limit <= newest + 1; limit += 7) {
			bool is_stale = version > newest || newest - version > limit;

			postgresql_missed(store, version, limit, on_missed, NULL);
			fake_database_end_turn();
			fake_database_answer(FAKE_READ);
			fake_database_end_turn();
			assert_int_equal(missed.error, is_stale ? -ESTALE : 0);
			if (is_stale)
				continue;
			assert_int_equal(missed.count, newest - version);
			if (missed.count > 0)
				assert_true(missed.first == version + 1 && missed.last == newest);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(pages_have_all_records),
		STORE_TEST(all_are_counted),
		STORE_TEST(malformed_rows_are_told),
		STORE_TEST(changes_since_a_version),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
