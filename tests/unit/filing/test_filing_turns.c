// SPDX-License-Identifier: ISC
/* Filing with SQLite and Maildirs, where one attempt meets what another one has left or will do.
 * The whole is tested in tests/e2e/filing/test_once.py. */
#include "filing/filing.h"
#include "filing/mailstore/internal.h"
#include "filing/mailstore/maildir.h"
#include "filing/record/sqlite/sqlite.h"
#include "os/clock.h"
#include "scratch.h"
#include "test.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char root[SCRATCH_SIZE];
static struct record *record;
static struct mailstore *store;
static const struct record_mailbox INBOX = {{"ann@a.test", 10}, {"INBOX", 5}};
static const struct record_token OTHER = {{1}};
static const struct decode_identity identity = {.id = {"<1@x>", 5}, .digest = {1}};
static const struct decode_message decoded = {.subject = {"a", 1}};

static int set_up(void **state)
{
	char path[200];
	struct mailstore_maildir_settings settings = {.path = path, .host = "mx.test"};

	(void)state;
	assert_int_equal(scratch_make(root), 0);
	snprintf(path, sizeof path, "%s/record", root);
	record = record_sqlite_new(path);
	snprintf(path, sizeof path, "%s/%%d/%%u", root);
	store = mailstore_maildir_new(&settings);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	record_free(record);
	mailstore_free(store);
	assert_int_equal(scratch_remove(root), 0);
	return 0;
}

static void ignore(void *context, const struct filing_event *event)
{
	(void)context;
	(void)event;
}

static struct ipc_content text_content(void)
{
	struct str text = STR("Message-ID: <1@x>\n\nhello\n");

	return (struct ipc_content){.bytes = text, .file = -1, .size = text.length};
}

static struct mail_verdict file(struct ipc_content content)
{
	struct filing *filing = filing_new(record, store, ignore, NULL);
	struct filing_copy copy = {.mailbox = INBOX, .recipient = INBOX.user};
	struct filing_message message = {.identity = &identity,
					 .decoded = &decoded,
					 .content = content,
					 .copies = &copy,
					 .copy_count = 1};

	filing_group(filing, &message, 1);
	filing_free(filing);
	assert_false(message.is_busy);
	return copy.verdict;
}

/* Another one begins, and stands still before its second transaction. */
static int64_t begin_other(void)
{
	struct record_message message = {.id = identity.id, .decoded = &decoded};
	struct record_filing row;
	int64_t number;
	unsigned different;
	bool is_new;

	memcpy(message.digest, identity.digest, sizeof message.digest);
	assert_int_equal(record_begin(record), 0);
	assert_int_equal(record_put(record, &message, &number, &is_new, &different), 0);
	assert_int_equal(record_open(record, number, &INBOX, &OTHER, os_clock_wall_us(), &row), 0);
	assert_int_equal(record_commit(record), 0);
	return row.number;
}

/* How the other one finds its row. */
static struct record_filing look(int64_t number)
{
	struct record_filing row;

	assert_int_equal(record_begin(record), 0);
	assert_int_equal(record_look(record, number, &OTHER, &row), 0);
	row.copy = STR("");
	assert_int_equal(record_commit(record), 0);
	return row;
}

static size_t count_files(const char *box)
{
	char path[200];
	size_t count = 0;
	const struct dirent *entry;
	DIR *directory;

	snprintf(path, sizeof path, "%s/a.test/ann/%s", root, box);
	directory = opendir(path);
	while (directory != NULL && (entry = readdir(directory)) != NULL)
		count += entry->d_name[0] != '.';
	if (directory != NULL)
		closedir(directory);
	return count;
}

/* The other one may append yet: it has to be in doubt of itself, as whoever comes after it. */
static void a_failure_ends_nobody_elses_attempt(void **state)
{
	int64_t row = begin_other();
	/* a file that is shorter than it was */
	struct ipc_content broken = {.file = 0, .size = UINT64_C(1) << 40};
	FILE *empty = tmpfile();

	(void)state;
	assert_non_null(empty);
	broken.file = fileno(empty);
	assert_int_equal(file(broken).class, MAIL_WAIT);
	assert_true(look(row).is_ours);
	assert_int_equal(file(text_content()).class, MAIL_OK);
	assert_true(look(row).is_ours); /* it is settled a day later only */
	assert_int_equal(look(row).state, RECORD_FILED);
	assert_int_equal(count_files("new"), 1);
	fclose(empty);
}

/* --- who has passed the gate, and stands still then --- */

struct late {
	size_t ready; /* files in tmp/ */
};

static int let_another_one_file(void *context)
{
	struct late *late = context;

	late->ready = count_files("tmp");
	assert_int_equal(count_files("new"), 0);
	assert_int_equal(file(text_content()).class, MAIL_OK);
	assert_int_equal(count_files("new"), 1);
	return 0;
}

static void who_comes_too_late_finds_nothing_to_move(void **state)
{
	struct late late = {0};
	const struct mailstore_gate gate = {let_another_one_file, &late};
	struct mailstore_append append = {
		.location = {INBOX.user, INBOX.folder, identity.id, identity.digest},
		.content = text_content(),
		.recipient = INBOX.user};
	int64_t row = begin_other();
	struct mailstore_maildir_settings settings = {.path = NULL, .host = "other.test"};
	struct mailstore *own;
	char path[200];

	(void)state;
	snprintf(path, sizeof path, "%s/%%d/%%u", root);
	settings.path = path;
	own = mailstore_maildir_new(&settings);
	mailstore_append(own, &append, 1, &gate);
	mailstore_free(own);
	assert_int_equal(late.ready, 1);
	assert_int_equal(append.verdict.class, MAIL_WAIT);
	assert_false(append.is_unknown);
	assert_int_equal(count_files("new"), 1);
	assert_int_equal(count_files("tmp"), 0);
	assert_int_equal(look(row).state, RECORD_FILED);
}

static int refuse(void *context)
{
	(void)context;
	return -ENOTCONN;
}

static void what_the_gate_refuses_is_gone(void **state)
{
	const struct mailstore_gate gate = {refuse, NULL};
	struct mailstore_append append = {
		.location = {INBOX.user, INBOX.folder, identity.id, identity.digest},
		.content = text_content(),
		.recipient = INBOX.user};

	(void)state;
	mailstore_append(store, &append, 1, &gate);
	assert_int_equal(append.verdict.class, MAIL_WAIT);
	assert_int_equal(count_files("new") + count_files("cur") + count_files("tmp"), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_failure_ends_nobody_elses_attempt, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(who_comes_too_late_finds_nothing_to_move, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_the_gate_refuses_is_gone, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
