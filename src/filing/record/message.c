// SPDX-License-Identifier: ISC
/* Messages, with their participants and parts. */
#include "filing/decode/identity.h"
#include "filing/record/internal.h"
#include <errno.h>

struct finding {
	struct record_subset subset;
	struct record_entry *entries;
};

static void take_found(void *context, const struct record_value *values, size_t count)
{
	struct finding *finding = context;
	struct record_entry *entry = &finding->entries[record_subset_at(&finding->subset)];

	(void)count;
	entry->number = values[1].number;
	entry->different = (unsigned)(values[0].number - (entry->number != 0));
}

/* Those that are there, of all without a number. */
static int find_recorded_messages(struct record_sql *sql, struct record_entry *entries,
				  size_t count)
{
	struct finding finding = {.entries = entries};

	record_subset_begin(&finding.subset, sql, RECORD_MESSAGE_FIND, 2, count);
	finding.subset.call.row = take_found;
	finding.subset.call.context = &finding;
	for (size_t i = 0; i < count; i++) {
		const struct record_message *message = entries[i].message;
		struct record_value *values;

		if (entries[i].number != 0)
			continue;
		values = record_subset_add(&finding.subset, i);
		values[0] = (struct record_value){.kind = RECORD_TEXT, .bytes = message->id};
		values[1] = record_bytes(message->digest, sizeof message->digest);
	}
	return record_subset_run(&finding.subset);
}

enum { MESSAGE_COLUMNS = 9, PARTICIPANT_COLUMNS = 6, PART_COLUMNS = 9 };

static void set_message(const struct record_message *message, struct arena *arena,
			struct record_value *to)
{
	const struct decode_message *decoded = message->decoded;

	*to++ = (struct record_value){.kind = RECORD_TEXT, .bytes = message->id};
	*to++ = record_number(message->is_derived);
	*to++ = record_bytes(message->digest, sizeof message->digest);
	*to++ = record_number((int64_t)message->size);
	*to++ = record_number(message->recorded_us);
	*to++ = record_text(message->sender, RECORD_ADDRESS_MAX, arena);
	*to++ = record_text(decoded->subject, DECODE_TEXT_MAX, arena);
	*to++ = record_number(decoded->date_us);
	*to++ = record_text(decoded->problem, DECODE_TEXT_MAX, arena);
}

/* Those that have no number yet. */
static int insert_messages(struct record_sql *sql, struct record_entry *entries, size_t count)
{
	struct record_subset subset;
	int error;

	record_subset_begin(&subset, sql, RECORD_MESSAGE_INSERT, MESSAGE_COLUMNS, count);
	subset.wants_outcomes = true;
	for (size_t i = 0; i < count; i++)
		if (entries[i].number == 0)
			set_message(entries[i].message, sql->arena, record_subset_add(&subset, i));
	error = record_subset_run(&subset);
	for (size_t i = 0; error == 0 && i < subset.count; i++) {
		struct record_entry *entry = &entries[subset.which[i]];

		entry->number = subset.outcomes[i].inserted;
		entry->is_new = entry->number != 0;
	}
	return error;
}

/* What is in messages: rows of one statement, inserted whenever there are enough of them. */
struct content {
	struct record_sql *sql;
	struct record_call call;
	struct record_value values[RECORD_BATCH * PART_COLUMNS];
};

static int insert_content(struct content *content)
{
	int error = content->call.rows > 0 ? record_run(content->sql, &content->call) : 0;

	content->call.rows = 0;
	return error;
}

/* The next row's values, or NULL after an error. */
static struct record_value *next_row(struct content *content, int *error)
{
	if (*error == 0 && content->call.rows == RECORD_BATCH)
		*error = insert_content(content);
	return *error == 0 ? content->values + content->call.rows++ * content->call.columns : NULL;
}

