// SPDX-License-Identifier: ISC
/* The record against a model of a few arrays: groups of none to eight, in any order; transactions
 * that are committed and rolled back; two connections in turn. */
#include "chance.h"
#include "record_scene.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { IDS = 4, MESSAGES = 2 * IDS, USERS = 2, PLACES = 3 * USERS, PURPOSES = 2, TOKENS = 3 };
enum { GROUP = 8, TRANSACTIONS = 500, SECOND_US = 1000000 };

struct model_row {
	int64_t number; /* 0: there is none */
	enum record_state state;
	int64_t opened_us, filed_us;
	char copy[20];
	int64_t began_us[TOKENS]; /* 0: no attempt */
};

struct model_decision {
	bool is_there;
	unsigned folder, rule, flags;
};

static struct model {
	struct {
		int64_t number; /* 0: it is not recorded */
		int64_t recorded_us;
		bool is_new; /* in this transaction */
	} messages[MESSAGES];
	struct model_decision decisions[MESSAGES][USERS][PURPOSES];
	struct model_row rows[MESSAGES][PLACES];
	bool mailboxes[PLACES];
	int64_t now_us;
} model, before;

static const char *const IDS_OF[IDS] = {"<0@example.com>", "<1@example.com>", "<2@example.com>",
					"<3@example.com>"};
static const struct record_mailbox PLACES_OF[PLACES] = {
	{STR("lisa@example.com"), STR("INBOX")},     {STR("lisa@example.com"), STR("Sent")},
	{STR("lisa@example.com"), STR("Lists/dev")}, {STR("doug@example.org"), STR("INBOX")},
	{STR("doug@example.org"), STR("Sent")},      {STR("doug@example.org"), STR("Lists/dev")},
};
static const struct str PURPOSES_OF[PURPOSES] = {STR("doug@example.org"),
						 STR("from lisa@example.com")};
static const struct str RULES_OF[] = {STR(""), STR("lists"), STR("others")};

/* What one connection is asked for at once. */
static struct {
	size_t count;
	size_t which[GROUP];
	struct record_message messages[GROUP];
	struct record_entry entries[GROUP];
	struct record_attempt attempts[GROUP];
	struct record_attempt *all[GROUP];
	char copies[GROUP][20];
} asked;

/* COUNT of ALL, of which no two are equal. */
static void choose(size_t all, size_t count)
{
	size_t places[MESSAGES * PLACES * PURPOSES];

	for (size_t i = 0; i < all; i++)
		places[i] = i;
	asked.count = count < all ? count : all;
	for (size_t i = 0; i < asked.count; i++) {
		size_t other = i + chance(all - i);

		asked.which[i] = places[other];
		places[other] = places[i];
	}
}

/* All of them, by one number. */
static struct model_decision *decision_at(size_t which)
{
	return &model.decisions[which / PURPOSES / USERS][which / PURPOSES % USERS]
			       [which % PURPOSES];
}

static struct model_row *row_at(size_t which)
{
	return &model.rows[which / PLACES][which % PLACES];
}

static bool is_there(size_t message)
{
	return model.messages[message].number != 0;
}

static struct record_message message_of(size_t which)
{
	struct record_message message =
		record_scene_message(IDS_OF[which / 2], (unsigned char)(which % 2));

	message.size = 1000 + which;
	message.is_derived = which % 3 == 0;
	message.recorded_us = model.messages[which].recorded_us;
	return message;
}

static void put_some(struct record *record)
{
	unsigned different[GROUP];

	choose(MESSAGES, chance(GROUP + 1));
	for (size_t i = 0; i < asked.count; i++) {
		size_t which = asked.which[i], other = which ^ 1;

		if (!is_there(which))
			model.messages[which].recorded_us = model.now_us + (int64_t)which;
		asked.messages[i] = message_of(which);
		asked.entries[i] = (struct record_entry){.message = &asked.messages[i],
							 .number = 77,
							 .is_new = chance(2) == 0,
							 .different = 9};
		different[i] = is_there(other);
	}
	assert_fine(record, record_put_all(record, asked.entries, asked.count));
	for (size_t i = 0; i < asked.count; i++) {
		size_t which = asked.which[i];

		assert_int_equal(asked.entries[i].is_new, !is_there(which));
		assert_int_equal(asked.entries[i].different, different[i]);
		assert_true(asked.entries[i].number > 0);
		if (is_there(which))
			assert_int_equal(asked.entries[i].number, model.messages[which].number);
		for (size_t other = 0; other < MESSAGES; other++)
			assert_true(other == which ||
				    asked.entries[i].number != model.messages[other].number);
		if (!is_there(which))
			model.messages[which].is_new = true;
		model.messages[which].number = asked.entries[i].number;
	}
}

