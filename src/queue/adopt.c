// SPDX-License-Identifier: ISC
#include "queue/adopt.h"
#include "base/panic.h"
#include "os/file/file.h"
#include "queue/adopt/internal.h"
#include "queue/repair/internal.h"
#include "queue/trigger.h"
#include "queue/update.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	ADOPT_GROUP = 64, /* messages */
	ADOPT_GROUP_BYTES = 64 << 20,
	MADE_MAX = 2 * ADOPT_GROUP, /* a copy of each, and a report */
	ADOPT_PIECE = 256 * 1024,
};

struct adopt {
	struct repair there; /* the other queue: its store, its services */
	struct queue_intake *here;
	const struct queue_adopt *options;
	unsigned place;
	struct mail_id from[ADOPT_GROUP];
	struct mail_id to[ADOPT_GROUP];
	size_t count;
	struct queue_message *made[MADE_MAX]; /* copies and reports that are not durable yet */
	size_t made_for[MADE_MAX];            /* the index of the message that it was made for */
	size_t made_count;
	uint64_t bytes;
};

/* --- the copy --- */

static int copy_data(int from, int to, uint64_t size)
{
	char *piece = memory_alloc(ADOPT_PIECE);
	int result = 0;

	for (uint64_t offset = 0; result == 0 && offset < size;) {
		size_t wanted = size - offset < ADOPT_PIECE ? (size_t)(size - offset) : ADOPT_PIECE;
		ssize_t length = os_file_read(from, piece, wanted, offset);

		if (length <= 0) {
			result = length < 0 ? (int)length : -EIO;
			break;
		}
		result = os_file_write(to, piece, (size_t)length, offset);
		offset += (uint64_t)length;
	}
	free(piece);
	return result;
}

/* What waits there for the trigger NAME waits here for it: 1; 0: it is not set there. */
static int take_event(const struct adopt *adopt, struct str name)
{
	int result = queue_trigger_is_set(adopt->there.store, name);

	if (result <= 0)
		return result;
	result = adopt->options->wait(adopt->options->context, name);
	return result < 0 ? result : 1;
}

/* What was held there as FROM is held here as TO, unless that was to end and has, though
 * nobody there saw it. -errno: what cannot be seen may be held. */
static int take_hold(const struct adopt *adopt, struct mail_id from, struct mail_id to)
{
	struct buffer until CLEANUP(buffer_clear) = {0};
	char name[MAIL_ID_SIZE + 8] = "hold.";
	int result;

	mail_id_format(from, name + strlen(name));
	result = queue_trigger_is_set(adopt->there.store, str_from(name));
	if (result <= 0)
		return result;
	result = queue_trigger_read_until(adopt->there.store, str_from(name), &until);
	if (result == 0 && until.length > 0)
		result = take_event(adopt, buffer_view(&until));
	else if (result == 0)
		result = 1;
	return result > 0 ? adopt->options->hold(adopt->options->context, to, buffer_view(&until))
			  : result;
}

static int write_adopted_envelope(struct queue_message *message,
				  const struct mail_envelope *envelope)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	int result = queue_control_write_envelope(&text, envelope);

	return result == 0 ? queue_message_envelope(message, envelope->stage, &text) : result;
}

static int write_adopted_copy(struct adopt *adopt, struct queue_message *message,
			      struct mail_envelope *envelope, struct mail_id from, int data)
{
	int result = copy_data(data, queue_message_file(message), envelope->size);

	envelope->id = (struct mail_id){queue_message_number(message), from.born_us};
	if (result == 0)
		result = take_event(adopt, envelope->trigger);
	if (result >= 0)
		result = take_hold(adopt, from, envelope->id);
	return result == 0 ? write_adopted_envelope(message, envelope) : result;
}

static int write_report_of_successes(struct queue_message *message, struct mail_envelope *envelope,
				     struct str content)
{
	int result = os_file_write(queue_message_file(message), content.data, content.length, 0);

	envelope->id.number = queue_message_number(message);
	return result == 0 ? write_adopted_envelope(message, envelope) : result;
}

/* Begins a message of SIZE bytes, which the caller owns. */
static int begin_adopted_message(struct adopt *adopt, uint64_t size,
				 struct queue_message **message_out)
{
	struct queue_message *message = NULL;
	int result = queue_store_has_room(adopt->here->store, size, 0);

	if (result == 0)
		result = queue_message_new(adopt->here, &message);
	if (result < 0)
		return result;
	result = queue_message_share(message);
	if (result == 0)
		*message_out = message;
	else
		queue_message_abandon(message);
	return result;
}

