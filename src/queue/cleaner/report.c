// SPDX-License-Identifier: ISC
/*
 * The sender of a message whose data are gone gets a report of what was not delivered. For that a
 * new message takes the place of the old one: the same envelope and deliveries, with a number of
 * its own, as no file has the old one any more, without data, and with everything that was open
 * failed. Whoever finds it at S5 has nothing to do but to report and end it.
 */
#include "base/arena.h"
#include "os/clock.h"
#include "os/file/file.h"
#include "queue/cleaner/internal.h"
#include "queue/control/checksum.h"
#include "queue/update.h"
#include <errno.h>

enum { NUMBER_TRIES = 64 };

/* An empty file in intd/ with the number 0, which no message's file has: nobody but an earlier
 * attempt has that name. */
static int create_data(const struct queue_store *store, const char *path, uint64_t *number_out)
{
	struct os_file_info info;
	int result = queue_store_drop(store, QUEUE_INTD, NULL, 0);
	int file = result < 0
			   ? result
			   : os_file_open(store->directory, path, OS_FILE_WRITE | OS_FILE_CREATE);

	if (file < 0)
		return file;
	result = os_file_info(file, &info);
	if (result == 0) {
		*number_out = info.inode;
		return file;
	}
	os_file_close(file);
	return result;
}

/* The same whose number no name has, though its data may be gone: what is left of that message is
 * not judged yet. While a file is open nobody else gets its number. */
static int create_free_data(const struct queue_store *store, const char *path, uint64_t *number_out)
{
	int files[NUMBER_TRIES];
	size_t count = 0;
	int result = 1;

	while (result > 0 && count < NUMBER_TRIES) {
		files[count] = create_data(store, path, number_out);
		result = files[count] < 0 ? files[count] : queue_store_has_any(store, *number_out);
		count += files[count] >= 0;
	}
	for (size_t i = 0; i < count; i++)
		os_file_close(files[i]);
	return result > 0 ? -EEXIST : result;
}

/* It gets its name in mess/. */
static int make_data(const struct queue_store *store, uint64_t *number_out)
{
	char from[QUEUE_PATH_SIZE];
	char to[QUEUE_PATH_SIZE];
	uint64_t number = 0;
	int result;

	queue_store_path(store, QUEUE_INTD, NULL, 0, from);
	result = create_free_data(store, from, &number);
	if (result < 0)
		return result;
	queue_store_path(store, QUEUE_MESS, NULL, number, to);
	result = os_file_rename_new(store->directory, from, to);
	if (result < 0)
		return result;
	*number_out = number;
	queue_store_directory_path(store, QUEUE_MESS, NULL, number, to);
	return os_file_sync_directory(store->directory, to);
}

/* A message that was not mapped has a delivery for each recipient. */
static size_t deliveries_to_report(const struct queue_control *control,
				   struct queue_delivery **deliveries_out)
{
	const struct mail_envelope *envelope = control->envelope;
	size_t count = control->is_mapped ? control->delivery_count : envelope->recipient_count;
	struct queue_delivery *deliveries =
		arena_alloc(envelope->arena, (count + 1) * sizeof *deliveries);

	for (size_t i = 0; i < count; i++)
		deliveries[i] = control->is_mapped
					? control->deliveries[i]
					: (struct queue_delivery){
						  .number = envelope->recipients[i].number,
						  .recipient = envelope->recipients[i].number,
						  .route = QUEUE_ROUTE_NONE,
						  .address = envelope->recipients[i].address};
	*deliveries_out = deliveries;
	return count;
}

/* Appends the outcomes; those that were open are failures now, and are in BOUNCE, too. */
static int write_lost_outcomes(struct queue_delivery *deliveries, size_t count, struct buffer *text,
			       struct buffer *bounce)
{
	int64_t now_us = os_clock_wall_us();
	int result = 0;

	for (size_t i = 0; result == 0 && i < count; i++) {
		struct queue_delivery *delivery = &deliveries[i];
		bool is_open =
			delivery->outcome == QUEUE_PENDING || delivery->outcome == QUEUE_WAIT;

		if (is_open) {
			delivery->outcome = QUEUE_FAIL;
			delivery->changed_us = now_us;
			delivery->status = STR("5.3.0");
			delivery->text = STR("the message was lost by damage of the disk");
			result = queue_control_write_outcome(bounce, delivery);
		}
		if (result == 0)
			result = queue_control_write_outcome(text, delivery);
	}
	return result;
}

static int write_control_of_report(const struct queue_control *control, uint64_t number,
				   struct buffer *text, struct buffer *bounce)
{
	struct mail_envelope envelope = *control->envelope;
	struct queue_delivery *deliveries;
	size_t count = deliveries_to_report(control, &deliveries);
	size_t before;
	int result;

	envelope.id.number = number;
	envelope.size = 0;
	result = queue_control_write_envelope(text, &envelope);
	if (result < 0)
		return result;
	queue_checksum_add_head(text, buffer_view(text), 0); /* of no data */
	before = text->length;
	result = queue_control_write_map(text, deliveries, count, control->directory_version);
	if (result == 0)
		result = write_lost_outcomes(deliveries, count, text, bounce);
	if (result == 0)
		queue_control_end_whole(text, before, envelope.id.born_us);
	return result;
}

static int write_bounce(const struct queue_store *store, uint64_t number, struct str records)
{
	char path[QUEUE_PATH_SIZE];
	int result;
	int file;

	queue_store_path(store, QUEUE_BOUNCE, NULL, number, path);
	file = os_file_open(store->directory, path, OS_FILE_WRITE | OS_FILE_CREATE);
	if (file < 0)
		return file;
	result = os_file_write(file, records.data, records.length, 0);
	if (result == 0)
		result = os_file_sync(file);
	os_file_close(file);
	return result;
}

int cleaner_report(const struct queue_cleaner *cleaner, const struct remains *remains,
		   uint64_t *number_out)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct buffer bounce CLEANUP(buffer_clear) = {0};
	uint64_t number;
	int result = make_data(cleaner->store, &number);

	if (result == 0)
		result = write_control_of_report(remains->control, number, &text, &bounce);
	if (result == 0 && bounce.length > 0)
		result = write_bounce(cleaner->store, number, buffer_view(&bounce));
	if (result == 0)
		result = cleaner_write_control(cleaner->store, number, buffer_view(&text));
	if (result < 0)
		return result;
	*number_out = number;
	return cleaner_sync_info(cleaner->store, number);
}

int cleaner_stand_in(struct queue_store *store, const struct queue_control *control,
		     uint64_t *number_out)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct mail_envelope envelope = *control->envelope;
	size_t before;
	int result = make_data(store, &envelope.id.number);

	if (result == 0)
		result = queue_control_write_envelope(&text, &envelope);
	if (result < 0)
		return result;
	queue_checksum_add_head(&text, buffer_view(&text), control->data_checksum);
	before = text.length;
	result = cleaner_map_later(&text, &envelope, "the disk of this host has damaged it");
	if (result < 0)
		return result;
	queue_control_end_whole(&text, before, envelope.id.born_us);
	result = cleaner_write_control(store, envelope.id.number, buffer_view(&text));
	if (result < 0)
		return result;
	*number_out = envelope.id.number;
	return cleaner_sync_info(store, envelope.id.number);
}
