// SPDX-License-Identifier: ISC
/* How much of a control file was durable, and so which lines that cannot be read are damage. */
#include "queue/control/checksum.h"
#include "queue/control/record.h"

/* --- writing --- */

void queue_control_write_synced(struct buffer *out, uint64_t durable, int64_t born_us)
{
	size_t begin = out->length;

	buffer_append_string(out, "synced: ");
	buffer_append_number(out, durable);
	buffer_append_byte(out, '\n');
	queue_checksum_add_records(out, begin, born_us);
}

void queue_control_end_whole(struct buffer *text, size_t head, int64_t born_us)
{
	queue_checksum_add_records(text, head, born_us);
	queue_control_write_synced(text, text->length - head, born_us);
}

void queue_control_keep_readable(struct buffer *text, size_t head, int64_t born_us)
{
	uint32_t of_birth = queue_checksum_of_birth(born_us);
	struct buffer kept CLEANUP(buffer_clear) = {0};
	struct str rest = str_skip(buffer_view(text), head);
	struct str line;

	while (control_next_line(&rest, &line)) {
		struct str record = line;

		if (queue_checksum_take(&record, of_birth))
			buffer_append(&kept, line.data, line.length + 1);
	}
	buffer_truncate(text, head);
	buffer_append_str(text, buffer_view(&kept));
}

/* --- reading --- */

/* Files of earlier writers have no synced record. They synced whatever they appended, but for when
 * to try again: what stood before a record of another kind counts as durable. */
static bool had_sync(struct str line)
{
	return !str_starts_with(line, STR("wait: ")) && !str_starts_with(line, STR("said: "));
}

static uint64_t record_offset(const struct control_reader *reader, struct str line)
{
	return (uint64_t)(line.data - reader->records.data);
}

/* A record that calls more durable than there was before it is not of this file. */
static void take_synced(struct control_reader *reader, struct str value, uint64_t before)
{
	uint64_t durable;

	if (!str_to_u64(value, &durable) || durable > before)
		return;
	reader->has_mark = true;
	if (durable > reader->marked)
		reader->marked = durable;
}

void control_note_durable(struct control_reader *reader, struct str line)
{
	uint64_t at = record_offset(reader, line);

	if (str_starts_with(line, STR("synced: ")))
		take_synced(reader, str_skip(line, sizeof "synced: " - 1), at);
	else if (str_starts_with(line, STR("mapped: ")) && !reader->control->is_mapped)
		reader->mapped = at;
	if (had_sync(line))
		reader->followed = at;
}

/* A message was at S5 only once its map was durable, and what was written with the map. At S4 the
 * envelope and the map of a package are all that was answered for. */
static uint64_t durable_bytes(const struct control_reader *reader)
{
	if (reader->is_queued || reader->mapped > reader->marked)
		return reader->mapped;
	return reader->marked;
}

/* LINE of the records cannot be read. */
static void note_difference(struct control_reader *reader, struct str line, unsigned number)
{
	struct queue_control *control = reader->control;
	struct queue_difference *difference;
	struct queue_checksums sums;

	if (control->differences == NULL)
		control->differences =
			arena_alloc(reader->envelope->arena,
				    QUEUE_DIFFERENCES_MAX * sizeof *control->differences);
	if (control->difference_count == QUEUE_DIFFERENCES_MAX)
		return;
	difference = &control->differences[control->difference_count++];
	*difference =
		(struct queue_difference){.part = QUEUE_PART_RECORD,
					  .line = number,
					  .at = control->head.length + record_offset(reader, line),
					  .length = line.length + 1};
	if (!queue_checksum_compare(line, reader->of_birth, &sums))
		return;
	difference->has_expected = difference->has_found = true;
	difference->expected = sums.expected;
	difference->found = sums.found;
}

/* NUMBER: of the first line of the records. */
static void find_damage(struct control_reader *reader, uint64_t durable, unsigned number)
{
	struct queue_control *control = reader->control;
	struct str rest = reader->records;
	struct str line;

	for (; control_next_line(&rest, &line); number++) {
		struct str record = line;
		bool is_damage = record_offset(reader, line) < durable;

		if (control_is_cut(line) || queue_checksum_take(&record, reader->of_birth))
			continue;
		control->damaged += is_damage;
		if (is_damage || !control->is_mapped)
			note_difference(reader, line, number);
	}
}

void control_judge_unreadable(struct control_reader *reader, unsigned number)
{
	struct queue_control *control = reader->control;
	bool is_of_earlier_writer = !reader->has_mark && !reader->is_queued;

	control->synced = durable_bytes(reader);
	control->has_mark = reader->has_mark;
	if (reader->unreadable > 0)
		find_damage(reader, is_of_earlier_writer ? reader->followed : control->synced,
			    number);
}
