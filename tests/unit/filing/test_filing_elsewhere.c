// SPDX-License-Identifier: ISC
/* Copies whose folder the store refuses, with SQLite and Maildirs: each goes to its other folder,
 * once, whatever becomes of the first one; nobody else's copy is concerned. */
#include "filing/filing.h"
#include "filing/mailstore/maildir.h"
#include "filing/record/sqlite/sqlite.h"
#include "scratch.h"
#include "test.h"
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COPIES = 3 };

static char root[SCRATCH_SIZE];
static struct record *record;
static struct mailstore *store;
static unsigned told[FILING_EVENTS];
static const struct decode_identity identity = {.id = {"<1@x>", 5}, .digest = {1}};
static const struct decode_message decoded = {.subject = {"a", 1}};

static const char *path_of(const char *name)
{
	static char path[200];

	snprintf(path, sizeof path, "%s/a.test/ann/%s", root, name);
	return path;
}

static void make_file(const char *name)
{
	FILE *file = fopen(path_of(name), "w");

	assert_non_null(file);
	fclose(file);
}

static void count_event(void *context, const struct filing_event *event)
{
	(void)context;
	told[event->kind]++;
}

/* Files what is in COPIES for ann. */
static void file(struct filing_copy *copies, size_t count)
{
	struct str text = STR("Message-ID: <1@x>\n\nhello\n");
	struct filing *filing = filing_new(record, store, count_event, NULL);
	struct filing_message message = {
		.identity = &identity,
		.decoded = &decoded,
		.content = {.bytes = text, .file = -1, .size = text.length},
		.copies = copies,
		.copy_count = count,
	};

	memset(told, 0, sizeof told);
	filing_group(filing, &message, 1);
	filing_free(filing);
	assert_false(message.is_busy || message.is_lost || message.is_away);
}

static struct filing_copy copy_for(const char *purpose, const char *folder, const char *other)
{
	return (struct filing_copy){
		.mailbox = {STR("ann@a.test"), str_from(folder)},
		.decision = {.purpose = str_from(purpose), .rule = STR("")},
		.recipient = STR("ann@a.test"),
		.other_folder = str_from(other),
	};
}

static size_t count_files(const char *box)
{
	size_t count = 0;
	const struct dirent *entry;
	DIR *directory = opendir(path_of(box));

	while (directory != NULL && (entry = readdir(directory)) != NULL)
		count += entry->d_name[0] != '.';
	if (directory != NULL)
		closedir(directory);
	return count;
}

static int set_up(void **state)
{
	char path[200];
	struct mailstore_maildir_settings settings = {.path = path, .host = "mx.test"};
	struct filing_copy first;

	(void)state;
	assert_int_equal(scratch_make(root), 0);
	snprintf(path, sizeof path, "%s/record", root);
	record = record_sqlite_new(path);
	snprintf(path, sizeof path, "%s/%%d/%%u", root);
	store = mailstore_maildir_new(&settings);
	/* the mailbox is there, and has a file where a folder should be */
	first = copy_for("first", "Other", "");
	file(&first, 1);
	assert_int_equal(first.verdict.class, MAIL_OK);
	make_file(".Lists");
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

static void it_goes_to_the_other_folder_once(void **state)
{
	struct filing_copy copy = copy_for("to", "Lists", "INBOX");

	(void)state;
	file(&copy, 1);
	assert_int_equal(copy.verdict.class, MAIL_OK);
	assert_true(str_equal(copy.mailbox.folder, STR("INBOX")));
	assert_int_equal(told[FILING_MOVED], 1);
	assert_int_equal(told[FILING_FILED], 1);
	assert_int_equal(count_files("new"), 1);
	/* somebody mends the folder: the copy stays where it is */
	assert_int_equal(unlink(path_of(".Lists")), 0);
	copy = copy_for("to", "Lists", "INBOX");
	file(&copy, 1);
	assert_int_equal(copy.verdict.class, MAIL_OK);
	assert_int_equal(told[FILING_KNOWN], 1);
	assert_int_equal(count_files("new"), 1);
	assert_int_equal(count_files(".Lists/new"), 0);
}

/* Whatever its name is. */
static void the_other_folder_may_be_any(void **state)
{
	static const char *const names[] = {"X", "Xy", "A/B"};

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		struct filing_copy copy = copy_for("to", "Lists", names[i]);

		tear_down(state);
		set_up(state);
		file(&copy, 1);
		assert_int_equal(copy.verdict.class, MAIL_OK);
		assert_true(str_equal(copy.mailbox.folder, str_from(names[i])));
		assert_int_equal(told[FILING_MOVED], 1);
	}
}