/* Of those that were chosen, as many as have a message. */
static void drop_without_message(size_t per_message)
{
	size_t count = 0;

	for (size_t i = 0; i < asked.count; i++)
		if (is_there(asked.which[i] / per_message))
			asked.which[count++] = asked.which[i];
	asked.count = count;
}

/* A decision: which message, user and purpose. */
static void choose_decisions(void)
{
	choose(MESSAGES * USERS * PURPOSES, chance(GROUP + 1));
	drop_without_message(USERS * PURPOSES);
	for (size_t i = 0; i < asked.count; i++) {
		size_t message = asked.which[i] / (USERS * PURPOSES);
		size_t user = asked.which[i] / PURPOSES % USERS;

		asked.attempts[i] = (struct record_attempt){
			.message = model.messages[message].number,
			.is_new = model.messages[message].is_new,
			.mailbox = PLACES_OF[user * 3 + chance(3)],
			.decision = {PURPOSES_OF[asked.which[i] % PURPOSES], RULES_OF[chance(3)],
				     (unsigned)chance(8)},
		};
		asked.all[i] = &asked.attempts[i];
	}
}

static unsigned folder_of(struct str name)
{
	unsigned folder = 0;

	while (!str_equal(PLACES_OF[folder].folder, name))
		folder++;
	return folder;
}

static unsigned rule_of(struct str name)
{
	unsigned rule = 0;

	while (!str_equal(RULES_OF[rule], name))
		rule++;
	return rule;
}

static void decide_some(struct record *record)
{
	struct record_attempt said[GROUP];

	choose_decisions();
	memcpy(said, asked.attempts, sizeof said);
	assert_fine(record, record_decide_all(record, asked.all, asked.count));
	for (size_t i = 0; i < asked.count; i++) {
		const struct record_attempt *got = &asked.attempts[i];
		size_t which = asked.which[i];
		struct model_decision *decision = decision_at(which);

		if (!decision->is_there) {
			decision->folder = folder_of(said[i].mailbox.folder);
			decision->rule = rule_of(said[i].decision.rule);
			decision->flags = said[i].decision.flags;
		}
		decision->is_there = true;
		assert_int_equal(folder_of(got->mailbox.folder), decision->folder);
		assert_int_equal(rule_of(got->decision.rule), decision->rule);
		assert_int_equal(got->decision.flags, decision->flags);
	}
}

static void move_some(struct record *record)
{
	choose_decisions();
	assert_fine(record, record_move_all(record, asked.all, asked.count));
	for (size_t i = 0; i < asked.count; i++)
		decision_at(asked.which[i])->folder = folder_of(asked.attempts[i].mailbox.folder);
}

/* ---- rows ---- */

static void check_row(const struct model_row *row, const struct record_filing *got, size_t token,
		      bool is_new)
{
	unsigned others = 0;
	int64_t last_us = 0;

	for (size_t i = 0; i < TOKENS; i++) {
		if (i == token || row->began_us[i] == 0)
			continue;
		others++;
		last_us = row->began_us[i] > last_us ? row->began_us[i] : last_us;
	}
	assert_int_equal(got->number, row->number);
	assert_int_equal(got->state, row->state);
	assert_int_equal(got->is_new, is_new);
	assert_int_equal(got->is_ours, row->began_us[token] != 0);
	assert_int_equal(got->others, others);
	assert_int_equal(got->last_us, last_us);
	assert_true(str_equal(got->copy, str_from(row->copy)));
	assert_int_equal(got->filed_us, row->filed_us);
}

static size_t token_of(const struct record_attempt *attempt)
{
	return attempt->token.bytes[RECORD_TOKEN_SIZE - 1];
}

