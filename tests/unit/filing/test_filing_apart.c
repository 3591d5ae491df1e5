// SPDX-License-Identifier: ISC
/* Groups of none to five messages of which the record, or a mailbox, does not take one or several:
 * the others are filed. */
#include "filing/decode/identity.h"
#include "filing/filing.h"
#include "filing/mailstore/maildir.h"
#include "filing/record/sqlite/sqlite.h"
#include "scratch.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MESSAGES = 5, COPIES = 2, LONG = DECODE_ID_MAX + 1 };

static char root[] = "/dev/shm/test_filing.XXXXXX"; /* nothing is really synced */

static struct {
	struct record *record;
	struct mailstore *store;
	unsigned events[FILING_EVENTS];
	char ids[MESSAGES][LONG + 1], texts[MESSAGES][LONG + 60];
	struct decode_identity identities[MESSAGES];
	struct filing_message messages[MESSAGES];
	struct filing_copy copies[MESSAGES][COPIES];
} world;

static const struct decode_message decoded = {.subject = STR("a")};

static void on_event(void *context, const struct filing_event *event)
{
	(void)context;
	assert_non_null(event->message);
	world.events[event->kind]++;
}

static void begin_record(const char *path)
{
	char maildirs[100];
	struct mailstore_maildir_settings settings = {.path = maildirs, .host = "mx.test"};

	snprintf(maildirs, sizeof maildirs, "%s/%%d/%%u", root);
	world.record = record_sqlite_new(path);
	world.store = mailstore_maildir_new(&settings);
}

static void end_record(void)
{
	record_free(world.record);
	mailstore_free(world.store);
}

/* Each has two copies, of other users; the Message-ID of one that is BAD is longer than the record
 * takes. */
static void make_messages(unsigned round, unsigned bad)
{
	static char users[MESSAGES][COPIES][40];

	for (unsigned i = 0; i < MESSAGES; i++) {
		struct str text;

		snprintf(world.ids[i], sizeof world.ids[i], "<%u-%u@x>", round, i);
		if ((bad >> i & 1) != 0)
			memset(world.ids[i], 'x', LONG);
		snprintf(world.texts[i], sizeof world.texts[i], "Message-ID: %s\n\nhello\n",
			 world.ids[i]);
		text = str_from(world.texts[i]);
		world.identities[i] = (struct decode_identity){.id = str_from(world.ids[i]),
							       .digest = {(unsigned char)i}};
		for (unsigned k = 0; k < COPIES; k++) {
			snprintf(users[i][k], sizeof users[i][k], "u%u@a.test", k);
			world.copies[i][k] = (struct filing_copy){
				.mailbox = {str_from(users[i][k]), STR("INBOX")},
				.decision = {.purpose = str_from(users[i][k])},
				.recipient = str_from(users[i][k])};
		}
		world.messages[i] = (struct filing_message){
			.identity = &world.identities[i],
			.decoded = &decoded,
			.content = {.bytes = text, .file = -1, .size = text.length},
			.copies = world.copies[i],
			.copy_count = COPIES};
	}
}

static void file_group(size_t count)
{
	struct filing *filing = filing_new(world.record, world.store, on_event, NULL);

	memset(world.events, 0, sizeof world.events);
	filing_group(filing, world.messages, count);
	filing_free(filing);
	filing_free(NULL);
}

static size_t count_copies(unsigned message, unsigned copy)
{
	const struct mailstore_location location = {world.copies[message][copy].mailbox.user,
						    STR("INBOX"), world.identities[message].id,
						    world.identities[message].digest, NULL};
	struct arena *arena = arena_new();
	struct mailstore_found *found;
	size_t count = 0;

	assert_int_equal(mailstore_find(world.store, &location, arena, &found, &count), 0);
	arena_free(arena);
	return count;
}

static unsigned bits_of(unsigned mask)
{
	unsigned count = 0;

	for (; mask != 0; mask >>= 1)
		count += mask & 1;
	return count;
}

