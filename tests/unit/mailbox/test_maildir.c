// SPDX-License-Identifier: ISC
/* Deliveries on a real disk; the recorder in disk_watch.h sees every call to
 * os/file/file.h, fails those that a test names, and judges what is durable. */
#include "base/timestamp.h"
#include "disk_watch.h"
#include "mailbox/maildir.h"
#include "os/clock.h"
#include "os/file/file.h"
#include "scratch.h"
#include "test.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MESSAGE "Subject: hello\r\n\r\none\r\ntwo\r\n"
#define ANN_MARK \
	"X-Stagepost-Loop: v1 dc5fe70d33dbb094\r\n" /* by KEY: delivered to ann@example.org */
#define INFO_MARK "X-Stagepost-Loop: v1 9e8419c76c2bdb48\r\n" /* led on by info@example.org */

static const struct hash_key KEY = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
static struct hash_key site_key; /* of what is delivered; none at first */
static struct str via;           /* that leads to ann@example.org */

static int64_t now_us = INT64_C(1763627594482913);
static char root[] = "/dev/shm/test_maildir.XXXXXX"; /* nothing is really synced */

int64_t os_clock_wall_us(void)
{
	return now_us;
}

static int message_file(const char *text, size_t length)
{
	FILE *file = tmpfile();
	int copy;

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, length, file), length);
	assert_int_equal(fflush(file), 0);
	copy = dup(fileno(file));
	fclose(file);
	return copy;
}

static void path_of(char *out, size_t size, const char *below)
{
	snprintf(out, size, "%s/%s", root, below);
}

/* The number of files in a folder; the last one's contents and name. */
static size_t read_folder(const char *below, struct buffer *text, char *name, size_t name_size)
{
	char folder[300];
	DIR *directory;
	struct dirent *entry;
	size_t count = 0;

	path_of(folder, sizeof folder, below);
	directory = opendir(folder);
	if (directory == NULL)
		return 0;
	while ((entry = readdir(directory)) != NULL) {
		char path[600];
		ssize_t length;
		int file;

		if (entry->d_name[0] == '.')
			continue;
		count++;
		snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
		snprintf(name, name_size, "%s", entry->d_name);
		file = open(path, O_RDONLY);
		assert_true(file >= 0);
		buffer_reset(text);
		length = read(file, buffer_reserve(text, 1 << 20), 1 << 20);
		assert_true(length >= 0);
		buffer_commit(text, (size_t)length);
		close(file);
	}
	closedir(directory);
	return count;
}

static size_t count_in(const char *below)
{
	struct buffer text = {0};
	char name[256];
	size_t count = read_folder(below, &text, name, sizeof name);

	buffer_clear(&text);
	return count;
}

static struct mail_verdict deliver(enum maildir_sync sync, const char *below, const char *message,
				   size_t length)
{
	struct maildir *maildir = maildir_new("mx1.example.org", sync);
	char path[300];
	struct maildir_delivery delivery = {
		.sender = STR("lisa@example.com"),
		.recipient = STR("ann@example.org"),
		.via = via,
		.site_key = site_key,
		.content = {.file = message_file(message, length), .size = length}};

	path_of(path, sizeof path, below);
	delivery.path = str_from(path);
	maildir_deliver_group(maildir, &delivery, 1, NULL);
	close(delivery.content.file);
	maildir_free(maildir);
	return delivery.verdict;
}

static struct mail_verdict deliver_text(const char *below, const char *message)
{
	return deliver(MAILDIR_SYNC_FILES, below, message, strlen(message));
}

static void remove_root(void)
{
	assert_int_equal(scratch_remove(root), 0);
}

static void set_up_root(void)
{
	remove_root();
	assert_int_equal(mkdir(root, 0700), 0);
	disk_watch_reset();
}

