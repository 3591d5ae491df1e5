// SPDX-License-Identifier: ISC
/* A message that has lost its name in info/ gets it again. */
#include "base/arena.h"
#include "os/clock.h"
#include "os/file/file.h"
#include "queue/cleaner/internal.h"
#include "queue/control/checksum.h"
#include <errno.h>

int cleaner_sync_info(const struct queue_store *store, uint64_t number)
{
	char path[QUEUE_PATH_SIZE];

	queue_store_directory_path(store, QUEUE_INFO, NULL, number, path);
	return os_file_sync_directory(store->directory, path);
}

static int link_copy(const struct queue_cleaner *cleaner, const struct remains *remains)
{
	char from[QUEUE_PATH_SIZE];
	char to[QUEUE_PATH_SIZE];
	const char *name;
	enum queue_folder folder = cleaner_folder(cleaner, remains->copy, &name);

	queue_store_path(cleaner->store, folder, name, remains->number, from);
	queue_store_path(cleaner->store, QUEUE_INFO, NULL, remains->number, to);
	return os_file_link(cleaner->store->directory, from, to);
}

/* As when the directory could not tell where the recipients go. */
int cleaner_map_later(struct buffer *text, struct mail_envelope *envelope, const char *why)
{
	int64_t now_us = os_clock_wall_us();
	size_t count = envelope->recipient_count;
	struct queue_delivery *deliveries =
		arena_alloc(envelope->arena, count * sizeof *deliveries);
	int result;

	for (size_t i = 0; i < count; i++)
		deliveries[i] = (struct queue_delivery){.number = envelope->recipients[i].number,
							.recipient = envelope->recipients[i].number,
							.route = QUEUE_ROUTE_NONE,
							.address = envelope->recipients[i].address,
							.outcome = QUEUE_WAIT,
							.changed_us = now_us,
							.until_us = now_us,
							.status = STR("4.3.0"),
							.text = str_from(why),
							.is_requeued = true};
	result = queue_control_write_map(text, deliveries, count, 0);
	for (size_t i = 0; result == 0 && i < count; i++) {
		result = queue_control_write_outcome(text, &deliveries[i]);
		if (result == 0)
			result = queue_control_write_requeued(text, &deliveries[i]);
	}
	return result;
}

int cleaner_write_control(struct queue_store *store, uint64_t number, struct str text)
{
	char from[QUEUE_PATH_SIZE];
	char to[QUEUE_PATH_SIZE];
	int result = queue_store_drop(store, QUEUE_INTD, NULL, number);
	int file;

	if (result < 0)
		return result;
	queue_store_path(store, QUEUE_INTD, NULL, number, from);
	file = os_file_open(store->directory, from, OS_FILE_WRITE | OS_FILE_CREATE);
	if (file < 0)
		return file;
	result = os_file_write(file, text.data, text.length, 0);
	if (result == 0)
		result = os_file_sync(file);
	os_file_close(file);
	if (result < 0)
		return result;
	queue_store_path(store, QUEUE_INFO, NULL, number, to);
	return os_file_rename(store->directory, from, to);
}

int cleaner_rebuild(const struct queue_cleaner *cleaner, const struct remains *remains)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	size_t before;
	int result;

	if (remains->control != NULL)
		return link_copy(cleaner, remains);
	buffer_append_str(&text, buffer_view(&remains->text));
	before = text.length;
	if (remains->envelope->is_mapped) /* by the node that handed it over */
		return cleaner_write_control(cleaner->store, remains->number, buffer_view(&text));
	result = cleaner_map_later(&text, remains->envelope->envelope,
				   "its control file was lost: nobody knows what was delivered");
	if (result == 0 && remains->envelope->has_checksum)
		queue_control_end_whole(&text, before, remains->envelope->envelope->id.born_us);
	return result == 0
		       ? cleaner_write_control(cleaner->store, remains->number, buffer_view(&text))
		       : result;
}
