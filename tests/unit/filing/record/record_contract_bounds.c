// SPDX-License-Identifier: ISC
/* Each text at its bound, and one byte beyond it: of the program it is refused, of messages it is
 * cut. */
#include "filing/decode/identity.h"
#include "filing/record/sql.h"
#include "record_scene.h"
#include <errno.h>

static char letters[2 * DECODE_TEXT_MAX];

static struct str of_length(size_t length)
{
	memset(letters, 'x', sizeof letters);
	assert_true(length <= sizeof letters);
	return str_slice(letters, length);
}

static int decide_and_roll_back(struct record_attempt attempt)
{
	struct record_message message = record_scene_message("<1@example.com>", 1);
	struct record_attempt *all[] = {&attempt};
	struct record_message after = record_scene_message("<2@example.com>", 1);
	int error;

	assert_fine(world.a, record_begin(world.a));
	attempt.message = record_scene_put(world.a, &message);
	error = record_decide_all(world.a, all, 1);
	assert_int_equal(record_move_all(world.a, all, 1), error);
	(void)record_scene_put(world.a, &after); /* it goes on */
	record_rollback(world.a);
	return error;
}

static void a_decision_has_bounds(void **state)
{
	(void)state;
	for (size_t beyond = 0; beyond <= 1; beyond++) {
		const struct record_attempt usual = {.mailbox = INBOX,
						     .decision = {STR("p"), STR("r"), 0}};
		struct record_attempt longest[] = {usual, usual, usual, usual};

		longest[0].mailbox.user = of_length(RECORD_ADDRESS_MAX + beyond);
		longest[1].mailbox.folder = of_length(RECORD_FOLDER_MAX + beyond);
		longest[2].decision.purpose = of_length(RECORD_PURPOSE_MAX + beyond);
		longest[3].decision.rule = of_length(RECORD_RULE_MAX + beyond);
		for (size_t i = 0; i < COUNT_OF(longest); i++)
			assert_int_equal(decide_and_roll_back(longest[i]),
					 beyond > 0 ? -EINVAL : 0);
	}
}

static void a_place_has_bounds(void **state)
{
	(void)state;
	for (size_t beyond = 0; beyond <= 1; beyond++) {
		const struct record_mailbox mailboxes[] = {
			{of_length(RECORD_ADDRESS_MAX + beyond), INBOX.folder},
			{INBOX.user, of_length(RECORD_FOLDER_MAX + beyond)}};
		struct record_message message = record_scene_message("<1@example.com>", 1);

		for (size_t i = 0; i < COUNT_OF(mailboxes); i++) {
			struct record_filing row;
			unsigned count;

			assert_fine(world.a, record_begin(world.a));
			assert_int_equal(record_open(world.a, record_scene_put(world.a, &message),
						     &mailboxes[i], &world.token_a, 1, &row),
					 beyond > 0 ? -EINVAL : 0);
			assert_int_equal(record_new_folders(world.a, &mailboxes[i], 1, &count),
					 beyond > 0 ? -EINVAL : 1);
			record_rollback(world.a);
		}
	}
}

static void see_longest(void *context, const struct record_listed *listed)
{
	const struct decode_message *decoded = listed->message.decoded;
	const struct decode_part *part = &decoded->parts[0];

	++*(unsigned *)context;
	assert_int_equal(listed->message.sender.length, RECORD_ADDRESS_MAX);
	assert_int_equal(decoded->subject.length, DECODE_TEXT_MAX);
	assert_int_equal(decoded->problem.length, DECODE_TEXT_MAX);
	assert_int_equal(decoded->participants[0].address.length, RECORD_ADDRESS_MAX);
	assert_int_equal(decoded->participants[0].name.length, DECODE_TEXT_MAX);
	assert_int_equal(part->number.length, RECORD_WORD_MAX);
	assert_int_equal(part->type.length, RECORD_WORD_MAX);
	assert_int_equal(part->charset.length, RECORD_WORD_MAX);
	assert_int_equal(part->disposition.length, RECORD_WORD_MAX);
	assert_int_equal(part->filename.length, DECODE_TEXT_MAX);
	assert_int_equal(listed->filings[0].copy.length, RECORD_COPY_MAX);
}

/* At each bound, and cut to it. */
static void what_a_message_says_has_bounds(void **state)
{
	(void)state;
	for (size_t beyond = 0; beyond <= 1; beyond++) {
		struct str text = of_length(DECODE_TEXT_MAX + beyond),
			   word = of_length(RECORD_WORD_MAX + beyond);
		struct str address = of_length(RECORD_ADDRESS_MAX + beyond);
		struct decode_participant participant = {DECODE_FROM, address, text};
		struct decode_part part = {.number = word,
					   .type = word,
					   .charset = word,
					   .disposition = word,
					   .filename = text};
		struct decode_message decoded = {.subject = text,
						 .problem = text,
						 .participants = &participant,
						 .participant_count = 1,
						 .parts = &part,
						 .part_count = 1};
		const char *id = beyond > 0 ? "<2@example.com>" : "<1@example.com>";
		struct record_message message = record_scene_message(id, 1);
		struct record_query query = {.id = id, .limit = 10};
		struct record_filing row;
		unsigned seen = 0;

		message.sender = address;
		message.decoded = &decoded;
		assert_fine(world.a, record_begin(world.a));
		assert_fine(world.a, record_open(world.a, record_scene_put(world.a, &message),
						 &INBOX, &world.token_a, 1000, &row));
		assert_fine(world.a, record_filed(world.a, row.number, &world.token_a,
						  of_length(RECORD_COPY_MAX + beyond), 2000));
		assert_fine(world.a, record_commit(world.a));
		assert_fine(world.a, record_list(world.a, &query, see_longest, &seen));
		assert_int_equal(seen, 1);
	}
}

/* The characters that are no text, and whole ones at the end, are what is cut. */
static void only_whole_characters_are_kept(void **state)
{
	static const struct {
		const char *text, *kept;
	} rows[] = {{"\xc3\xa4", "\xc3\xa4"},
		    {"\xc3", "\xef\xbf\xbd"},
		    {"a\xff"
		     "b",
		     "a\xef\xbf\xbd"
		     "b"},
		    {"", ""}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct decode_message decoded = {.subject = str_from(rows[i].text)};
		struct record_message message =
			record_scene_message("<1@example.com>", (unsigned char)i);
		struct record_query query = {.id = "<1@example.com>"};
		int64_t number;

		message.decoded = &decoded;
		assert_fine(world.a, record_begin(world.a));
		number = record_scene_put(world.a, &message);
		assert_fine(world.a, record_commit(world.a));
		query.after = number - 1;
		assert_string_equal(record_scene_list(query).subject, rows[i].kept);
	}
}

int record_contract_bounds(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_decision_has_bounds),
		CASE(a_place_has_bounds),
		CASE(what_a_message_says_has_bounds),
		CASE(only_whole_characters_are_kept),
	};

	return cmocka_run_group_tests_name("record_contract_bounds", tests, NULL, NULL);
}
