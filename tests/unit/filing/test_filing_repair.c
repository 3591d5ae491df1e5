// SPDX-License-Identifier: ISC
/* Repair of a mailbox against a model: each state of rows, attempts, copies and locks that chance
 * makes, each fault of the store; the record is SQLite's, and time that of the machine. */
#include "base/timestamp.h"
#include "chance.h"
#include "filing/decode/identity.h"
#include "filing/record/sqlite/sqlite.h"
#include "filing/repair.h"
#include "os/clock.h"
#include "scratch.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGES = 12, COPIES = 3, ATTEMPTS = 4, ROUNDS = 120, FOUND_MAX = 60, NAME = 30 };
#define APPEND_MAX_US (60 * MINUTE_US)

/* Of attempts: within and beyond what may still take effect, and what is settled. */
static const int64_t AGES_US[ATTEMPTS] = {
	APPEND_MAX_US + MINUTE_US / 2, APPEND_MAX_US + 2 * MINUTE_US,
	APPEND_MAX_US + DAY_US - MINUTE_US, APPEND_MAX_US + DAY_US + MINUTE_US};
static const struct record_mailbox INBOX = {STR("ann@a.test"), STR("INBOX")};
static const struct record_mailbox SENT = {STR("ann@a.test"), STR("Sent")};
static const struct record_mailbox OTHERS = {STR("bob@a.test"), STR("INBOX")};

enum fault {
	FINE,
	FENCE_FAILS,
	FIND_FAILS,
	REMOVE_FAILS,
	REMOVE_MISSES,
	OPEN_FAILS,
	OPEN_MISSES,
	CONTENT_DIFFERS,
	FAULTS
};

struct message {
	char text[100];
	struct decode_identity identity;
	char mark[MAILSTORE_MARK_SIZE];
	int64_t row; /* 0: none */
	bool is_filed;
	char recorded[NAME];
	bool attempts[ATTEMPTS];
	char copies[COPIES][NAME];
	size_t copy_count;
	bool is_locked; /* by another one */
	enum fault fault;
};

struct found {
	enum filing_repair_kind kind;
	size_t message; /* MESSAGES: none */
	char copy[NAME], text[80];
	bool is_repaired;
};

struct found_list {
	struct found all[FOUND_MAX];
	size_t count;
};

static struct {
	char root[SCRATCH_SIZE];
	struct arena *arena;
	struct record *record, *other;
	struct mailstore store;
	struct message messages[MESSAGES];
	bool has_marks;
	int survey_error;
	unsigned names;
	struct filing_repair repair;
	struct found_list found, expected;
	uint64_t progress;
	unsigned calls; /* of progress */
} world;

#define assert_fine(call)                                                \
	do {                                                             \
		int error_ = (call);                                     \
		if (error_ != 0)                                         \
			fail_msg("%s: %s: %s", #call, strerror(-error_), \
				 record_error(world.record));            \
	} while (0)

/* ---- the store ---- */

static struct message *message_at(const struct mailstore_location *location)
{
	for (size_t i = 0; i < MESSAGES; i++)
		if (str_equal(location->id, world.messages[i].identity.id)) {
			assert_memory_equal(location->digest, world.messages[i].identity.digest,
					    DECODE_DIGEST_SIZE);
			assert_true(str_equal(location->user, INBOX.user) &&
				    str_equal(location->folder, INBOX.folder));
			return &world.messages[i];
		}
	return &world.messages[0]; /* one of many */
}

static int fail_store(const struct message *message, enum fault fault)
{
	if (message->fault != fault)
		return 0;
	snprintf(world.store.error, sizeof world.store.error, "fault %d", (int)fault);
	return -EIO;
}

static int fence(struct mailstore *store, const struct mailstore_location *location)
{
	(void)store;
	assert_true(world.repair.applies);
	return fail_store(message_at(location), FENCE_FAILS);
}

