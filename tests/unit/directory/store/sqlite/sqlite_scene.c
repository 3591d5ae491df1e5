// SPDX-License-Identifier: ISC
#include "sqlite_scene.h"
#include "directory/store/sqlite/sqlite.h"
#include "unit/directory/store/record_text.h"
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const scene_samples[] = {
	"address @d.example|kind refused|text All have left|status 5.1.6",
	"address a@d.example|kind mailbox",
	"address b@d.example|kind mailbox|service maildir|mailbox c@d.example|source aliases",
	"address c@d.example|kind forward|target z@e.example|target a@e.example|target c@d.example",
	"address d@d.example|kind alias|target a@d.example",
	"address e@d.example|kind list|owner o@d.example|verp yes",
	"address f@d.example|kind program|service filter",
	"address g@d.example|kind mailbox|user ann",
	"domain d.example|kind local|service maildir",
	"domain e.example|kind relay",
	"domain f.example|kind alias|target d.example",
	"member e@d.example a@x.example",
	"member e@d.example b@x.example",
	"server s1|service maildir|address s1.example:24",
	"user ann|password $y$j9T$a$b|password $2b$10$c|server s1|name Ann \xc3\x84.",
	"user bob",
};
const size_t scene_sample_count = COUNT_OF(scene_samples);

static void hear(struct sqlite_scene *scene, const char *format, ...) PRINTF_LIKE(2, 3);

static void hear(struct sqlite_scene *scene, const char *format, ...)
{
	va_list arguments;

	if (scene->heard.length > 0)
		buffer_append_string(&scene->heard, "; ");
	va_start(arguments, format);
	buffer_append_format_list(&scene->heard, format, arguments);
	va_end(arguments);
	if (scene->is_waiting)
		os_loop_stop(scene->loop);
}

static void on_changed(void *context, const struct directory_key *keys, const uint64_t *versions,
		       size_t count)
{
	for (size_t i = 0; i < count; i++)
		hear(context, "new %llu %s " STR_FORMAT, (unsigned long long)versions[i],
		     directory_table_name(keys[i].table), STR_ARGUMENTS(keys[i].name));
}

static void on_reset(void *context)
{
	hear(context, "reset");
}

static void on_state(void *context, bool is_up)
{
	hear(context, "%s", is_up ? "up" : "down");
}

static void open_store(struct sqlite_scene *scene)
{
	static const struct directory_store_handler handler = {on_changed, on_reset, on_state};
	struct buffer why = {0};
	int error;

	if (scene->is_followed)
		error = store_sqlite_open_followed(scene->loop, scene->path, scene->is_known,
						   &scene->store, &why);
	else
		error = store_sqlite_open(scene->loop, scene->path, &scene->store, &why);
	if (error < 0)
		fail_msg(STR_FORMAT, STR_ARGUMENTS(buffer_view(&why)));
	scene->store->handler = &handler;
	scene->store->context = scene;
	buffer_clear(&why);
}

void scene_open_quietly(struct sqlite_scene *scene)
{
	*scene = (struct sqlite_scene){.loop = os_loop_new()};
	assert_int_equal(scratch_make(scene->directory), 0);
	snprintf(scene->path, sizeof scene->path, "%s/directory.db", scene->directory);
	open_store(scene);
}

void scene_open(struct sqlite_scene *scene)
{
	scene_open_quietly(scene);
	scene_expect_turn(scene, "up");
}

void scene_reopen(struct sqlite_scene *scene)
{
	scene->store->operations->free(scene->store);
	scene_restart(scene);
}

void scene_restart(struct sqlite_scene *scene)
{
	open_store(scene);
	scene_expect_turn(scene, "up");
}

void scene_close(struct sqlite_scene *scene)
{
	scene->store->operations->free(scene->store);
	os_loop_free(scene->loop);
	buffer_clear(&scene->heard);
	assert_int_equal(scratch_remove(scene->directory), 0);
}

static void changed(void *context, int error, const bool *existed, uint64_t version)
{
	struct sqlite_scene *scene = context;

	scene->answers++;
	if (error < 0)
		hear(scene, "changed %d", error);
	else
		hear(scene, "changed 0 %d %llu", existed[0], (unsigned long long)version);
}

