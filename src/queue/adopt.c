// SPDX-License-Identifier: ISC
#include "queue/adopt.h"
#include "base/panic.h"
#include "os/file.h"
#include "queue/repair_internal.h"
#include "queue/update.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { ADOPT_GROUP = 64, ADOPT_GROUP_BYTES = 64 << 20, PIECE = 256 * 1024 };

struct adopt {
	struct repair there; /* of it: the store, the services */
	struct queue_intake *here;
	const struct queue_adopt *options;
	unsigned place;
	struct queue_message *messages[ADOPT_GROUP]; /* the copies, not durable */
	struct mail_id from[ADOPT_GROUP];
	struct mail_id to[ADOPT_GROUP];
	size_t count;
	uint64_t bytes;
};

/* --- the copy --- */

static const struct mail_recipient *find_recipient(const struct mail_envelope *envelope,
						   uint32_t number)
{
	for (size_t i = 0; i < envelope->recipient_count; i++)
		if (envelope->recipients[i].number == number)
			return &envelope->recipients[i];
	panic("a delivery without a recipient");
}

static void add_recipient(struct mail_envelope *out, const struct mail_recipient *recipient,
			  struct str address)
{
	struct mail_recipient *added = mail_envelope_add(out, address);

	added->notify = recipient->notify;
	added->original = recipient->original;
}

/* A failure that is not reported yet is made anew here, and reported from here. */
static bool is_left(const struct queue_delivery *delivery, bool has_bounce)
{
	return delivery->outcome == QUEUE_PENDING || delivery->outcome == QUEUE_WAIT ||
	       (delivery->outcome == QUEUE_FAIL && has_bounce);
}

static struct mail_envelope *remaining(const struct queue_control *control, bool has_bounce)
{
	const struct mail_envelope *envelope = control->envelope;
	struct mail_envelope *out = mail_envelope_new();

	out->stage = envelope->stage;
	out->ret = envelope->ret;
	out->utf8 = envelope->utf8;
	out->sender = envelope->sender;
	out->envid = envelope->envid;
	out->received = envelope->received;
	out->size = envelope->size;
	for (size_t i = 0; !control->is_mapped && i < envelope->recipient_count; i++)
		add_recipient(out, &envelope->recipients[i], envelope->recipients[i].address);
	for (size_t i = 0; control->is_mapped && i < control->delivery_count; i++) {
		const struct queue_delivery *delivery = &control->deliveries[i];

		if (is_left(delivery, has_bounce))
			add_recipient(out, find_recipient(envelope, delivery->recipient),
				      delivery->address);
	}
	return out;
}

