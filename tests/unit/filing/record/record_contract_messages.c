// SPDX-License-Identifier: ISC
/* Messages: recorded, found again, removed. */
#include "filing/decode/identity.h"
#include "record_scene.h"
#include <errno.h>
#include <stdlib.h>

static void a_message_is_recorded_once(void **state)
{
	struct record_message message = record_scene_message("<1@example.com>", 1);
	struct record_message other = record_scene_message("<1@example.com>", 2);
	struct record_message another = record_scene_message("<2@example.com>", 1);
	int64_t number, again, number_other;
	bool is_new;
	unsigned different;

	(void)state;
	assert_fine(world.a, record_begin(world.a));
	assert_fine(world.a, record_put(world.a, &message, &number, &is_new, &different));
	assert_true(is_new);
	assert_int_equal(different, 0);
	assert_fine(world.a, record_put(world.a, &message, &again, &is_new, &different));
	assert_false(is_new);
	assert_int_equal(again, number);
	assert_fine(world.a, record_put(world.a, &other, &number_other, &is_new, &different));
	assert_true(is_new);
	assert_int_not_equal(number_other, number);
	assert_int_equal(different, 1);
	assert_fine(world.a, record_put(world.a, &another, &again, &is_new, &different));
	assert_true(is_new);
	assert_int_equal(different, 0);
	assert_fine(world.a, record_commit(world.a));
	assert_fine(world.b, record_begin(world.b));
	assert_fine(world.b, record_put(world.b, &message, &again, &is_new, &different));
	assert_false(is_new);
	assert_int_equal(again, number);
	assert_int_equal(different, 1);
	record_rollback(world.b);
}

static void message_ids_are_compared_byte_by_byte(void **state)
{
	static const char *const ids[] = {"<a@example.com>",  "<A@example.com>",
					  "<a@example.com> ", "'; DROP TABLE message; --",
					  "\"`$1?1{x}%s\\",   "<\xc3\xa4@x>"};

	(void)state;
	assert_fine(world.a, record_begin(world.a));
	for (size_t i = 0; i < COUNT_OF(ids); i++) {
		struct record_message message = record_scene_message(ids[i], 1);
		int64_t number;
		bool is_new;
		unsigned different;

		assert_fine(world.a, record_put(world.a, &message, &number, &is_new, &different));
		assert_true(is_new);
		assert_int_equal(different, 0);
	}
	assert_fine(world.a, record_commit(world.a));
}

static void what_is_rolled_back_was_not(void **state)
{
	struct record_message message = record_scene_message("<1@example.com>", 1);
	int64_t number;
	bool is_new;
	unsigned different;

	(void)state;
	assert_fine(world.a, record_begin(world.a));
	(void)record_scene_put(world.a, &message);
	record_rollback(world.a);
	assert_fine(world.a, record_begin(world.a));
	assert_fine(world.a, record_put(world.a, &message, &number, &is_new, &different));
	assert_true(is_new);
	record_rollback(world.a);
}

static void an_invalid_message_id_is_refused(void **state)
{
	struct record_message message = record_scene_message("<1@example.com>", 1);
	struct record_message fine = record_scene_message("<1@example.com>", 1);
	struct record_filing filing;
	const struct record_mailbox mailbox = {STR("\xff@example.org"), STR("INBOX")};
	char longest[DECODE_ID_MAX + 1];
	int64_t number;
	bool is_new;
	unsigned different;

	(void)state;
	memset(longest, 'x', sizeof longest);
	assert_fine(world.a, record_begin(world.a));
	message.id = STR("<a\0b@example.com>");
	assert_int_equal(record_put(world.a, &message, &number, &is_new, &different), -EINVAL);
	message.id = str_slice(longest, sizeof longest);
	assert_int_equal(record_put(world.a, &message, &number, &is_new, &different), -EINVAL);
	message.id = str_slice(longest, DECODE_ID_MAX);
	number = record_scene_put(world.a, &message);
	assert_int_equal(record_open(world.a, number, &mailbox, &world.token_a, 1, &filing),
			 -EINVAL);
	(void)record_scene_put(world.a, &fine);
	assert_fine(world.a, record_commit(world.a));
}