/* If its RESULT of writing is 0, adds it to the group as ID. */
static int add_to_adopted_group(struct adopt *adopt, struct queue_message *message, int result,
				const struct mail_envelope *envelope)
{
	if (result < 0) {
		queue_message_abandon(message);
		return result;
	}
	adopt->to[adopt->count] = envelope->id;
	adopt->made[adopt->made_count] = message;
	adopt->made_for[adopt->made_count++] = adopt->count;
	adopt->bytes += envelope->size;
	return 0;
}

static int copy_adopted_message(struct adopt *adopt, struct mail_envelope *envelope,
				struct mail_id from, int data)
{
	struct queue_message *message = NULL;
	int result = begin_adopted_message(adopt, envelope->size, &message);

	if (result < 0)
		return result;
	result = write_adopted_copy(adopt, message, envelope, from, data);
	return add_to_adopted_group(adopt, message, result, envelope);
}

static int report_owed_successes(struct adopt *adopt, const struct queue_control *control, int data)
{
	struct buffer content CLEANUP(buffer_clear) = {0};
	struct mail_envelope *envelope = NULL;
	struct queue_message *message = NULL;
	int result =
		adopt->options->report(adopt->options->context, control, data, &envelope, &content);

	if (result <= 0)
		return result;
	envelope->size = content.length;
	result = begin_adopted_message(adopt, envelope->size, &message);
	if (result == 0) {
		result = write_report_of_successes(message, envelope, buffer_view(&content));
		result = add_to_adopted_group(adopt, message, result, envelope);
	}
	mail_envelope_free(envelope);
	return result;
}

/* --- removal from the other queue --- */

/* It is marked as ended, so that nobody takes what an interruption leaves for a damaged message;
 * then its control names: data without them are not a message. */
static int remove_there(struct adopt *adopt, struct mail_id id)
{
	struct queue_store *store = adopt->there.store;
	char name[MAIL_ID_SIZE];
	char path[QUEUE_PATH_SIZE];
	int result = queue_update_mark_ended(store, id);

	for (unsigned stage = 0; result >= 0 && stage < MAIL_STAGE_COUNT; stage++)
		result = queue_store_drop(store, QUEUE_TODO, mail_stage_name(stage), id.number);
	if (result >= 0)
		result = queue_store_drop(store, QUEUE_INFO, NULL, id.number);
	if (result >= 0)
		result = repair_drop_sides(&adopt->there, id.number);
	if (result >= 0)
		result = queue_store_drop(store, QUEUE_BOUNCE, NULL, id.number);
	if (result >= 0)
		result = queue_store_drop(store, QUEUE_INTD, NULL, id.number);
	if (result >= 0)
		result = queue_store_drop(store, QUEUE_MESS, NULL, id.number);
	if (result < 0)
		return result;
	mail_id_format(id, name);
	snprintf(path, sizeof path, "trigger/hold.%s", name);
	result = os_file_unlink(store->directory, path);
	return result == -ENOENT ? 0 : result;
}

/* Commits the copies and reports of the group. */
static void commit_adopted_group(struct adopt *adopt, int results[ADOPT_GROUP])
{
	int made[MADE_MAX] = {0};

	queue_message_commit_group(adopt->here, adopt->made, adopt->made_count, made);
	for (size_t i = 0; i < adopt->made_count; i++) {
		if (made[i] < 0)
			queue_message_abandon(adopt->made[i]);
		if (results[adopt->made_for[i]] == 0)
			results[adopt->made_for[i]] = made[i];
	}
	adopt->made_count = 0;
}

static int flush_adopted_group(struct adopt *adopt)
{
	int results[ADOPT_GROUP] = {0};
	int first_error = 0;

	if (adopt->count == 0)
		return 0;
	commit_adopted_group(adopt, results);
	for (size_t i = 0; i < adopt->count; i++) {
		if (results[i] == 0)
			results[i] = remove_there(adopt, adopt->from[i]);
		if (first_error == 0)
			first_error = results[i];
	}
	if (first_error == 0)
		first_error = repair_barrier(&adopt->there);
	for (size_t i = 0; i < adopt->count; i++)
		if (results[i] == 0)
			adopt->options->adopted(adopt->options->context, adopt->from[i],
						adopt->to[i]);
	adopt->count = 0;
	adopt->bytes = 0;
	return first_error;
}

/* --- each message --- */

