// SPDX-License-Identifier: ISC
/* Messages as they were recorded, for people. */
#include "base/panic.h"
#include "filing/record/internal.h"
#include <errno.h>
#include <stdlib.h>
#include <utlist.h>

/* ---- which ---- */

struct question {
	struct buffer text;
	struct record_value values[RECORD_VALUES_MAX];
	size_t count;
	struct arena *arena;
};

/* "?N" for VALUE. */
static void ask_with_value(struct question *question, const char *before, struct record_value value,
			   const char *after)
{
	question->values[question->count++] = value;
	buffer_append_format(&question->text, "%s?%zu%s", before, question->count, after);
}

static struct record_value text_value_of_string(struct question *question, const char *text)
{
	return record_text(str_from(text), SIZE_MAX, question->arena);
}

/* An address, or a domain: one index has both. */
static void ask_participant(struct question *question, const char *address, const char *roles)
{
	const char *at;

	if (address == NULL)
		return;
	at = strrchr(address, '@');
	buffer_append_string(&question->text,
			     " AND EXISTS (SELECT 1 FROM participant p WHERE p.message = m.number");
	ask_with_value(question, " AND p.domain = ",
		       text_value_of_string(question, at != NULL ? at + 1 : address), "");
	if (at != NULL)
		ask_with_value(question,
			       " AND p.address = ", text_value_of_string(question, address), "");
	buffer_append_format(&question->text, " AND p.role IN (%s))", roles);
}

static void ask_place(struct question *question, const struct record_mailbox *mailbox)
{
	if (mailbox == NULL)
		return;
	ask_with_value(question,
		       " AND EXISTS (SELECT 1 FROM filing f JOIN mailbox b ON b.number = f.mailbox"
		       " WHERE f.message = m.number AND b.owner = ",
		       record_text(mailbox->user, SIZE_MAX, question->arena), "");
	ask_with_value(question,
		       " AND b.folder = ", record_text(mailbox->folder, SIZE_MAX, question->arena),
		       ")");
}

static void write_question(struct question *question, const struct record_query *query)
{
	buffer_append_string(&question->text,
			     "SELECT m.number, m.message_id, m.derived, m.digest, m.size,"
			     " m.recorded_us, m.sender, m.subject, m.date_us, m.problem"
			     " FROM message m");
	ask_with_value(question, " WHERE m.number > ", record_number(query->after), "");
	if (query->id != NULL)
		ask_with_value(question,
			       " AND m.message_id = ", text_value_of_string(question, query->id),
			       "");
	ask_participant(question, query->from, "'from'");
	ask_participant(question, query->to, "'to', 'cc', 'bcc'");
	if (query->subject != NULL)
		ask_with_value(question, " AND {part}(lower(m.subject), lower(",
			       text_value_of_string(question, query->subject), ")) > 0");
	if (query->since_us != 0)
		ask_with_value(question, " AND m.recorded_us >= ", record_number(query->since_us),
			       "");
	if (query->until_us != 0)
		ask_with_value(question, " AND m.recorded_us < ", record_number(query->until_us),
			       "");
	ask_place(question, query->mailbox);
	ask_with_value(question, " ORDER BY m.number LIMIT ", record_number(query->limit), "");
	buffer_append_byte(&question->text, '\0');
}

/* ---- what of each ---- */

struct entry {
	int64_t number;
	struct record_message message;
	struct decode_message decoded;
	struct entry *next;
};

struct listing {
	struct arena *arena; /* of the whole list */
	struct arena *one;   /* of the message whose rows are read */
	struct entry *entries;
	struct entry *entry;
	struct record_mailbox *mailboxes;
	struct record_filing *filings;
	size_t place_count;
};

static struct str keep_listed_text(struct arena *arena, const struct record_value *value)
{
	return arena_copy_str(arena, value->bytes);
}

static void copy_digest(unsigned char *to, const struct record_value *value)
{
	if (value->bytes.length == DECODE_DIGEST_SIZE)
		memcpy(to, value->bytes.data, DECODE_DIGEST_SIZE);
}

static void take_message_row(void *context, const struct record_value *values, size_t count)
{
	struct listing *listing = context;
	struct entry *entry = arena_alloc(listing->arena, sizeof *entry);
	struct record_message *message = &entry->message;

	(void)count;
	entry->number = values[0].number;
	message->id = keep_listed_text(listing->arena, &values[1]);
	message->is_derived = values[2].number != 0;
	copy_digest(message->digest, &values[3]);
	message->size = (uint64_t)values[4].number;
	message->recorded_us = values[5].number;
	message->sender = keep_listed_text(listing->arena, &values[6]);
	entry->decoded.subject = keep_listed_text(listing->arena, &values[7]);
	entry->decoded.date_us = values[8].number;
	entry->decoded.problem = keep_listed_text(listing->arena, &values[9]);
	message->decoded = &entry->decoded;
	LL_APPEND(listing->entries, entry);
}

