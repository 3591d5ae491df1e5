// SPDX-License-Identifier: ISC
#include "queue/control/salvage.h"
#include "os/file/file.h"
#include "queue/control/checksum.h"
#include "queue/control/record.h"
#include "queue/control/trailer.h"
#include <errno.h>
#include <string.h>

enum {
	READ_MAX = (16 << 20) + QUEUE_CHECKSUM_HEAD_SIZE, /* bytes: as much as a client may write
							   * of an envelope, and its checksum */
	BEGINNINGS = 2,
};

/* The end of a data file, without its last line. */
struct file_end {
	struct buffer text;
	uint64_t at; /* where it begins in the file */
	/* where the envelope may begin in TEXT: where the last line says, and where the last text
	 * is that looks so; SIZE_MAX: nowhere */
	size_t beginnings[BEGINNINGS];
	enum mail_stage stage;
	uint64_t number;
};

static struct str text_from(const struct file_end *end, size_t beginning)
{
	return str_skip(buffer_view(&end->text), beginning);
}

static int read_end(int file, struct file_end *end)
{
	struct os_file_info info;
	size_t wanted;
	ssize_t length;
	int result = os_file_info(file, &info);

	if (result < 0)
		return result;
	wanted = READ_MAX + QUEUE_TRAILER_LINE;
	if (info.size < wanted)
		wanted = (size_t)info.size;
	end->at = info.size - wanted;
	length = os_file_read(file, buffer_reserve(&end->text, wanted), wanted, end->at);
	if (length < 0)
		return (int)length;
	buffer_commit(&end->text, (size_t)length);
	return 0;
}

static size_t told_by_last_line(const struct file_end *end, uint64_t offset)
{
	if (offset < end->at || offset - end->at > end->text.length)
		return SIZE_MAX;
	return (size_t)(offset - end->at);
}

static size_t last_that_looks_so(const struct file_end *end)
{
	static const struct str start = STR("stagepost 2\nid: ");

	for (size_t i = end->text.length; i-- > 0;)
		if (str_starts_with(text_from(end, i), start))
			return i;
	return SIZE_MAX;
}

static void find_beginnings(struct file_end *end)
{
	uint64_t offset = UINT64_MAX;
	struct str line;

	if (end->text.length >= QUEUE_TRAILER_LINE) {
		line = text_from(end, end->text.length - QUEUE_TRAILER_LINE);
		if (!queue_trailer_parse(line, &offset))
			offset = UINT64_MAX;
		buffer_truncate(&end->text, end->text.length - QUEUE_TRAILER_LINE);
	}
	end->beginnings[0] = told_by_last_line(end, offset);
	end->beginnings[1] = last_that_looks_so(end);
}

/* --- proof --- */

/* Whether TEXT is an envelope and a sum record that is right. */
static bool has_right_sum(struct str text)
{
	struct queue_checksums sums;
	struct str envelope;
	struct str record;

	if (text.length < QUEUE_CHECKSUM_HEAD_SIZE || text.data[text.length - 1] != '\n')
		return false;
	envelope = str_slice(text.data, text.length - QUEUE_CHECKSUM_HEAD_SIZE);
	record = str_slice(text.data + envelope.length, QUEUE_CHECKSUM_HEAD_SIZE - 1);
	return queue_checksum_compare_head(record, envelope, &sums) && sums.expected == sums.found;
}

/* The one change of a bit that makes TEXT right. */
static bool correct_bit(struct buffer *text)
{
	char *data = buffer_data(text);

	if (text->length > QUEUE_SALVAGE_MAX)
		return false;
	for (size_t i = 0; i < 8 * text->length; i++) {
		data[i / 8] = (char)(data[i / 8] ^ 1 << i % 8);
		if (has_right_sum(buffer_view(text)))
			return true;
		data[i / 8] = (char)(data[i / 8] ^ 1 << i % 8);
	}
	return false;
}

