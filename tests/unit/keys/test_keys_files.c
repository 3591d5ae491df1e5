// SPDX-License-Identifier: ISC
/* Files of keys and passwords as they are read: what tells two of them apart, how much is read and
 * by whose rights, what of it are certificates, and when it is read again. */
#include "base/timestamp.h"
#include "chance.h"
#include "keys/certificate.h"
#include "keys/set.h"
#include "log/event.h"
#include "scratch.h"
#include "test.h"
#include "unit/tls/tls_scene.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE = 16384, PATH_SIZE = SCRATCH_SIZE + 16 };

static struct {
	char folder[SCRATCH_SIZE], path[PATH_SIZE];
	int open_errors[4]; /* of the next calls; 0: none */
	size_t opens;
	int read_error;
	int64_t now_us;
	enum log_name logged;
	unsigned lines;
} world;

int __real_os_file_open(int directory, const char *path, unsigned flags);
int __wrap_os_file_open(int directory, const char *path, unsigned flags);
int __wrap_os_file_open(int directory, const char *path, unsigned flags)
{
	size_t i = world.opens++;

	if (i < COUNT_OF(world.open_errors) && world.open_errors[i] < 0)
		return world.open_errors[i];
	return __real_os_file_open(directory, path, flags);
}

ssize_t __real_os_file_read(int file, void *data, size_t size, uint64_t offset);
ssize_t __wrap_os_file_read(int file, void *data, size_t size, uint64_t offset);
ssize_t __wrap_os_file_read(int file, void *data, size_t size, uint64_t offset)
{
	return world.read_error < 0 ? world.read_error
				    : __real_os_file_read(file, data, size, offset);
}

int64_t __wrap_os_clock_wall_us(void);
int64_t __wrap_os_clock_wall_us(void)
{
	return world.now_us;
}

void __wrap_log_write(enum log_name name, const struct log_field *fields);
void __wrap_log_write(enum log_name name, const struct log_field *fields)
{
	(void)fields;
	world.logged = name;
	world.lines++;
}

static void write_key_file(struct str text, mode_t mode)
{
	FILE *file = fopen(world.path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(text.data, 1, text.length, file), text.length);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(world.path, mode), 0);
}

static int set_up(void **state)
{
	(void)state;
	memset(&world, 0, sizeof world);
	assert_int_equal(scratch_make(world.folder), 0);
	snprintf(world.path, sizeof world.path, "%s/file", world.folder);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	return scratch_remove(world.folder);
}

/* --- what tells files apart --- */

static void each_part_of_a_stamp_counts(void **state)
{
	const struct keys_stamp stamp = {
		.info = {.inode = 5, .device = 6, .size = 7, .modified_us = 8}};
	struct keys_stamp others[] = {stamp, stamp, stamp, stamp, stamp, stamp};

	(void)state;
	others[1].info.inode++;
	others[2].info.device++;
	others[3].info.size++;
	others[4].info.modified_us++;
	others[5].error = -EIO;
	for (size_t i = 0; i < COUNT_OF(others); i++)
		for (size_t k = 0; k < COUNT_OF(others); k++)
			assert_int_equal(keys_stamp_is_same(&others[i], &others[k]), i == k);
}

static void a_stamp_is_of_what_is_there(void **state)
{
	struct keys_stamp none = keys_stamp_of(world.path);
	struct keys_stamp first, again;
	struct stat info;

	(void)state;
	assert_int_equal(none.error, -ENOENT);
	write_key_file(STR("text"), 0600);
	first = keys_stamp_of(world.path);
	assert_int_equal(stat(world.path, &info), 0);
	assert_int_equal(first.error, 0);
	assert_int_equal(first.info.inode, info.st_ino);
	assert_int_equal(first.info.size, 4);
	again = keys_stamp_of(world.path);
	assert_true(keys_stamp_is_same(&first, &again));
	assert_false(keys_stamp_is_same(&first, &none));
}

