// SPDX-License-Identifier: ISC
/* What is exported changes nothing when it is imported into the same directory: directories by
 * chance (random_record.h), each format, and each mode of import that does not say that the file is
 * all. */
#include "directory/bulk/export.h"
#include "directory/bulk/import.h"
#include "fake_client.h"
#include "random_record.h"
#include "test.h"
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { DIRECTORIES = 60, RECORDS = 40 };

struct world {
	struct os_loop *loop;
	struct bulk_server server;
	struct bulk_settings settings;
	struct buffer exported;
	struct buffer told;
};

static void set_record(struct world *world, const struct directory_record *record)
{
	struct buffer text = {0};

	buffer_append_format(&text, "%s " STR_FORMAT, directory_table_name(record->key.table),
			     STR_ARGUMENTS(record->key.name));
	for (size_t i = 0; i < record->field_count; i++)
		buffer_append_format(&text, "|" STR_FORMAT " " STR_FORMAT,
				     STR_ARGUMENTS(record->fields[i].name),
				     STR_ARGUMENTS(record->fields[i].value));
	buffer_append_byte(&text, '\0');
	fake_client_set(world->server.client, buffer_data(&text));
	buffer_clear(&text);
}

static void set_owner(struct world *world, struct str owner)
{
	static const struct directory_field fields[] = {
		{{"kind", sizeof "kind" - 1}, {"forward", sizeof "forward" - 1}},
		{{"target", sizeof "target" - 1}, {"x@e.example", sizeof "x@e.example" - 1}}};

	set_record(world, &(struct directory_record){{DIRECTORY_ADDRESS, owner}, fields, 2});
}

/* The fake's records have no '|' in a value. */
static bool has_bar(const struct directory_record *record)
{
	bool has_one = str_find(record->key.name, '|') >= 0;

	for (size_t i = 0; i < record->field_count; i++)
		has_one |= str_find(record->fields[i].value, '|') >= 0;
	return has_one;
}

/* Of most lists the owner is an address, too. */
static void fill(struct world *world)
{
	struct arena *arena = arena_new();

	for (int i = 0; i < RECORDS; i++) {
		struct directory_record record;

		if (!random_record(arena, &record) || has_bar(&record))
			continue;
		set_record(world, &record);
		if (str_equal(directory_record_field(&record, "kind"), STR("list")) &&
		    random_pick(3) > 0)
			set_owner(world, directory_record_field(&record, "owner"));
	}
	arena_free(arena);
}

static int write_text(void *context, struct str text)
{
	struct world *world = context;

	buffer_append_str(&world->exported, text);
	return 0;
}

static void left_out(void *context, const struct directory_key *key, const char *why)
{
	(void)context;
	(void)key;
	assert_true(why[0] != '\0');
}

static void tell(void *context, const struct bulk_report *report)
{
	struct world *world = context;

	if (report->event != BULK_SAME)
		buffer_append_format(
			&world->told, "%d %u:" STR_FORMAT STR_FORMAT "\n", (int)report->event,
			report->line, STR_ARGUMENTS(report->text),
			STR_ARGUMENTS(report->key != NULL ? report->key->name : STR("")));
}

static void import_again(struct world *world, enum bulk_format format, enum bulk_mode mode)
{
	const struct bulk_import_settings settings = {.mode = mode, .tell = tell, .context = world};
	struct bulk_import *import = bulk_import_new(&world->server, &settings);
	struct bulk_reader *reader = NULL;
	int file = memfd_create("again", 0);

	assert_int_equal(write(file, buffer_data(&world->exported), world->exported.length),
			 (ssize_t)world->exported.length);
	assert_int_equal(lseek(file, 0, SEEK_SET), 0);
	assert_int_equal(bulk_reader_new(format, "FILE", file, &world->settings, &reader), 0);
	assert_int_equal(bulk_import_check(import, reader), 0);
	bulk_reader_free(reader);
	assert_int_equal(lseek(file, 0, SEEK_SET), 0);
	assert_int_equal(bulk_reader_new(format, "FILE", file, &world->settings, &reader), 0);
	assert_int_equal(bulk_import_apply(import, reader), 0);
	bulk_reader_free(reader);
	if (world->told.length > 0)
		fail_msg("format %s, mode %d:\n" STR_FORMAT "of\n" STR_FORMAT "and\n%s",
			 bulk_format_name(format), (int)mode,
			 STR_ARGUMENTS(buffer_view(&world->told)),
			 STR_ARGUMENTS(buffer_view(&world->exported)),
			 fake_client_all(world->server.client));
	bulk_import_free(import);
	close(file);
}

/* The lines that the last export wrote, and the import read as the same. */
static void check_format(struct world *world, enum bulk_format format)
{
	const struct bulk_export_settings settings = {.format = format,
						      .record = &world->settings,
						      .write = write_text,
						      .left_out = left_out,
						      .context = world};

	buffer_reset(&world->exported);
	assert_int_equal(bulk_export(&world->server, &settings), 0);
	import_again(world, format, BULK_ADD);
	import_again(world, format, BULK_UPDATE);
	if (format == BULK_JSON || format == BULK_CSV)
		import_again(world, format, BULK_REPLACE);
	assert_int_equal(fake_client_puts(world->server.client), 0);
}

static void test_again(void **state)
{
	static const char *const services[] = {NULL, "maildir"};

	(void)state;
	for (int i = 0; i < DIRECTORIES; i++) {
		struct world world = {.loop = os_loop_new()};

		world.server.loop = world.loop;
		world.server.client = fake_client_new(world.loop);
		fill(&world);
		for (unsigned format = 0; format < BULK_FORMATS; format++) {
			world.settings = (struct bulk_settings){
				.domain = "d.example", .service = services[random_pick(2)]};
			check_format(&world, format);
		}
		fake_client_free(world.server.client);
		os_loop_free(world.loop);
		buffer_clear(&world.exported);
		buffer_clear(&world.told);
	}
	assert_null(random_record_unused());
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_again)};

	random_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
