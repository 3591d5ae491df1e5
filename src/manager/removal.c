// SPDX-License-Identifier: ISC
/*
 * The connection to "queue": what is new, and what is to be removed.
 *
 * A number may be used again once its removal was answered, not before; until
 * then the message is kept in memory, so that a scan does not take its last name
 * for a new message.
 */
#include "base/panic.h"
#include "ipc/pack.h"
#include "log/event.h"
#include "manager/internal.h"
#include "os/clock.h"

static void pack_removal(struct manager *manager, uint64_t number, enum mail_stage stage,
			 enum queue_remove kind)
{
	enum { ENTRY = 16 };

	if (manager->removals.length + ENTRY > IPC_BODY_MAX)
		removal_flush(manager);
	pack_u32(&manager->removals, kind);
	pack_u32(&manager->removals, stage);
	pack_u64(&manager->removals, number);
	os_loop_defer(manager->loop, &manager->removals_task);
}

void removal_flush(void *context)
{
	struct manager *manager = context;
	struct ipc_channel *channel = ipc_client_channel(manager->queue);

	/* Without a connection nothing is lost: the next one begins with a look
	 * at what is left. */
	if (manager->removals.length > 0 && channel != NULL && manager->is_managing)
		ipc_channel_send(channel, QUEUE_PROTOCOL_REMOVE, 0, buffer_view(&manager->removals),
				 NULL, 0);
	buffer_reset(&manager->removals);
}

void removal_ask(struct manager *manager, struct message *message, enum queue_remove kind)
{
	if (kind == QUEUE_REMOVE_TODO) {
		message->has_todo = true;
	} else {
		log_event(EVENT_MESSAGE_DONE,
			  log_id((struct mail_id){message->number, message->born_us}));
		operator_end_hold(manager, (struct mail_id){message->number, message->born_us});
		record_cancel(manager, message);
		message->state = MESSAGE_REMOVING;
	}
	pack_removal(manager, message->number, message->stage, kind);
}

/* --- after a new connection --- */

/* Whether todo/ID is still that message: its removal was not carried out, and
 * since nobody else removes it, it will not be reused meanwhile. */
static bool is_still_queued(struct manager *manager, const struct message *message)
{
	struct queue_control *control;
	bool is_same;

	if (queue_update_load(manager->store, &message->stage, message->number, &control, NULL) < 0)
		return false;
	is_same = control->envelope->id.born_us == message->born_us;
	queue_control_free(control);
	return is_same;
}

/* At S2: mess/ is left when the removal was not carried out; a later message with
 * this number has a control file somewhere. */
static void ask_again_or_forget(struct manager *manager, struct message *message)
{
	if (message->is_queued && is_still_queued(manager, message))
		pack_removal(manager, message->number, message->stage, QUEUE_REMOVE_QUEUED);
	else
		message_free(manager, message);
}

static void ask_again_asleep(void *context, struct sleeper *sleeper)
{
	if (sleeper->has_todo)
		pack_removal(context, sleeper->number, (enum mail_stage)sleeper->stage,
			     QUEUE_REMOVE_TODO);
}

static void ask_again_for_all(struct manager *manager)
{
	struct message *message;
	struct message *next;

	HASH_ITER (hh, manager->messages, message, next) {
		if (message->state == MESSAGE_REMOVING)
			ask_again_or_forget(manager, message);
		else if (message->has_todo)
			pack_removal(manager, message->number, message->stage, QUEUE_REMOVE_TODO);
	}
	sleepers_each(&manager->sleepers, ask_again_asleep, manager);
}

static void on_connected(void *context)
{
	struct manager *manager = context;

	ipc_channel_send(ipc_client_channel(manager->queue), QUEUE_PROTOCOL_MANAGE, 0, STR(""),
			 NULL, 0);
}

static void log_cleaned(void *context, const char *path)
{
	(void)context;
	log_event(EVENT_QUEUE_CLEANED, log_string("path", path));
}

/* Once: "queue" has cleaned its directories, now ours. */
static void clean(struct manager *manager)
{
	const char *services[STAGE_SERVICES_MAX];
	size_t count = stage_services(manager, services);
	int error = queue_update_clean(manager->store, services, count, log_cleaned, NULL);

	if (error < 0)
		log_event(EVENT_QUEUE_ERROR, log_string("operation", "clean"), log_error(error));
	else
		manager->is_cleaned = true;
}