/* A mailbox that is there by another copy, one that is refused and its duplicate, one without
 * another folder. */
static void each_copy_has_its_own_end(void **state)
{
	struct filing_copy copies[COPIES] = {
		copy_for("to+a", "Lists", "INBOX"),
		copy_for("to", "INBOX", "INBOX"),
		copy_for("to+b", "Lists", "INBOX"),
	};

	(void)state;
	file(copies, COPIES);
	for (size_t i = 0; i < COPIES; i++)
		assert_int_equal(copies[i].verdict.class, MAIL_OK);
	assert_int_equal(count_files("new"), 1);
	for (size_t i = 0; i < COPIES; i++) { /* and so it is known for each */
		struct filing_copy again = copy_for(i == 0   ? "to+a"
						    : i == 1 ? "to"
							     : "to+b",
						    "Lists", "");

		file(&again, 1);
		assert_int_equal(again.verdict.class, MAIL_OK);
	}
	assert_int_equal(count_files("new"), 1);
}

static void the_senders_copy_is_nobodys_failure(void **state)
{
	struct filing_copy copies[2] = {
		copy_for("to", "INBOX", "INBOX"),
		copy_for("sent", "Lists", ""),
	};

	(void)state;
	file(copies, 2);
	assert_int_equal(copies[0].verdict.class, MAIL_OK);
	assert_int_equal(copies[1].verdict.class, MAIL_WAIT);
	assert_int_equal(told[FILING_FAILED], 1);
	assert_int_equal(told[FILING_MOVED], 0);
	/* a recipient's copy with that folder goes elsewhere, the sender's does not */
	copies[0] = copy_for("to+x", "Lists", "INBOX");
	copies[1] = copy_for("sent", "Lists", "");
	file(copies, 2);
	assert_int_equal(copies[0].verdict.class, MAIL_OK);
	assert_int_not_equal(copies[1].verdict.class, MAIL_OK);
	assert_int_equal(count_files("new"), 1);
}

static void what_is_settled_is_left_alone(void **state)
{
	struct filing_copy copies[2] = {
		copy_for("to", "INBOX", "INBOX"),
		copy_for("sent", "Sent", ""),
	};

	(void)state;
	copies[0].is_settled = true;
	mail_verdict_set(&copies[0].verdict, "5.0.0", "before");
	file(copies, 2);
	assert_int_equal(copies[0].verdict.class, MAIL_FAIL);
	assert_int_equal(copies[1].verdict.class, MAIL_OK);
	assert_int_equal(count_files("new"), 0);
}

/* Which of ann's folders mail has made. */
static size_t count_folders(void)
{
	size_t count = 0;
	const struct dirent *entry;
	DIR *directory = opendir(path_of(""));

	while (directory != NULL && (entry = readdir(directory)) != NULL)
		count += strncmp(entry->d_name, ".f", 2) == 0;
	if (directory != NULL)
		closedir(directory);
	return count;
}

static void senders_make_few_folders(void **state)
{
	enum { MANY = 2 * FILING_FOLDERS_A_DAY };
	struct filing_copy copies[MANY];
	char names[MANY][8];
	char purposes[MANY][16];

	(void)state;
	for (size_t i = 0; i < MANY; i++) {
		snprintf(names[i], sizeof names[i], "f%zu", i);
		snprintf(purposes[i], sizeof purposes[i], "to+%s", names[i]);
		copies[i] = copy_for(purposes[i], names[i], "INBOX");
		copies[i].is_choice = true;
	}
	/* with the one that was there before; the last, in the same message and in another one */
	file(copies, MANY / 4 * 3);
	assert_int_equal(count_folders(), FILING_FOLDERS_A_DAY - 1);
	file(copies + MANY / 4 * 3, MANY / 4);
	assert_int_equal(count_folders(), FILING_FOLDERS_A_DAY - 1);
	for (size_t i = 0; i < MANY; i++)
		assert_int_equal(copies[i].verdict.class, MAIL_OK);
	assert_int_equal(count_files("new"), 1);
	/* the configuration's own are no sender's choice */
	copies[0] = copy_for("to", "fixed", "INBOX");
	file(copies, 1);
	assert_int_equal(count_folders(), FILING_FOLDERS_A_DAY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(it_goes_to_the_other_folder_once, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(the_other_folder_may_be_any, set_up, tear_down),
		cmocka_unit_test_setup_teardown(each_copy_has_its_own_end, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_senders_copy_is_nobodys_failure, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_is_settled_is_left_alone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(senders_make_few_folders, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
