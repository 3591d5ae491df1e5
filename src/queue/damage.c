// SPDX-License-Identifier: ISC
#include "queue/damage.h"
#include "os/file/file.h"
#include "queue/control/checksum.h"
#include "queue/control/trailer.h"
#include "queue/internal.h"
#include "queue/update.h"
#include <errno.h>

/* One file of a message. */
struct part_file {
	const char *path;
	struct str text;               /* of the control file, or of the envelope after the data */
	uint64_t offset;               /* where it begins in the file */
	uint64_t number;               /* that it must have; 0: any */
	const enum mail_stage *stage;  /* likewise; or NULL */
	struct queue_control *control; /* TEXT, if its envelope is whole; owned, or NULL */
};

const char *queue_part_name(enum queue_part part)
{
	static const char *const names[] = {
		[QUEUE_PART_DATA] = "data",     [QUEUE_PART_ENVELOPE] = "envelope",
		[QUEUE_PART_RECORD] = "record", [QUEUE_PART_TRAILER] = "trailer",
		[QUEUE_PART_ID] = "id",
	};

	return names[part];
}

static void tell_difference(struct queue_damage *damage, const char *path,
			    const struct queue_difference *difference)
{
	damage->count++;
	if (damage->each != NULL)
		damage->each(damage->context, path, difference);
}

static struct queue_difference with_sums(struct queue_difference difference,
					 const struct queue_checksums *sums)
{
	difference.has_expected = difference.has_found = true;
	difference.expected = sums->expected;
	difference.found = sums->found;
	return difference;
}

/* The envelope in TEXT, up to the line "end:"; all of it if there is none. */
static struct str envelope_of(struct str text)
{
	static const struct str end = STR("\nend:\n");

	for (size_t i = 0; i + end.length <= text.length; i++)
		if (str_starts_with(str_skip(text, i), end))
			return str_slice(text.data, i + end.length);
	return text;
}

/* LINE: of what cannot be read. */
static void tell_envelope(struct queue_damage *damage, const struct part_file *file, unsigned line)
{
	struct str envelope = envelope_of(file->text);
	struct str rest = str_skip(file->text, envelope.length);
	struct queue_difference difference = {.part = QUEUE_PART_ENVELOPE,
					      .at = file->offset,
					      .length = envelope.length,
					      .line = line};
	struct queue_checksums sums;
	struct str record;

	if (str_split(&rest, '\n', &record) && queue_checksum_compare_head(record, envelope, &sums))
		difference = with_sums(difference, &sums);
	tell_difference(damage, file->path, &difference);
}

/* A name may lead to the file of another message, or of another stage. */
static bool is_in_its_place(const struct part_file *file)
{
	const struct mail_envelope *envelope = file->control->envelope;

	return (file->number == 0 || envelope->id.number == file->number) &&
	       (file->stage == NULL || envelope->stage == *file->stage);
}

static void tell_id(struct queue_damage *damage, const struct part_file *file)
{
	const struct queue_difference difference = {
		.part = QUEUE_PART_ID, .at = file->offset, .length = file->control->head.length};

	tell_difference(damage, file->path, &difference);
}

/* Parses FILE->text, and tells what differs in it. */
static void look_at_text(struct queue_damage *damage, struct part_file *file)
{
	unsigned line = 0;
	int result = queue_control_parse(file->text, &file->control, &line);
	const struct queue_control *control = file->control;

	if (result < 0 || (control->format > 1 && !control->has_checksum)) {
		tell_envelope(damage, file, line);
		queue_control_free(file->control);
		file->control = NULL;
		return;
	}
	damage->format = control->format;
	if (!is_in_its_place(file))
		tell_id(damage, file);
	for (size_t i = 0; i < control->difference_count; i++)
		tell_difference(damage, file->path, &control->differences[i]);
}

static void check_data_checksum(struct queue_damage *damage, const char *path, int file,
				const struct queue_control *control)
{
	struct queue_difference difference = {.part = QUEUE_PART_DATA,
					      .length = control->envelope->size,
					      .has_expected = true,
					      .expected = control->data_checksum};
	int result;

	if (!control->has_checksum || !damage->with_data)
		return;
	result = queue_trailer_checksum(file, control->envelope->size, &difference.found);
	difference.has_found = result == 0;
	if (result == -EBADMSG || (result == 0 && difference.found != difference.expected))
		tell_difference(damage, path, &difference);
}

