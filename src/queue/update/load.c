// SPDX-License-Identifier: ISC
/* Reading what is known of queued messages. */
#include "os/file/file.h"
#include "queue/control/checksum.h"
#include "queue/control/trailer.h"
#include "queue/internal.h"
#include "queue/update.h"
#include <errno.h>

int queue_update_read_file(const struct queue_store *store, const char *path, struct buffer *text)
{
	int file = os_file_open(store->directory, path, OS_FILE_READ);
	struct os_file_info info;
	ssize_t length;
	int result;

	if (file < 0)
		return file;
	result = os_file_info(file, &info);
	if (result == 0 && info.size > QUEUE_CONTROL_MAX)
		result = -EFBIG;
	if (result == 0) {
		length = os_file_read(file, buffer_reserve(text, info.size), info.size, 0);
		if (length >= 0)
			buffer_commit(text, (size_t)length);
		else
			result = (int)length;
	}
	os_file_close(file);
	return result;
}

/* The envelope after the data in todo/STAGE, or in mess/ when STAGE is NULL. */
static int read_trailer(const struct queue_store *store, const enum mail_stage *stage,
			uint64_t number, struct buffer *text, uint64_t *offset_out)
{
	char path[QUEUE_PATH_SIZE];
	int result;
	int file;

	if (stage != NULL)
		queue_store_path(store, QUEUE_TODO, mail_stage_name(*stage), number, path);
	else
		queue_store_path(store, QUEUE_MESS, NULL, number, path);
	file = os_file_open(store->directory, path, OS_FILE_READ);
	if (file < 0)
		return file;
	result = queue_trailer_read(file, text, offset_out);
	os_file_close(file);
	return result;
}

/* What is in a file of format 2 has its checksums. IS_QUEUED: the message is at S4. */
static int parse_checked_control(struct str text, bool is_queued,
				 struct queue_control **control_out, unsigned *line_out)
{
	int result = is_queued ? queue_control_parse_queued(text, control_out, line_out)
			       : queue_control_parse(text, control_out, line_out);

	if (result < 0 || (*control_out)->format == 1 || (*control_out)->has_checksum)
		return result;
	queue_control_free(*control_out);
	return -ENODATA;
}

/* A delivery mapped to "none" was decided together with the map, or is to be mapped again: if that
 * is lost, the file is not complete, and nobody would ever map it. */
static bool is_lacking(const struct queue_delivery *delivery)
{
	return delivery->route == QUEUE_ROUTE_NONE &&
	       (delivery->outcome == QUEUE_PENDING ||
		(delivery->outcome == QUEUE_WAIT && !delivery->is_requeued));
}

bool queue_update_is_complete(const struct queue_control *control)
{
	bool is_complete = control->is_mapped && !control->is_mended;

	for (size_t i = 0; is_complete && i < control->delivery_count; i++)
		is_complete = !is_lacking(&control->deliveries[i]);
	return is_complete;
}

static bool is_mapped_control(struct str text)
{
	struct queue_control *control;
	bool is_complete;

	if (parse_checked_control(text, true, &control, NULL) < 0)
		return false;
	is_complete = queue_update_is_complete(control);
	queue_control_free(control);
	return is_complete;
}

/* A message whose step from S4 to S5 was interrupted may have its control file: then TEXT, which
 * has the envelope, is replaced by the control file and 1 is returned. If a power failure left
 * only part of the file, it does not count. */
static int read_progress(const struct queue_store *store, uint64_t number, struct buffer *text)
{
	struct buffer control CLEANUP(buffer_clear) = {0};
	char path[QUEUE_PATH_SIZE];
	int result;

	queue_store_path(store, QUEUE_INFO, NULL, number, path);
	result = queue_update_read_file(store, path, &control);
	if (result < 0)
		return result == -ENOENT || result == -EFBIG ? 0 : result;
	if (!str_starts_with(buffer_view(&control), buffer_view(text)) ||
	    !is_mapped_control(buffer_view(&control)))
		return 0;
	buffer_reset(text);
	buffer_append_str(text, buffer_view(&control));
	return 1;
}

/* Reads what is known of a message at S4. */
static int read_queued(const struct queue_store *store, enum mail_stage stage, uint64_t number,
		       struct buffer *text, uint64_t *offset_out)
{
	struct buffer own CLEANUP(buffer_clear) = {0};
	int result = read_trailer(store, &stage, number, &own, offset_out);

	if (result == 0)
		result = read_progress(store, number, &own);
	if (result < 0)
		return result;
	buffer_append_str(text, buffer_view(&own));
	return 0;
}

int queue_update_is_interrupted(const struct queue_store *store, enum mail_stage stage,
				uint64_t number)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	uint64_t offset;
	int result = read_trailer(store, &stage, number, &text, &offset);

	return result == 0 ? read_progress(store, number, &text) : result;
}

int queue_update_read(struct queue_store *store, const enum mail_stage *stage, uint64_t number,
		      struct buffer *text)
{
	char path[QUEUE_PATH_SIZE];
	uint64_t offset;

	if (stage != NULL)
		return read_queued(store, *stage, number, text, &offset);
	queue_store_path(store, QUEUE_INFO, NULL, number, path);
	return queue_update_read_file(store, path, text);
}

static int check_data(const struct queue_store *store, uint64_t number)
{
	int result = queue_store_has(store, QUEUE_MESS, NULL, number);

	return result == 0 ? -ENOENT : result < 0 ? result : 0;
}

/* Whether TEXT, a control file whose envelope is damaged, is that of a message with the number of
 * OWN that was born later: its id says so, and its birth or a record says the same. */