static void what_passes_is_no_property_of_the_file(void **state)
{
	static const int lasting[] = {0,     EACCES,       EBADMSG, EFBIG,   EINVAL, EISDIR,
				      ELOOP, ENAMETOOLONG, ENOENT,  ENOTDIR, EPERM};

	(void)state;
	for (int error = 0; error < 200; error++) {
		bool is_lasting = false;

		for (size_t i = 0; i < COUNT_OF(lasting); i++)
			is_lasting |= lasting[i] == error;
		assert_int_equal(keys_error_passes(-error), !is_lasting);
	}
}

/* --- reading --- */

static void check_secret(size_t length, size_t most)
{
	char *content = malloc(length + 1);
	struct buffer text = {0};
	struct buffer reason CLEANUP(buffer_clear) = {0};
	char expected[60];
	int error;

	assert_non_null(content);
	for (size_t i = 0; i < length; i++)
		content[i] = (char)chance(256);
	write_key_file(str_slice(content, length), 0640);
	error = keys_read_secret(world.path, most, &text, &reason);
	assert_true(text.is_secret);
	if (length > most) {
		snprintf(expected, sizeof expected, "larger than %zu bytes", most);
		assert_int_equal(error, -EFBIG);
		assert_true(str_equal(buffer_view(&reason), str_from(expected)));
	} else {
		assert_int_equal(error, 0);
		assert_int_equal(reason.length, 0);
		assert_true(str_equal(buffer_view(&text), str_slice(content, length)));
	}
	buffer_clear(&text);
	free(content);
}

static void so_much_is_read(void **state)
{
	static const size_t sizes[] = {0, 1, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE, 50000};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(sizes); i++) {
		check_secret(sizes[i], sizes[i]);
		check_secret(sizes[i], sizes[i] + 1);
		check_secret(sizes[i] + 1, sizes[i]);
	}
}

static void secrets_are_not_everybodys(void **state)
{
	static const char refusal[] = "users other than its owner and group have access to it";

	(void)state;
	for (mode_t mode = 0; mode < 8; mode++) {
		struct buffer text = {0};
		struct buffer reason CLEANUP(buffer_clear) = {0};
		int error;

		write_key_file(STR("secret"), 0660 | mode);
		error = keys_read_secret(world.path, 100, &text, &reason);
		assert_int_equal(error, mode == 0 ? 0 : -EPERM);
		assert_true(str_equal(buffer_view(&text), mode == 0 ? STR("secret") : STR("")));
		assert_true(str_equal(buffer_view(&reason), mode == 0 ? STR("") : STR(refusal)));
		buffer_reset(&text);
		assert_int_equal(keys_read_certificates(world.path, 100, &text, &reason), 0);
		buffer_clear(&text);
	}
}

static void errors_are_told(void **state)
{
	static const int errors[] = {-ENOENT, -EIO, -EACCES, -EPERM};
	struct buffer text = {0};

	(void)state;
	write_key_file(STR("secret"), 0600);
	for (size_t i = 0; i < COUNT_OF(errors); i++)
		for (size_t by_read = 0; by_read < 2; by_read++) {
			struct buffer reason CLEANUP(buffer_clear) = {0};

			world.opens = 0;
			world.open_errors[0] = by_read ? 0 : errors[i];
			world.read_error = by_read ? errors[i] : 0;
			assert_int_equal(keys_read_certificates(world.path, 100, &text, &reason),
					 errors[i]);
			assert_int_equal(text.length, 0);
			assert_true(
				str_equal(buffer_view(&reason), str_from(strerror(-errors[i]))));
		}
}

/* A link that leads where this process may not go. */
static void where_a_link_leads_is_told(void **state)
{
	char real[PATH_SIZE], expected[PATH_SIZE + 30];
	struct buffer reason = {0};

	(void)state;
	snprintf(real, sizeof real, "%s/real", world.folder);
	write_key_file(STR("x"), 0600);
	keys_append_place(world.path, -EACCES, &reason);
	assert_int_equal(reason.length, 0); /* no link */
	assert_int_equal(rename(world.path, real), 0);
	keys_append_place(world.path, -EACCES, &reason);
	assert_int_equal(reason.length, 0); /* nothing */
	assert_int_equal(symlink(real, world.path), 0);
	keys_append_place(world.path, -ENOENT, &reason);
	keys_append_place(world.path, 0, &reason);
	assert_int_equal(reason.length, 0);
	keys_append_place(world.path, -EACCES, &reason);
	snprintf(expected, sizeof expected, " (it leads to %s)", real);
	assert_true(str_equal(buffer_view(&reason), str_from(expected)));
	buffer_clear(&reason);
}

