// SPDX-License-Identifier: ISC
/* Each question of an export and of an import fails once, with each error: what is returned and
 * said of it, and that the same once more does what was left to do. */
#include "directory/bulk/export.h"
#include "directory/bulk/import.h"
#include "fake_client.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const struct {
	enum directory_error error;
	int result;
	const char *said;
} ERRORS[] = {
	{DIRECTORY_ERROR_LATER, -ECONNREFUSED,
	 "the directory cannot be asked: /run/directory: Permission denied (as was asked for)"},
	{DIRECTORY_ERROR_DENIED, -EACCES, "the directory does not let this user do that"},
	{DIRECTORY_ERROR_STORAGE, -EIO, "as was asked for"},
	{DIRECTORY_ERROR_BAD, -EINVAL, "as was asked for"},
	{DIRECTORY_ERROR_CHANGED, -ESTALE, "as was asked for"},
};

static const char *const RECORDS[] = {
	"address a@d.example|kind forward|target x@e.example",
	"address l@d.example|kind list|owner owner-l@d.example",
	"address old@d.example|kind forward|target y@e.example",
	"address owner-l@d.example|kind forward|target o@e.example",
	"domain d.example|kind local",
	"member l@d.example m@e.example",
	"user ann|name Ann",
	NULL,
};

static struct {
	struct os_loop *loop;
	struct bulk_server server;
	struct buffer out;
	uint64_t told[BULK_EVENTS];
} world;

static void open_world(void)
{
	memset(&world, 0, sizeof world);
	world.loop = os_loop_new();
	world.server.loop = world.loop;
	world.server.client = fake_client_new(world.loop);
	for (size_t i = 0; RECORDS[i] != NULL; i++)
		fake_client_set(world.server.client, RECORDS[i]);
}

static void close_world(void)
{
	fake_client_free(world.server.client);
	os_loop_free(world.loop);
	buffer_clear(&world.out);
}

/* --- what is done --- */

static int write_out(void *context, struct str text)
{
	(void)context;
	buffer_append_str(&world.out, text);
	return 0;
}

static void left_out(void *context, const struct directory_key *key, const char *why)
{
	(void)context;
	(void)key;
	assert_true(why[0] != '\0');
}

static int export_in(enum bulk_format format)
{
	static const struct bulk_settings record = {.domain = "d.example", .service = "box"};

	buffer_reset(&world.out);
	return bulk_export(&world.server, &(struct bulk_export_settings){.format = format,
									 .record = &record,
									 .write = write_out,
									 .left_out = left_out});
}

static int export_json(void)
{
	return export_in(BULK_JSON);
}

static int export_aliases(void)
{
	return export_in(BULK_ALIASES);
}

static void tell(void *context, const struct bulk_report *report)
{
	(void)context;
	world.told[report->event]++;
}

static int import_by(enum bulk_mode mode, const char *source)
{
	static const char text[] = "a: z@e.example\nb: x@e.example\n"
				   "l: m@e.example, n@e.example\nowner-l: o@e.example\n";
	struct bulk_settings settings = {.domain = "d.example", .source = source};
	const struct bulk_import_settings how = {.mode = mode, .source = source, .tell = tell};
	struct bulk_import *import = bulk_import_new(&world.server, &how);
	int file = memfd_create("import", 0), result = 0;

	assert_int_equal(write(file, text, strlen(text)), strlen(text));
	memset(world.told, 0, sizeof world.told);
	for (int pass = 0; pass < 2 && result == 0; pass++) {
		struct bulk_reader *reader = NULL;

		assert_int_equal(lseek(file, 0, SEEK_SET), 0);
		assert_int_equal(bulk_reader_new(BULK_ALIASES, "FILE", file, &settings, &reader),
				 0);
		result = pass == 0 ? bulk_import_check(import, reader)
				   : bulk_import_apply(import, reader);
		bulk_reader_free(reader);
	}
	if (result == 0 && mode == BULK_REPLACE)
		result = bulk_import_remove(import, false);
	for (enum bulk_event event = 0; event < BULK_EVENTS; event++) {
		assert_int_equal(bulk_import_count(import, event), world.told[event]);
		bulk_import_forget(import, event);
		assert_int_equal(bulk_import_count(import, event), 0);
	}
	assert_int_equal(bulk_import_records(import), 6);
	bulk_import_free(import);
	assert_int_equal(close(file), 0);
	return result;
}

static int import_new(void)
{
	return import_by(BULK_ADD, NULL);
}

static int import_update(void)
{
	return import_by(BULK_UPDATE, NULL);
}

static int import_all(void)
{
	return import_by(BULK_REPLACE, NULL);
}

static int import_of_source(void)
{
	return import_by(BULK_REPLACE, "s");
}

/* --- what fails --- */

/* Of a record of the file only that is said which is about the record: it is refused, or put again
 * as it is by now. */
static bool is_about_record(enum directory_error error, int result)
{
	return result == 0 && (world.told[BULK_REFUSED] == 1 || error == DIRECTORY_ERROR_CHANGED);
}

static void fail_each_question(int (*function)(void), size_t which)
{
	struct buffer out CLEANUP(buffer_clear) = {0}, all CLEANUP(buffer_clear) = {0};
	size_t questions = 0;

	for (size_t number = 0; number <= questions; number++) {
		int result;

		open_world();
		fake_client_fail_question(world.server.client, number, ERRORS[which].error);
		result = function();
		if (number == 0) {
			questions = fake_client_asked(world.server.client);
			assert_int_equal(result, 0);
			assert_int_equal(world.server.error, DIRECTORY_ERROR_NONE);
			assert_string_equal(bulk_server_problem(&world.server), "nothing is wrong");
			buffer_append_str(&out, buffer_view(&world.out));
			buffer_append_string(&all, fake_client_all(world.server.client));
			close_world();
			continue;
		}
		if (!is_about_record(ERRORS[which].error, result)) {
			assert_int_equal(result, ERRORS[which].result);
			assert_string_equal(bulk_server_problem(&world.server), ERRORS[which].said);
		}
		fake_client_fail_question(world.server.client, 0, DIRECTORY_ERROR_NONE);
		assert_int_equal(function(), 0);
		assert_true(str_equal(buffer_view(&world.out), buffer_view(&out)));
		if (!str_equal(str_from(fake_client_all(world.server.client)), buffer_view(&all)))
			fail_msg("%s, question %zu: %s", ERRORS[which].said, number,
				 fake_client_all(world.server.client));
		close_world();
	}
	assert_true(questions > 2);
}

static void each_question_fails(void **state)
{
	static int (*const functions[])(void) = {export_json,   export_aliases, import_new,
						 import_update, import_all,     import_of_source};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(functions); i++)
		for (size_t error = 0; error < COUNT_OF(ERRORS); error++)
			fail_each_question(functions[i], error);
}

/* A reason that nobody gives. */
static void without_a_word(void **state)
{
	struct directory_answer_text answer = {.error = DIRECTORY_ERROR_STORAGE};

	(void)state;
	open_world();
	assert_false(bulk_server_has_failed(&world.server, &(struct directory_answer_text){0}));
	assert_int_equal(world.server.error, DIRECTORY_ERROR_NONE);
	assert_true(bulk_server_has_failed(&world.server, &answer));
	assert_string_equal(bulk_server_problem(&world.server), "the directory has failed");
	answer.error = DIRECTORY_ERROR_LATER;
	assert_true(bulk_server_has_failed(&world.server, &answer));
	assert_string_equal(bulk_server_problem(&world.server), "the directory does not answer");
	close_world();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_question_fails),
		cmocka_unit_test(without_a_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