static bool is_of_later(struct str text, struct mail_id own)
{
	struct mail_id id = own;
	int64_t born_us = 0;
	struct str rest = text;
	struct str line;

	while (rest.length > 0 && str_split(&rest, '\n', &line) && !str_equal(line, STR("end:")))
		if (str_starts_with(line, STR("id: ")))
			(void)mail_id_parse(str_skip(line, 4), &id);
		else if (str_starts_with(line, STR("born: ")))
			(void)timestamp_parse(str_skip(line, 6), &born_us);
	return id.number == own.number && id.born_us > own.born_us &&
	       (id.born_us == born_us || queue_checksum_has_record(text, id.born_us));
}

/* A message at S5 has its envelope twice, for its data file still has the one after the data: that
 * takes the place of a damaged one in TEXT, the control file. -EBADMSG: it is damaged, too, or an
 * earlier message's, whose data were put back. */
static int mend_envelope(const struct queue_store *store, uint64_t number, struct buffer *text)
{
	struct buffer own CLEANUP(buffer_clear) = {0};
	struct queue_control *control = NULL;
	uint64_t offset;
	int result = read_trailer(store, NULL, number, &own, &offset);

	if (result == 0)
		result = parse_checked_control(buffer_view(&own), false, &control, NULL);
	if (result == 0 && (!control->has_checksum || control->envelope->size != offset ||
			    is_of_later(buffer_view(text), control->envelope->id)))
		result = -EBADMSG;
	if (result == 0) /* without the map of a package: the control file has its own */
		buffer_truncate(&own, control->head.length);
	queue_control_free(control);
	if (result < 0)
		return result == -EIO ? result : -EBADMSG;
	buffer_append_str(&own, str_skip(buffer_view(text), own.length));
	buffer_reset(text);
	buffer_append_str(text, buffer_view(&own));
	return 0;
}

/* Whether CONTROL, though whole, was put back from a time when the number was an earlier message's:
 * the envelope after the data is a later one's. */
static bool is_of_earlier(const struct queue_store *store, uint64_t number,
			  const struct queue_control *control)
{
	struct buffer own CLEANUP(buffer_clear) = {0};
	struct queue_control *later = NULL;
	struct mail_id id = {0, 0};
	uint64_t offset;
	bool is_earlier;

	if (read_trailer(store, NULL, number, &own, &offset) < 0 ||
	    !queue_control_read_id(buffer_view(&own), &id) || id.number != number ||
	    id.born_us <= control->envelope->id.born_us ||
	    parse_checked_control(buffer_view(&own), false, &later, NULL) < 0)
		return false;
	is_earlier = later->has_checksum && later->envelope->size == offset;
	queue_control_free(later);
	return is_earlier;
}

/* Parses TEXT, the control file of a message at S5. */
static int parse_waiting(const struct queue_store *store, uint64_t number, struct buffer *text,
			 struct queue_control **control_out, unsigned *line_out)
{
	struct queue_control *control = NULL;
	int result = parse_checked_control(buffer_view(text), false, &control, line_out);
	int mended;

	if (result == 0 &&
	    (control->envelope->id.number != number || is_of_earlier(store, number, control))) {
		queue_control_free(control);
		result = -EBADMSG;
	}
	if (result == 0 && control->format > 1 && !control->is_mapped)
		queue_control_map_again(control);
	if (result == 0)
		*control_out = control;
	if (result != -EBADMSG && result != -ENODATA && result != -EPROTO)
		return result;
	mended = mend_envelope(store, number, text);
	if (mended == 0)
		mended = parse_checked_control(buffer_view(text), false, control_out, NULL);
	if (mended < 0)
		return mended == -EIO ? mended : result;
	(*control_out)->damaged++;
	(*control_out)->must_be_whole = true;
	if (!(*control_out)->is_mapped)
		queue_control_map_again(*control_out);
	return 0;
}

int queue_update_parse(struct queue_store *store, const enum mail_stage *stage, uint64_t number,
		       struct buffer *text, struct queue_control **control_out, unsigned *line_out)
{
	return stage != NULL ? parse_checked_control(buffer_view(text), true, control_out, line_out)
			     : parse_waiting(store, number, text, control_out, line_out);
}

int queue_update_load(struct queue_store *store, const enum mail_stage *stage, uint64_t number,
		      struct queue_control **control_out, unsigned *line_out)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct queue_control *control = NULL;
	unsigned line = 0;
	uint64_t size = 0;
	int result = stage != NULL ? read_queued(store, *stage, number, &text, &size)
				   : queue_update_read(store, NULL, number, &text);

	if (result == 0 && stage == NULL)
		result = check_data(store, number);
	if (result == 0)
		result = queue_update_parse(store, stage, number, &text, &control, &line);
	if (line_out != NULL)
		*line_out = line;
	if (result < 0)
		return result;
	if (control->envelope->id.number != number ||
	    (stage != NULL &&
	     (control->envelope->stage != *stage || control->envelope->size != size))) {
		queue_control_free(control);
		return -EBADMSG;
	}
	*control_out = control;
	return 0;
}

int queue_update_sync_control(struct queue_store *store, uint64_t number)
{
	char path[QUEUE_PATH_SIZE];
	int file;
	int error;

	queue_store_path(store, QUEUE_INFO, NULL, number, path);
	file = os_file_open(store->directory, path, OS_FILE_READ);
	if (file < 0)
		return file;
	error = os_file_sync(file);
	os_file_close(file);
	return error;
}

int queue_update_read_bounce(struct queue_store *store, uint64_t number, struct buffer *text)
{
	char path[QUEUE_PATH_SIZE];

	queue_store_path(store, QUEUE_BOUNCE, NULL, number, path);
	return queue_update_read_file(store, path, text);
}