#define BEGIN "-----BEGIN CERTIFICATE-----"
#define END   "-----END CERTIFICATE-----"

/* From each first beginning to the next end, and a line's end. */
static void copy_plainly(const char *text, struct buffer *out)
{
	for (;;) {
		const char *from = strstr(text, BEGIN);
		const char *to = from == NULL ? NULL : strstr(from, END);

		if (to == NULL)
			return;
		text = to + strlen(END);
		buffer_append_format(out, "%.*s\n", (int)(text - from), from);
	}
}

static void certificates_alone_are_taken(void **state)
{
	static const char *const parts[] = {BEGIN,
					    BEGIN,
					    END,
					    END,
					    "\n",
					    "base64",
					    "-----BEGIN PRIVATE KEY-----",
					    "-----END PRIVATE KEY-----",
					    "-----",
					    "CERTIFICATE-----"};

	(void)state;
	for (unsigned turn = 0; turn < 2000; turn++) {
		struct buffer text CLEANUP(buffer_clear) = {0};
		struct buffer found CLEANUP(buffer_clear) = {0};
		struct buffer expected CLEANUP(buffer_clear) = {0};
		struct buffer reason CLEANUP(buffer_clear) = {0};

		for (size_t count = chance(9); count > 0; count--)
			buffer_append_string(&text, parts[chance(COUNT_OF(parts))]);
		write_key_file(buffer_view(&text), 0644);
		buffer_append_byte(&text, '\0');
		copy_plainly(buffer_data(&text), &expected);
		assert_int_equal(keys_read_certificates(world.path, 10000, &found, &reason), 0);
		if (!str_equal(buffer_view(&found), buffer_view(&expected)))
			fail_msg("\"%s\": \"" STR_FORMAT "\"", buffer_data(&text),
				 STR_ARGUMENTS(buffer_view(&found)));
	}
}

/* --- reading again --- */

/* What happens to the file, and with which errors it is looked at and read. */
struct refresh_step {
	const char *text; /* NULL: it stays; "": it is removed; 'A', 'B': a certificate */
	int looking, reading;
	int expected;
	char in_force; /* ' ': nothing */
};