static void tell_trailer(struct queue_damage *damage, const char *path, uint64_t size)
{
	struct queue_difference difference = {.part = QUEUE_PART_TRAILER, .length = size};

	if (size > QUEUE_TRAILER_LINE) {
		difference.at = size - QUEUE_TRAILER_LINE;
		difference.length = QUEUE_TRAILER_LINE;
	}
	tell_difference(damage, path, &difference);
}

/* The envelope after the data. CONTROL is NULL if there is no other that is whole; otherwise the
 * data may end without it, as those of a report do, or it may have the number from before a
 * repair. */
static int look_at_trailer(struct queue_damage *damage, struct part_file *file, int data,
			   const struct queue_control *control, struct buffer *text)
{
	struct os_file_info info;
	int result = os_file_info(data, &info);

	if (result < 0 || (control != NULL && info.size <= control->envelope->size))
		return result;
	result = queue_trailer_read(data, text, &file->offset);
	file->text = buffer_view(text);
	if (result == -ENODATA || result == -EBADMSG || result == -EFBIG) {
		tell_trailer(damage, file->path, info.size);
		return 0;
	}
	if (result == 0)
		look_at_text(damage, file);
	return result;
}

/* Whether the envelope after the data is a later message's than CONTROL, which was put back. */
static bool is_envelope_of_later_message(const struct part_file *file,
					 const struct queue_control *control)
{
	return file->control != NULL && file->control->has_checksum &&
	       file->control->envelope->id.number == control->envelope->id.number &&
	       file->control->envelope->id.born_us > control->envelope->id.born_us;
}

/* CONTROL: that of S5, if it is whole. The caller frees file->control. */
static int look_at_data_file(struct queue_damage *damage, struct part_file *file,
			     const struct queue_control *control)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	int data = os_file_open(damage->store->directory, file->path, OS_FILE_READ);
	int result = data < 0 ? data : look_at_trailer(damage, file, data, control, &text);

	if (control == NULL || is_envelope_of_later_message(file, control))
		control = file->control;
	if (result == 0 && control != NULL)
		check_data_checksum(damage, file->path, data, control);
	if (data >= 0)
		os_file_close(data);
	return result;
}

static int check_queued_message(struct queue_damage *damage, enum mail_stage stage, uint64_t number)
{
	char path[QUEUE_PATH_SIZE];
	struct part_file file = {.path = path, .number = number, .stage = &stage};
	int result;

	queue_store_path(damage->store, QUEUE_TODO, mail_stage_name(stage), number, path);
	result = look_at_data_file(damage, &file, NULL);
	queue_control_free(file.control);
	return result;
}

/* A control file has records: the map, at least. */
static void look_at_map(struct queue_damage *damage, const struct part_file *file)
{
	if (file->control != NULL && file->control->format > 1 && !file->control->is_mapped)
		tell_difference(damage, file->path,
				&(struct queue_difference){.part = QUEUE_PART_RECORD,
							   .at = file->control->head.length});
}

static int look_at_waiting(struct queue_damage *damage, uint64_t number)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	char control_path[QUEUE_PATH_SIZE];
	char data_path[QUEUE_PATH_SIZE];
	struct part_file control = {.path = control_path, .number = number};
	struct part_file data = {.path = data_path};
	int result;

	queue_store_path(damage->store, QUEUE_INFO, NULL, number, control_path);
	queue_store_path(damage->store, QUEUE_MESS, NULL, number, data_path);
	result = queue_update_read_file(damage->store, control_path, &text);
	if (result < 0)
		return result;
	control.text = buffer_view(&text);
	look_at_text(damage, &control);
	look_at_map(damage, &control);
	if (control.control == NULL)
		data.number = number;
	result = look_at_data_file(damage, &data, control.control);
	if (control.control != NULL && is_envelope_of_later_message(&data, control.control))
		tell_id(damage, &control);
	queue_control_free(control.control);
	queue_control_free(data.control);
	return result;
}

int queue_damage_look(struct queue_damage *damage, const enum mail_stage *stage, uint64_t number)
{
	damage->count = 0;
	damage->format = 0;
	return stage != NULL ? check_queued_message(damage, *stage, number)
			     : look_at_waiting(damage, number);
}