/* The array with room for one more, doubled when COUNT is a power of two. */
static void *grow_listed_array(struct arena *arena, void *array, size_t count, size_t size)
{
	void *grown;

	if (count != 0 && (count & (count - 1)) != 0)
		return array;
	grown = arena_alloc(arena, (count > 0 ? 2 * count : 1) * size);
	if (count > 0)
		memcpy(grown, array, count * size);
	return grown;
}

static enum decode_role role_of(struct str name)
{
	for (unsigned i = 0; i < DECODE_ROLES; i++)
		if (str_equal(str_from(decode_role_name(i)), name))
			return i;
	return DECODE_FROM;
}

static void take_participant(void *context, const struct record_value *values, size_t count)
{
	struct listing *listing = context;
	struct decode_message *decoded = &listing->entry->decoded;

	(void)count;
	decoded->participants =
		grow_listed_array(listing->one, decoded->participants, decoded->participant_count,
				  sizeof *decoded->participants);
	decoded->participants[decoded->participant_count++] = (struct decode_participant){
		.role = role_of(values[0].bytes),
		.address = keep_listed_text(listing->one, &values[1]),
		.name = keep_listed_text(listing->one, &values[2]),
	};
}

static void take_part_row(void *context, const struct record_value *values, size_t count)
{
	struct listing *listing = context;
	struct decode_message *decoded = &listing->entry->decoded;
	struct decode_part *part;

	(void)count;
	decoded->parts = grow_listed_array(listing->one, decoded->parts, decoded->part_count,
					   sizeof *decoded->parts);
	part = &decoded->parts[decoded->part_count++];
	*part = (struct decode_part){
		.number = keep_listed_text(listing->one, &values[0]),
		.type = keep_listed_text(listing->one, &values[1]),
		.charset = keep_listed_text(listing->one, &values[2]),
		.disposition = keep_listed_text(listing->one, &values[3]),
		.filename = keep_listed_text(listing->one, &values[4]),
		.size = (uint64_t)values[5].number,
	};
	copy_digest(part->digest, &values[6]);
}

static void take_filing(void *context, const struct record_value *values, size_t count)
{
	struct listing *listing = context;
	size_t i = listing->place_count;

	(void)count;
	listing->mailboxes =
		grow_listed_array(listing->one, listing->mailboxes, i, sizeof *listing->mailboxes);
	listing->filings =
		grow_listed_array(listing->one, listing->filings, i, sizeof *listing->filings);
	listing->mailboxes[i] =
		(struct record_mailbox){.user = keep_listed_text(listing->one, &values[4]),
					.folder = keep_listed_text(listing->one, &values[5])};
	listing->filings[i] = (struct record_filing){
		.number = values[0].number,
		.state = record_state_of(&values[1]),
		.copy = keep_listed_text(listing->one, &values[2]),
		.filed_us = values[3].number,
		.others = (unsigned)values[6].number,
		.last_us = values[7].number,
	};
	listing->place_count++;
}

static int read_rows_of_message(struct record_sql *sql, enum record_statement statement,
				record_row *row, struct listing *listing)
{
	const struct record_value values[] = {record_number(listing->entry->number)};
	struct record_call call = RECORD_CALL(statement, values);

	call.row = row;
	call.context = listing;
	return record_run(sql, &call);
}

static int read_listed_message(struct record_sql *sql, struct listing *listing, bool with_parts)
{
	int error;

	arena_reset(listing->one);
	listing->place_count = 0;
	error = read_rows_of_message(sql, RECORD_LIST_PARTICIPANTS, take_participant, listing);
	if (error == 0)
		error = read_rows_of_message(sql, RECORD_LIST_FILINGS, take_filing, listing);
	if (error == 0 && with_parts)
		error = read_rows_of_message(sql, RECORD_LIST_PARTS, take_part_row, listing);
	return error;
}

static int read_entries(struct record_sql *sql, const struct record_query *query,
			struct listing *listing)
{
	struct question question = {.arena = listing->arena};
	struct record_call call = {.statement = RECORD_STATEMENTS, .rows = 1};
	int error;

	write_question(&question, query);
	call.text = buffer_data(&question.text);
	call.values = question.values;
	call.columns = question.count;
	call.row = take_message_row;
	call.context = listing;
	error = record_run(sql, &call);
	buffer_clear(&question.text);
	return error;
}

/* Messages may change between the statements: what is shown of each is of one time nearly. */
int record_sql_list(struct record *record, const struct record_query *query, record_listed_one *one,
		    void *context)
{
	struct record_sql *sql = record_sql_of(record);
	struct listing listing = {.arena = arena_new(), .one = arena_new()};
	int error = record_sql_begin(record);

	record_sql_ended(sql);
	if (error == 0)
		error = read_entries(sql, query, &listing);
	LL_FOREACH(listing.entries, listing.entry)
	{
		if (error == 0)
			error = read_listed_message(sql, &listing, query->id != NULL);
		if (error == 0)
			one(context, &(struct record_listed){.number = listing.entry->number,
							     .message = listing.entry->message,
							     .mailboxes = listing.mailboxes,
							     .filings = listing.filings,
							     .place_count = listing.place_count});
	}
	arena_free(listing.one);
	arena_free(listing.arena);
	return error;
}