static void choose_rows(bool is_existing)
{
	size_t count = 0;

	choose(MESSAGES * PLACES, chance(GROUP + 1));
	drop_without_message(PLACES);
	for (size_t i = 0; i < asked.count; i++) {
		size_t which = asked.which[i];
		const struct model_row *row = row_at(which);

		if (is_existing && row->number == 0)
			continue;
		asked.which[count] = which;
		asked.attempts[count] = (struct record_attempt){
			.message = model.messages[which / PLACES].number,
			.is_new = model.messages[which / PLACES].is_new,
			.mailbox = PLACES_OF[which % PLACES],
			.token = {{0x80, [RECORD_TOKEN_SIZE - 1] = (unsigned char)chance(TOKENS)}},
			.row = {.number = row->number,
				.others = 5,
				.last_us = 7,
				.is_ours = true,
				.is_new = true},
		};
		asked.all[count] = &asked.attempts[count];
		snprintf(asked.copies[count], sizeof asked.copies[count], "copy %zu", chance(1000));
		asked.attempts[count].copy = str_from(asked.copies[count]);
		count++;
	}
	asked.count = count;
}

static bool has_others(const struct model_row *row, size_t token)
{
	for (size_t i = 0; i < TOKENS; i++)
		if (i != token && row->began_us[i] != 0)
			return true;
	return false;
}

static void open_some(struct record *record)
{
	choose_rows(false);
	assert_fine(record, record_open_all(record, asked.all, asked.count, model.now_us));
	for (size_t i = 0; i < asked.count; i++) {
		struct model_row *row = row_at(asked.which[i]);
		size_t token = token_of(&asked.attempts[i]);
		bool is_new = row->number == 0;

		if (is_new)
			*row = (struct model_row){.number = asked.attempts[i].row.number,
						  .opened_us = model.now_us};
		if (row->began_us[token] == 0 &&
		    (row->state == RECORD_FILING || has_others(row, token)))
			row->began_us[token] = model.now_us;
		model.mailboxes[asked.which[i] % PLACES] = true;
		assert_true(row->number > 0);
		check_row(row, &asked.attempts[i].row, token, is_new);
	}
}

static void look_at_some(struct record *record)
{
	choose_rows(true);
	if (asked.count > 0 && chance(8) == 0) {
		asked.attempts[chance(asked.count)].row.number = 1 << 30; /* that nobody has */
		assert_int_equal(record_look_all(record, asked.all, asked.count), -ENOENT);
		assert_string_equal(record_error(record), "the filing was removed meanwhile");
		return;
	}
	assert_fine(record, record_look_all(record, asked.all, asked.count));
	for (size_t i = 0; i < asked.count; i++)
		check_row(row_at(asked.which[i]), &asked.attempts[i].row,
			  token_of(&asked.attempts[i]), false);
}

static void file_some(struct record *record)
{
	choose_rows(true);
	assert_fine(record, record_filed_all(record, asked.all, asked.count, model.now_us));
	for (size_t i = 0; i < asked.count; i++) {
		struct model_row *row = row_at(asked.which[i]);

		row->state = RECORD_FILED;
		row->filed_us = model.now_us;
		snprintf(row->copy, sizeof row->copy, "%s", asked.copies[i]);
		row->began_us[token_of(&asked.attempts[i])] = 0;
	}
}

static void end_some(struct record *record)
{
	choose_rows(true);
	assert_fine(record, record_end_all(record, asked.all, asked.count));
	for (size_t i = 0; i < asked.count; i++)
		row_at(asked.which[i])->began_us[token_of(&asked.attempts[i])] = 0;
}

/* One of the few moments that there were, or one beside it. */
static int64_t some_moment(void)
{
	return model.now_us - (int64_t)chance(60) * SECOND_US + (int64_t)chance(3) - 1;
}

static void settle_or_unfile(struct record *record)
{
	int64_t before_us = some_moment();

	choose_rows(true);
	for (size_t i = 0; i < asked.count && i < 2; i++) {
		struct model_row *row = row_at(asked.which[i]);

		if (chance(3) == 0) {
			assert_fine(record, record_unfile(record, row->number));
			*row = (struct model_row){0};
			continue;
		}
		assert_fine(record, record_settle(record, row->number, before_us));
		for (size_t token = 0; token < TOKENS; token++)
			if (row->began_us[token] < before_us)
				row->began_us[token] = 0;
	}
}

static bool is_first_mail(size_t place, int64_t since_us)
{
	bool is_since = false;

	for (size_t i = 0; i < MESSAGES; i++) {
		const struct model_row *row = &model.rows[i][place];

		if (row->number != 0 && row->opened_us < since_us)
			return false;
		is_since |= row->number != 0;
	}
	return is_since;
}

