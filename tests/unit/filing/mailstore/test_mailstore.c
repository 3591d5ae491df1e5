// SPDX-License-Identifier: ISC
/* The store in Maildirs, on a real disk; the recorder in disk_watch.h judges what is durable, and
 * fails calls. What both stores have in common is tested in tests/e2e/filing/test_mailstore.py. */
#include "disk_watch.h"
#include "filing/decode/identity.h"
#include "filing/mailstore/internal.h"
#include "filing/mailstore/maildir.h"
#include "scratch.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { EACH = 25, GROUP = 3 };

static char root[] = "/dev/shm/test_mailstore.XXXXXX"; /* nothing is really synced */
static const unsigned char digest[DECODE_DIGEST_SIZE] = {1, 2, 3};

static void set_up_root(void)
{
	assert_int_equal(scratch_remove(root), 0);
	assert_int_equal(mkdir(root, 0700), 0);
	disk_watch_reset();
}

static struct mailstore *new_store(enum maildir_sync sync)
{
	char path[100];
	struct mailstore_maildir_settings settings = {
		.path = path, .host = "mx.test", .sync = sync};

	snprintf(path, sizeof path, "%s/%%d/%%u", root);
	return mailstore_maildir_new(&settings);
}

static struct mailstore_location place_of(const char *folder, const char *id)
{
	return (struct mailstore_location){.user = STR("ann@a.test"),
					   .folder = str_from(folder),
					   .id = str_from(id),
					   .digest = digest};
}

static struct mailstore_append append_of(const char *folder, const char *id)
{
	static const struct str text = STR("Subject: hello\r\n\r\nhello\r\n");

	return (struct mailstore_append){
		.location = place_of(folder, id),
		.content = {.bytes = text, .file = -1, .size = text.length},
		.sender = STR("lisa@example.com"),
		.recipient = STR("ann@a.test"),
	};
}

static size_t count_found(struct mailstore *store, const char *folder, const char *id)
{
	struct mailstore_location location = place_of(folder, id);
	struct arena *arena = arena_new();
	struct mailstore_found *found;
	size_t count = 0;

	assert_int_equal(mailstore_find(store, &location, arena, &found, &count), 0);
	arena_free(arena);
	return count;
}

/* With the '.' before it: at the bound, and one beyond. */
static void a_folder_has_a_longest_name(void **state)
{
	char name[MAILDIR_FOLDER_MAX + 2];

	(void)state;
	set_up_root();
	for (size_t length = MAILDIR_FOLDER_MAX - 2; length <= MAILDIR_FOLDER_MAX; length++) {
		struct mailstore *store = new_store(MAILDIR_SYNC_AUTO);
		struct mailstore_append append;

		memset(name, 'x', length);
		name[length] = '\0';
		append = append_of(name, "<1@x>");
		mailstore_append(store, &append, 1, NULL);
		assert_int_equal(append.verdict.class == MAIL_OK, length < MAILDIR_FOLDER_MAX);
		if (append.verdict.class == MAIL_OK)
			assert_int_equal(count_found(store, name, "<1@x>"), 1);
		mailstore_free(store);
	}
}

/* ---- what is written in front ---- */

static void assert_copy(const struct mailstore_append *append, const char *expected)
{
	char path[400];
	char text[1000];
	FILE *file;

	snprintf(path, sizeof path, "%s/a.test/ann/new/%s", root, append->copy);
	file = fopen(path, "r");
	assert_non_null(file);
	text[fread(text, 1, sizeof text - 1, file)] = '\0';
	fclose(file);
	assert_string_equal(text, expected);
}

/* Another mail system names the recipient before it runs the command: no loop, and once is enough.
 */
static void lines_in_front_are_not_written_twice(void **state)
{
	static const struct {
		const char *text, *expected;
	} cases[] = {
		{"Subject: a\r\n\r\n", "Return-Path: <lisa@example.com>\n"
				       "Delivered-To: ann@a.test\nSubject: a\n\n"},
		{"Received: by x\r\nDelivered-To: Ann@a.test\r\n\r\n",
		 "Return-Path: <lisa@example.com>\nReceived: by x\nDelivered-To: Ann@a.test\n\n"},
		{"Return-Path:<lisa@example.com>\nDelivered-To:  ann@a.test\n\nx",
		 "Return-Path:<lisa@example.com>\nDelivered-To:  ann@a.test\n\nx"},
		/* not the topmost one */
		{"Delivered-To: bob@a.test\nDelivered-To: ann@a.test\n"
		 "Return-Path: <>\nReturn-Path: <lisa@example.com>\n\n",
		 "Return-Path: <lisa@example.com>\nDelivered-To: ann@a.test\n"
		 "Delivered-To: bob@a.test\nDelivered-To: ann@a.test\n"
		 "Return-Path: <>\nReturn-Path: <lisa@example.com>\n\n"},
		/* not in the header */
		{"A: b\n\nDelivered-To: ann@a.test\n",
		 "Return-Path: <lisa@example.com>\nDelivered-To: ann@a.test\nA: b\n\n"
		 "Delivered-To: ann@a.test\n"},
		{"", "Return-Path: <lisa@example.com>\nDelivered-To: ann@a.test\n"},
	};
	struct mailstore *store = new_store(MAILDIR_SYNC_FILES);

	(void)state;
	set_up_root();
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct mailstore_append append = append_of("INBOX", "<1@x>");
		struct str text = str_from(cases[i].text);

		append.content =
			(struct ipc_content){.bytes = text, .file = -1, .size = text.length};
		mailstore_append(store, &append, 1, NULL);
		assert_int_equal(append.verdict.class, MAIL_OK);
		assert_copy(&append, cases[i].expected);
	}
	mailstore_free(store);
}

