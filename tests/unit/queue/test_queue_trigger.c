// SPDX-License-Identifier: ISC
#include "base/panic.h"
#include "os/file/file.h"
#include "queue/trigger.h"
#include "scratch.h"
#include "test.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static char base[SCRATCH_SIZE];
static struct queue_store *store;

static struct {
	unsigned syncs;
	int error; /* of the next one */
} disk;

int real_sync(int file) __asm__("__real_os_file_sync");
int wrap_sync(int file) __asm__("__wrap_os_file_sync");
int wrap_sync(int file)
{
	int error = disk.error;

	disk.syncs++;
	disk.error = 0;
	return error < 0 ? error : real_sync(file);
}

static int set_up(void **state)
{
	struct queue_options options = {.create = true, .split = 1, .unsafe = true};
	char path[96];

	(void)state;
	if (scratch_make(base) < 0)
		return -1;
	snprintf(path, sizeof path, "%s/queue", base);
	return queue_store_open(path, &options, &store, NULL);
}

static int tear_down(void **state)
{
	(void)state;
	queue_store_close(store);
	return scratch_remove(base);
}

static int count(void *context, struct str name)
{
	struct buffer *names = context;

	buffer_append_str(names, name);
	buffer_append_byte(names, ';');
	return 0;
}

static void expect_names(const char *expected)
{
	struct buffer names = {0};

	assert_int_equal(queue_trigger_each(store, count, &names), 0);
	assert_true(str_equal(buffer_view(&names), str_from(expected)));
	buffer_clear(&names);
}

/* The file has its own two lines and no other, whatever the reason is. */
static void expect_text(const char *name, const char *end)
{
	char path[256];
	char text[256];
	ssize_t length;
	int file;

	snprintf(path, sizeof path, "trigger/%s", name);
	file = os_file_open(queue_store_directory(store), path, OS_FILE_READ);
	assert_true(file >= 0);
	length = os_file_read(file, text, sizeof text - 1, 0);
	assert_true(length > 0);
	text[length] = '\0';
	assert_int_equal(strncmp(text, "since: 1970-01-01T00:00:01Z\n", 28), 0);
	assert_string_equal(text + 28, end);
	os_file_close(file);
}

static void an_event_is_waited_for_until_it_happens(void **state)
{
	(void)state;
	assert_int_equal(queue_trigger_set(store, STR("host.x"), 1000000, STR("no answer")), 0);
	expect_names("host.x;");
	expect_text("host.x", "reason: no answer\n");
	/* set again it stays as it is */
	assert_int_equal(queue_trigger_set(store, STR("host.x"), 2000000, STR("other")), 0);
	expect_text("host.x", "reason: no answer\n");
	assert_int_equal(queue_trigger_release(store, STR("host.x")), 0);
	assert_int_equal(queue_trigger_release(store, STR("host.x")), 0);
	expect_names("");
}

static void a_hold_may_end_with_another_trigger(void **state)
{
	struct buffer until = {0};

	(void)state;
	assert_int_equal(
		queue_trigger_set_until(store, STR("hold.1-1"), 1000000, STR("x"), STR("Bad")),
		-EINVAL);
	assert_int_equal(queue_trigger_read_until(store, STR("hold.1-1"), &until), -ENOENT);
	assert_int_equal(queue_trigger_set_until(store, STR("hold.1-1"), 1000000,
						 STR("until: it is over"), STR("the.moon")),
			 0);
	expect_text("hold.1-1", "reason: until: it is over\nuntil: the.moon\n");
	assert_int_equal(queue_trigger_read_until(store, STR("hold.1-1"), &until), 0);
	assert_true(str_equal(buffer_view(&until), STR("the.moon")));
	buffer_reset(&until);
	assert_int_equal(queue_trigger_set(store, STR("host.x"), 1000000, STR("x")), 0);
	assert_int_equal(queue_trigger_read_until(store, STR("host.x"), &until), 0);
	assert_int_equal(until.length, 0);
	assert_int_equal(queue_trigger_is_set(store, STR("host.x")), 1);
	assert_int_equal(queue_trigger_is_set(store, STR("host.y")), 0);
	assert_int_equal(queue_trigger_is_set(store, STR("../format")), 0);
	buffer_clear(&until);
}

/* As on a full disk, which still has room for a name. */
static void what_cannot_be_written_is_not_set(void **state)
{
	struct rlimit unlimited;
	struct rlimit limit;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &unlimited), 0);
	limit = unlimited;
	limit.rlim_cur = 10;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_equal(
		queue_trigger_set_until(store, STR("hold.1-1"), 1000000, STR("x"), STR("the.moon")),
		-EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &unlimited), 0);
	expect_names("");
	assert_int_equal(
		queue_trigger_set_until(store, STR("hold.1-1"), 1000000, STR("x"), STR("the.moon")),
		0);
	expect_text("hold.1-1", "reason: x\nuntil: the.moon\n");
}