static void a_file_is_read_when_that_may_help(void **state)
{
	static const struct refresh_step steps[] = {
		{NULL, 0, 0, -ENOENT, ' '},
		{NULL, 0, 0, 0, ' '},
		{"A", 0, -EIO, -EIO, ' '},
		{NULL, 0, -EIO, 0, ' '},
		{NULL, 0, -EMFILE, -EMFILE, ' '},
		{NULL, 0, 0, 1, 'A'},
		{NULL, 0, -EIO, 0, 'A'}, /* it is not read */
		{"B", 0, 0, 1, 'B'},
		{"nonsense", 0, 0, -EINVAL, 'B'},
		{NULL, 0, 0, 0, 'B'},
		{"A", -EIO, 0, 1, 'A'},
		{NULL, -EIO, -EIO, 0, 'A'},
		{NULL, 0, -EACCES, -EACCES, 'A'},
		{NULL, 0, 0, 0, 'A'}, /* its rights would be another time */
		{"", 0, 0, -ENOENT, 'A'},
		{"B", 0, 0, 1, 'B'},
	};
	struct keys_file file = {0};
	struct buffer certificates[2] = {{0}, {0}};
	int64_t age = 0;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		EVP_PKEY *key = tls_scene_key("P-256", 0);
		X509 *certificate = tls_scene_certificate(&(struct tls_scene_certificate){
			.name = i == 0 ? "a" : "b", .is_authority = true, .key = key});

		tls_scene_write(certificate, &certificates[i]);
		X509_free(certificate);
		EVP_PKEY_free(key);
	}
	for (size_t i = 0; i < COUNT_OF(steps); i++) {
		const struct refresh_step *step = &steps[i];
		struct buffer reason CLEANUP(buffer_clear) = {0};
		int result;

		if (step->text != NULL)
			(void)unlink(world.path);
		if (step->text != NULL && *step->text != '\0') {
			const struct timespec moment = {.tv_sec = 1001 + age++};
			const struct timespec times[2] = {moment, moment};

			write_key_file(*step->text == 'A'   ? buffer_view(&certificates[0])
				       : *step->text == 'B' ? buffer_view(&certificates[1])
							    : str_from(step->text),
				       0644);
			assert_int_equal(utimensat(AT_FDCWD, world.path, times, 0), 0);
		}
		world.opens = 0;
		world.open_errors[0] = step->looking;
		world.open_errors[1] = step->reading;
		result = keys_file_refresh(&file, world.path, KEYS_AUTHORITIES_SIZE_MAX, &reason);
		if (result != step->expected)
			fail_msg("step %zu: %d, " STR_FORMAT, i, result,
				 STR_ARGUMENTS(buffer_view(&reason)));
		assert_true(result >= 0 || reason.length > 0);
		if (step->in_force == ' ')
			assert_int_equal(file.text.length, 0);
		else
			assert_non_null(memmem(buffer_data(&certificates[step->in_force - 'A']),
					       certificates[step->in_force - 'A'].length,
					       buffer_data(&file.text), file.text.length - 1));
	}
	keys_file_clear(&file);
	buffer_clear(&certificates[0]);
	buffer_clear(&certificates[1]);
}

/* --- the end of a certificate --- */

/* The plain description: days that are left, and whether something is logged. */
static void ends_are_told_at_each_of_their_days(void **state)
{
	static const struct {
		int64_t left_us;
		unsigned days;
		bool is_ended;
	} moments[] = {
		{30 * DAY_US + 1, 0, false},
		{30 * DAY_US, 30, false},
		{7 * DAY_US + 1, 30, false},
		{7 * DAY_US, 7, false},
		{DAY_US + 1, 7, false},
		{DAY_US, 1, false},
		{1, 1, false},
		{0, 1, true},
		{-1, 1, true},
		{-400 * DAY_US, 1, true},
	};
	struct tls_private_key *some_key = (struct tls_private_key *)(void *)&world;

	(void)state;
	world.now_us = 3000 * DAY_US;
	for (size_t before = 0; before < COUNT_OF(moments); before++)
		for (size_t now = before; now < COUNT_OF(moments); now++) {
			struct keys_certificate one = {.name = (char[]){"x"}, .key = some_key};
			bool is_told = moments[now].days != moments[before].days ||
				       moments[now].is_ended != moments[before].is_ended;

			one.ends_us = world.now_us + moments[before].left_us;
			world.lines = 0;
			keys_certificate_warn(&one);
			assert_int_equal(world.lines, moments[before].days > 0);
			one.ends_us = world.now_us + moments[now].left_us;
			world.lines = 0;
			keys_certificate_warn(&one);
			assert_int_equal(world.lines, is_told);
			if (is_told)
				assert_int_equal(world.logged, moments[now].is_ended
								       ? EVENT_CERTIFICATE_ENDED
								       : EVENT_CERTIFICATE_ENDS);
			assert_int_equal(one.days_warned, moments[now].days);
			assert_int_equal(one.is_ended, moments[now].is_ended);
			one.key = NULL; /* nothing that can be used, and nothing to end */
			one.days_warned = 99;
			keys_certificate_warn(&one);
			assert_int_equal(one.days_warned, 99);
		}
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(each_part_of_a_stamp_counts),
		CASE(a_stamp_is_of_what_is_there),
		CASE(what_passes_is_no_property_of_the_file),
		CASE(so_much_is_read),
		CASE(secrets_are_not_everybodys),
		CASE(errors_are_told),
		CASE(where_a_link_leads_is_told),
		CASE(certificates_alone_are_taken),
		CASE(a_file_is_read_when_that_may_help),
		CASE(ends_are_told_at_each_of_their_days),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