static int find(struct mailstore *store, const struct mailstore_location *location,
		struct arena *arena, struct mailstore_found **found_out, size_t *count_out)
{
	struct message *message = message_at(location);

	(void)store;
	if (fail_store(message, FIND_FAILS) != 0)
		return -EIO;
	*found_out = arena_alloc(arena, COPIES * sizeof **found_out);
	*count_out = message->copy_count;
	for (size_t i = 0; i < message->copy_count; i++)
		(*found_out)[i].copy = message->copies[i];
	return 0;
}

static void remove_at(struct message *message, size_t at)
{
	message->copy_count--;
	memmove(message->copies[at], message->copies[at + 1], (message->copy_count - at) * NAME);
}

static int remove_copy(struct mailstore *store, const struct mailstore_location *location,
		       const char *copy)
{
	const struct message *message = message_at(location);

	(void)store;
	(void)copy;
	assert_true(world.repair.applies);
	if (message->fault == REMOVE_MISSES)
		return -ENOENT;
	return fail_store(message, REMOVE_FAILS); /* the model removes it */
}

/* Some come twice. */
static int survey(struct mailstore *store, struct str user, struct str folder,
		  mailstore_surveyed *each, void *context)
{
	assert_true(str_equal(user, INBOX.user) && str_equal(folder, INBOX.folder));
	if (!world.has_marks)
		return -EOPNOTSUPP;
	for (size_t i = 0; i < MESSAGES; i++)
		for (size_t copy = 0; copy < world.messages[i].copy_count; copy++)
			for (size_t times = 1 + chance(2); times > 0; times--)
				each(context, world.messages[i].copies[copy],
				     world.messages[i].mark);
	snprintf(store->error, sizeof store->error, "no survey");
	return world.survey_error;
}

static int open_copy(struct mailstore *store, struct str user, struct str folder, const char *copy,
		     struct ipc_content *content_out)
{
	const struct message *message = world.messages;
	struct str text = STR("Message-ID: <another@x>\n\n");

	(void)store;
	(void)user;
	(void)folder;
	while (message->copy_count == 0 || strcmp(message->copies[0], copy) != 0)
		message++;
	if (message->fault == OPEN_MISSES)
		return -ENOENT;
	if (fail_store(message, OPEN_FAILS) != 0)
		return -EIO;
	if (message->fault != CONTENT_DIFFERS)
		text = str_from(message->text);
	*content_out = (struct ipc_content){.bytes = text, .file = -1, .size = text.length};
	return 0;
}

static struct mailstore *store_of(void *context, const struct record_mailbox *mailbox,
				  const char **why_out)
{
	(void)context;
	if (str_equal(mailbox->user, INBOX.user))
		return &world.store;
	*why_out = "nobody knows it";
	return NULL;
}

/* ---- what is found ---- */

static void decode(void *context, const struct ipc_content *content, struct arena *arena,
		   struct decode_message *out)
{
	(void)context;
	(void)content;
	(void)arena;
	*out = (struct decode_message){.subject = STR("decoded")};
}

static void note_found(struct found_list *list, struct found found)
{
	assert_true(list->count < FOUND_MAX);
	list->all[list->count++] = found;
}

static void on_found(void *context, const struct filing_repair_finding *finding)
{
	struct found found = {.kind = finding->kind, .is_repaired = finding->is_repaired};

	(void)context;
	while (found.message < MESSAGES &&
	       !str_equal(finding->id, world.messages[found.message].identity.id))
		found.message++;
	snprintf(found.copy, sizeof found.copy, "%s", finding->copy);
	snprintf(found.text, sizeof found.text, "%s", finding->text);
	note_found(&world.found, found);
}

static void on_progress(void *context, uint64_t rows)
{
	(void)context;
	assert_true(rows >= world.progress);
	world.progress = rows;
	world.calls++;
}

static int compare_found(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct found));
}