static void a_message_is_stored_whole(void **state)
{
	struct buffer text = {0};
	char name[256];
	struct mail_verdict verdict;
	struct stat info;
	char path[300];

	(void)state;
	set_up_root();
	verdict = deliver_text("example.org/ann", MESSAGE);
	assert_string_equal(verdict.status, "2.0.0");
	assert_int_equal(read_folder("example.org/ann/new", &text, name, sizeof name), 1);
	assert_true(str_equal(buffer_view(&text), STR("Return-Path: <lisa@example.com>\n"
						      "Delivered-To: ann@example.org\n"
						      "Subject: hello\n\none\ntwo\n")));
	assert_int_equal(strncmp(name, "1763627594.M482913P", 19), 0);
	assert_non_null(strstr(name, ".mx1.example.org,S=86,W=92"));
	assert_int_equal(count_in("example.org/ann/tmp"), 0);
	path_of(path, sizeof path, "example.org/ann/cur");
	assert_int_equal(stat(path, &info), 0);
	assert_int_equal(info.st_mode & 0777, 0700);
	assert_null(disk_watch_problem());
	buffer_clear(&text);
}

/* Who reads mailboxes knows nothing of BINARYMIME. */
static void a_binary_message_is_encoded(void **state)
{
	static const char message[] = "Content-Type: image/png\r\n"
				      "Content-Transfer-Encoding: binary\r\n\r\na\0b\nc";
	struct maildir *maildir = maildir_new("mx1.example.org", MAILDIR_SYNC_FILES);
	struct maildir_delivery delivery = {
		.sender = STR("lisa@example.com"),
		.recipient = STR("ann@example.org"),
		.is_binary = true,
		.content = {.file = message_file(message, sizeof message - 1),
			    .size = sizeof message - 1}};
	struct buffer text = {0};
	char path[300];
	char name[256];

	(void)state;
	set_up_root();
	path_of(path, sizeof path, "m");
	delivery.path = str_from(path);
	maildir_deliver_group(maildir, &delivery, 1, NULL);
	close(delivery.content.file);
	maildir_free(maildir);
	assert_int_equal(delivery.verdict.class, MAIL_OK);
	assert_int_equal(read_folder("m/new", &text, name, sizeof name), 1);
	buffer_append_byte(&text, '\0');
	assert_non_null(strstr(buffer_data(&text), "Encoding: base64\n"));
	assert_non_null(strstr(buffer_data(&text), "\n\nYQBiCmM=\n"));
	buffer_clear(&text);
}

static void line_ends_become_lf(void **state)
{
	static const struct {
		const char *message;
		const char *stored;
	} cases[] = {
		{"a\r\n", "a\n"},       {"a", "a"},         {"a\r\n\r\n", "a\n\n"}, {"a\r", "a\r"},
		{"a\rb\r\n", "a\rb\n"}, {"\r\r\n", "\r\n"}, {"a\nb", "a\nb"},       {"", ""},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct buffer text = {0};
		char name[256];
		struct str stored;
		unsigned long size;
		unsigned long virtual_size;

		set_up_root();
		assert_string_equal(deliver_text("ann", cases[i].message).status, "2.0.0");
		assert_int_equal(read_folder("ann/new", &text, name, sizeof name), 1);
		stored = str_skip(buffer_view(&text), strlen("Return-Path: <lisa@example.com>\n"
							     "Delivered-To: ann@example.org\n"));
		assert_true(str_equal(stored, str_from(cases[i].stored)));
		assert_int_equal(sscanf(strstr(name, ",S="), ",S=%lu,W=%lu", &size, &virtual_size),
				 2);
		assert_int_equal(size, text.length);
		for (size_t c = 0; c < text.length; c++)
			size += buffer_data(&text)[c] == '\n' && buffer_data(&text)[c - 1] != '\r';
		assert_int_equal(virtual_size, size);
		buffer_clear(&text);
	}
}

