// SPDX-License-Identifier: ISC
/* The last lines about messages that a process has logged. */
#include "base/buffer.h"
#include "log/line.h"
#include "log/recent.h"
#include "test.h"
#include <stdio.h>
#include <stdlib.h>

static struct buffer found;
static size_t found_count;

static void note_line(void *context, struct str line)
{
	(void)context;
	buffer_reset(&found);
	buffer_append_str(&found, line);
	found_count++;
}

static size_t count_with(const char *part)
{
	found_count = 0;
	log_recent_each(str_from(part), note_line, NULL);
	return found_count;
}

static void log_done(uint64_t number)
{
	log_event_by(log_recent_write, EVENT_MESSAGE_DONE, log_id((struct mail_id){number, 10}));
}

static int stop_keeping(void **state)
{
	(void)state;
	log_recent_keep(false);
	buffer_clear(&found);
	return 0;
}

static void only_lines_with_an_id_are_kept(void **state)
{
	(void)state;
	log_open("send", LOG_ERROR_LEVEL);
	log_done(1);
	assert_int_equal(count_with(" id=1-a"), 0); /* not yet */
	log_recent_keep(true);
	log_done(1);
	log_done(2);
	log_done(1);
	log_event_by(log_recent_write, EVENT_TRIGGER_RELEASED, log_string(trigger, "id=1-a"));
	assert_int_equal(count_with(" id=1-a"), 2);
	assert_int_equal(count_with(" id=2-a"), 1);
	assert_int_equal(count_with("-a"), 3);
	assert_int_equal(count_with(" id=3-a"), 0);
	assert_true(str_starts_with(buffer_view(&found), STR("time=")));
	log_recent_keep(false);
	assert_int_equal(count_with(" id=1-a"), 0);
}

/* As a line of the log is: it is read as one. */
static void a_line_of_another_time_is_written(void **state)
{
	struct buffer out CLEANUP(buffer_clear) = {0};
	struct arena *arena = arena_new();
	struct log_line line;

	(void)state;
	log_open("send", LOG_ERROR_LEVEL);
	log_recent_begin(&out, 1000000);
	log_event_by(log_recent_format, EVENT_MESSAGE_DONE, log_id((struct mail_id){7, 10}));
	assert_true(log_line_parse(arena, buffer_view(&out), &line));
	assert_true(str_equal(log_line_get(&line, "time"), STR("1970-01-01T00:00:01.000000Z")));
	assert_true(str_equal(log_line_get(&line, "event"), STR("message_done")));
	assert_true(str_equal(log_line_get(&line, "id"), STR("7-a")));
	assert_int_equal(str_find(buffer_view(&out), '\n'), -1);
	arena_free(arena);
}

/* The latest half is always there, and what is kept is never longer than the bound. */
static void what_is_kept_has_a_bound(void **state)
{
	size_t length;
	size_t fit;

	(void)state;
	log_open("send", LOG_ERROR_LEVEL);
	log_recent_keep(true);
	log_done(1000000);
	assert_int_equal(count_with("-a"), 1);
	length = found.length + 1;
	fit = LOG_RECENT_MAX / 2 / length;
	for (size_t i = 1; i < 5 * fit; i++) {
		log_done(1000000 + i);
		if (i % 997 == 0 || i % fit < 2) {
			size_t count = count_with("-a");

			assert_in_range(count, i < fit ? i + 1 : fit, 2 * fit);
			assert_true(count * length <= LOG_RECENT_MAX);
		}
	}
	log_recent_keep(false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(only_lines_with_an_id_are_kept, stop_keeping),
		cmocka_unit_test(a_line_of_another_time_is_written),
		cmocka_unit_test_teardown(what_is_kept_has_a_bound, stop_keeping),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