static void check_found(unsigned round)
{
	struct found_list *lists[] = {&world.found, &world.expected};

	for (size_t i = 0; i < COUNT_OF(lists); i++)
		qsort(lists[i]->all, lists[i]->count, sizeof lists[i]->all[0], compare_found);
	for (size_t i = 0; i < world.found.count || i < world.expected.count; i++) {
		const struct found *found = &world.found.all[i], *expected = &world.expected.all[i];

		if (i >= world.found.count || i >= world.expected.count ||
		    compare_found(found, expected) != 0)
			fail_msg("round %u: %s of %zu, copy '%s' '%s' %d, instead of %s of %zu, "
				 "copy '%s' '%s' %d",
				 round, filing_repair_name(found->kind), found->message,
				 found->copy, found->text, found->is_repaired,
				 filing_repair_name(expected->kind), expected->message,
				 expected->copy, expected->text, expected->is_repaired);
	}
}

/* ---- the model ---- */

static void expect(enum filing_repair_kind kind, const struct message *message, const char *copy,
		   const char *text, bool is_repaired)
{
	struct found found = {.kind = kind,
			      .message = (size_t)(message - world.messages),
			      .is_repaired = is_repaired};

	if (kind == FILING_REPAIR_FAILED &&
	    (message->fault == OPEN_FAILS || message->fault == CONTENT_DIFFERS))
		found.message = MESSAGES;
	snprintf(found.copy, sizeof found.copy, "%s", copy);
	snprintf(found.text, sizeof found.text, "%s", text);
	note_found(&world.expected, found);
}

static void expect_fault(const struct message *message, const char *copy)
{
	char text[20];

	snprintf(text, sizeof text, "fault %d", (int)message->fault);
	expect(FILING_REPAIR_FAILED, message, copy, text, false);
}

static bool has_attempt(const struct message *message)
{
	for (size_t i = 0; i < ATTEMPTS; i++)
		if (message->attempts[i])
			return true;
	return false;
}

static bool shows_order(const struct message *message)
{
	return world.has_marks && message->is_filed && !has_attempt(message) &&
	       message->copy_count == 1 && strcmp(message->copies[0], message->recorded) == 0;
}

static void forget_row(struct message *message)
{
	message->row = 0;
	message->is_filed = false;
	memset(message->attempts, 0, sizeof message->attempts);
	memset(message->recorded, 0, sizeof message->recorded);
}

static void expect_without_copy(struct message *message)
{
	bool applies = world.repair.applies && (!message->is_filed || world.repair.forgets);

	expect(message->is_filed ? FILING_REPAIR_MISSING : FILING_REPAIR_ABANDONED, message,
	       message->recorded, "", applies);
	if (applies)
		forget_row(message);
}

static void expect_surplus(struct message *message, const char *kept)
{
	for (size_t i = message->copy_count; i-- > 0;) {
		const char *copy = message->copies[i];

		if (strcmp(copy, kept) == 0)
			continue;
		if (world.repair.applies && message->fault == REMOVE_FAILS) {
			expect_fault(message, copy);
			continue;
		}
		expect(FILING_REPAIR_SURPLUS, message, copy, "", world.repair.applies);
		if (world.repair.applies)
			remove_at(message, i);
	}
}

static void expect_with_copies(struct message *message)
{
	char kept[NAME];

	memcpy(kept, message->copies[0], NAME);
	for (size_t i = 0; i < message->copy_count; i++)
		if (strcmp(message->copies[i], message->recorded) == 0)
			memcpy(kept, message->copies[i], NAME);
	if (!message->is_filed)
		expect(FILING_REPAIR_UNMARKED, message, kept, "", world.repair.applies);
	else if (strcmp(kept, message->recorded) != 0)
		expect(FILING_REPAIR_RENAMED, message, kept, message->recorded,
		       world.repair.applies);
	expect_surplus(message, kept);
	if (!world.repair.applies)
		return;
	message->is_filed = true;
	memcpy(message->recorded, kept, NAME);
	message->attempts[3] = false;
}