static void on_managed(struct manager *manager)
{
	bool is_first = manager->ready != NULL;

	manager->is_managing = true;
	if (is_first)
		clean(manager);
	if (manager->is_cleaned)
		ipc_channel_send(ipc_client_channel(manager->queue), QUEUE_PROTOCOL_CLEANED, 0,
				 STR(""), NULL, 0);
	ask_again_for_all(manager);
	scan_begin(manager, false);
	if (is_first)
		manager->ready(manager->ready_context);
	manager->ready = NULL;
}

static void on_lost(void *context)
{
	struct manager *manager = context;

	manager->is_managing = false;
	buffer_reset(&manager->removals);
	manager_check_stopped(manager);
}

/* --- what it says --- */

/* A number is used again only after its removal was answered. If we still had an
 * older message by that name, its records would get into this one's file. An smtpd that was
 * broken into can pretend so: it may write into a file until it closes it, before we read it
 * and after. To look again decides nothing then, and to end loses nothing. */
static void check_is_same(const struct message *message, struct str text)
{
	struct queue_control *control;

	if (message->born_us == 0 || queue_control_parse(text, &control, NULL) < 0)
		return;
	if (control->envelope->id.born_us != message->born_us)
		panic("number %llu was used again too early", (unsigned long long)message->number);
	queue_control_free(control);
}

/* What a scan found before and sleeps has come to no harm. */
static void add_new(struct manager *manager, uint64_t number, enum mail_stage stage,
		    struct str text)
{
	struct sleeper *sleeper;

	wake_new_mail(manager);
	if (sleepers_find(&manager->sleepers, number) != NULL)
		return;
	if (wake_is_allowed(manager)) {
		message_wake(manager, message_new(manager, number, true, stage), text);
		return;
	}
	sleeper = sleepers_add(&manager->sleepers, number, INT64_MAX);
	sleeper->is_queued = true;
	sleeper->stage = (unsigned)stage & 15U;
	wake_first(manager, sleeper);
}

static bool on_queued(struct manager *manager, struct unpack *body)
{
	while (body->rest.length > 0) {
		uint32_t stage = unpack_u32(body);
		uint64_t number = unpack_u64(body);
		struct str text = unpack_str(body);
		const struct message *message;

		if (body->failed || stage >= MAIL_STAGE_COUNT)
			return false;
		message = message_find(manager, number);
		if (message != NULL) /* found by a scan before */
			check_is_same(message, text);
		else
			add_new(manager, number, (enum mail_stage)stage, text);
	}
	return true;
}

static void removed_asleep(struct manager *manager, uint64_t number)
{
	struct sleeper *sleeper = sleepers_find(&manager->sleepers, number);

	if (sleeper != NULL)
		sleeper->has_todo = false;
}

static bool on_removed(struct manager *manager, struct unpack *body)
{
	while (body->rest.length > 0) {
		uint64_t number = unpack_u64(body);
		struct message *message = message_find(manager, number);

		if (body->failed)
			return false;
		if (message == NULL) {
			removed_asleep(manager, number);
			continue;
		}
		if (message->has_todo) {
			message->has_todo = false;
			if (message->state == MESSAGE_BUSY && message->jobs == 0)
				message_continue(manager, message);
		} else if (message->state == MESSAGE_REMOVING)
			message_free(manager, message);
	}
	return true;
}

static void on_message(void *context, struct ipc_message *message)
{
	struct manager *manager = context;
	struct unpack body = {message->body, false};
	bool is_good = true;

	switch (message->type) {
	case QUEUE_PROTOCOL_MANAGED:
		on_managed(manager);
		break;
	case QUEUE_PROTOCOL_QUEUED:
		is_good = on_queued(manager, &body);
		break;
	case QUEUE_PROTOCOL_STANDS:
		is_good = scan_stands(manager, &body);
		break;
	case QUEUE_PROTOCOL_MISSED:
		scan_begin(manager, true);
		break;
	case QUEUE_PROTOCOL_REMOVED:
		is_good = on_removed(manager, &body);
		break;
	default:
		is_good = false;
	}
	if (!is_good)
		ipc_channel_refuse(ipc_client_channel(manager->queue), message->type);
}

const struct ipc_client_handler removal_queue_handler = {on_connected, on_message, on_lost};
