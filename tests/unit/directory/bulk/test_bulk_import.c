// SPDX-License-Identifier: ISC
#include "directory/bulk/import.h"
#include "directory/bulk/import/seen.h"
#include "fake_client.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* --- which keys were seen --- */

static void test_seen(void **state)
{
	struct bulk_seen *seen = bulk_seen_new();
	char name[32];

	(void)state;
	for (unsigned pass = 0; pass < 2; pass++) {
		for (unsigned i = 1; i <= 50000; i++) {
			struct directory_key key = {DIRECTORY_ADDRESS, {name, 0}};
			struct bulk_position position = {.file = pass + 1, .line = i};

			key.name.length = (size_t)snprintf(name, sizeof name, "x%u@d.example", i);
			position = bulk_seen_add(seen, &key, position);
			assert_int_equal(position.line, pass == 0 ? 0 : i);
			assert_int_equal(bulk_seen_find(seen, &key).line, i);
			assert_int_equal(bulk_seen_find(seen, &key).file, 1);
			key.table = DIRECTORY_USER;
			assert_int_equal(bulk_seen_find(seen, &key).line, 0);
		}
	}
	assert_int_equal(bulk_seen_count(seen, DIRECTORY_ADDRESS), 50000);
	assert_int_equal(bulk_seen_count(seen, DIRECTORY_USER), 0);
	bulk_seen_free(seen);
}

/* --- imports --- */

struct world {
	struct os_loop *loop;
	struct bulk_server server;
	struct buffer told;
	int result;
};

/* "+KEY ~KEY -KEY #KEY !LINE:TEXT ", in the order in which it was told; what is the same is not. */
static void tell(void *context, const struct bulk_report *report)
{
	static const char signs[] = "!?x#+~-=";
	struct world *world = context;

	if (report->event == BULK_SAME)
		return;
	buffer_append_byte(&world->told, signs[report->event]);
	if (report->key != NULL)
		buffer_append_str(&world->told, report->key->name);
	else
		buffer_append_format(&world->told, "%u:" STR_FORMAT, report->line,
				     STR_ARGUMENTS(report->text));
	buffer_append_byte(&world->told, '\n');
}

static void setup(struct world *world, const char *const *records)
{
	*world = (struct world){.loop = os_loop_new()};
	world->server.loop = world->loop;
	world->server.client = fake_client_new(world->loop);
	while (*records != NULL)
		fake_client_set(world->server.client, *records++);
}

static void teardown(struct world *world)
{
	fake_client_free(world->server.client);
	os_loop_free(world->loop);
	buffer_clear(&world->told);
}

static struct bulk_reader *open_text(const char *text, const char *source, int *file_out)
{
	static struct bulk_settings settings;
	struct bulk_reader *reader = NULL;
	int file = memfd_create("import", 0);

	settings = (struct bulk_settings){.domain = "d.example", .source = source};
	assert_int_equal(write(file, text, strlen(text)), (ssize_t)strlen(text));
	assert_int_equal(lseek(file, 0, SEEK_SET), 0);
	assert_int_equal(bulk_reader_new(BULK_ALIASES, "FILE", file, &settings, &reader), 0);
	*file_out = file;
	return reader;
}

typedef int pass(struct bulk_import *import, struct bulk_reader *reader);

static int run_pass(struct bulk_import *import, pass *function, const char *text,
		    const char *source)
{
	int file;
	struct bulk_reader *reader = open_text(text, source, &file);
	int result = function(import, reader);

	bulk_reader_free(reader);
	close(file);
	return result;
}

enum { DRY = 1, REPLACE = 2, UPDATE = 4, REMOVE = 8 };

/* TEXT is aliases of d.example. */
static void import_text(struct world *world, const char *text, const char *source, unsigned flags)
{
	const struct bulk_import_settings settings = {.mode = flags & REPLACE  ? BULK_REPLACE
							      : flags & UPDATE ? BULK_UPDATE
									       : BULK_ADD,
						      .source = source,
						      .dry_run = flags & DRY,
						      .tell = tell,
						      .context = world};
	struct bulk_import *import = bulk_import_new(&world->server, &settings);

	buffer_reset(&world->told);
	assert_int_equal(run_pass(import, bulk_import_check, text, source), 0);
	world->result = run_pass(import, bulk_import_apply, text, source);
	if (world->result == 0 && (flags & REMOVE))
		world->result = bulk_import_remove(import, flags & DRY);
	bulk_import_free(import);
	buffer_append_byte(&world->told, '\0');
}

static void check(struct world *world, const char *told, const char *all)
{
	assert_string_equal(buffer_data(&world->told), told);
	assert_string_equal(fake_client_all(world->server.client), all);
	assert_int_equal(world->result, 0);
}

#define FORWARD(name, target) "address " name "@d.example|kind forward|target " target "@d.example"