static void blocks_are_joined_without_a_seam(void **state)
{
	static const size_t block = 256 << 10;
	char *message = malloc(3 * block);
	struct buffer text = {0};
	char name[256];

	(void)state;
	for (size_t shift = 0; shift < 3; shift++) {
		set_up_root();
		memset(message, 'x', 3 * block);
		memcpy(message + block - 2 + shift, "\r\n", 2);
		memcpy(message + 2 * block - 2 + shift, "\r\n", 2);
		deliver(MAILDIR_SYNC_FILES, "ann", message, 3 * block);
		assert_int_equal(read_folder("ann/new", &text, name, sizeof name), 1);
		assert_int_equal(text.length, 3 * block - 2 + 62);
		assert_int_equal(buffer_data(&text)[62 + block - 2 + shift], '\n');
		assert_int_equal(buffer_data(&text)[62 + 2 * block - 3 + shift], '\n');
	}
	buffer_clear(&text);
	free(message);
}

/* RFC 5321 section 4.4: only who delivers says it. */
static void there_is_one_return_path(void **state)
{
	static const struct {
		const char *message, *stored;
	} cases[] = {
		{"Return-Path: <a@b>\r\nX: y\r\n\r\nReturn-Path: c\r\n",
		 "X: y\n\nReturn-Path: c\n"},
		{"X: y\r\nreturn-PATH:\r\n <a@b>\r\n\tx\r\nReturn-Path: c\r\nReturn-PathX: d\r\n "
		 "e\r\nReturn-Path: f\r\n\r\n",
		 "X: y\nReturn-PathX: d\n e\n\n"},
		{"X: y\r\n z\r\n\r\n", "X: y\n z\n\n"},
	};
	struct buffer text = {0};
	char name[256];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct str stored;

		set_up_root();
		buffer_reset(&text);
		assert_string_equal(deliver_text("ann", cases[i].message).status, "2.0.0");
		assert_int_equal(read_folder("ann/new", &text, name, sizeof name), 1);
		stored = str_skip(buffer_view(&text), strlen("Return-Path: <lisa@example.com>\n"
							     "Delivered-To: ann@example.org\n"));
		if (!str_equal(stored, str_from(cases[i].stored)))
			fail_msg(STR_FORMAT, STR_ARGUMENTS(stored));
	}
	buffer_clear(&text);
}

static void remove_returns(struct buffer *text)
{
	char *data = buffer_data(text);
	size_t kept = 0;

	for (size_t i = 0; i < text->length; i++)
		if (data[i] != '\r')
			data[kept++] = data[i];
	buffer_truncate(text, kept);
}

static void a_loop_is_noticed(void **state)
{
	static const struct {
		const char *message;
		const char *status;
	} cases[] = {
		{ANN_MARK "\r\n", "5.4.6"},
		{"X: y\r\n" ANN_MARK "Delivered-To: x\r\n\r\n", "5.4.6"},
		{INFO_MARK "\r\n", "5.4.6"}, /* the address that leads to it has sent it on */
		{"Delivered-To: ann@example.org\r\n\r\n", "2.0.0"}, /* anybody's to write */
		{"X: y\r\n\r\n" ANN_MARK, "2.0.0"},
		{"Resent-From: ann@example.org\r\n" ANN_MARK "\r\n", "2.0.0"},
	};

	(void)state;
	site_key = KEY;
	via = STR("info@example.org");
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		set_up_root();
		assert_string_equal(deliver_text("ann", cases[i].message).status, cases[i].status);
		assert_int_equal(count_in("ann/new"), cases[i].status[0] == '2');
		assert_int_equal(count_in("ann/tmp"), 0);
	}
	site_key = (struct hash_key){0, 0};
	via = STR("");
}