/* ---- names ---- */

static void folders_have_names_in_modified_utf_7(void **state)
{
	static const struct {
		const char *folder;
		const char *name; /* NULL: none */
	} cases[] = {
		{"Sent", "Sent"},
		{"Lists/dev", "Lists.dev"},
		{"inbox/x", "INBOX.x"},
		{"&", "&-"},
		{"~peter/mail", NULL},
		/* of RFC 3501 */
		{"peter/\u53f0\u5317/\u65e5\u672c\u8a9e", "peter.&U,BTFw-.&ZeVnLIqe-"},
		{"Hi Mom -\u263a-!", "Hi Mom -&Jjo--!"},
		{"\U0001f4e8", "&2D3c6A-"},
		{"", NULL},
		{"/", NULL},
		{"a/", NULL},
		{"a//b", NULL},
		{"a.b", NULL},
		{"..", NULL},
		{"a\nb", NULL},
		{"a\x7f", NULL},
		{"\xc2\x85", NULL},
		{"\xff", NULL},
		{"\xed\xa0\x80", NULL},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct buffer out = {0};
		int result;

		buffer_append_string(&out, "=");
		result = mailstore_folder_append(str_from(cases[i].folder), '.', &out);
		buffer_append_byte(&out, '\0');
		assert_int_equal(result, cases[i].name != NULL ? 0 : -EINVAL);
		assert_string_equal(buffer_data(&out) + 1,
				    cases[i].name != NULL ? cases[i].name : "");
		buffer_clear(&out);
	}
}

static void marks_tell_messages_apart(void **state)
{
	struct mailstore_location one = place_of("INBOX", "<1@x>");
	struct mailstore_location two = place_of("INBOX", "<2@x>");
	unsigned char other[DECODE_DIGEST_SIZE] = {1, 2, 4};
	char marks[3][MAILSTORE_MARK_SIZE];

	(void)state;
	mailstore_mark(&one, marks[0]);
	mailstore_mark(&two, marks[1]);
	one.digest = other;
	mailstore_mark(&one, marks[2]);
	assert_int_equal(strlen(marks[0]), 32);
	assert_string_not_equal(marks[0], marks[1]);
	assert_string_not_equal(marks[0], marks[2]);
}

/* ---- the disk ---- */

static const char *const folders[GROUP] = {"INBOX", "Sent", "Lists/dev"};

static void append_group(struct mailstore *store, struct mailstore_append appends[GROUP])
{
	for (size_t i = 0; i < GROUP; i++) {
		appends[i] = append_of(folders[i], "<1@x>");
		appends[i].flags = i == 0 ? 0 : MAILSTORE_SEEN;
	}
	mailstore_append(store, appends, GROUP, NULL);
}

/* What is reported as stored is found; of what is not, it is known that it is not there, or it is
 * said to be unknown. The number of those that are stored. */
static size_t check_group(struct mailstore *store, const struct mailstore_append appends[GROUP],
			  size_t *unknown)
{
	size_t stored = 0;

	for (size_t i = 0; i < GROUP; i++) {
		bool is_stored = appends[i].verdict.class == MAIL_OK;

		stored += is_stored;
		*unknown += appends[i].is_unknown;
		assert_int_not_equal(appends[i].verdict.class, MAIL_FAIL);
		assert_int_equal(appends[i].copy[0] != '\0', is_stored);
		if (is_stored || !appends[i].is_unknown)
			assert_int_equal(count_found(store, folders[i], "<1@x>"), is_stored);
	}
	return stored;
}

static void each_call_may_fail(void **state)
{
	static const enum maildir_sync syncs[] = {MAILDIR_SYNC_FILES, MAILDIR_SYNC_FILESYSTEM,
						  MAILDIR_SYNC_ORDERED};

	(void)state;
	for (size_t s = 0; s < COUNT_OF(syncs); s++) {
		bool failed = true;
		size_t unknown = 0;

		for (size_t call = 1; failed; call++) {
			struct mailstore_append appends[GROUP];
			struct mailstore *store;

			set_up_root();
			store = new_store(syncs[s]);
			if (syncs[s] == MAILDIR_SYNC_ORDERED)
				disk_watch_keep_order();
			disk_watch_fail(call, -EIO);
			append_group(store, appends);
			failed = disk_watch_has_failed();
			disk_watch_fail(SIZE_MAX, 0);
			if (check_group(store, appends, &unknown) == GROUP)
				assert_null(disk_watch_problem());
			mailstore_free(store);
		}
		assert_true(unknown > 0);
	}
}