/* NULL: it is not the envelope of this message. */
static struct queue_control *prove_envelope(const struct file_end *end, size_t beginning,
					    bool with_change)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct queue_control *control;

	if (beginning == SIZE_MAX)
		return NULL;
	buffer_append_str(&text, text_from(end, beginning));
	if (!has_right_sum(buffer_view(&text)) && (!with_change || !correct_bit(&text)))
		return NULL;
	if (queue_control_parse(buffer_view(&text), &control, NULL) < 0)
		return NULL;
	if (control->has_checksum && control->head.length == text.length &&
	    control->envelope->id.number == end->number && control->envelope->stage == end->stage &&
	    control->envelope->size == end->at + beginning)
		return control;
	queue_control_free(control);
	return NULL;
}

/* --- what people are told --- */

static void take_salvaged_recipient(struct mail_envelope *envelope, struct str value)
{
	struct str address;
	uint32_t number;

	if (record_number(&value, &number) && record_address(&value, &address) &&
	    address.length > 0)
		mail_envelope_add(envelope, address);
}

static void take_salvaged_record(struct mail_envelope *envelope, struct str name, struct str value)
{
	struct mail_id id;
	struct str sender;

	if (str_equal(name, STR("to")))
		take_salvaged_recipient(envelope, value);
	else if (str_equal(name, STR("from")) && record_address(&value, &sender))
		envelope->sender = arena_copy_str(envelope->arena, sender);
	else if (str_equal(name, STR("id")) && mail_id_parse(value, &id) &&
		 id.number == envelope->id.number)
		envelope->id = id;
}

/* Line by line, whatever the checksum says. */
static struct queue_control *read_loosely(const struct file_end *end, struct str text)
{
	struct mail_envelope *envelope = mail_envelope_new();
	struct queue_control *control = arena_alloc(envelope->arena, sizeof *control);
	struct str value;
	struct str name;
	struct str line;

	control->envelope = envelope;
	envelope->id.number = end->number;
	envelope->stage = end->stage;
	envelope->sender = STR("");
	while (text.length > 0 && str_split(&text, '\n', &line) && !str_equal(line, STR("end:")))
		if (record_split(line, &name, &value))
			take_salvaged_record(envelope, name, value);
	return control;
}

static struct str readable_text(const struct file_end *end)
{
	for (size_t i = 0; i < BEGINNINGS; i++)
		if (end->beginnings[i] != SIZE_MAX &&
		    str_starts_with(text_from(end, end->beginnings[i]), STR("stagepost ")))
			return text_from(end, end->beginnings[i]);
	return end->beginnings[0] != SIZE_MAX ? text_from(end, end->beginnings[0]) : STR("");
}

/* "stagepost 3" */
static bool is_of_later_format(struct str text)
{
	uint64_t format;
	struct str line;

	return str_split(&text, '\n', &line) && str_starts_with(line, STR("stagepost ")) &&
	       str_to_u64(str_skip(line, strlen("stagepost ")), &format) && format > 2;
}

static int salvage_control(struct file_end *end, struct queue_control **control_out,
			   bool *is_proven_out)
{
	struct queue_control *control = NULL;

	find_beginnings(end);
	for (size_t i = 0; control == NULL && i < (size_t)2 * BEGINNINGS; i++)
		control = prove_envelope(end, end->beginnings[i % BEGINNINGS], i >= BEGINNINGS);
	if (control == NULL && is_of_later_format(readable_text(end)))
		return -EPROTO;
	*is_proven_out = control != NULL;
	*control_out = control != NULL ? control : read_loosely(end, readable_text(end));
	return 0;
}

int queue_salvage_read(int file, enum mail_stage stage, uint64_t number,
		       struct queue_control **control_out, bool *is_proven_out)
{
	struct file_end end = {.stage = stage, .number = number};
	int result = read_end(file, &end);

	if (result == 0)
		result = salvage_control(&end, control_out, is_proven_out);
	buffer_clear(&end.text);
	return result;
}