static void a_copy_is_marked(void **state)
{
	static const char *const ways[] = {"", "Info@example.org"};
	static const char *const marks[] = {ANN_MARK, ANN_MARK INFO_MARK};
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct buffer wanted CLEANUP(buffer_clear) = {0};
	char sizes[64];
	char name[256];

	(void)state;
	site_key = KEY;
	for (size_t i = 0; i < COUNT_OF(ways); i++) {
		set_up_root();
		via = str_from(ways[i]);
		assert_string_equal(deliver_text("ann", MESSAGE).status, "2.0.0");
		buffer_reset(&text);
		assert_int_equal(read_folder("ann/new", &text, name, sizeof name), 1);
		buffer_reset(&wanted);
		buffer_append_string(&wanted, "Return-Path: <lisa@example.com>\r\n"
					      "Delivered-To: ann@example.org\r\n");
		buffer_append_string(&wanted, marks[i]);
		buffer_append_string(&wanted, MESSAGE);
		snprintf(sizes, sizeof sizes, ",S=%zu,W=%zu", text.length, wanted.length);
		assert_non_null(strstr(name, sizes));
		remove_returns(&wanted);
		assert_true(str_equal(buffer_view(&text), buffer_view(&wanted)));
	}
	site_key = (struct hash_key){0, 0};
	via = STR("");
}

static void addresses_cannot_add_headers(void **state)
{
	struct maildir *maildir = maildir_new("mx1/example:org", MAILDIR_SYNC_FILES);
	struct maildir_delivery delivery = {.sender = STR("a\nX: y"),
					    .recipient = STR("b\r\n\r\n")};
	struct buffer text = {0};
	char name[256];
	char path[300];

	(void)state;
	set_up_root();
	path_of(path, sizeof path, "ann");
	delivery.path = str_from(path);
	delivery.content.file = message_file("", 0);
	maildir_deliver_group(maildir, &delivery, 1, NULL);
	assert_int_equal(read_folder("ann/new", &text, name, sizeof name), 1);
	assert_true(
		str_equal(buffer_view(&text), STR("Return-Path: <a?X: y>\nDelivered-To: b????\n")));
	assert_non_null(strstr(name, ".mx1\\057example\\072org,S="));
	close(delivery.content.file);
	maildir_free(maildir);
	buffer_clear(&text);
}

static void old_litter_is_cleaned(void **state)
{
	char path[300];
	int old;

	(void)state;
	set_up_root();
	deliver_text("ann", MESSAGE);
	path_of(path, sizeof path, "ann/tmp/old");
	old = os_file_open(OS_FILE_HERE, path, OS_FILE_WRITE | OS_FILE_CREATE);
	assert_true(old >= 0);
	os_file_close(old);
	assert_int_equal(os_file_set_modified(OS_FILE_HERE, path, now_us - 35 * HOUR_US), 0);
	deliver_text("ann", MESSAGE);
	assert_int_equal(count_in("ann/tmp"), 1);
	assert_int_equal(os_file_set_modified(OS_FILE_HERE, path, now_us - 37 * HOUR_US), 0);
	deliver_text("ann", MESSAGE);
	assert_int_equal(count_in("ann/tmp"), 0);
	assert_int_equal(count_in("ann/new"), 3);
}

/* Whoever made what is found may have died before it was durable. */
static void what_others_left_half_made_is_made_durable(void **state)
{
	static const char *const left[] = {"d", "d/e", "d/e/ann", "d/e/ann/cur", "d/e/ann/new"};

	(void)state;
	for (size_t count = 0; count <= COUNT_OF(left); count++) {
		char path[300];

		set_up_root();
		for (size_t i = 0; i < count; i++) {
			path_of(path, sizeof path, left[i]);
			assert_int_equal(os_file_make_directory(OS_FILE_HERE, path), 0);
		}
		assert_string_equal(deliver_text("d/e/ann", MESSAGE).status, "2.0.0");
		assert_null(disk_watch_problem());
	}
}

enum { MANY = 12, USERS = 3 }; /* deliveries, Maildirs */