static void expect_row(struct message *message)
{
	if (shows_order(message))
		return;
	if (message->is_locked)
		expect(FILING_REPAIR_RECENT, message, "", "another process has its lock", false);
	else if (message->fault == FIND_FAILS ||
		 (message->fault == FENCE_FAILS && world.repair.applies))
		expect_fault(message, "");
	else if (message->attempts[0])
		expect(FILING_REPAIR_RECENT, message, "", "", false);
	else if (message->copy_count == 0)
		expect_without_copy(message);
	else
		expect_with_copies(message);
}

static void expect_unrecorded(struct message *message)
{
	const char *copy = message->copies[0];

	if (message->fault == OPEN_MISSES)
		return;
	if (message->fault == OPEN_FAILS) {
		expect_fault(message, copy);
	} else if (message->fault == CONTENT_DIFFERS) {
		expect(FILING_REPAIR_FAILED, message, copy, "its content is not what its name says",
		       false);
	} else if (world.repair.applies && message->is_locked) {
		expect(FILING_REPAIR_RECENT, message, copy, "another process has its lock", false);
	} else {
		expect(FILING_REPAIR_UNRECORDED, message, copy, "", world.repair.applies);
		message->row = world.repair.applies ? -1 : 0; /* which is seen later */
		message->is_filed = world.repair.applies;
		if (world.repair.applies)
			memcpy(message->recorded, copy, NAME);
	}
}

/* How many rows and copies without one there are. */
static uint64_t expect_all(void)
{
	uint64_t compared = 0;

	world.expected.count = 0;
	for (size_t i = 0; i < MESSAGES; i++) {
		struct message *message = &world.messages[i];

		if (message->row != 0) {
			compared++;
			expect_row(message);
		} else if (world.has_marks && message->copy_count > 0) {
			compared++;
			expect_unrecorded(message);
		}
	}
	return compared;
}

/* ---- the world ---- */

static struct record_token token_of(size_t attempt)
{
	struct record_token token = {{0x55, (unsigned char)attempt}};

	return token;
}

static void name_copy(char *name)
{
	memset(name, 0, NAME);
	snprintf(name, NAME, "copy-%u", ++world.names);
}

/* In the transaction; another mailbox has one, too. */
static void open_row(struct message *message)
{
	static const struct decode_message decoded = {.subject = STR("as it was")};
	struct record_message recorded = {.id = message->identity.id, .decoded = &decoded};
	struct record_filing row;
	int64_t number;
	unsigned different;
	bool is_new;

	memcpy(recorded.digest, message->identity.digest, DECODE_DIGEST_SIZE);
	assert_fine(record_put(world.record, &recorded, &number, &is_new, &different));
	for (size_t i = 0; i <= ATTEMPTS; i++) {
		const struct record_token token = token_of(i);

		if (i < ATTEMPTS && !message->attempts[i])
			continue;
		assert_fine(record_open(world.record, number, &INBOX, &token,
					os_clock_wall_us() - AGES_US[i % ATTEMPTS], &row));
		message->row = row.number;
		if (i == ATTEMPTS)
			assert_fine(record_end(world.record, row.number, &token));
		assert_fine(record_open(world.record, number, i % 2 == 0 ? &SENT : &OTHERS, &token,
					1, &row));
	}
}

static void make_row(struct message *message)
{
	const struct record_token nobody = token_of(ATTEMPTS);
	char recorded[NAME];

	for (size_t i = 0; i < ATTEMPTS; i++)
		message->attempts[i] = chance(4) == 0;
	open_row(message);
	message->is_filed = chance(3) > 0;
	if (!message->is_filed)
		return;
	name_copy(recorded);
	if (message->copy_count > 0 && chance(4) > 0)
		memcpy(recorded, message->copies[chance(message->copy_count)], NAME);
	memcpy(message->recorded, recorded, NAME);
	assert_fine(record_filed(world.record, message->row, &nobody, str_from(recorded), 1));
}