/* Texts of decoders and clients, as bad as can be: what is stored is valid. */
static void any_text_is_stored(void **state)
{
	static struct decode_participant bad[] = {
		{DECODE_FROM, {"\xff\0@ex\xc3", 7}, {"\xed\xa0\x80", 3}},
		{DECODE_TO, {"", 0}, {"", 0}},
	};
	static char huge[5000];
	const struct decode_message worst = {.subject = {huge, sizeof huge},
					     .participants = bad,
					     .participant_count = 2,
					     .problem = {"\0", 1}};
	struct record_message message = record_scene_message("<1@example.com>", 1);
	struct record_scene_seen seen;

	(void)state;
	memset(huge, 0xe4, sizeof huge);
	message.decoded = &worst;
	message.sender = STR("\xc3(@\xf0\x9f\x98\x80");
	assert_fine(world.a, record_begin(world.a));
	(void)record_scene_put(world.a, &message);
	assert_fine(world.a, record_commit(world.a));
	seen = record_scene_list((struct record_query){.id = "<1@example.com>"});
	assert_string_equal(seen.sender, "\xef\xbf\xbd(@\xf0\x9f\x98\x80");
	assert_int_equal(strlen(seen.subject), DECODE_TEXT_MAX / 3 * 3);
	assert_int_equal(strspn(seen.subject, "\xef\xbf\xbd"), DECODE_TEXT_MAX / 3 * 3);
	assert_int_equal(seen.participants, 2);
}

static void as_many_rows_as_a_message_may_have(void **state)
{
	struct decode_participant *many = calloc(DECODE_PARTICIPANT_MAX, sizeof *many);
	struct decode_part *all = calloc(DECODE_PART_MAX, sizeof *all);
	const struct decode_message full = {.participants = many,
					    .participant_count = DECODE_PARTICIPANT_MAX,
					    .parts = all,
					    .part_count = DECODE_PART_MAX};
	struct record_message message = record_scene_message("<1@example.com>", 1);

	(void)state;
	for (size_t i = 0; i < DECODE_PARTICIPANT_MAX; i++)
		many[i] = record_scene_participants[i % 3];
	for (size_t i = 0; i < DECODE_PART_MAX; i++)
		all[i] = record_scene_parts[i % 2];
	message.decoded = &full;
	assert_fine(world.a, record_begin(world.a));
	(void)record_scene_put(world.a, &message);
	assert_fine(world.a, record_commit(world.a));
	free(many);
	free(all);
}

static void messages_are_found_again(void **state)
{
	struct record_scene_seen seen;
	struct record_filing filing = record_scene_opened("<1@example.com>");

	(void)state;
	(void)record_scene_opened("<2@example.com>");
	seen = record_scene_list((struct record_query){.id = "<1@example.com>"});
	assert_int_equal(seen.count, 1);
	assert_int_equal(seen.places, 1);
	assert_int_equal(seen.participants, 3);
	assert_int_equal(seen.parts, 2);
	assert_string_equal(seen.subject, "Our next Meeting");
	assert_string_equal(seen.folder, "INBOX");
	seen = record_scene_list((struct record_query){.from = "lisa@example.com"});
	assert_int_equal(seen.count, 2);
	assert_int_equal(seen.parts, 0);
	assert_int_equal(record_scene_list((struct record_query){.from = "example.com"}).count, 2);
	assert_int_equal(record_scene_list((struct record_query){.from = "example.org"}).count, 0);
	assert_int_equal(record_scene_list((struct record_query){.to = "doug@example.org"}).count,
			 2);
	assert_int_equal(record_scene_list((struct record_query){.to = "lisa@example.com"}).count,
			 0);
	assert_int_equal(record_scene_list((struct record_query){.subject = "NEXT m"}).count, 2);
	assert_int_equal(record_scene_list((struct record_query){.subject = "%"}).count, 0);
	assert_int_equal(record_scene_list((struct record_query){.mailbox = &INBOX}).count, 2);
	assert_int_equal(record_scene_list((struct record_query){.mailbox = &SENT}).count, 0);
	assert_int_equal(
		record_scene_list((struct record_query){.until_us = 1700000000000000}).count, 0);
	assert_int_equal(
		record_scene_list((struct record_query){.since_us = 1700000000000000}).count, 2);
	seen = record_scene_list((struct record_query){.limit = 1});
	assert_int_equal(seen.count, 1);
	assert_int_equal(record_scene_list((struct record_query){.after = seen.last}).count, 1);
	assert_int_equal(record_scene_list((struct record_query){.id = "' OR 1=1 --"}).count, 0);
	assert_true(filing.number > 0);
}

static void old_messages_are_removed_once_they_are_filed(void **state)
{
	struct record_filing waiting = record_scene_opened("<0@example.com>");
	struct record_filing filing = record_scene_opened("<1@example.com>");
	unsigned count = 9;

	(void)state;
	assert_fine(world.b, record_prune(world.b, 1800000000000000, 10, &count));
	assert_int_equal(count, 0);
	assert_fine(world.a, record_begin(world.a));
	assert_fine(world.a, record_filed(world.a, filing.number, &world.token_a, STR("x"), 2000));
	assert_fine(world.a, record_commit(world.a));
	assert_fine(world.b, record_prune(world.b, 1700000000000000, 10, &count));
	assert_int_equal(count, 0);
	/* the limit counts those that can be removed */
	assert_fine(world.b, record_prune(world.b, 1800000000000000, 1, &count));
	assert_int_equal(count, 1);
	assert_int_equal(record_scene_list((struct record_query){.limit = 10}).count, 1);
	assert_fine(world.a, record_begin(world.a));
	assert_int_equal(record_look(world.a, filing.number, &world.token_a, &filing), -ENOENT);
	assert_fine(world.a, record_look(world.a, waiting.number, &world.token_a, &waiting));
	record_rollback(world.a);
}

