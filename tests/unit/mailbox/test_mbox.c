// SPDX-License-Identifier: ISC
/* Deliveries to mbox files on a real disk, whose calls fail, or stop for good, each in turn
 * (mbox_disk.h); beside other programs that lock, and beside what is no mailbox. */
#include "base/timestamp.h"
#include "mailbox/mbox.h"
#include "mbox_disk.h"
#include "os/clock.h"
#include "os/file/range.h"
#include "os/file/reason.h"
#include "scratch.h"
#include "test.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define FROM  "From lisa@example.com Thu Nov 20 08:33:14 2025\n"
#define TRACE "Return-Path: <lisa@example.com>\nDelivered-To: ann@example.org\n"
#define OLD   "From eve@example.net Mon Nov 17 10:00:00 2025\nSubject: old\n\nbefore\n\n"

static const char FIRST[] = "Subject: first\r\n\r\none\r\ntwo\r\n";
static const char FIRST_STORED[] = FROM TRACE "Subject: first\n\none\ntwo\n\n";
static const char SECOND[] = "Subject: second\r\n\r\nthree\r\n";
static const char SECOND_STORED[] = FROM TRACE "Subject: second\n\nthree\n\n";

static const char THIRD[] = "Subject: third\r\n\r\nfour\r\n";
static const char THIRD_STORED[] = FROM TRACE "Subject: third\n\nfour\n\n";

static char root[SCRATCH_SIZE];
static char box[128];
static char lock[128];

int64_t os_clock_wall_us(void)
{
	return INT64_C(1763627594482913);
}

static void write_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
	assert_int_equal(fclose(file), 0);
}

/* What is at PATH, until the next call; "": nothing. */
static const char *read_text(const char *path)
{
	static char text[1 << 20];
	FILE *file = fopen(path, "r");
	size_t length;

	if (file == NULL)
		return "";
	length = fread(text, 1, sizeof text - 1, file);
	fclose(file);
	text[length] = '\0';
	return text;
}

static bool is_there(const char *path)
{
	struct stat status;

	return lstat(path, &status) == 0;
}

static int set_up(void **state)
{
	(void)state;
	assert_int_equal(scratch_make(root), 0);
	snprintf(box, sizeof box, "%s/ann", root);
	snprintf(lock, sizeof lock, "%s/ann.lock", root);
	mbox_disk_reset();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	return scratch_remove(root);
}

static void empty_root(void)
{
	assert_int_equal(scratch_remove(root), 0);
	assert_int_equal(mkdir(root, 0700), 0);
	mbox_disk_reset();
}

static struct maildir_delivery delivery_of(const char *text)
{
	return (struct maildir_delivery){
		.path = str_from(box),
		.sender = STR("lisa@example.com"),
		.recipient = STR("ann@example.org"),
		.content = {.bytes = str_from(text), .file = -1, .size = strlen(text)},
	};
}

/* Delivers TEXT by a process of its own, as it were. */
static struct maildir_delivery deliver_as(uid_t owner, const char *text)
{
	struct mbox *mbox = mbox_new("mx1.example.org");
	struct maildir_delivery delivery = delivery_of(text);

	mbox_deliver_group(mbox, owner, &delivery, 1);
	mbox_free(mbox);
	return delivery;
}

static struct maildir_delivery deliver(const char *text)
{
	return deliver_as(getuid(), text);
}

static void assert_stored(const char *text)
{
	struct maildir_delivery delivery = deliver(text);

	if (delivery.verdict.class != MAIL_OK)
		print_error("%s\n", delivery.verdict.text);
	assert_int_equal(delivery.verdict.class, MAIL_OK);
	assert_false(is_there(lock));
}

/* --- what is written --- */