static void deliver_many(enum maildir_sync sync, struct maildir_delivery *deliveries)
{
	static char paths[MANY][300];
	struct maildir *maildir = maildir_new("mx1.example.org", sync);
	int file = message_file(MESSAGE, strlen(MESSAGE));

	for (size_t i = 0; i < MANY; i++) {
		char below[32];

		snprintf(below, sizeof below, "d/u%zu", i % USERS);
		path_of(paths[i], sizeof paths[i], below);
		deliveries[i] = (struct maildir_delivery){
			.path = str_from(paths[i]),
			.recipient = STR("ann@example.org"),
			.content = {.file = file, .size = strlen(MESSAGE)}};
	}
	maildir_deliver_group(maildir, deliveries, MANY, NULL);
	close(file);
	maildir_free(maildir);
}

static size_t count_all_new(void)
{
	size_t count = 0;

	for (size_t i = 0; i < USERS; i++) {
		char below[32];

		snprintf(below, sizeof below, "d/u%zu/new", i);
		count += count_in(below);
	}
	return count;
}

static const enum maildir_sync syncs[] = {MAILDIR_SYNC_FILES, MAILDIR_SYNC_FILESYSTEM,
					  MAILDIR_SYNC_ORDERED};

static void a_group_shares_its_syncs(void **state)
{
	static const size_t filesystems[] = {0, 2, 0};
	static const size_t directories[] = {USERS, 0, 1};
	static const size_t files[] = {MANY, 0, 0};
	struct maildir_delivery deliveries[MANY];

	(void)state;
	for (size_t s = 0; s < COUNT_OF(syncs); s++) {
		set_up_root();
		deliver_many(syncs[s], deliveries); /* makes the Maildirs */
		disk_watch_reset();
		if (syncs[s] == MAILDIR_SYNC_ORDERED)
			disk_watch_keep_order();
		deliver_many(syncs[s], deliveries);
		for (size_t i = 0; i < MANY; i++)
			assert_string_equal(deliveries[i].verdict.status, "2.0.0");
		assert_int_equal(count_all_new(), 2 * MANY);
		assert_null(disk_watch_problem());
		assert_int_equal(disk_watch_count(DISK_SYNC_FILESYSTEM), filesystems[s]);
		assert_int_equal(disk_watch_count(DISK_SYNC_DIRECTORY), directories[s]);
		assert_int_equal(disk_watch_count(DISK_SYNC_FILE), files[s]);
	}
}

/* Every call fails once: what is reported as stored is in new/ and durable, the
 * rest waits, and tmp/ is empty. */
static void each_call_may_fail(void **state)
{
	static const int errors[] = {-EIO, -EACCES};

	(void)state;
	for (size_t s = 0; s < COUNT_OF(syncs) * COUNT_OF(errors); s++) {
		bool failed = true;

		for (size_t call = 1; failed; call++) {
			struct maildir_delivery deliveries[MANY];
			size_t stored = 0;

			set_up_root();
			if (syncs[s % COUNT_OF(syncs)] == MAILDIR_SYNC_ORDERED)
				disk_watch_keep_order();
			disk_watch_fail(call, errors[s / COUNT_OF(syncs)]);
			deliver_many(syncs[s % COUNT_OF(syncs)], deliveries);
			failed = disk_watch_has_failed();
			for (size_t i = 0; i < MANY; i++) {
				stored += deliveries[i].verdict.class == MAIL_OK;
				assert_int_not_equal(deliveries[i].verdict.class, MAIL_FAIL);
			}
			assert_true(count_all_new() >= stored);
			if (stored == MANY)
				assert_null(disk_watch_problem());
		}
	}
}