static void flags_are_in_the_name(void **state)
{
	static const struct {
		unsigned flags;
		const char *folder;
		const char *ending;
	} cases[] = {
		{0, "new", ""},
		{MAILSTORE_SEEN, "cur", ":2,S"},
		{MAILSTORE_FLAGGED | MAILSTORE_DRAFT, "cur", ":2,DF"},
		{MAILSTORE_SEEN | MAILSTORE_FLAGGED | MAILSTORE_DRAFT, "cur", ":2,DFS"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct mailstore_append append = append_of("INBOX", "<1@x>");
		struct mailstore *store;
		struct stat info;
		char path[600];

		set_up_root();
		store = new_store(MAILDIR_SYNC_FILES);
		append.flags = cases[i].flags;
		mailstore_append(store, &append, 1, NULL);
		snprintf(path, sizeof path, "%s/a.test/ann/%s/%s%s", root, cases[i].folder,
			 append.copy, cases[i].ending);
		assert_int_equal(stat(path, &info), 0);
		assert_null(disk_watch_problem());
		mailstore_free(store);
	}
}

/* Also within a second, whatever the number of digits. */
static void the_oldest_comes_first(void **state)
{
	static const char *const times[] = {"1.M9P1", "2.M99999P1", "2.M100000P1", "10.M1P1", "x"};
	struct mailstore_location location = place_of("INBOX", "<1@x>");
	struct mailstore_append append = append_of("INBOX", "<2@x>");
	struct mailstore_found *found;
	struct arena *arena = arena_new();
	struct mailstore *store;
	char mark[MAILSTORE_MARK_SIZE];
	size_t count;

	(void)state;
	set_up_root();
	store = new_store(MAILDIR_SYNC_FILES);
	mailstore_append(store, &append, 1, NULL);
	mailstore_mark(&location, mark);
	for (size_t i = COUNT_OF(times); i-- > 0;) {
		char path[300];
		FILE *file;

		snprintf(path, sizeof path, "%s/a.test/ann/new/%s.mx,I=%s", root, times[i], mark);
		file = fopen(path, "w");
		assert_non_null(file);
		fclose(file);
	}
	assert_int_equal(mailstore_find(store, &location, arena, &found, &count), 0);
	assert_int_equal(count, COUNT_OF(times));
	for (size_t i = 0; i < count; i++)
		assert_int_equal(strncmp(found[i].copy, times[i], strlen(times[i])), 0);
	arena_free(arena);
	mailstore_free(store);
}

static void a_removal_is_durable(void **state)
{
	struct mailstore *store;
	struct mailstore_append append = append_of("Sent", "<1@x>");

	(void)state;
	set_up_root();
	store = new_store(MAILDIR_SYNC_FILES);
	mailstore_append(store, &append, 1, NULL);
	disk_watch_reset();
	assert_int_equal(mailstore_remove(store, &append.location, append.copy), 0);
	assert_int_equal(disk_watch_count(DISK_SYNC_DIRECTORY), 1);
	assert_int_equal(count_found(store, "Sent", "<1@x>"), 0);
	assert_int_equal(mailstore_remove(store, &append.location, append.copy), -ENOENT);
	assert_non_null(strstr(store->error, append.copy));
	mailstore_free(store);
}

/* Looking for what is not there reads no file that has a mark, whatever its number. */
static void looking_for_nothing_is_cheap(void **state)
{
	struct mailstore *store;
	struct mailstore_append appends[EACH];
	char ids[EACH][20];

	(void)state;
	set_up_root();
	store = new_store(MAILDIR_SYNC_FILES);
	for (size_t i = 0; i < EACH; i++) {
		snprintf(ids[i], sizeof ids[i], "<%zu@x>", i);
		appends[i] = append_of("INBOX", ids[i]);
	}
	mailstore_append(store, appends, EACH, NULL);
	disk_watch_reset();
	disk_watch_fail(1, -EIO); /* of opening, reading and looking at a file; not of listing */
	assert_int_equal(count_found(store, "INBOX", "<none@x>"), 0);
	assert_false(disk_watch_has_failed());
	disk_watch_reset();
	mailstore_free(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_folder_has_a_longest_name),
		cmocka_unit_test(lines_in_front_are_not_written_twice),
		cmocka_unit_test(folders_have_names_in_modified_utf_7),
		cmocka_unit_test(marks_tell_messages_apart),
		cmocka_unit_test(each_call_may_fail),
		cmocka_unit_test(flags_are_in_the_name),
		cmocka_unit_test(the_oldest_comes_first),
		cmocka_unit_test(a_removal_is_durable),
		cmocka_unit_test(looking_for_nothing_is_cheap),
	};
	int failed;

	umask(077);
	if (mkdtemp(root) == NULL)
		return EXIT_FAILURE;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	scratch_remove(root);
	return failed;
}
