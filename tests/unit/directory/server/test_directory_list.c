// SPDX-License-Identifier: ISC
/* Lists in portions, against a plain description: how many records are asked for next, what of a
 * list is its own, and when it is at its end. The store is this test's. */
#include "directory/server/internal.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST = 8, MOST = 200, WANTED = SERVER_BACKLOG_MAX / 4, RECORDS = 5000 };

static struct {
	struct directory_store store;
	struct directory_server server;
	struct question question;
	/* asked of the store */
	unsigned asked;
	size_t limit;
	char prefix[20], after[20];
	/* its records */
	char keys[RECORDS][8];
	struct directory_record records[RECORDS];
} world;

static void note_list(struct directory_store *store, enum directory_table table, struct str prefix,
		      struct str after, size_t limit, directory_listed *listed, void *context)
{
	assert_ptr_equal(store, &world.store);
	assert_int_equal(table, DIRECTORY_USER);
	assert_null(listed);
	assert_ptr_equal(context, &world.question);
	world.asked++;
	world.limit = limit;
	snprintf(world.prefix, sizeof world.prefix, STR_FORMAT, STR_ARGUMENTS(prefix));
	snprintf(world.after, sizeof world.after, STR_FORMAT, STR_ARGUMENTS(after));
}

static void begin_list(const char *prefix, const char *after, size_t limit)
{
	list_begin(&world.question, str_from(prefix), str_from(after), limit, NULL);
	assert_string_equal(world.prefix, prefix);
	assert_string_equal(world.after, after);
	assert_int_equal(world.limit, limit < FIRST ? limit : FIRST);
}

static int set_up(void **state)
{
	static const struct directory_store_operations operations = {.list = note_list};

	(void)state;
	memset(&world, 0, sizeof world);
	world.store.operations = &operations;
	world.server.store = &world.store;
	world.question.server = &world.server;
	world.question.table = DIRECTORY_USER;
	snprintf(world.server.identity, sizeof world.server.identity, "one");
	for (size_t i = 0; i < RECORDS; i++) {
		snprintf(world.keys[i], sizeof world.keys[i], "%05zu", i);
		world.records[i].key =
			(struct directory_key){DIRECTORY_USER, str_from(world.keys[i])};
	}
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	if (world.question.listing != NULL)
		buffer_clear(&world.question.listing->after);
	free(world.question.listing);
	return 0;
}

/* What fits, at most four times as many as before, and one in any case. */
static size_t plain_portion(size_t count, size_t bytes)
{
	size_t fits = bytes == 0 ? MOST : (size_t)((double)count * WANTED / (double)bytes);

	fits = fits > 4 * count ? 4 * count : fits;
	fits = fits > MOST ? MOST : fits;
	return fits == 0 ? 1 : fits;
}

/* All of TOTAL records, each of SIZE bytes, of which LIMIT are wanted. */
static void check_list(size_t total, size_t limit, size_t size)
{
	size_t done = 0, portion = FIRST;
	uint64_t version = 77;
	int last;

	begin_list("", "", limit);
	do {
		size_t left = limit - done;
		size_t count = total - done < world.limit ? total - done : world.limit;

		assert_int_equal(world.limit, portion < left ? portion : left);
		assert_string_equal(world.after, done > 0 ? world.keys[done - 1] : "");
		assert_int_equal(list_portion(&world.question, count + 1),
				 count + 1 < world.limit ? count + 1 : world.limit);
		assert_int_equal(list_portion(&world.question, count), count);
		version = 77 + done; /* the list has that of its first portion */
		last = list_take(&world.question, &world.records[done], count, count * size,
				 &version);
		assert_int_equal(version, 77);
		done += count;
		assert_int_equal(last, count < world.limit || done == limit);
		if (last != 0)
			break;
		portion = plain_portion(count, count * size);
		list_ask(&world.question);
	} while (true);
	assert_int_equal(done, total < limit ? total : limit);
	(void)tear_down(NULL);
	world.question.listing = NULL;
}

static void portions_are_as_large_as_they_may_be(void **state)
{
	static const size_t totals[] = {0, 1, 7, 8, 9, 40, 199, 200, 201, 1000, RECORDS};
	static const size_t sizes[] = {
		0,      1,          100,       WANTED / 200, WANTED / 8, WANTED / 8 + 1,
		WANTED, WANTED + 1, 5 * WANTED};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(totals); i++)
		for (size_t k = 0; k < COUNT_OF(sizes); k++) {
			check_list(totals[i], RECORDS, sizes[k]);
			check_list(totals[i], 1, sizes[k]);
			check_list(totals[i], 100, sizes[k]);
			check_list(RECORDS, totals[i] + 1, sizes[k]);
		}
}

static void a_list_has_a_beginning(void **state)
{
	(void)state;
	begin_list("pre", "pretend", 5);
	list_ask(&world.question);
	assert_int_equal(world.asked, 2);
	assert_string_equal(world.prefix, "pre");
	assert_string_equal(world.after, "pretend");
}

static void of_other_data_nothing_follows(void **state)
{
	uint64_t version = 5;

	(void)state;
	begin_list("", "", 100);
	assert_int_equal(list_take(&world.question, world.records, FIRST, 10, &version), 0);
	snprintf(world.server.identity, sizeof world.server.identity, "two");
	list_ask(&world.question);
	version = 6;
	assert_int_equal(list_take(&world.question, world.records, FIRST, 10, &version), -ESTALE);
	assert_int_equal(version, 6);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(portions_are_as_large_as_they_may_be),
		CASE(a_list_has_a_beginning),
		CASE(of_other_data_nothing_follows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