static void change(struct sqlite_scene *scene, bool is_removal, const char *const *texts,
		   size_t count)
{
	struct arena *arena = arena_new();
	struct directory_change changes[2];

	for (size_t i = 0; i < count; i++)
		changes[i] = (struct directory_change){.is_removal = is_removal,
						       .record = record_of_text(arena, texts[i])};
	scene->store->operations->change(scene->store, changes, count, changed, scene);
	arena_free(arena);
}

void scene_edit(struct sqlite_scene *scene, uint64_t since, const char *record)
{
	struct arena *arena = arena_new();
	const struct directory_change one = {
		.record = record_of_text(arena, record), .is_conditional = true, .since = since};

	scene->store->operations->change(scene->store, &one, 1, changed, scene);
	arena_free(arena);
}

void scene_put(struct sqlite_scene *scene, const char *record)
{
	change(scene, false, &record, 1);
}

void scene_put_both(struct sqlite_scene *scene, const char *first, const char *second)
{
	const char *const both[] = {first, second};

	change(scene, false, both, 2);
}

void scene_remove(struct sqlite_scene *scene, const char *table_and_key)
{
	change(scene, true, &table_and_key, 1);
}

static void got(void *context, int error, const struct directory_record *const *records,
		uint64_t version)
{
	struct sqlite_scene *scene = context;
	struct buffer text = {0};

	assert_int_equal(version, scene->store->version);
	assert_int_equal(records == NULL, error < 0);
	if (error < 0)
		buffer_append_format(&text, "%d", error);
	else if (records[0] == NULL)
		buffer_append_string(&text, "none");
	else
		record_append_text(&text, records[0]);
	hear(scene, STR_FORMAT, STR_ARGUMENTS(buffer_view(&text)));
	buffer_clear(&text);
}

void scene_get(struct sqlite_scene *scene, const char *table_and_key)
{
	struct arena *arena = arena_new();
	struct directory_key key = record_of_text(arena, table_and_key).key;

	scene->store->operations->get(scene->store, &key, 1, got, scene);
	arena_free(arena);
}

static void listed(void *context, int error, const struct directory_page *page, uint64_t version)
{
	struct sqlite_scene *scene = context;
	struct buffer text = {0};

	(void)version;
	if (error < 0)
		buffer_append_format(&text, "%d", error);
	for (size_t i = 0; i < page->count; i++) {
		if (i > 0)
			buffer_append_byte(&text, scene->separator);
		buffer_append_str(&text, page->records[i].key.name);
	}
	for (size_t i = 0; i < page->malformed_count; i++)
		buffer_append_format(&text, "%s!" STR_FORMAT, text.length > 0 ? " " : "",
				     STR_ARGUMENTS(page->malformed[i].key));
	hear(scene, STR_FORMAT, STR_ARGUMENTS(buffer_view(&text)));
	buffer_clear(&text);
}

void scene_list(struct sqlite_scene *scene, enum directory_table table, const char *prefix,
		const char *after, size_t limit, char separator)
{
	scene->separator = separator;
	scene->store->operations->list(scene->store, table, str_from(prefix), str_from(after),
				       limit, listed, scene);
}

static void missed(void *context, int error, const struct directory_key *keys,
		   const uint64_t *versions, size_t count)
{
	struct sqlite_scene *scene = context;
	struct buffer text = {0};

	if (error < 0)
		buffer_append_format(&text, "%d", error);
	for (size_t i = 0; i < count; i++)
		buffer_append_format(&text, "%s%llu %s " STR_FORMAT, i > 0 ? ", " : "",
				     (unsigned long long)versions[i],
				     directory_table_name(keys[i].table),
				     STR_ARGUMENTS(keys[i].name));
	hear(scene, STR_FORMAT, STR_ARGUMENTS(buffer_view(&text)));
	buffer_clear(&text);
}

void scene_missed(struct sqlite_scene *scene, uint64_t version, size_t limit)
{
	scene->store->operations->missed(scene->store, version, limit, missed, scene);
}

static void stop(void *context)
{
	os_loop_stop(context);
}

static void run_for(struct sqlite_scene *scene, int64_t time_us)
{
	struct os_timer *timer = os_timer_new(scene->loop, stop, scene->loop);

	os_timer_start(timer, time_us);
	os_loop_run(scene->loop);
	os_timer_free(timer);
}