/* Sets the only row, of <1@example.com> in INBOX, to filed. */
static struct record_filing filed_before(void)
{
	struct record_filing filing = record_scene_opened("<1@example.com>");

	assert_fine(world.a, record_begin(world.a));
	assert_fine(world.a, record_filed(world.a, filing.number, &world.token_a, STR("x"), 2000));
	assert_fine(world.a, record_commit(world.a));
	return filing;
}

static unsigned pruned(int64_t before_us)
{
	unsigned count = 9;

	assert_fine(world.b, record_prune(world.b, before_us, 10, &count));
	return count;
}

/* Somebody has begun to file it once more, for another mailbox, and will have a row then. */
static void an_old_message_is_not_removed_while_another_has_its_lock(void **state)
{
	const struct lock_name name = record_scene_name("<1@example.com>");
	struct record_message message = record_scene_message("<1@example.com>", 1);
	struct record_filing filing;

	(void)state;
	(void)filed_before();
	assert_fine(world.a, record_begin(world.a));
	assert_fine(world.a, record_lock(world.a, &name));
	assert_int_equal(pruned(1800000000000000), 0);
	assert_fine(world.a, record_open(world.a, record_scene_put(world.a, &message), &SENT,
					 &world.token_a, 3000, &filing));
	assert_int_equal(pruned(1800000000000000), 0);
	assert_fine(world.a, record_commit(world.a));
	assert_int_equal(pruned(1800000000000000), 0);
	assert_fine(world.a, record_begin(world.a));
	assert_fine(world.a, record_look(world.a, filing.number, &world.token_a, &filing));
	assert_true(filing.is_ours && filing.state == RECORD_FILING);
	record_rollback(world.a);
}

/* In doubt, at a row that is filed: without its attempt it would not be found again. */
static void an_old_message_is_not_removed_while_somebody_tries_to_file_it(void **state)
{
	struct record_message message = record_scene_message("<1@example.com>", 1);
	struct record_filing row = record_scene_opened("<1@example.com>");
	const int64_t NOW_US = 1750000000000000;

	(void)state;
	assert_fine(world.b, record_begin(world.b));
	assert_fine(world.b, record_open(world.b, record_scene_put(world.b, &message), &INBOX,
					 &world.token_b, NOW_US, &row));
	assert_fine(world.b, record_commit(world.b));
	assert_fine(world.a, record_begin(world.a));
	assert_fine(world.a, record_filed(world.a, row.number, &world.token_a, STR("x"), 2000));
	assert_fine(world.a, record_commit(world.a));
	assert_int_equal(pruned(NOW_US), 0);
	assert_fine(world.b, record_begin(world.b));
	assert_fine(world.b, record_look(world.b, row.number, &world.token_b, &row));
	assert_true(row.is_ours);
	record_rollback(world.b);
	/* whoever began so long ago is not there any more */
	assert_int_equal(pruned(NOW_US + 1), 1);
}

/* The lock is that of both. */
static void contents_with_one_message_id_are_removed_together(void **state)
{
	struct record_message other = record_scene_message("<1@example.com>", 2);

	(void)state;
	(void)filed_before();
	assert_fine(world.a, record_begin(world.a));
	(void)record_scene_put(world.a, &other);
	assert_fine(world.a, record_commit(world.a));
	assert_int_equal(pruned(1800000000000000), 2);
	assert_int_equal(record_scene_list((struct record_query){.limit = 10}).count, 0);
}

int record_contract_messages(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_message_is_recorded_once),
		CASE(message_ids_are_compared_byte_by_byte),
		CASE(what_is_rolled_back_was_not),
		CASE(an_invalid_message_id_is_refused),
		CASE(any_text_is_stored),
		CASE(as_many_rows_as_a_message_may_have),
		CASE(messages_are_found_again),
		CASE(old_messages_are_removed_once_they_are_filed),
		CASE(an_old_message_is_not_removed_while_another_has_its_lock),
		CASE(an_old_message_is_not_removed_while_somebody_tries_to_file_it),
		CASE(contents_with_one_message_id_are_removed_together),
	};

	return cmocka_run_group_tests_name("record_contract_messages", tests, NULL, NULL);
}