static void test_changes(void **state)
{
	static const char *const records[] = {FORWARD("a", "b"), FORWARD("same", "x"),
					      FORWARD("left", "y"), NULL};
	static const char text[] = "a: c\nsame: x\nnew: z\n";
	static const char before[] =
		FORWARD("a", "b") "\n" FORWARD("left", "y") "\n" FORWARD("same", "x") "\n";
	static const char told[] = "+new@d.example\n~a@d.example\n";
	struct world world;

	(void)state;
	setup(&world, records);
	import_text(&world, text, NULL, DRY | REPLACE);
	check(&world, "~a@d.example\n+new@d.example\n", before);
	import_text(&world, text, NULL, REPLACE);
	assert_int_equal(strlen(buffer_data(&world.told)), strlen(told));
	assert_int_equal(fake_client_puts(world.server.client), 2);
	import_text(&world, text, NULL, DRY | REPLACE | REMOVE);
	check(&world, "-left@d.example\n",
	      FORWARD("a", "c") "\n" FORWARD("left", "y") "\n" FORWARD("new", "z") "\n" FORWARD(
		      "same", "x") "\n");
	import_text(&world, text, NULL, REPLACE | REMOVE);
	check(&world, "-left@d.example\n",
	      FORWARD("a", "c") "\n" FORWARD("new", "z") "\n" FORWARD("same", "x") "\n");
	import_text(&world, text, NULL, REPLACE | REMOVE);
	check(&world, "",
	      FORWARD("a", "c") "\n" FORWARD("new", "z") "\n" FORWARD("same", "x") "\n");
	assert_int_equal(fake_client_puts(world.server.client), 2);
	teardown(&world);
}

#define LOCKED(target) FORWARD("locked", target) "|state disabled"

/* A record that is there is left as it is, and told; or its other fields are. */
static void test_what_is_there(void **state)
{
	static const char *const records[] = {
		LOCKED("x"), "address box@d.example|kind mailbox|quota 1G",
		"address also@d.example|kind alias|target x@d.example", NULL};
	static const char text[] = "locked: x\nbox: y\nnew: z\nalso: x\n";
	static const char all[] = "address also@d.example|kind alias|target x@d.example\n"
				  "address box@d.example|kind mailbox|quota 1G\n" LOCKED(
					  "x") "\n" FORWARD("new", "z") "\n";
	struct world world;

	(void)state;
	setup(&world, records);
	import_text(&world, text, NULL, 0);
	check(&world, "#box@d.example\n+new@d.example\n", all);
	import_text(&world, text, NULL, UPDATE);
	check(&world,
	      "x2:address box@d.example: there is no field \"quota\" of kind forward; allowed: "
	      "kind, target, source, state\n",
	      all);
	import_text(&world, "locked: y\n", NULL, 0);
	check(&world, "#locked@d.example\n", all);
	import_text(&world, "locked: y, z\n", NULL, UPDATE | DRY);
	check(&world, "~locked@d.example\n", all);
	import_text(&world, "locked: y\n", NULL, UPDATE);
	assert_non_null(strstr(fake_client_all(world.server.client), LOCKED("y")));
	import_text(&world, "locked: z\n", NULL, REPLACE);
	assert_non_null(strstr(fake_client_all(world.server.client), FORWARD("locked", "z") "\n"));
	teardown(&world);
}

/* What others change while a record is read and put is not lost. */
static void test_meanwhile(void **state)
{
	static const char *const records[] = {FORWARD("a", "x"), NULL};
	struct world world;

	(void)state;
	setup(&world, records);
	fake_client_disturb(world.server.client, FORWARD("a", "z") "|state disabled");
	import_text(&world, "a: y\n", NULL, UPDATE);
	check(&world, "~a@d.example\n", FORWARD("a", "y") "|state disabled\n");
	fake_client_disturb(world.server.client, FORWARD("b", "other"));
	import_text(&world, "b: ours\n", NULL, 0);
	assert_string_equal(buffer_data(&world.told), "#b@d.example\n");
	assert_non_null(strstr(fake_client_all(world.server.client), FORWARD("b", "other")));
	teardown(&world);
}

static void test_twice(void **state)
{
	static const char *const none[] = {NULL};
	struct world world;

	(void)state;
	setup(&world, none);
	import_text(&world, "a: b\nc: d\nA: e\nl: m, m\nowner-l: o\n", NULL, 0);
	assert_non_null(strstr(buffer_data(&world.told), "!3:the same key is in line 1\n"));
	assert_string_equal(
		fake_client_all(world.server.client),
		FORWARD("a", "b") "\n" FORWARD(
			"c", "d") "\n"
				  "address l@d.example|kind list|owner owner-l@d.example\n" FORWARD(
					  "owner-l", "o") "\nmember l@d.example m@d.example\n");
	teardown(&world);
}

#define OURS "|source aliases"