static int copy_data(int from, int to, uint64_t size)
{
	char *piece = memory_alloc(PIECE);
	int result = 0;

	for (uint64_t offset = 0; result == 0 && offset < size;) {
		size_t wanted = size - offset < PIECE ? (size_t)(size - offset) : PIECE;
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

static bool was_held(const struct adopt *adopt, struct mail_id id)
{
	char name[MAIL_ID_SIZE];
	char path[QUEUE_PATH_SIZE];
	struct os_file_info info;

	mail_id_format(id, name);
	snprintf(path, sizeof path, "trigger/hold.%s", name);
	return os_file_info_at(adopt->there.store->directory, path, &info) == 0;
}

static int write_copy(struct adopt *adopt, struct queue_message *message,
		      struct mail_envelope *envelope, struct mail_id from, int data)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	int result = copy_data(data, queue_message_file(message), envelope->size);

	envelope->id = (struct mail_id){queue_message_number(message), from.born_us};
	if (result == 0)
		result = queue_control_write_envelope(&text, envelope);
	if (result == 0 && was_held(adopt, from))
		result = adopt->options->hold(adopt->options->context, envelope->id);
	return result == 0 ? queue_message_envelope(message, envelope->stage, buffer_view(&text))
			   : result;
}

static int copy(struct adopt *adopt, struct mail_envelope *envelope, struct mail_id from, int data)
{
	struct queue_message *message = NULL;
	int result = queue_store_has_room(adopt->here->store, envelope->size);

	if (result == 0)
		result = queue_message_new(adopt->here, &message);
	if (result < 0)
		return result;
	result = queue_message_share(message);
	if (result == 0)
		result = write_copy(adopt, message, envelope, from, data);
	if (result < 0) {
		queue_message_abandon(message);
		return result;
	}
	adopt->messages[adopt->count] = message;
	adopt->from[adopt->count] = from;
	adopt->to[adopt->count++] = envelope->id;
	adopt->bytes += envelope->size;
	return 0;
}

/* --- the end there --- */

/* Its control names first: data without them is no message. */
static int remove_there(struct adopt *adopt, struct mail_id id)
{
	const struct queue_store *store = adopt->there.store;
	char name[MAIL_ID_SIZE];
	char path[QUEUE_PATH_SIZE];
	int result = 0;

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

static int flush(struct adopt *adopt)
{
	int results[ADOPT_GROUP] = {0};
	int first_error = 0;

	if (adopt->count == 0)
		return 0;
	queue_message_commit_group(adopt->here, adopt->messages, adopt->count, results);
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

static void abandon(struct adopt *adopt)
{
	for (size_t i = 0; i < adopt->count; i++)
		queue_message_abandon(adopt->messages[i]);
}

/* --- each message --- */

static int leave(struct adopt *adopt, uint64_t number, const char *why)
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
	struct mail_envelope *envelope;
	int result;

	if (has_bounce < 0)
		return has_bounce;
	envelope = remaining(control, has_bounce > 0);
	result = envelope->recipient_count > 0 ? copy(adopt, envelope, id, data)
					       : remove_there(adopt, id);
	mail_envelope_free(envelope);
	if (result == 0 && (adopt->count == ADOPT_GROUP || adopt->bytes >= ADOPT_GROUP_BYTES))
		result = flush(adopt);
	return result;
}

static int adopt_loaded(struct adopt *adopt, const struct queue_control *control)
{
	uint64_t number = control->envelope->id.number;
	enum mail_stage stage = adopt->place;
	int data = queue_update_open_copy(adopt->there.store,
					  adopt->place == REPAIR_INFO ? NULL : &stage, number);
	struct os_file_info info;
	int result;

	if (data < 0)
		return data == -ENOENT ? leave(adopt, number, "its data file is gone") : data;
	result = os_file_info(data, &info);
	if (result == 0 && info.size < control->envelope->size)
		result = leave(adopt, number, "its data file is too short");
	else if (result == 0)
		result = adopt_with(adopt, control, data);
	os_file_close(data);
	return result;
}

static int on_message(void *context, uint64_t number)
{
	struct adopt *adopt = context;
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct queue_control *control;
	unsigned place;
	int result = repair_find(&adopt->there, number, &place);

	/* on its way from todo/ to info/ it has both names, and is taken once */
	if (result < 0 || place != adopt->place)
		return result == -ENOENT ? 0 : result;
	for (size_t i = 0; i < adopt->count; i++)
		if (adopt->from[i].number == number)
			return 0;
	result = repair_load(&adopt->there, place, number, &text, &control);
	if (result < 0)
		return result == -EBADMSG ? leave(adopt, number, "its control file is damaged")
					  : result;
	result = adopt_loaded(adopt, control);
	queue_control_free(control);
	return result;
}

static int on_stray(void *context, const char *path)
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
			result = queue_store_each(store, QUEUE_INFO, NULL, on_message, on_stray,
						  adopt);
		else
			result = queue_store_each(store, QUEUE_TODO, mail_stage_name(adopt->place),
						  on_message, on_stray, adopt);
		if (result == 0)
			result = flush(adopt);
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
	abandon(adopt);
	free(adopt);
	return result;
}
