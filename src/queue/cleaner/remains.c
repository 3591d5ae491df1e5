// SPDX-License-Identifier: ISC
/* What is left of a message that has lost names. */
#include "os/file/file.h"
#include "queue/cleaner/internal.h"
#include "queue/control/trailer.h"
#include "queue/update.h"
#include <errno.h>

/* Before the services. A shorter control file in intd/ is newer than the others. */
enum { COPY_IN_INTD = 1 };
static const enum queue_folder first_folders[] = {QUEUE_INFO, [COPY_IN_INTD] = QUEUE_INTD,
						  QUEUE_REMOTE};

size_t cleaner_folder_count(const struct queue_cleaner *cleaner)
{
	return COUNT_OF(first_folders) + cleaner->service_count + 1;
}

enum queue_folder cleaner_folder(const struct queue_cleaner *cleaner, size_t i,
				 const char **name_out)
{
	*name_out = NULL;
	if (i < COUNT_OF(first_folders))
		return first_folders[i];
	i -= COUNT_OF(first_folders);
	if (i == cleaner->service_count)
		return QUEUE_BOUNCE;
	*name_out = cleaner->services[i];
	return QUEUE_LOCAL;
}

/* An error of the text itself: it proves nothing. */
static bool is_of_text(int error)
{
	return error == -ENODATA || error == -EBADMSG || error == -EFBIG || error == -EPROTO;
}

static int read_envelope_after_data(const struct queue_cleaner *cleaner, const char *path,
				    struct remains *remains)
{
	uint64_t offset;
	int file = os_file_open(cleaner->store->directory, path, OS_FILE_READ);
	int result;

	if (file < 0)
		return file;
	result = queue_trailer_read(file, &remains->text, &offset);
	os_file_close(file);
	if (result == 0)
		result = queue_control_parse(buffer_view(&remains->text), &remains->envelope, NULL);
	if (result == 0 && remains->envelope->envelope->size != offset) {
		queue_control_free(remains->envelope);
		remains->envelope = NULL;
	}
	return is_of_text(result) ? 0 : result;
}

/* 1: the data are not under their true number. */
static int examine_data_of_remains(const struct queue_cleaner *cleaner, struct remains *remains)
{
	struct os_file_info info;
	char path[QUEUE_PATH_SIZE];
	int result;

	queue_store_path(cleaner->store, QUEUE_MESS, NULL, remains->number, path);
	result = os_file_info_at(cleaner->store->directory, path, &info);
	if (result < 0)
		return result == -ENOENT ? 0 : result;
	if (info.inode != remains->number)
		return 1;
	remains->has_data = true;
	remains->data_size = info.size;
	result = info.size > 0 ? read_envelope_after_data(cleaner, path, remains) : 0;
	if (result == 0 && remains->envelope != NULL)
		remains->is_marked = queue_update_is_marked(
			info.modified_us, remains->envelope->envelope->id.born_us);
	return result;
}

/* A name may lead to the control file of an earlier message of that number. */
static bool is_of_message(const struct remains *remains, const struct queue_control *control)
{
	if (control->envelope->id.number != remains->number)
		return false;
	if (!remains->has_data || remains->envelope == NULL)
		return true;
	return queue_update_is_complete(control) &&
	       control->envelope->id.born_us == remains->envelope->envelope->id.born_us;
}

/* The data were put back from a time when the number was another message's: of CONTROL's they are
 * gone. */
static bool is_data_of_later_message(const struct remains *remains,
				     const struct queue_control *control)
{
	return remains->envelope != NULL && control->envelope->id.number == remains->number &&
	       control->has_checksum && queue_update_is_complete(control) &&
	       control->envelope->id.born_us > remains->envelope->envelope->id.born_us;
}

static void forget_data(struct remains *remains)
{
	queue_control_free(remains->envelope);
	remains->envelope = NULL;
	remains->is_of_earlier = true;
	remains->is_marked = false;
}

/* One under construction may be cut, and where no order is kept a power failure empties others. */
static bool had_text(const struct queue_cleaner *cleaner, size_t copy,
		     const struct os_file_info *info)
{
	return copy != COPY_IN_INTD &&
	       (info->size > 0 || queue_store_sync(cleaner->store) == QUEUE_SYNC_ORDERED);
}

static int read_control(const struct queue_cleaner *cleaner, const char *path, size_t copy,
			const struct os_file_info *info, struct remains *remains)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct queue_control *control;
	int result = queue_update_read_file(cleaner->store, path, &text);

	if (result == 0)
		result = queue_control_parse(buffer_view(&text), &control, NULL);
	if (is_of_text(result))
		remains->has_unread |= had_text(cleaner, copy, info);
	if (result != 0)
		return is_of_text(result) || result == -ENOENT ? 0 : result;
	if (is_data_of_later_message(remains, control))
		forget_data(remains);
	if (!is_of_message(remains, control)) {
		remains->has_unread |= control->envelope->id.number != remains->number;
		queue_control_free(control);
		return 0;
	}
	remains->control = control;
	remains->copy = copy;
	remains->copy_inode = info->inode;
	remains->is_marked |=
		queue_update_is_marked(info->modified_us, control->envelope->id.born_us);
	return 0;
}

static int examine_place_of_remains(const struct queue_cleaner *cleaner, size_t i,
				    struct remains *remains)
{
	struct os_file_info info;
	char path[QUEUE_PATH_SIZE];
	const char *name;
	enum queue_folder folder = cleaner_folder(cleaner, i, &name);
	int result;

	queue_store_path(cleaner->store, folder, name, remains->number, path);
	result = os_file_info_at(cleaner->store->directory, path, &info);
	if (result < 0)
		return result == -ENOENT ? 0 : result;
	remains->has_names = true;
	remains->has_bounce |= folder == QUEUE_BOUNCE;
	remains->was_waiting |= folder != QUEUE_BOUNCE && folder != QUEUE_INTD;
	if (folder == QUEUE_BOUNCE || remains->control != NULL)
		return 0;
	return read_control(cleaner, path, i, &info, remains);
}

/* 1: a message at S4 or S5. */
static int is_message(const struct queue_cleaner *cleaner, const struct remains *remains)
{
	int result = 0;

	for (unsigned stage = 0; result == 0 && stage < MAIL_STAGE_COUNT; stage++)
		result = queue_store_has(cleaner->store, QUEUE_TODO, mail_stage_name(stage),
					 remains->number);
	if (result == 0 && remains->has_data)
		result = queue_store_has(cleaner->store, QUEUE_INFO, NULL, remains->number);
	return result;
}

int cleaner_look(const struct queue_cleaner *cleaner, uint64_t number, struct remains *remains_out)
{
	struct remains remains = {.number = number};
	int result = examine_data_of_remains(cleaner, &remains);

	if (result == 0)
		result = is_message(cleaner, &remains);
	for (size_t i = 0; result == 0 && i < cleaner_folder_count(cleaner); i++)
		result = examine_place_of_remains(cleaner, i, &remains);
	if (result != 0) {
		cleaner_clear(&remains);
		return result;
	}
	*remains_out = remains;
	return 0;
}

void cleaner_clear(struct remains *remains)
{
	buffer_clear(&remains->text);
	queue_control_free(remains->envelope);
	queue_control_free(remains->control);
}