static void a_message_is_appended(void **state)
{
	struct stat status;

	(void)state;
	assert_stored(FIRST);
	assert_string_equal(read_text(box), FIRST_STORED);
	assert_int_equal(stat(box, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0600);
	assert_stored(SECOND);
	assert_true(str_ends_with_nocase(str_from(read_text(box)), str_from(SECOND_STORED)));
	assert_int_equal(strncmp(read_text(box), FIRST_STORED, strlen(FIRST_STORED)), 0);
}

static void no_line_begins_another_message(void **state)
{
	static const struct {
		const char *text;
		const char *stored;
	} cases[] = {
		{"From a\r\n", ">From a\n\n"},
		{">From a\r\n", ">>From a\n\n"},
		{">>>From \r\n", ">>>>From \n\n"},
		{"From\r\n", "From\n\n"},
		{"From: a\r\n", "From: a\n\n"},
		{"Fro", "Fro\n\n"},
		{"From ", ">From \n\n"},
		{">", ">\n\n"},
		{">\r\n>F\r\n", ">\n>F\n\n"},
		{" From a\r\n", " From a\n\n"},
		{"a\r\nFrom b\r\n\r\nFrom c", "a\n>From b\n\n>From c\n\n"},
		{"FFrom a\r\n", "FFrom a\n\n"},
		{"a", "a\n\n"},
		{"a\r\n\r\n", "a\n\n\n"},
		{"", "\n"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		char text[200];

		empty_root();
		assert_stored(cases[i].text);
		snprintf(text, sizeof text, "%s%s%s", FROM, TRACE, cases[i].stored);
		assert_string_equal(read_text(box), text);
	}
}

/* The line to be quoted at each place around the end of a block. */
static void lines_are_quoted_across_blocks(void **state)
{
	enum { BLOCK = 64 << 10 };
	char *text = malloc(BLOCK + 100);

	(void)state;
	for (size_t before = BLOCK - 12; before <= BLOCK + 2; before++) {
		const char *stored;

		memset(text, 'x', before);
		strcpy(text + before, "\r\n>From here\r\nend\r\n");
		empty_root();
		assert_stored(text);
		stored = read_text(box);
		assert_non_null(strstr(stored, "x\n>>From here\nend\n\n"));
		assert_int_equal(strlen(stored), strlen(FROM TRACE) + before + 18);
	}
	free(text);
}

static void what_is_there_is_ended(void **state)
{
	static const char *const before[][2] = {
		{"x", "x\n\n"}, {"x\n", "x\n\n"}, {"x\n\n", "x\n\n"}, {"\n", "\n"}, {"", ""},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(before); i++) {
		char text[200];

		empty_root();
		write_text(box, before[i][0]);
		assert_stored(FIRST);
		snprintf(text, sizeof text, "%s%s", before[i][1], FIRST_STORED);
		assert_string_equal(read_text(box), text);
	}
}

static void senders_are_one_word(void **state)
{
	static const struct {
		struct str sender;
		const char *line;
	} cases[] = {
		{STR(""), "From MAILER-DAEMON Thu "},
		{STR("#@[]"), "From MAILER-DAEMON Thu "},
		{STR("\"a b\"@example.com"), "From \"a-b\"@example.com Thu "},
		{STR("\"a\tb\"@example.com"), "From \"a-b\"@example.com Thu "},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct mbox *mbox = mbox_new("mx1.example.org");
		struct maildir_delivery delivery = delivery_of(FIRST);

		empty_root();
		delivery.sender = cases[i].sender;
		mbox_deliver_group(mbox, getuid(), &delivery, 1);
		mbox_free(mbox);
		assert_int_equal(strncmp(read_text(box), cases[i].line, strlen(cases[i].line)), 0);
	}
}

/* --- durability --- */

/* The lock file says where the message begins before its first byte is written; the message is
 * durable, and that the lock file is gone, before it is reported. */
static void the_order_of_calls(void **state)
{
	char calls[512];

	(void)state;
	write_text(box, OLD);
	assert_stored(FIRST);
	snprintf(calls, sizeof calls,
		 "make:.lk.mx1.example.org.ann write:.lk.mx1.example.org.ann link:ann.lock "
		 "remove:.lk.mx1.example.org.ann write:.lk.mx1.example.org.ann "
		 "sync:.lk.mx1.example.org.ann write:ann sync:ann remove:ann.lock sync:%s",
		 strrchr(root, '/') + 1);
	assert_string_equal(mbox_disk_calls(), calls);
}

static size_t count_calls(const char *call)
{
	size_t count = 0;

	for (const char *at = mbox_disk_calls(); (at = strstr(at, call)) != NULL; at++)
		count++;
	return count;
}

static void messages_of_one_mailbox_are_synced_together(void **state)
{
	struct mbox *mbox = mbox_new("mx1.example.org");
	struct maildir_delivery deliveries[3];
	char other[140];

	(void)state;
	snprintf(other, sizeof other, "%s/bob", root);
	deliveries[0] = delivery_of(FIRST);
	deliveries[1] = delivery_of(SECOND);
	deliveries[1].path = str_from(other);
	deliveries[2] = delivery_of(SECOND);
	mbox_deliver_group(mbox, getuid(), deliveries, 3);
	mbox_free(mbox);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(deliveries[i].verdict.class, MAIL_OK);
	assert_non_null(strstr(mbox_disk_calls(), " write:ann write:.lk.mx1.example.org.ann "
						  "write:ann sync:ann remove:ann.lock"));
	/* each mailbox is opened once */
	assert_int_equal(count_calls("link:ann.lock"), 1);
	assert_int_equal(count_calls("link:bob.lock"), 1);
	assert_string_equal(read_text(other), SECOND_STORED);
	assert_int_equal(strlen(read_text(box)), strlen(FIRST_STORED) + strlen(SECOND_STORED));
}

/* Whether TEXT is what was there and each message once or not at all. */
static bool is_whole(const char *text)
{
	static const char *const parts[] = {FIRST_STORED, SECOND_STORED, THIRD_STORED};

	if (strncmp(text, OLD, strlen(OLD)) != 0)
		return false;
	text += strlen(OLD);
	for (size_t i = 0; i < COUNT_OF(parts); i++)
		if (strncmp(text, parts[i], strlen(parts[i])) == 0)
			text += strlen(parts[i]);
	return *text == '\0';
}

static void begin_with_old(void)
{
	empty_root();
	write_text(box, OLD);
}

/* Each call fails in turn, with each error. */
static void after_an_error_nothing_is_torn(void **state)
{
	static const int errors[] = {-ENOSPC, -EDQUOT, -EIO, -EFBIG, -EACCES};
	static const char *const statuses[] = {"4.3.1", "4.2.2", "4.3.0", "4.3.0", "4.3.0"};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(errors); i++) {
		for (size_t call = 1;; call++) {
			struct maildir_delivery delivery;

			begin_with_old();
			mbox_disk_fail(call, errors[i]);
			delivery = deliver(FIRST);
			if (!mbox_disk_is_reached())
				break;
			if (delivery.verdict.class == MAIL_OK)
				assert_non_null(strstr(read_text(box), FIRST_STORED));
			else
				assert_string_equal(delivery.verdict.status, statuses[i]);
			if (strcmp(delivery.verdict.status, "4.3.0") == 0) {
				assert_memory_equal(delivery.verdict.text, "Cannot ", 7);
				assert_non_null(
					strstr(delivery.verdict.text, os_file_reason(errors[i])));
			}
			assert_false(delivery.is_locked);
			mbox_disk_reset();
			/* it would be tried again after a lock was left for a while */
			assert_stored(SECOND);
			assert_true(is_whole(read_text(box)));
			assert_non_null(strstr(read_text(box), SECOND_STORED));
		}
	}
}

static struct mail_verdict deliver_marked(const char *text)
{
	struct mbox *mbox = mbox_new("mx1.example.org");
	struct maildir_delivery delivery = delivery_of(text);

	delivery.site_key = (struct hash_key){1, 2};
	mbox_deliver_group(mbox, getuid(), &delivery, 1);
	mbox_free(mbox);
	mbox_free(NULL);
	return delivery.verdict;
}

/* What was written into a mailbox comes back to it: a mark shows that. */
static void a_loop_ends(void **state)
{
	char stored[2000];

	(void)state;
	assert_string_equal(deliver_marked(FIRST).status, "2.0.0");
	snprintf(stored, sizeof stored, "%s", strchr(read_text(box), '\n') + 1);
	assert_string_equal(deliver_marked(stored).status, "5.4.6");
	assert_string_equal(strchr(read_text(box), '\n') + 1, stored);
	assert_false(is_there(lock));
}

/* Somebody makes or removes the file between the look at its name and its opening, the second call:
 * it is tried again. */
static void a_file_that_comes_or_goes(void **state)
{
	static const struct {
		bool is_there;
		int error;
		const char *status;
	} rows[] = {{false, -EEXIST, "4.2.0"},
		    {true, -ENOENT, "4.2.0"},
		    {false, -ENOENT, "4.3.0"}, /* the folder is missing */
		    {true, -EACCES, "4.3.0"},
		    {false, -EACCES, "4.3.0"}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct maildir_delivery delivery;

		empty_root();
		if (rows[i].is_there)
			write_text(box, OLD);
		mbox_disk_reset();
		mbox_disk_fail(2, rows[i].error);
		delivery = deliver(FIRST);
		assert_true(mbox_disk_is_reached());
		assert_string_equal(delivery.verdict.status, rows[i].status);
		assert_int_equal(delivery.is_locked, rows[i].status[2] == '2');
		mbox_disk_reset();
	}
}

/* What has the name of the new lock file cannot be removed: that is said, and no lock is taken that
 * somebody has. */
static void what_is_in_the_way_of_a_lock_file(void **state)
{
	char spare[SCRATCH_SIZE + 80];

	(void)state;
	snprintf(spare, sizeof spare, "%s/.lk.mx1.example.org.%s", root, strrchr(box, '/') + 1);
	for (int is_locked = 0; is_locked < 2; is_locked++) {
		struct maildir_delivery delivery;

		begin_with_old();
		assert_int_equal(mkdir(spare, 0700), 0);
		if (is_locked == 1)
			write_text(lock, "1\n");
		delivery = deliver(FIRST);
		assert_string_equal(delivery.verdict.status, "4.3.0");
		assert_non_null(strstr(delivery.verdict.text, os_file_reason(-EISDIR)));
		assert_string_equal(read_text(box), OLD);
		assert_int_equal(is_there(lock), is_locked);
		assert_int_equal(rmdir(spare), 0);
	}
}

/* The process dies at each call in turn; the next one finds what it has left. */
static void after_a_death_nothing_is_torn(void **state)
{
	size_t recovered = 0;

	(void)state;
	for (size_t call = 1;; call++) {
		struct maildir_delivery delivery;

		begin_with_old();
		mbox_disk_die(call);
		(void)deliver(FIRST);
		if (!mbox_disk_is_reached())
			break;
		mbox_disk_reset();
		delivery = deliver(SECOND);
		assert_int_equal(delivery.verdict.class, MAIL_OK);
		recovered += delivery.removed > 0;
		/* what was cut stays cut, before more is written */
		if (delivery.removed > 0)
			assert_non_null(strstr(mbox_disk_calls(), "cut:ann sync:ann "));
		assert_true(is_whole(read_text(box)));
		assert_non_null(strstr(read_text(box), SECOND_STORED));
		assert_false(is_there(lock));
	}
	assert_true(recovered > 0);
}

/* The process dies at each call, and each call of the next one fails: the one after that finds what
 * both have left. */
static void after_a_death_and_an_error_nothing_is_torn(void **state)
{
	bool is_reached = true;

	(void)state;
	for (size_t call = 1; is_reached; call++) {
		for (size_t failed = 1;; failed++) {
			struct maildir_delivery delivery;
			bool has_failed;

			begin_with_old();
			mbox_disk_die(call);
			(void)deliver(FIRST);
			is_reached = mbox_disk_is_reached();
			mbox_disk_reset();
			mbox_disk_fail(failed, -EIO);
			delivery = deliver(SECOND);
			has_failed = mbox_disk_is_reached();
			mbox_disk_reset();
			assert_stored(THIRD);
			assert_true(is_whole(read_text(box)));
			assert_non_null(strstr(read_text(box), THIRD_STORED));
			if (delivery.verdict.class == MAIL_OK)
				assert_non_null(strstr(read_text(box), SECOND_STORED));
			if (!has_failed || !is_reached)
				break;
		}
	}
}

/* Also if several were being written: those before the last one may be there twice later. */
static void after_a_death_in_a_group_nothing_is_torn(void **state)
{
	(void)state;
	for (size_t call = 1;; call++) {
		struct mbox *mbox = mbox_new("mx1.example.org");
		struct maildir_delivery deliveries[] = {delivery_of(FIRST), delivery_of(SECOND)};

		begin_with_old();
		mbox_disk_die(call);
		mbox_deliver_group(mbox, getuid(), deliveries, 2);
		mbox_free(mbox);
		if (!mbox_disk_is_reached())
			break;
		mbox_disk_reset();
		assert_stored(SECOND);
		if (!is_whole(read_text(box))) { /* all of them */
			char all[2000];

			snprintf(all, sizeof all, "%s%s%s%s", OLD, FIRST_STORED, SECOND_STORED,
				 SECOND_STORED);
			assert_string_equal(read_text(box), all);
		}
	}
}

/* --- locks --- */

static void assert_locked(void)
{
	char before[4096];
	struct maildir_delivery delivery;

	snprintf(before, sizeof before, "%s", read_text(box));
	delivery = deliver(FIRST);
	assert_true(delivery.is_locked);
	assert_string_equal(delivery.verdict.status, "4.2.0");
	assert_string_equal(read_text(box), before);
}

/* Another process has the lock of fcntl(2): this is asked first, and no lock file is made. */
static void a_process_that_locks_is_respected(void **state)
{
	int ready[2];
	int end[2];
	char byte = 0;
	pid_t child;

	(void)state;
	write_text(box, OLD);
	assert_int_equal(pipe(ready) | pipe(end), 0);
	child = fork();
	if (child == 0) {
		struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
		int file = open(box, O_RDWR);

		close(end[1]);
		if (fcntl(file, F_SETLK, &whole) != 0 || write(ready[1], &byte, 1) != 1)
			_exit(1);
		_exit(read(end[0], &byte, 1) != 0);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_locked();
	assert_null(strstr(mbox_disk_calls(), "link"));
	close(end[1]);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_stored(FIRST);
	close(end[0]);
	close(ready[0]);
	close(ready[1]);
}

static void set_age(const char *path, int seconds)
{
	struct timeval times[2];

	assert_int_equal(gettimeofday(&times[0], NULL), 0);
	times[0].tv_sec -= seconds;
	times[1] = times[0];
	assert_int_equal(utimes(path, times), 0);
}

static void lock_files_are_respected_for_five_minutes(void **state)
{
	static const char *const texts[] = {"0", "", "1\n", "4711\nstagepost other.example.org\n",
					    "4711\nstagepost\n"};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		begin_with_old();
		write_text(lock, texts[i]);
		assert_locked();
		set_age(lock, 290);
		assert_locked();
		assert_string_equal(read_text(lock), texts[i]);
		set_age(lock, 301);
		assert_stored(FIRST);
		assert_true(is_whole(read_text(box)));
	}
}

static void a_lock_file_of_this_host_is_one_of_the_dead(void **state)
{
	(void)state;
	write_text(box, OLD);
	write_text(lock, "4711\nstagepost mx1.example.org\n");
	assert_stored(FIRST);
	assert_true(is_whole(read_text(box)));
}

/* What others have written after a death stays, and what is not as the lock file says. */
static void only_our_own_is_removed(void **state)
{
	static const struct {
		const char *after; /* OLD, beside a lock file that speaks of FROM after it */
		bool is_removed;
	} cases[] = {
		{FROM "Subject: x\n\nhal", true},
		{FROM, true},
		{"From lisa@exam", true},
		{FROM "a\n>From b\nthe word From c", true},
		{FROM "Subject: x\n\n" OLD, false},
		{FROM OLD, false},
		{FROM "hal" OLD, false},
		{OLD, false},
		{"Froz", false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct maildir_delivery delivery;
		char text[1000];

		empty_root();
		snprintf(text, sizeof text, "%s%s", OLD, cases[i].after);
		write_text(box, text);
		snprintf(text, sizeof text, "4711\nstagepost mx1.example.org\n%zu %zu\n%s",
			 strlen(OLD), strlen(FROM), FROM);
		write_text(lock, text);
		delivery = deliver(FIRST);
		assert_int_equal(delivery.verdict.class, MAIL_OK);
		assert_int_equal(delivery.removed,
				 cases[i].is_removed ? strlen(cases[i].after) : 0);
		snprintf(text, sizeof text, "%s%s", OLD, cases[i].is_removed ? "" : cases[i].after);
		assert_int_equal(strncmp(read_text(box), text, strlen(text)), 0);
	}
}

/* Anything may be in a lock file. */
static void no_text_of_a_lock_file_does_harm(void **state)
{
	static const char *const texts[] = {
		"1 5\nFrom ",
		"99999999999999999999 5\nFrom ",
		"0 99999999999999999999\nFrom ",
		"0 5\n",
		"0 0\n",
		"-1 5\nFrom ",
		"0 5 \nFrom ",
		"18446744073709551615 5\nFrom ",
		"\n\n\n",
		"0",
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		char text[200];

		begin_with_old();
		snprintf(text, sizeof text, "1\nstagepost mx1.example.org\n%s", texts[i]);
		write_text(lock, text);
		assert_stored(FIRST);
		assert_true(is_whole(read_text(box)));
	}
}

/* --- what is no mailbox --- */

static void assert_flaw(const char *flaw)
{
	struct maildir_delivery delivery = deliver(FIRST);

	assert_string_equal(delivery.verdict.status, "4.3.0");
	assert_non_null(delivery.flaw);
	assert_string_equal(delivery.flaw, flaw);
	assert_false(is_there(lock));
}

static void what_is_no_mailbox_is_left_alone(void **state)
{
	char other[140];

	(void)state;
	snprintf(other, sizeof other, "%s/other", root);
	write_text(other, OLD);
	assert_int_equal(symlink(other, box), 0);
	assert_flaw("it is a symbolic link");
	assert_int_equal(unlink(box), 0);
	assert_int_equal(link(other, box), 0);
	assert_flaw("it has more than one name (a hard link)");
	assert_int_equal(unlink(box), 0);
	assert_int_equal(mkdir(box, 0700), 0);
	assert_flaw("it is a directory; for a Maildir, use a service of kind maildir");
	assert_int_equal(rmdir(box), 0);
	assert_int_equal(mkfifo(box, 0600), 0);
	assert_flaw("it is no regular file");
	assert_int_equal(unlink(box), 0);
	write_text(box, OLD);
	assert_string_equal(deliver_as(getuid() + 1, FIRST).flaw, "it belongs to another user");
	assert_string_equal(read_text(box), OLD);
	assert_string_equal(read_text(other), OLD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_message_is_appended, set_up, tear_down),
		cmocka_unit_test_setup_teardown(no_line_begins_another_message, set_up, tear_down),
		cmocka_unit_test_setup_teardown(lines_are_quoted_across_blocks, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_there_is_ended, set_up, tear_down),
		cmocka_unit_test_setup_teardown(senders_are_one_word, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_order_of_calls, set_up, tear_down),
		cmocka_unit_test_setup_teardown(messages_of_one_mailbox_are_synced_together, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(after_an_error_nothing_is_torn, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_loop_ends, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_file_that_comes_or_goes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_in_the_way_of_a_lock_file, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(after_a_death_nothing_is_torn, set_up, tear_down),
		cmocka_unit_test_setup_teardown(after_a_death_and_an_error_nothing_is_torn, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(after_a_death_in_a_group_nothing_is_torn, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_process_that_locks_is_respected, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(lock_files_are_respected_for_five_minutes, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_lock_file_of_this_host_is_one_of_the_dead, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(only_our_own_is_removed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(no_text_of_a_lock_file_does_harm, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_is_no_mailbox_is_left_alone, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