static int add_participants(struct content *content, const struct record_entry *entry)
{
	const struct decode_message *decoded = entry->message->decoded;
	struct arena *arena = content->sql->arena;
	struct record_value *to;
	int error = 0;

	for (size_t i = 0; i < decoded->participant_count; i++) {
		const struct decode_participant *from = &decoded->participants[i];
		ptrdiff_t at = str_find_last(from->address, '@');

		to = next_row(content, &error);
		if (to == NULL)
			break;
		*to++ = record_number(entry->number);
		*to++ = record_number((int64_t)i);
		*to++ = (struct record_value){.kind = RECORD_TEXT,
					      .bytes = str_from(decode_role_name(from->role))};
		*to++ = record_text(from->address, RECORD_ADDRESS_MAX, arena);
		*to++ = record_text(str_skip(from->address, (size_t)(at + 1)), RECORD_DOMAIN_MAX,
				    arena);
		*to++ = record_text(from->name, DECODE_TEXT_MAX, arena);
	}
	return error;
}

static int add_parts(struct content *content, const struct record_entry *entry)
{
	const struct decode_message *decoded = entry->message->decoded;
	struct arena *arena = content->sql->arena;
	struct record_value *to;
	int error = 0;

	for (size_t i = 0; i < decoded->part_count; i++) {
		const struct decode_part *from = &decoded->parts[i];

		to = next_row(content, &error);
		if (to == NULL)
			break;
		*to++ = record_number(entry->number);
		*to++ = record_number((int64_t)i);
		*to++ = record_text(from->number, RECORD_WORD_MAX, arena);
		*to++ = record_text(from->type, RECORD_WORD_MAX, arena);
		*to++ = record_text(from->charset, RECORD_WORD_MAX, arena);
		*to++ = record_text(from->disposition, RECORD_WORD_MAX, arena);
		*to++ = record_text(from->filename, DECODE_TEXT_MAX, arena);
		*to++ = record_number((int64_t)from->size);
		*to++ = record_bytes(from->digest, sizeof from->digest);
	}
	return error;
}

/* Of those that are new. */
static int insert_contents(struct record_sql *sql, const struct record_entry *entries, size_t count,
			   enum record_statement statement, size_t columns,
			   int (*add)(struct content *content, const struct record_entry *entry))
{
	struct content content;
	int error = 0;

	content.sql = sql;
	content.call = (struct record_call){
		.statement = statement, .values = content.values, .columns = columns};
	for (size_t i = 0; error == 0 && i < count; i++)
		if (entries[i].is_new)
			error = add(&content, &entries[i]);
	return error == 0 ? insert_content(&content) : error;
}

static int insert_all(struct record_sql *sql, struct record_entry *entries, size_t count)
{
	int error = insert_messages(sql, entries, count);

	if (error == 0)
		error = insert_contents(sql, entries, count, RECORD_PARTICIPANT_INSERT,
					PARTICIPANT_COLUMNS, add_participants);
	if (error == 0)
		error = insert_contents(sql, entries, count, RECORD_PART_INSERT, PART_COLUMNS,
					add_parts);
	return error;
}

int record_sql_put(struct record *record, struct record_entry *entries, size_t count)
{
	struct record_sql *sql = record_sql_of(record);
	int error = record_sql_check(sql);

	arena_reset(sql->arena);
	for (size_t i = 0; error == 0 && i < count; i++) {
		if (!record_text_is_valid(entries[i].message->id, DECODE_ID_MAX))
			return -EINVAL;
		entries[i].number = 0;
		entries[i].is_new = false;
	}
	if (error == 0)
		error = find_recorded_messages(sql, entries, count);
	if (error == 0)
		error = insert_all(sql, entries, count);
	/* without the lock another one may have been faster: then the row is there now */
	if (error == 0)
		error = find_recorded_messages(sql, entries, count);
	for (size_t i = 0; error == 0 && i < count; i++)
		if (entries[i].number == 0)
			return record_sql_fail(sql, -EDEADLK,
					       "a message was neither there nor new");
	return error;
}
