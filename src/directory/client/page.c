// SPDX-License-Identifier: ISC
/* The answer to a list, as records. */
#include "directory/client/client.h"
#include "directory/wire/frame.h"

struct reader {
	const struct directory_answer_text *answer;
	struct arena *arena;
	size_t next; /* result */
};

/* Takes the next result if it is a field, into memory of the arena. */
static bool take_field_of_page(struct reader *reader, struct directory_field *field)
{
	struct str result;
	struct str key;

	if (reader->next == reader->answer->result_count)
		return false;
	result = reader->answer->results[reader->next];
	if (directory_frame_begins_record(result, &key) ||
	    directory_frame_begins_malformed(result, &key))
		return false;
	directory_frame_split_result(arena_copy_str(reader->arena, result), &field->name,
				     &field->value);
	reader->next++;
	return true;
}

static size_t take_fields_of_page(struct reader *reader, struct directory_field *fields)
{
	size_t count = 0;

	while (take_field_of_page(reader, &fields[count]))
		count++;
	return count;
}

struct directory_page directory_client_page(const struct directory_answer_text *answer,
					    enum directory_table table, struct arena *arena)
{
	struct reader reader = {answer, arena, 0};
	size_t room = answer->result_count + 1;
	struct directory_field *fields = arena_alloc(arena, room * sizeof *fields);
	struct directory_record *records = arena_alloc(arena, room * sizeof *records);
	struct directory_malformed *malformed = arena_alloc(arena, room * sizeof *malformed);
	struct directory_page page = {.records = records, .malformed = malformed};

	fields += take_fields_of_page(&reader,
				      fields); /* before the first record: no server sends any */
	while (reader.next < answer->result_count) {
		struct str result = answer->results[reader.next++];
		struct str key = {0};
		bool is_malformed = directory_frame_begins_malformed(result, &key);
		bool is_record = directory_frame_begins_record(result, &key);
		size_t count = take_fields_of_page(&reader, fields);

		key = arena_copy_str(arena, key);
		if (is_record)
			records[page.count++] =
				(struct directory_record){{table, key}, fields, count};
		else if (is_malformed)
			malformed[page.malformed_count++] = (struct directory_malformed){
				key, count > 0 ? fields[0].value : STR("")};
		fields += count;
	}
	return page;
}