static void ask_for_new_folders(struct record *record)
{
	size_t place = chance(PLACES);
	int64_t since_us = some_moment();
	unsigned expected = 0, count = 0;
	int result = record_new_folders(record, &PLACES_OF[place], since_us, &count);

	assert_int_equal(result, model.mailboxes[place]);
	for (size_t i = place / 3 * 3; i < place / 3 * 3 + 3; i++)
		expected += is_first_mail(i, since_us);
	if (result == 0)
		assert_int_equal(count, expected);
}

/* ---- outside of transactions ---- */

static bool is_prunable(size_t which, int64_t before_us)
{
	if (!is_there(which) || model.messages[which].recorded_us >= before_us)
		return false;
	for (size_t i = 0; i < PLACES; i++) {
		const struct model_row *row = &model.rows[which][i];

		if (row->number != 0 && row->state == RECORD_FILING)
			return false;
		for (size_t token = 0; token < TOKENS; token++)
			if (row->began_us[token] >= before_us)
				return false;
	}
	return true;
}

static void forget_message(size_t which)
{
	memset(&model.messages[which], 0, sizeof model.messages[which]);
	memset(model.decisions[which], 0, sizeof model.decisions[which]);
	memset(model.rows[which], 0, sizeof model.rows[which]);
}

/* The oldest. */
static size_t first_prunable(int64_t before_us)
{
	size_t first = MESSAGES;

	for (size_t i = 0; i < MESSAGES; i++)
		if (is_prunable(i, before_us) &&
		    (first == MESSAGES ||
		     model.messages[i].recorded_us < model.messages[first].recorded_us))
			first = i;
	return first;
}

/* The lock of one may be another's. */
static void prune_some(struct record *record, struct record *other)
{
	size_t locked = chance(2 * IDS); /* IDS and more: none */
	int64_t before_us = some_moment();
	unsigned limit = 1 + (unsigned)chance(4);
	unsigned expected = 0, count = 99;

	if (locked < IDS) {
		const struct lock_name name = record_scene_name(IDS_OF[locked]);

		assert_fine(other, record_begin(other));
		assert_fine(other, record_lock(other, &name));
	}
	assert_fine(record, record_prune(record, before_us, limit, &count));
	if (locked < IDS)
		record_rollback(other);
	/* they are chosen first, and then locked */
	before = model;
	for (unsigned i = 0; i < limit && first_prunable(before_us) < MESSAGES; i++) {
		size_t which = first_prunable(before_us);

		forget_message(which);
		if (which / 2 == locked)
			continue;
		memset(&before.messages[which], 0, sizeof before.messages[which]);
		memset(before.decisions[which], 0, sizeof before.decisions[which]);
		memset(before.rows[which], 0, sizeof before.rows[which]);
		expected++;
	}
	model = before;
	assert_int_equal(count, expected);
}

static bool is_filed_at(size_t which, const struct record_mailbox *mailbox)
{
	for (size_t i = 0; i < PLACES; i++)
		if (&PLACES_OF[i] == mailbox)
			return model.rows[which][i].number != 0;
	return false;
}

static bool fits(size_t which, const struct record_query *query)
{
	int64_t recorded_us = model.messages[which].recorded_us;

	return is_there(which) && model.messages[which].number > query->after &&
	       (query->id == NULL || strcmp(query->id, IDS_OF[which / 2]) == 0) &&
	       (query->since_us == 0 || recorded_us >= query->since_us) &&
	       (query->until_us == 0 || recorded_us < query->until_us) &&
	       (query->mailbox == NULL || is_filed_at(which, query->mailbox));
}

struct model_listed {
	struct record_query query;
	unsigned count;
	int64_t last;
};

static void check_places(size_t which, const struct record_listed *listed)
{
	size_t count = 0;

	for (size_t place = 0; place < PLACES; place++) {
		const struct model_row *row = &model.rows[which][place];
		size_t i = 0;

		if (row->number == 0)
			continue;
		count++;
		while (i < listed->place_count && listed->filings[i].number != row->number)
			i++;
		assert_true(i < listed->place_count);
		assert_true(str_equal(listed->mailboxes[i].user, PLACES_OF[place].user));
		assert_true(str_equal(listed->mailboxes[i].folder, PLACES_OF[place].folder));
		assert_int_equal(listed->filings[i].state, row->state);
		assert_int_equal(listed->filings[i].filed_us, row->filed_us);
		assert_true(str_equal(listed->filings[i].copy, str_from(row->copy)));
	}
	assert_int_equal(listed->place_count, count);
}

