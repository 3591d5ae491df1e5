// SPDX-License-Identifier: ISC
/* The directory's main store, whose file goes, comes back, is emptied and is another one, in all
 * orders; what is said of it, and what of one file must not count for the next. */
#include "directory/store/sqlite/internal.h"
#include "log/event.h"
#include "sqlite_scene.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define GARBAGE_TEXT "This is a text of many words and no database of any kind."

enum { OTHER_MAX = 1 << 20 };

static struct sqlite_scene scene;
static size_t held_lines; /* of the log */
static char other[OTHER_MAX];
static size_t other_size;

void __wrap_log_write(enum log_name name, const struct log_field *fields);
void __wrap_log_write(enum log_name name, const struct log_field *fields)
{
	assert_non_null(fields);
	held_lines += name == EVENT_STORE_HELD;
}

static void poll_file(void)
{
	sqlite_poll(CONTAINER_OF(scene.store, struct sqlite_store, base));
}

static const char *path_of(const char *name)
{
	static char path[2][SCRATCH_SIZE + 32];
	static unsigned turn;

	turn = !turn;
	snprintf(path[turn], sizeof path[turn], "%s/%s", scene.directory, name);
	return path[turn];
}

static void write_file(const char *path, const void *bytes, size_t size)
{
	int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_int_equal(write(file, bytes, size), size);
	close(file);
}

/* What comes in the place of the scene's file: an empty directory. */
static void read_other_file(void)
{
	int file = open(scene.path, O_RDONLY);
	ssize_t size = read(file, other, sizeof other);

	assert_in_range(size, 1, sizeof other - 1);
	other_size = (size_t)size;
	close(file);
}

static void begin_scene(bool is_known)
{
	scene_open(&scene);
	scene.store->operations->free(scene.store);
	read_other_file();
	scene.is_followed = true;
	scene.is_known = is_known;
	scene_restart(&scene);
	held_lines = 0;
}

enum step { GOES, EMPTIED, GARBAGE, ANOTHER, NOTHING, STEP_KINDS };

/* What is at the path now is KIND's. */
static void make_step(enum step kind)
{
	if (kind == GOES)
		(void)unlink(scene.path);
	else if (kind == EMPTIED)
		write_file(scene.path, "", 0);
	else if (kind == GARBAGE)
		write_file(path_of("new"), GARBAGE_TEXT, strlen(GARBAGE_TEXT));
	else if (kind == ANOTHER)
		write_file(path_of("new"), other, other_size);
	if (kind == GARBAGE || kind == ANOTHER)
		assert_int_equal(rename(path_of("new"), scene.path), 0);
}

static const char *heard_of_step(enum step kind, enum step before)
{
	if (kind == NOTHING)
		return "";
	if (kind == ANOTHER)
		return before == ANOTHER ? "down; reset; up" : "reset; up";
	return before == ANOTHER ? "down" : "";
}

/* Known data that are gone are waited for; each reason is told once. */
static enum step check_step(enum step kind, enum step before)
{
	enum step now = kind == NOTHING ? before : kind;
	size_t told = held_lines;

	make_step(kind);
	poll_file();
	scene_expect(&scene, heard_of_step(kind, before));
	assert_int_equal(scene.store->is_up, now == ANOTHER);
	assert_int_equal(directory_store_held(scene.store) != NULL, now != ANOTHER);
	assert_int_equal(held_lines - told, now != ANOTHER && now != before);
	if (now == ANOTHER)
		scene_expect_got(&scene, "domain z", "none");
	return now;
}

/* Each step after each other one, in one life. */
static void a_file_goes_and_comes_in_any_order(void **state)
{
	enum step before = ANOTHER;

	(void)state;
	begin_scene(true);
	for (unsigned i = 0; i < STEP_KINDS * STEP_KINDS; i++) {
		before = check_step(i / STEP_KINDS, before);
		before = check_step(i % STEP_KINDS, before);
	}
	scene_close(&scene);
}

/* Nothing was seen, so there is a new one at once. */
static void a_file_of_which_nothing_is_known_is_made_anew(void **state)
{
	(void)state;
	begin_scene(false);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(unlink(scene.path), 0);
		poll_file();
		scene_expect(&scene, "down; reset; up");
	}
	assert_int_equal(held_lines, 0);
	scene_close(&scene);
}

static void change_by_others(unsigned number)
{
	char sql[100];

	snprintf(sql, sizeof sql,
		 "INSERT OR REPLACE INTO domain(name, kind) VALUES('%u.example', 'relay')", number);
	scene_sql(&scene, sql);
}

/* SQLite counts changes by others for each connection: as many as there were in the file before,
 * and one more or less. */
static void changes_of_another_file_are_counted_anew(void **state)
{
	(void)state;
	begin_scene(true);
	for (unsigned before = 0; before <= 3; before++)
		for (unsigned after = 1; after <= 3; after++) {
			char keys[80] = "";

			make_step(ANOTHER);
			poll_file();
			for (unsigned i = 0; i < before; i++) {
				change_by_others(9);
				poll_file();
			}
			make_step(ANOTHER);
			poll_file();
			scene_expect(&scene, NULL);
			for (unsigned i = 0; i < after; i++) {
				change_by_others(i);
				snprintf(keys + strlen(keys), sizeof keys - strlen(keys),
					 "%sdomain %u.example", i > 0 ? " " : "", i);
			}
			poll_file();
			scene_expect_keys(&scene, keys);
		}
	scene_close(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_goes_and_comes_in_any_order),
		cmocka_unit_test(a_file_of_which_nothing_is_known_is_made_anew),
		cmocka_unit_test(changes_of_another_file_are_counted_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
