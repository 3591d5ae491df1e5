// SPDX-License-Identifier: ISC
/* The last good configuration, as commands find it. */
#include "command/command.h"
#include "scratch.h"
#include "supervisor/talk/good_config.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Wherever one can be written. */
#define PASSWORD "open-sesame"
#define KEY      "00112233445566778899aabbccddeeff"

static const char SETTINGS[] =
	"# the old password was " PASSWORD "\n"
	"hostname = mx.a.test\n"
	"user = nobody\n"
	"split = 31\n"
	"site_key = " KEY "\n"
	"smtproutes = { 'a.test:b.test|ann|" PASSWORD "', 'c.test:d.test' }\n"
	"senderroutes = { 'ann@a.test:b.test|ann|" PASSWORD "' }\n"
	"fallback_relays = { 'b.test|ann|" PASSWORD "' }\n"
	"listen smtp { address = '127.0.0.1:2525' }\n"
	"service box { kind = maildir path = '/var/mail/%d/%u' }\n"
	"service imap { kind = imap address = '127.0.0.1:143' login = 'm' password_file = '/p' "
	"security = plain }\n"
	"domain a.test { service = box }\n"
	"directory { backend = postgresql database = { 'host=h password=" PASSWORD "', "
	"'postgresql://ann:" PASSWORD "@h/db' } }\n"
	"record { backend = postgresql database = 'host=h password=" PASSWORD "' }\n";

static char folder[SCRATCH_SIZE];
static char run[SCRATCH_SIZE + 8];
static char file[SCRATCH_SIZE + 16];
static char good[SCRATCH_SIZE + 32];

static void put_file(const char *text)
{
	FILE *stream = fopen(file, "w");

	assert_non_null(stream);
	assert_true(fputs(text, stream) >= 0 && fclose(stream) == 0);
}

/* FIRST, the setting run on a line of its own, REST. */
static void put_config(const char *first, const char *rest)
{
	struct buffer text CLEANUP(buffer_clear) = {0};

	buffer_append_format(&text, "%srun = \"%s\"\n%s", first, run, rest);
	buffer_append_byte(&text, '\0');
	put_file(buffer_data(&text));
}

static void write_good(void)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct config *config = NULL;

	put_config("", SETTINGS);
	assert_int_equal(command_config_load(file, &text, &config), 0);
	assert_int_equal(good_config_write(config, file), 0);
	config_free(config);
}

static void read_good(struct buffer *text)
{
	FILE *stream = fopen(good, "r");
	size_t count;

	assert_non_null(stream);
	do {
		count = fread(buffer_reserve(text, 4096), 1, 4096, stream);
		buffer_commit(text, count);
	} while (count > 0);
	fclose(stream);
}

static bool has_text(const struct buffer *text, const char *part)
{
	return memmem(buffer_data(text), text->length, part, strlen(part)) != NULL;
}

static void test_no_secret_is_in_it(void **state)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct stat info;

	(void)state;
	write_good();
	read_good(&text);
	assert_false(has_text(&text, PASSWORD));
	assert_false(has_text(&text, KEY));
	assert_true(has_text(&text, "|ann|" CONFIG_HIDDEN));
	assert_int_equal(stat(good, &info), 0);
	assert_int_equal(info.st_mode & 07777, 0644);
}

static void test_what_is_not_secret_is_as_it_was(void **state)
{
	struct config *config = NULL;

	(void)state;
	write_good();
	assert_int_equal(good_config_read(run, file, &config), 0);
	assert_string_equal(config->file, good);
	assert_string_equal(config->hostname, "mx.a.test");
	assert_string_equal(config->user, "nobody");
	assert_string_equal(config->run, run);
	assert_int_equal(config->split, 31);
	assert_string_equal(config->domains[0].service->path, "/var/mail/%d/%u");
	assert_int_equal(config->directory.database_count, 2);
	assert_string_equal(config->directory.database[1], CONFIG_HIDDEN);
	config_free(config);
}

static void test_it_is_of_one_file(void **state)
{
	struct config *config = NULL;
	char other[sizeof file + 8];

	(void)state;
	write_good();
	snprintf(other, sizeof other, "%s2", file);
	assert_int_equal(good_config_read(run, other, &config), -ENOENT);
	assert_int_equal(good_config_read(folder, file, &config), -ENOENT);
	assert_int_equal(chdir(folder), 0);
	assert_int_equal(good_config_read(run, strrchr(file, '/') + 1, &config), 0);
	config_free(config);
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(good_config_read(run, strrchr(file, '/') + 1, &config), -ENOENT);
}

static void test_of_whom_it_is_believed(void **state)
{
	struct config *config = NULL;

	(void)state;
	if (getuid() != 0)
		skip(); /* only root can give a file away */
	write_good();
	assert_int_equal(chown(good, 65534, (gid_t)-1), 0);
	assert_int_equal(good_config_read(run, file, &config), -EPERM);
	assert_int_equal(chown(run, 65534, (gid_t)-1), 0);
	assert_int_equal(good_config_read(run, file, &config), 0);
	config_free(config);
	assert_int_equal(chown(run, 0, (gid_t)-1), 0);
}

