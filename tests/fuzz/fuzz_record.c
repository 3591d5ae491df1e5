// SPDX-License-Identifier: ISC
/* tests/fuzz/fuzz_record.c - messages with texts as a decoder that was taken over may send them, in
 * a database: what is recorded is valid, is what is found again, and is removed whole. */
#include "base/panic.h"
#include "filing/record/sql.h"
#include "filing/record/sqlite/sqlite.h"
#include "input.h"
#include "unit/scratch.h"
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST = 8, SEEN = 1 };

static char root[SCRATCH_SIZE];
static struct record *record;
static struct arena *arena;

static void need(int error)
{
	if (error < 0)
		panic("%s", record_error(record));
}

static void end(void)
{
	record_free(record);
	arena_free(arena);
	(void)scratch_remove(root);
}

static void begin(void)
{
	char path[SCRATCH_SIZE + 8];

	if (record != NULL)
		return;
	if (scratch_make(root) < 0)
		panic("no directory");
	snprintf(path, sizeof path, "%s/record", root);
	record = record_sqlite_new(path);
	arena = arena_new();
	if (atexit(end) != 0)
		panic("atexit() failed");
}

/* What a database has of TEXT. */
static struct str stored(struct str text, size_t max)
{
	struct str got = record_text(text, max, arena).bytes;

	if (!record_text_is_valid(got, max))
		panic("a text is not valid in %zu bytes", max);
	if (record_text_is_valid(text, max))
		check_equal(got, text, "a valid text");
	return got;
}

static void take_message(struct input *input, struct decode_message *decoded)
{
	static struct decode_participant participants[MOST];
	static struct decode_part parts[MOST];

	*decoded = (struct decode_message){.participants = participants, .parts = parts};
	decoded->participant_count = input_byte(input) % MOST;
	decoded->part_count = input_byte(input) % MOST;
	decoded->date_us = (int64_t)input_u32(input) * INT32_MAX;
	for (size_t i = 0; i < decoded->participant_count; i++)
		participants[i] = (struct decode_participant){input_byte(input) % DECODE_ROLES,
							      input_text(input), input_text(input)};
	for (size_t i = 0; i < decoded->part_count; i++)
		parts[i] = (struct decode_part){.number = input_text(input),
						.type = input_text(input),
						.charset = input_text(input),
						.disposition = input_text(input),
						.filename = input_text(input),
						.size = input_u32(input)};
	decoded->problem = input_text(input);
	decoded->subject = input_text(input);
}

/* ---- what is found ---- */

struct check {
	const struct record_message *message;
	bool has_parts; /* they were asked for */
	unsigned seen;
};

static void check_participants(const struct decode_message *got, const struct decode_message *told)
{
	if (got->participant_count != told->participant_count)
		panic("%zu participants", got->participant_count);
	for (size_t i = 0; i < got->participant_count; i++) {
		const struct decode_participant *from = &told->participants[i];

		if (got->participants[i].role != from->role)
			panic("another role");
		check_equal(got->participants[i].address, stored(from->address, RECORD_ADDRESS_MAX),
			    "an address");
		check_equal(got->participants[i].name, stored(from->name, DECODE_TEXT_MAX),
			    "a name");
	}
}

static void check_parts(const struct decode_message *got, const struct decode_message *told)
{
	if (got->part_count != told->part_count)
		panic("%zu parts", got->part_count);
	for (size_t i = 0; i < got->part_count; i++) {
		const struct decode_part *from = &told->parts[i];

		check_equal(got->parts[i].type, stored(from->type, RECORD_WORD_MAX), "a type");
		check_equal(got->parts[i].filename, stored(from->filename, DECODE_TEXT_MAX),
			    "a file's name");
		if (got->parts[i].size != from->size)
			panic("another size");
	}
}

static void check_one(void *context, const struct record_listed *listed)
{
	struct check *check = context;
	const struct decode_message *got = listed->message.decoded;
	const struct decode_message *told = check->message->decoded;

	check->seen++;
	check_equal(listed->message.id, check->message->id, "a Message-ID");
	check_equal(listed->message.sender, stored(check->message->sender, RECORD_ADDRESS_MAX),
		    "a sender");
	check_equal(got->subject, stored(told->subject, DECODE_TEXT_MAX), "a subject");
	check_equal(got->problem, stored(told->problem, DECODE_TEXT_MAX), "a problem");
	if (got->date_us != told->date_us)
		panic("another date");
	check_participants(got, told);
	if (check->has_parts)
		check_parts(got, told);
}

static unsigned find(const struct record_message *message, struct record_query query)
{
	struct check check = {.message = message, .has_parts = query.id != NULL};

	query.limit = 10;
	need(record_list(record, &query, check_one, &check));
	return check.seen;
}

/* By what is recorded, and by anything. */
static void find_all(const struct record_message *message, struct input *input)
{
	struct str subject = stored(message->decoded->subject, DECODE_TEXT_MAX);
	const char *any = arena_copy(arena, input_text(input));

	if (find(message, (struct record_query){.id = "<1@x.test>"}) != SEEN ||
	    find(message, (struct record_query){.subject = arena_copy(arena, subject)}) != SEEN)
		panic("a message is not found");
	(void)find(message, (struct record_query){.from = any});
	(void)find(message, (struct record_query){.to = any});
	(void)find(message, (struct record_query){.subject = any});
}

/* ---- its life ---- */

static void put(const struct record_message *message)
{
	int64_t number;
	unsigned different;
	bool is_new;

	need(record_begin(record));
	need(record_put(record, message, &number, &is_new, &different));
	need(record_commit(record));
	if (!is_new || different != 0)
		panic("it was there already");
}

static void remove_it(const struct record_message *message)
{
	unsigned count = 0;

	need(record_prune(record, message->recorded_us + 1, 10, &count));
	if (count != 1)
		panic("%u messages were removed", count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = {str_slice((const char *)data, size)};
	struct decode_message decoded;
	struct record_message message = {
		.id = STR("<1@x.test>"), .recorded_us = 1, .decoded = &decoded};

	begin();
	message.sender = input_text(&input);
	take_message(&input, &decoded);
	put(&message);
	find_all(&message, &input);
	remove_it(&message);
	arena_reset(arena);
	return 0;
}