/* Each part is made again, and a delivery finds its place. */
static void what_is_missing_is_made(void **state)
{
	static const char *const parts[] = {"mended/new", "mended/cur", "mended/tmp"};
	char path[300];

	(void)state;
	disk_watch_reset();
	set_up_root();
	assert_int_equal(deliver_text("mended", MESSAGE).class, MAIL_OK);
	path_of(path, sizeof path, "mended/new");
	assert_int_equal(scratch_remove(path), 0);
	for (size_t i = 0; i < COUNT_OF(parts); i++) {
		if (i > 0) {
			path_of(path, sizeof path, parts[i]);
			assert_int_equal(rmdir(path), 0);
		}
		assert_int_equal(deliver_text("mended", MESSAGE).class, MAIL_OK);
		path_of(path, sizeof path, parts[i]);
		assert_int_equal(access(path, F_OK), 0);
		assert_int_equal(count_in("mended/new"), i + 1);
	}
}

static void errors_have_their_verdict(void **state)
{
	static const struct {
		int error;
		const char *status;
		const char *text;
	} cases[] = {
		{-ENOSPC, "4.3.1", "The disk of the mailbox is full"},
		{-EDQUOT, "4.2.2", "The mailbox is over its quota"},
		{-EACCES, "4.3.0", "Cannot open a file in the mailbox: Permission denied"},
		{-ELOOP, "4.3.0",
		 "Cannot open a file in the mailbox: Too many levels of symbolic links"},
		{-ENAMETOOLONG, "5.1.3", "No mailbox can have such a name"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct mail_verdict verdict;

		set_up_root();
		deliver_text("ann", MESSAGE);
		disk_watch_reset();
		disk_watch_fail(1, cases[i].error);
		verdict = deliver_text("ann", MESSAGE);
		assert_string_equal(verdict.status, cases[i].status);
		assert_string_equal(verdict.text, cases[i].text);
		assert_int_equal(count_in("ann/new"), 1);
	}
}

static void paths_are_safe(void **state)
{
	static const struct {
		const char *template;
		const char *address;
		const char *path; /* NULL: refused */
	} cases[] = {
		{"/m/%d/%u", "Ann@Example.ORG", "/m/example.org/ann"},
		{"/m/%d/%u/", "ann@example.org", "/m/example.org/ann"},
		{"/m/%u", "ann+Tag@example.org", "/m/ann"},
		{"/m/%u", "+ann@example.org", "/m/+ann"},
		{"/m/%u", "\"a b\"@example.org", "/m/a b"},
		{"/m/100%%/%u", "ann@example.org", "/m/100%/ann"},
		{"/m/all", "ann@example.org", "/m/all"},
		{"/m/%u", "a@b@example.org", "/m/a@b"},
		{"/m/%u", "@example.org", NULL},
		{"/m/%u", "\"\"@example.org", NULL},
		{"/m/%u", "..@example.org", NULL},
		{"/m/%u", ".@example.org", NULL},
		{"/m/%u", ".ann@example.org", NULL},
		{"/m/%u", "\"..\"@example.org", NULL},
		{"/m/%u", "\".\\.\"@example.org", NULL},
		{"/m/%u", "..+tag@example.org", NULL},
		{"/m/%u", "../../etc@example.org", NULL},
		{"/m/%u", "\"a/b\"@example.org", NULL},
		{"/m/%u", "a\nb@example.org", NULL},
		{"/m/%u", "a\x7f@example.org", NULL},
		{"/m/%d", "ann@", NULL},
		{"/m/%d", "ann@..", NULL},
		{"/m/%d", "ann@a/b", NULL},
		{"/m/%x", "ann@example.org", NULL},
		{"/m/%", "ann@example.org", NULL},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct buffer out = {0};
		int result;

		buffer_append_byte(&out, '=');
		result = maildir_path_expand(cases[i].template, str_from(cases[i].address), &out);
		assert_int_equal(result, cases[i].path != NULL ? 0 : -EINVAL);
		assert_true(str_equal(str_skip(buffer_view(&out), 1),
				      str_from(cases[i].path != NULL ? cases[i].path : "")));
		buffer_clear(&out);
	}
}

/* --- names --- */

static char name_in_tmp[256];

static int see_tmp(void *context)
{
	struct buffer text = {0};

	(void)context;
	assert_int_equal(read_folder("ann/tmp", &text, name_in_tmp, sizeof name_in_tmp), 1);
	buffer_clear(&text);
	return 0;
}

static bool ends_with(const char *text, const char *end)
{
	return strlen(text) >= strlen(end) && strcmp(text + strlen(text) - strlen(end), end) == 0;
}

static void deliver_named(const char *mark, const char *flags, char name_out[MAILDIR_NAME_SIZE])
{
	static const struct maildir_gate gate = {see_tmp, NULL};
	struct maildir *maildir = maildir_new("mx1.example.org", MAILDIR_SYNC_FILES);
	const struct str text = STR("Subject: a\r\n\r\nb\r\n");
	struct maildir_delivery delivery = {
		.sender = STR("lisa@example.com"),
		.recipient = STR("ann@example.org"),
		.content = {.bytes = text, .file = -1, .size = text.length},
		.flags = flags,
		.mark = mark,
		.name_out = name_out};
	char path[300];

	path_of(path, sizeof path, "ann");
	delivery.path = str_from(path);
	maildir_deliver_group(maildir, &delivery, 1, &gate);
	assert_string_equal(delivery.verdict.status, "2.0.0");
	maildir_free(maildir);
}

/* The mark, in tmp/ too; the flags, by which it goes to cur/. */
static void names_say_what_is_known(void **state)
{
	static const char *const ends[] = {"", ",I=0123abc"}, *const all_flags[] = {NULL, "D",
										    "FS"};

	(void)state;
	for (size_t m = 0; m < COUNT_OF(ends); m++)
		for (size_t f = 0; f < COUNT_OF(all_flags); f++) {
			const char *mark = m > 0 ? ends[m] + 3 : NULL, *flags = all_flags[f];
			char name_out[MAILDIR_NAME_SIZE], name[256], whole[400];
			struct buffer text = {0};

			remove_root();
			assert_int_equal(mkdir(root, 0700), 0);
			deliver_named(mark, flags, name_out);
			assert_true(ends_with(name_in_tmp, ends[m]));
			assert_int_equal(strstr(name_in_tmp, ",I=") != NULL, mark != NULL);
			assert_true(ends_with(name_out, ends[m]));
			assert_non_null(strstr(name_out, ".mx1.example.org,S="));
			assert_non_null(strstr(name_out, ",W="));
			assert_int_equal(count_in(flags != NULL ? "ann/new" : "ann/cur"), 0);
			assert_int_equal(read_folder(flags != NULL ? "ann/cur" : "ann/new", &text,
						     name, sizeof name),
					 1);
			snprintf(whole, sizeof whole, "%s%s%s", name_out,
				 flags != NULL ? ":2," : "", flags != NULL ? flags : "");
			assert_string_equal(name, whole);
			buffer_clear(&text);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_message_is_stored_whole),
		cmocka_unit_test(line_ends_become_lf),
		cmocka_unit_test(a_binary_message_is_encoded),
		cmocka_unit_test(blocks_are_joined_without_a_seam),
		cmocka_unit_test(there_is_one_return_path),
		cmocka_unit_test(a_loop_is_noticed),
		cmocka_unit_test(a_copy_is_marked),
		cmocka_unit_test(addresses_cannot_add_headers),
		cmocka_unit_test(old_litter_is_cleaned),
		cmocka_unit_test(what_others_left_half_made_is_made_durable),
		cmocka_unit_test(a_group_shares_its_syncs),
		cmocka_unit_test(each_call_may_fail),
		cmocka_unit_test(what_is_missing_is_made),
		cmocka_unit_test(errors_have_their_verdict),
		cmocka_unit_test(paths_are_safe),
		cmocka_unit_test(names_say_what_is_known),
	};
	int failed;

	umask(077);
	assert_non_null(mkdtemp(root));
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	remove_root();
	return failed;
}