/* Any state of which nothing is left. */
static void make_message(struct message *message)
{
	if (message->row != 0)
		assert_fine(record_unfile(world.record, message->row));
	forget_row(message);
	message->copy_count = chance(COPIES + 1);
	for (size_t i = 0; i < message->copy_count; i++)
		name_copy(message->copies[i]);
	if (chance(3) > 0)
		make_row(message);
}

static void lock_some(void)
{
	assert_fine(record_begin(world.other));
	for (size_t i = 0; i < MESSAGES; i++) {
		struct message *message = &world.messages[i];
		struct lock_name name;

		message->fault = chance(2) == 0 ? FINE : (enum fault)chance(FAULTS);
		message->is_locked = chance(8) == 0;
		lock_name_make(message->identity.id, &name);
		if (message->is_locked)
			assert_fine(record_lock(world.other, &name));
	}
}

/* The record says what the model does. */
static void check_rows(void)
{
	static const struct record_token nobody;

	assert_fine(record_begin(world.record));
	for (size_t i = 0; i < MESSAGES; i++) {
		struct message *message = &world.messages[i];
		struct record_filing row;
		unsigned attempts = 0;

		if (message->row == 0)
			continue;
		if (message->row < 0) {
			memset(message->attempts, 0, sizeof message->attempts);
			open_row(message); /* it is filed, so that no attempt is noted */
		}
		for (size_t k = 0; k < ATTEMPTS; k++)
			attempts += message->attempts[k];
		assert_fine(record_look(world.record, message->row, &nobody, &row));
		assert_int_equal(row.state, message->is_filed ? RECORD_FILED : RECORD_FILING);
		assert_true(str_equal(row.copy, str_from(message->recorded)));
		assert_int_equal(row.others, attempts);
	}
	assert_fine(record_commit(world.record));
}

static void run_repair(const struct record_mailbox *mailbox)
{
	world.found.count = 0;
	world.repair.rows = world.progress = world.calls = 0;
	assert_fine(filing_repair_mailbox(&world.repair, mailbox));
	assert_int_equal(world.repair.rows, world.progress);
}

static void each_state_is_told_and_mended(void **state)
{
	(void)state;
	for (unsigned round = 0; round < ROUNDS; round++) {
		uint64_t compared;

		assert_fine(record_begin(world.record));
		for (size_t i = 0; i < MESSAGES; i++)
			if (chance(2) == 0)
				make_message(&world.messages[i]);
		assert_fine(record_commit(world.record));
		lock_some();
		world.has_marks = chance(4) > 0;
		world.repair.applies = chance(3) > 0;
		world.repair.forgets = chance(2) == 0;
		run_repair(&INBOX);
		record_rollback(world.other);
		compared = expect_all();
		check_found(round);
		assert_int_equal(world.progress, compared);
		check_rows();
	}
}

static void what_cannot_be_looked_at_is_told(void **state)
{
	(void)state;
	run_repair(&OTHERS);
	assert_int_equal(world.found.count, 1);
	assert_int_equal(world.found.all[0].kind, FILING_REPAIR_FAILED);
	assert_string_equal(world.found.all[0].text, "nobody knows it");
	world.has_marks = true;
	world.survey_error = -EACCES;
	world.messages[0].copy_count = 1;
	name_copy(world.messages[0].copies[0]);
	run_repair(&INBOX);
	assert_int_equal(world.found.count, 1);
	assert_int_equal(world.found.all[0].kind, FILING_REPAIR_FAILED);
	assert_string_equal(world.found.all[0].text, "no survey");
	assert_int_equal(world.calls, 0);
}