/* What others have made stays, and the members of their lists. */
static void test_source(void **state)
{
	static const char *const records[] = {
		FORWARD("a", "old") OURS,
		FORWARD("gone", "x") OURS,
		FORWARD("hand", "x"),
		FORWARD("other", "x") "|source ldap",
		"address l@d.example|kind list|owner o@d.example",
		"member l@d.example x@d.example",
		"address m@d.example|kind list|owner owner-m@d.example" OURS,
		"member m@d.example old@d.example",
		"address n@d.example|kind list|owner owner-n@d.example" OURS,
		"member n@d.example old@d.example",
		NULL};
	static const char text[] = "a: new\nhand: y\nother: y\nl: y, z\nowner-l: o\nm: new\n"
				   "owner-m: o\n";
	struct world world;
	const char *told;

	(void)state;
	setup(&world, records);
	for (int i = 0; i < 2; i++) {
		import_text(&world, text, "aliases", REPLACE | REMOVE);
		assert_int_equal(world.result, 0);
		told = buffer_data(&world.told);
		assert_non_null(strstr(
			told, "?2:hand@d.example is in the directory already, made by hand\n"));
		assert_non_null(strstr(
			told, "?3:other@d.example is in the directory already, made by ldap\n"));
		assert_non_null(
			strstr(told, "?4:l@d.example is in the directory already, made by hand\n"));
		assert_string_equal(
			fake_client_all(world.server.client),
			FORWARD("a", "new") OURS "\n" FORWARD(
				"hand",
				"x") "\n"
				     "address l@d.example|kind list|owner o@d.example\n"
				     "address m@d.example|kind list|owner owner-m@d.example" OURS
				     "\n" FORWARD("other", "x") "|source ldap\n" FORWARD("owner-l",
											 "o") OURS
			"\n" FORWARD("owner-m", "o") OURS "\nmember l@d.example x@d.example\n"
							  "member m@d.example new@d.example\n");
	}
	teardown(&world);
}

/* Some thousands, in a window that has a bound; and what is broken off goes on. */
static void test_many(void **state)
{
	static const char *const none[] = {NULL};
	struct buffer text = {0};
	struct world world;

	(void)state;
	for (unsigned i = 0; i < 3000; i++)
		buffer_append_format(&text, "x%u: y%u\n", i, i);
	buffer_append_byte(&text, '\0');
	setup(&world, none);
	fake_client_fail(world.server.client, 1000, DIRECTORY_ERROR_LATER);
	import_text(&world, buffer_data(&text), NULL, REPLACE | REMOVE);
	assert_int_equal(world.result, -ECONNREFUSED);
	assert_non_null(
		strstr(bulk_server_problem(&world.server),
		       "the directory cannot be asked: /run/directory: Permission denied ("));
	assert_int_equal(fake_client_puts(world.server.client), 1000);
	fake_client_fail(world.server.client, 1, DIRECTORY_ERROR_DENIED);
	import_text(&world, buffer_data(&text), NULL, REPLACE | REMOVE);
	assert_int_equal(world.result, -EACCES);
	assert_int_equal(fake_client_puts(world.server.client), 1001);
	fake_client_fail(world.server.client, 0, DIRECTORY_ERROR_NONE);
	import_text(&world, buffer_data(&text), NULL, REPLACE | REMOVE);
	assert_int_equal(world.result, 0);
	assert_int_equal(fake_client_puts(world.server.client), 3000);
	assert_in_range(fake_client_most(world.server.client), 500, 800);

	import_text(&world, "one: two\n", NULL, REPLACE | REMOVE);
	assert_string_equal(fake_client_all(world.server.client), FORWARD("one", "two") "\n");
	buffer_clear(&text);
	teardown(&world);
}

/* A line that is wrong changes nothing and removes nothing. */
static void test_wrong(void **state)
{
	static const char *const records[] = {FORWARD("a", "b"), FORWARD("c", "d"),
					      FORWARD("e", "f"), NULL};
	struct world world;

	(void)state;
	setup(&world, records);
	import_text(&world, "a: |x\nc: d@@e\n", NULL, REPLACE | REMOVE);
	assert_non_null(strstr(buffer_data(&world.told), "\n-e@d.example\n"));
	assert_string_equal(fake_client_all(world.server.client),
			    FORWARD("a", "b") "\n" FORWARD("c", "d") "\n");
	teardown(&world);
}

/* A record that the server refuses is reported; the others are imported. */
static void test_refused(void **state)
{
	static const char *const none[] = {NULL};
	struct world world;

	(void)state;
	setup(&world, none);
	fake_client_fail(world.server.client, 1, DIRECTORY_ERROR_BAD);
	import_text(&world, "a: b\nc: d\n", NULL, 0);
	check(&world, "+a@d.example\nx2:address c@d.example: as was asked for\n",
	      FORWARD("a", "b") "\n");
	fake_client_fail(world.server.client, 0, DIRECTORY_ERROR_STORAGE);
	import_text(&world, "a: e\n", NULL, REPLACE);
	assert_int_equal(world.result, -EIO);
	assert_string_equal(bulk_server_problem(&world.server), "as was asked for");
	teardown(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_seen),      cmocka_unit_test(test_changes),
		cmocka_unit_test(test_twice),     cmocka_unit_test(test_source),
		cmocka_unit_test(test_many),      cmocka_unit_test(test_refused),
		cmocka_unit_test(test_wrong),     cmocka_unit_test(test_what_is_there),
		cmocka_unit_test(test_meanwhile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