void scene_turn(struct sqlite_scene *scene)
{
	run_for(scene, 0);
}

void scene_wait(struct sqlite_scene *scene)
{
	scene->is_waiting = true;
	run_for(scene, 10000000);
	scene->is_waiting = false;
	assert_true(scene->heard.length > 0);
}

void scene_put_samples(struct sqlite_scene *scene)
{
	for (size_t i = 0; i < COUNT_OF(scene_samples); i++)
		scene_put(scene, scene_samples[i]);
	scene_expect_turn(scene, NULL);
}

void scene_sql(struct sqlite_scene *scene, const char *sql)
{
	sqlite3 *database;

	assert_int_equal(sqlite3_open(scene->path, &database), SQLITE_OK);
	if (sqlite3_exec(database, sql, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(database));
	assert_int_equal(sqlite3_close(database), SQLITE_OK);
}

void scene_refuses_sql(struct sqlite_scene *scene, const char *sql, const char *reason)
{
	sqlite3 *database;

	assert_int_equal(sqlite3_open(scene->path, &database), SQLITE_OK);
	if (sqlite3_exec(database, sql, NULL, NULL, NULL) != SQLITE_CONSTRAINT ||
	    strncmp(sqlite3_errmsg(database), reason, strlen(reason)) != 0)
		fail_msg("%s: %s", sql, sqlite3_errmsg(database));
	assert_int_equal(sqlite3_close(database), SQLITE_OK);
}

void scene_drop_checks(struct sqlite_scene *scene)
{
	static const char *const tables[] = {"domain", "address",  "target", "member",
					     "user",   "password", "server"};
	char sql[120];

	for (size_t i = 0; i < COUNT_OF(tables); i++) {
		snprintf(sql, sizeof sql,
			 "DROP TRIGGER %s_check_insert; DROP TRIGGER %s_check_update", tables[i],
			 tables[i]);
		scene_sql(scene, sql);
	}
}

int scene_count(struct sqlite_scene *scene, const char *sql)
{
	sqlite3 *database;
	sqlite3_stmt *statement;
	int count;

	assert_int_equal(sqlite3_open(scene->path, &database), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(database, sql, -1, &statement, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	count = sqlite3_column_int(statement, 0);
	assert_int_equal(sqlite3_finalize(statement), SQLITE_OK);
	assert_int_equal(sqlite3_close(database), SQLITE_OK);
	return count;
}

void scene_expect(struct sqlite_scene *scene, const char *heard)
{
	buffer_append_byte(&scene->heard, '\0');
	if (heard != NULL)
		assert_string_equal(buffer_data(&scene->heard), heard);
	buffer_reset(&scene->heard);
}

void scene_expect_turn(struct sqlite_scene *scene, const char *heard)
{
	scene_turn(scene);
	scene_expect(scene, heard);
}

void scene_expect_got(struct sqlite_scene *scene, const char *table_and_key, const char *heard)
{
	scene_get(scene, table_and_key);
	scene_expect(scene, heard);
}

void scene_expect_missed(struct sqlite_scene *scene, uint64_t version, size_t limit,
			 const char *heard)
{
	scene_missed(scene, version, limit);
	scene_expect(scene, heard);
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void scene_expect_keys(struct sqlite_scene *scene, const char *keys)
{
	char *found[32];
	size_t count = 0;
	char *rest;
	struct buffer text = {0};

	buffer_append_byte(&scene->heard, '\0');
	rest = buffer_data(&scene->heard);
	for (char *word; (word = strtok_r(rest, ";", &rest)) != NULL && count < COUNT_OF(found);)
		found[count++] = strchr(word + strspn(word, " new"), ' ') + 1;
	qsort(found, count, sizeof *found, compare);
	for (size_t i = 0; i < count; i++)
		if (i == 0 || strcmp(found[i], found[i - 1]) != 0)
			buffer_append_format(&text, "%s%s", i > 0 ? " " : "", found[i]);
	buffer_append_byte(&text, '\0');
	assert_string_equal(buffer_data(&text), keys);
	buffer_clear(&text);
	buffer_reset(&scene->heard);
}