static void test_one_that_is_not_understood(void **state)
{
	struct config *config = NULL;
	FILE *stream;

	(void)state;
	write_good();
	stream = fopen(good, "a");
	assert_non_null(stream);
	assert_true(fputs("of_a_later_version = yes\n", stream) >= 0 && fclose(stream) == 0);
	assert_int_equal(good_config_read(run, file, &config), -EINVAL);
	assert_null(config);
}

/* --- as commands find it --- */

/* What a command that reads the file uses: the good one, or nothing. */
static void check_used(const char *what_is_wrong, bool is_good, size_t lines)
{
	struct command_config_fault fault = {.is_closed = false};
	struct config *config = command_config_in_force(file, &fault);
	struct str rest = buffer_view(&fault.text);
	struct str line;
	size_t count = 0;

	while (str_split(&rest, '\n', &line))
		count += line.length > 0;
	assert_int_equal(count, lines);
	assert_true(has_text(&fault.text, what_is_wrong));
	assert_int_equal(config != NULL, is_good);
	if (is_good) {
		assert_string_equal(config->file, good);
		assert_true(has_text(&fault.text, good));
	}
	config_free(config);
	buffer_clear(&fault.text);
}

static void test_what_is_wrong_is_said(void **state)
{
	struct command_config_fault fault = {.is_closed = false};
	struct config *config;

	(void)state;
	write_good();
	config = command_config_in_force(file, &fault);
	assert_non_null(config);
	assert_string_equal(config->file, file);
	assert_int_equal(fault.text.length, 0);
	config_free(config);

	put_config("", "hostname = mx.a.test\nlissten smtp { }\n");
	check_used("config:3: ", true, 1);
	put_config("hostname = mx.a.test\n", "no_such = 1\nnor_this = 2\n");
	check_used("and 1 more", true, 1);
	put_config("hostname = \"mx\n", ""); /* a string without end, before */
	check_used("config:1: ", true, 1);
	put_config("{ {\n", "}");
	check_used("config:1: ", true, 1);
	put_config("run = /nowhere\n", "x = 1\n"); /* the last one counts */
	check_used("config:", true, 1);
	put_config("", "include '/no/such/file'\n");
	check_used("/no/such/file", true, 1);

	put_file("hostname = mx.a.test\nno_such = 1\nnor_this = 2\n");
	check_used("config:3: ", false, 2); /* RUN is the usual one */
	put_config("hostname = mx.a.test\n", "run = /nowhere\n");
	check_used("config:3: ", false, 1);
}

static void check_closed(bool is_closed)
{
	struct command_config_fault fault = {.is_closed = !is_closed};
	struct config *config = command_config_in_force(file, &fault);

	assert_non_null(config);
	assert_string_equal(config->file, good);
	assert_int_equal(fault.is_closed, is_closed);
	config_free(config);
	buffer_clear(&fault.text);
}

/* A file that users may not read is meant so: by itself that is no mistake. */
static void test_a_closed_file(void **state)
{
	char part[sizeof file + 8];
	char text[sizeof part + 64];

	(void)state;
	snprintf(part, sizeof part, "%s.part", file);
	write_good();
	assert_int_equal(rename(file, part), 0);
	assert_int_equal(chmod(part, 0), 0);
	snprintf(text, sizeof text, "hostname = a.test\ninclude \"%s\"\n", part);
	put_config("", text);
	if (geteuid() == 0)
		assert_int_equal(seteuid(65534), 0);
	check_closed(true);
	assert_int_equal(seteuid(getuid()), 0);
	snprintf(text, sizeof text, "include \"%s\"\ninclude '/no/such'\n", part);
	put_config("", text);
	if (geteuid() == 0)
		assert_int_equal(seteuid(65534), 0);
	check_closed(false);
	assert_int_equal(seteuid(getuid()), 0);
}

static int set_up(void **state)
{
	(void)state;
	umask(022);
	if (scratch_make(folder) < 0)
		return -1;
	snprintf(run, sizeof run, "%s/run", folder);
	snprintf(file, sizeof file, "%s/config", folder);
	snprintf(good, sizeof good, "%s/" GOOD_CONFIG_NAME, run);
	return chmod(folder, 0755) == 0 && mkdir(run, 0751) == 0 ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	scratch_remove(folder);
	return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_no_secret_is_in_it),
		TEST(test_what_is_not_secret_is_as_it_was),
		TEST(test_it_is_of_one_file),
		TEST(test_of_whom_it_is_believed),
		TEST(test_one_that_is_not_understood),
		TEST(test_what_is_wrong_is_said),
		TEST(test_a_closed_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