static int leave_message_there(struct adopt *adopt, uint64_t number, const char *why)
{
	char path[QUEUE_PATH_SIZE];

	repair_control_path(&adopt->there, adopt->place, number, path);
	adopt->options->left(adopt->options->context, path, why);
	return 0;
}

static int adopt_with(struct adopt *adopt, const struct queue_control *control, int data)
{
	struct mail_id id = control->envelope->id;
	int has_bounce = queue_store_has(adopt->there.store, QUEUE_BOUNCE, NULL, id.number);
	size_t made_before = adopt->made_count;
	struct mail_envelope *envelope;
	int result = has_bounce < 0 ? has_bounce : 0;

	/* without bounce records everything that had to be reported has been */
	if (has_bounce > 0)
		result = report_owed_successes(adopt, control, data);
	if (result < 0)
		return result;
	envelope = adopt_remaining(control, has_bounce > 0);
	if (envelope->recipient_count > 0)
		result = copy_adopted_message(adopt, envelope, id, data);
	mail_envelope_free(envelope);
	if (result < 0)
		return result;
	if (adopt->made_count == made_before)
		return remove_there(adopt, id);
	adopt->from[adopt->count++] = id;
	return adopt->count == ADOPT_GROUP || adopt->bytes >= ADOPT_GROUP_BYTES
		       ? flush_adopted_group(adopt)
		       : 0;
}

static int adopt_loaded(struct adopt *adopt, const struct queue_control *control)
{
	uint64_t number = control->envelope->id.number;
	enum mail_stage stage = adopt->place;
	int data = queue_update_open_copy(adopt->there.store,
					  adopt->place == REPAIR_INFO ? NULL : &stage, number);
	uint32_t checksum = 0;
	int result;

	if (data < 0)
		return data == -ENOENT ? leave_message_there(adopt, number, "its data file is gone")
				       : data;
	result = queue_update_checksum_data(data, control->envelope->size, &checksum);
	if (result == -EBADMSG)
		result = leave_message_there(adopt, number, "its data file is too short");
	else if (result == 0)
		result = queue_control_has_data(control, checksum)
				 ? adopt_with(adopt, control, data)
				 : leave_message_there(adopt, number,
						       "the disk has changed its data");
	os_file_close(data);
	return result;
}

static int on_message_to_adopt(void *context, uint64_t number)
{
	struct adopt *adopt = context;
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct queue_control *control;
	unsigned place;
	int result = repair_find(&adopt->there, number, &place);

	/* a message between todo/ and info/ has both names, and is taken once */
	if (result < 0 || place != adopt->place)
		return result == -ENOENT ? 0 : result;
	for (size_t i = 0; i < adopt->count; i++)
		if (adopt->from[i].number == number)
			return 0;
	result = repair_load(&adopt->there, place, number, &text, &control);
	if (result < 0)
		return result == -EBADMSG
			       ? leave_message_there(adopt, number, "its control file is damaged")
			       : result;
	result = adopt_loaded(adopt, control);
	queue_control_free(control);
	return result;
}

static int on_stray_to_adopt(void *context, const char *path)
{
	struct adopt *adopt = context;

	adopt->options->left(adopt->options->context, path, "that is no message's name");
	return 0;
}

static int adopt_all(struct adopt *adopt)
{
	struct queue_store *store = adopt->there.store;
	int result = repair_learn_services(&adopt->there);

	for (adopt->place = 0; result == 0 && adopt->place <= REPAIR_INFO; adopt->place++) {
		if (adopt->place == REPAIR_INFO)
			result = queue_store_each(store, QUEUE_INFO, NULL, on_message_to_adopt,
						  on_stray_to_adopt, adopt);
		else
			result = queue_store_each(store, QUEUE_TODO, mail_stage_name(adopt->place),
						  on_message_to_adopt, on_stray_to_adopt, adopt);
		if (result == 0)
			result = flush_adopted_group(adopt);
	}
	return result == 0 ? repair_barrier(&adopt->there) : result;
}

int queue_adopt(struct queue_store *there, struct queue_intake *here,
		const struct queue_adopt *options)
{
	struct adopt *adopt = memory_alloc_zero(1, sizeof *adopt);
	int result;

	adopt->there.store = there;
	adopt->here = here;
	adopt->options = options;
	result = adopt_all(adopt);
	for (size_t i = 0; i < adopt->made_count; i++)
		queue_message_abandon(adopt->made[i]);
	free(adopt->there.services);
	free(adopt);
	return result;
}