static void see_listed(void *context, const struct record_listed *listed)
{
	struct model_listed *seen = context;
	const struct decode_message *decoded = listed->message.decoded;
	size_t which = 0;
	struct record_message expected;

	while (which < MESSAGES && model.messages[which].number != listed->number)
		which++;
	assert_true(which < MESSAGES && fits(which, &seen->query));
	assert_true(listed->number > seen->last);
	seen->last = listed->number;
	seen->count++;
	expected = message_of(which);
	assert_true(str_equal(listed->message.id, expected.id));
	assert_memory_equal(listed->message.digest, expected.digest, sizeof expected.digest);
	assert_int_equal(listed->message.size, expected.size);
	assert_int_equal(listed->message.is_derived, expected.is_derived);
	assert_int_equal(listed->message.recorded_us, expected.recorded_us);
	assert_true(str_equal(listed->message.sender, expected.sender));
	assert_true(str_equal(decoded->subject, expected.decoded->subject));
	assert_int_equal(decoded->date_us, expected.decoded->date_us);
	assert_int_equal(decoded->participant_count, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(decoded->participants[i].role, record_scene_participants[i].role);
		assert_true(str_equal(decoded->participants[i].address,
				      record_scene_participants[i].address));
		assert_true(str_equal(decoded->participants[i].name,
				      record_scene_participants[i].name));
	}
	assert_int_equal(decoded->part_count, seen->query.id != NULL ? 2 : 0);
	for (size_t i = 0; i < decoded->part_count; i++) {
		assert_true(str_equal(decoded->parts[i].number, record_scene_parts[i].number));
		assert_true(str_equal(decoded->parts[i].filename, record_scene_parts[i].filename));
		assert_int_equal(decoded->parts[i].size, record_scene_parts[i].size);
	}
	check_places(which, listed);
}

static void list_some(struct record *record)
{
	struct model_listed seen = {.query = {.limit = 1 + (unsigned)chance(9)}};
	unsigned expected = 0;

	if (chance(3) == 0)
		seen.query.id = IDS_OF[chance(IDS)];
	if (chance(3) == 0)
		seen.query.since_us = some_moment();
	if (chance(3) == 0)
		seen.query.until_us = some_moment();
	if (chance(3) == 0)
		seen.query.mailbox = &PLACES_OF[chance(PLACES)];
	if (chance(4) == 0)
		seen.query.after = model.messages[chance(MESSAGES)].number;
	for (size_t i = 0; i < MESSAGES; i++)
		expected += fits(i, &seen.query);
	assert_fine(record, record_list(record, &seen.query, see_listed, &seen));
	assert_int_equal(seen.count, expected < seen.query.limit ? expected : seen.query.limit);
}

static void do_any(struct record *record)
{
	static void (*const all[])(struct record * record) = {
		put_some,  put_some,  decide_some,      decide_some,        move_some,
		open_some, open_some, open_some,        look_at_some,       look_at_some,
		file_some, end_some,  settle_or_unfile, ask_for_new_folders};

	all[chance(COUNT_OF(all))](record);
	model.now_us += (int64_t)chance(5) * SECOND_US;
}

static void a_transaction_of_some(struct record *record)
{
	before = model;
	assert_fine(record, record_begin(record));
	for (size_t left = 1 + chance(6); left > 0; left--)
		do_any(record);
	assert_fine(record, record_check(record));
	if (chance(5) == 0) {
		record_rollback(record);
		before.now_us = model.now_us;
		model = before;
	} else {
		assert_fine(record, record_commit(record));
	}
	for (size_t i = 0; i < MESSAGES; i++)
		model.messages[i].is_new = false;
}

static void any_order_is_as_the_model_says(void **state)
{
	(void)state;
	model = (struct model){.now_us = 1700000000 * (int64_t)SECOND_US};
	for (unsigned i = 0; i < TRANSACTIONS; i++) {
		struct record *record = chance(2) == 0 ? world.a : world.b;

		a_transaction_of_some(record);
		if (chance(3) == 0)
			list_some(chance(2) == 0 ? world.a : world.b);
		if (chance(10) == 0)
			prune_some(record, record == world.a ? world.b : world.a);
	}
}

int record_contract_model(void)
{
	const struct CMUnitTest tests[] = {
		CASE(any_order_is_as_the_model_says),
	};

	return cmocka_run_group_tests_name("record_contract_model", tests, NULL, NULL);
}