/* Else a power failure could leave its name alone, which would be a hold for ever. */
static void the_end_of_a_hold_is_durable(void **state)
{
	(void)state;
	disk.syncs = 0;
	assert_int_equal(queue_trigger_set(store, STR("the.moon"), 1000000, STR("x")), 0);
	assert_int_equal(queue_trigger_set(store, STR("hold.2-1"), 1000000, STR("x")), 0);
	assert_int_equal(disk.syncs, 0);
	disk.error = -EIO;
	assert_int_equal(
		queue_trigger_set_until(store, STR("hold.1-1"), 1000000, STR("x"), STR("the.moon")),
		-EIO);
	assert_int_equal(queue_trigger_is_set(store, STR("hold.1-1")), 0);
	assert_int_equal(
		queue_trigger_set_until(store, STR("hold.1-1"), 1000000, STR("x"), STR("the.moon")),
		0);
	assert_int_equal(disk.syncs, 2);
	assert_int_equal(queue_trigger_is_set(store, STR("hold.1-1")), 1);
}

static void our_names_are_not_for_others(void **state)
{
	static const struct str ours[] = {STR("host.x"), STR("service.x"), STR("hold.1-1"),
					  STR("pipe.x.y"), STR("directory")};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(ours); i++)
		assert_true(queue_trigger_name_is_ours(ours[i]));
	assert_false(queue_trigger_name_is_ours(STR("the.moon")));
	assert_false(queue_trigger_name_is_ours(STR("directory.x")));
}

static void a_name_says_what_it_is_for(void **state)
{
	static const struct {
		struct str name;
		enum queue_trigger_kind kind;
	} cases[] = {
		{STR("host.mx.example.org"), QUEUE_TRIGGER_HOST},
		{STR("host."), QUEUE_TRIGGER_HOST},
		{STR("service.lmtp.box:24"), QUEUE_TRIGGER_SERVICE},
		{STR("hold.457-1f"), QUEUE_TRIGGER_HOLD},
		{STR("pipe.scan.moon"), QUEUE_TRIGGER_PIPE},
		{STR("directory"), QUEUE_TRIGGER_DIRECTORY},
		{STR("directory.x"), QUEUE_TRIGGER_OTHER},
		{STR("host"), QUEUE_TRIGGER_OTHER},
		{STR("ahost.x"), QUEUE_TRIGGER_OTHER},
		{STR(""), QUEUE_TRIGGER_OTHER},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		assert_int_equal(queue_trigger_kind(cases[i].name), cases[i].kind);
}

static void a_reason_stays_one_line(void **state)
{
	(void)state;
	assert_int_equal(
		queue_trigger_set(store, STR("host.x"), 1000000, STR("a\nb\x7f\rreason: c")), 0);
	expect_text("host.x", "reason: a?b??reason: c\n");
}

static void names_that_are_paths_are_refused(void **state)
{
	static char longest[QUEUE_TRIGGER_MAX + 1];
	static const struct str bad[] = {STR(""),       STR("."),   STR(".x"),   STR("a/b"),
					 STR("Host.x"), STR("a b"), STR("a\0b"), STR("a\n")};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		assert_false(queue_trigger_name_is_valid(bad[i]));
		assert_int_equal(queue_trigger_set(store, bad[i], 0, STR("x")), -EINVAL);
		assert_int_equal(queue_trigger_release(store, bad[i]), -EINVAL);
	}
	memset(longest, 'a', sizeof longest);
	assert_true(queue_trigger_name_is_valid(str_slice(longest, QUEUE_TRIGGER_MAX)));
	assert_false(queue_trigger_name_is_valid(str_slice(longest, sizeof longest)));
	assert_true(queue_trigger_name_is_valid(STR("host.[2001:db8::7]:25")));
	assert_true(queue_trigger_name_is_valid(STR("a-b_9")));
}

/* What an editor leaves there is nobody's event. */
static void other_files_are_passed_over(void **state)
{
	int file = os_file_open(queue_store_directory(store), "trigger/Host.x~",
				OS_FILE_WRITE | OS_FILE_CREATE);

	(void)state;
	assert_true(file >= 0);
	os_file_close(file);
	expect_names("");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_says_what_it_is_for),
		cmocka_unit_test_setup_teardown(an_event_is_waited_for_until_it_happens, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_hold_may_end_with_another_trigger, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_cannot_be_written_is_not_set, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(the_end_of_a_hold_is_durable, set_up, tear_down),
		cmocka_unit_test_setup_teardown(our_names_are_not_for_others, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_reason_stays_one_line, set_up, tear_down),
		cmocka_unit_test_setup_teardown(names_that_are_paths_are_refused, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(other_files_are_passed_over, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