static void the_others_are_filed(void **state)
{
	char path[100];
	unsigned round = 0;

	(void)state;
	snprintf(path, sizeof path, "%s/record", root);
	begin_record(path);
	for (unsigned count = 0; count <= MESSAGES; count++)
		for (unsigned bad = 0; bad < 1U << count; bad++, round++) {
			unsigned good = count - bits_of(bad);

			make_messages(round, bad);
			file_group(count);
			for (unsigned i = 0; i < count; i++) {
				bool is_bad = (bad >> i & 1) != 0;

				assert_false(world.messages[i].is_busy ||
					     world.messages[i].is_away);
				assert_false(!is_bad && world.messages[i].is_lost);
				for (unsigned k = 0; k < COPIES; k++) {
					const struct mail_verdict *verdict =
						&world.copies[i][k].verdict;

					if (strcmp(verdict->status, is_bad ? "4.3.0" : "2.0.0") !=
					    0)
						fail_msg("%u of %u, bad %x: %s %s", i, count, bad,
							 verdict->status, verdict->text);
					assert_int_equal(is_bad ? 0 : count_copies(i, k), !is_bad);
				}
			}
			assert_int_equal(world.events[FILING_RECORDED], good);
			assert_int_equal(world.events[FILING_FILED], good * COPIES);
			/* once more: all is known */
			if (bad == 0) {
				file_group(count);
				assert_int_equal(world.events[FILING_FILED] +
							 world.events[FILING_RECORDED],
						 0);
				assert_int_equal(world.events[FILING_KNOWN], good * COPIES);
			}
		}
	end_record();
}

static void a_record_that_is_away_concerns_all(void **state)
{
	char path[100];
	FILE *file;

	(void)state;
	snprintf(path, sizeof path, "%s/other", root);
	file = fopen(path, "w");
	assert_non_null(file);
	for (unsigned i = 0; i < 1000; i++)
		fputs("this is no record\n", file);
	fclose(file);
	begin_record(path);
	for (unsigned count = 1; count <= MESSAGES; count++) {
		make_messages(1000 + count, 0);
		file_group(count);
		for (unsigned i = 0; i < count; i++) {
			assert_int_equal(world.copies[i][0].verdict.class, MAIL_WAIT);
			assert_string_equal(world.copies[i][1].verdict.status, "4.3.0");
			assert_true(world.messages[i].is_away);
			assert_int_equal(count_copies(i, 0), 0);
		}
		assert_int_equal(world.events[FILING_FAILED], count * COPIES);
	}
	end_record();
}

/* A user whose Maildir cannot be: a file is there. */
static void a_mailbox_that_cannot_be_is_one_copys_matter(void **state)
{
	char path[100];
	FILE *file;

	(void)state;
	snprintf(path, sizeof path, "%s/a.test", root);
	(void)mkdir(path, 0700);
	snprintf(path, sizeof path, "%s/a.test/u1", root);
	assert_int_equal(scratch_remove(path), 0);
	file = fopen(path, "w");
	assert_non_null(file);
	fclose(file);
	snprintf(path, sizeof path, "%s/record", root);
	begin_record(path);
	make_messages(2000, 0);
	file_group(MESSAGES);
	for (unsigned i = 0; i < MESSAGES; i++) {
		assert_string_equal(world.copies[i][0].verdict.status, "2.0.0");
		assert_int_equal(world.copies[i][1].verdict.class, MAIL_WAIT);
		assert_int_equal(count_copies(i, 0), 1);
		assert_false(world.messages[i].is_lost);
	}
	/* its time comes */
	snprintf(path, sizeof path, "%s/a.test/u1", root);
	assert_int_equal(unlink(path), 0);
	file_group(MESSAGES);
	for (unsigned i = 0; i < MESSAGES; i++)
		for (unsigned k = 0; k < COPIES; k++) {
			assert_string_equal(world.copies[i][k].verdict.status, "2.0.0");
			assert_int_equal(count_copies(i, k), 1);
		}
	end_record();
}

static int make_root(void **state)
{
	(void)state;
	umask(077);
	return mkdtemp(root) != NULL ? 0 : -1;
}

static int remove_root(void **state)
{
	(void)state;
	return scratch_remove(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_others_are_filed),
		cmocka_unit_test(a_record_that_is_away_concerns_all),
		cmocka_unit_test(a_mailbox_that_cannot_be_is_one_copys_matter),
	};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}