/* It is waited for, for as long as it is said. */
static void a_lock_is_waited_for(void **state)
{
	struct message *message = &world.messages[0];
	struct lock_name name;
	int64_t begin;

	(void)state;
	assert_fine(record_begin(world.record));
	make_row(message);
	message->is_filed = true;
	assert_fine(record_commit(world.record));
	lock_name_make(message->identity.id, &name);
	assert_fine(record_begin(world.other));
	assert_fine(record_lock(world.other, &name));
	world.repair.lock_us = SECOND_US / 5;
	begin = os_clock_monotonic_us();
	run_repair(&INBOX);
	record_rollback(world.other);
	assert_in_range(os_clock_monotonic_us() - begin, SECOND_US / 5, 10 * SECOND_US);
	assert_int_equal(world.found.count, 1);
	assert_int_equal(world.found.all[0].kind, FILING_REPAIR_RECENT);
}

static void count_found(void *context, const struct filing_repair_finding *finding)
{
	(void)context;
	assert_int_equal(finding->kind, FILING_REPAIR_RECENT);
	world.found.count++;
}

/* At the bound of what is listed at once, and beyond: each message is being filed. */
static void all_pages_are_read(void **state)
{
	static const unsigned counts[] = {1, 499, 500, 501, 1000, 1001};
	static const struct decode_message decoded = {.subject = STR("one")};
	const struct record_token token = token_of(3);
	unsigned made = 0;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(counts); i++) {
		assert_fine(record_begin(world.record));
		for (; made < counts[i]; made++) {
			char id[30];
			struct record_message message = {.id = STR(""), .decoded = &decoded};
			struct record_filing row;
			unsigned different;
			int64_t number;
			bool is_new;

			snprintf(id, sizeof id, "<%u@x>", 1000 + made);
			message.id = str_from(id);
			assert_fine(
				record_put(world.record, &message, &number, &is_new, &different));
			assert_fine(record_open(world.record, number, &INBOX, &token,
						os_clock_wall_us(), &row));
		}
		assert_fine(record_commit(world.record));
		world.repair.found = count_found;
		world.found.count = 0;
		world.repair.rows = world.progress = 0;
		assert_fine(filing_repair_mailbox(&world.repair, &INBOX));
		assert_int_equal(world.found.count, made);
		assert_int_equal(world.progress, made);
	}
}

static int set_up(void **state)
{
	static const struct mailstore_operations operations = {.fence = fence,
							       .find = find,
							       .remove = remove_copy,
							       .survey = survey,
							       .open = open_copy};
	char path[SCRATCH_SIZE + 10];

	(void)state;
	memset(&world, 0, sizeof world);
	assert_int_equal(scratch_make(world.root), 0);
	snprintf(path, sizeof path, "%s/record", world.root);
	world.record = record_sqlite_new(path);
	world.other = record_sqlite_new(path);
	world.arena = arena_new();
	world.store = (struct mailstore){.operations = &operations, .append_max_us = APPEND_MAX_US};
	world.repair = (struct filing_repair){.record = world.record,
					      .store = store_of,
					      .decode = decode,
					      .found = on_found,
					      .progress = on_progress};
	for (size_t i = 0; i < MESSAGES; i++) {
		struct message *message = &world.messages[i];
		struct ipc_content content = {.file = -1};

		snprintf(message->text, sizeof message->text, "Message-ID: <%zu@x>\n\nhello %zu\n",
			 i, i);
		content.bytes = str_from(message->text);
		content.size = content.bytes.length;
		assert_int_equal(decode_identify(&content, world.arena, &message->identity), 0);
		mailstore_mark(&(struct mailstore_location){.id = message->identity.id,
							    .digest = message->identity.digest},
			       message->mark);
	}
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	record_free(world.record);
	record_free(world.other);
	arena_free(world.arena);
	assert_int_equal(scratch_remove(world.root), 0);
	return 0;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		CASE(each_state_is_told_and_mended),
		CASE(what_cannot_be_looked_at_is_told),
		CASE(a_lock_is_waited_for),
		CASE(all_pages_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
