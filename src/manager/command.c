// SPDX-License-Identifier: ISC
/* Carries out the orders of operators and programs. */
#include "manager/internal.h"
#include "os/clock.h"
#include "queue/trigger.h"
#include <errno.h>

/* An order and, if it names a message, that message, which is not done and is awake or asleep. */
struct request {
	struct manager *manager;
	const struct order *order;
	struct buffer *told;
	struct mail_id id;
	struct message *message;
	struct sleeper *sleeper;
};

/* The birth time of a message that sleeps is only in its control file. */
static int learn_birth(struct request *request)
{
	const struct message_facts facts = request->sleeper->facts;
	enum mail_stage stage = (enum mail_stage)facts.stage;
	struct queue_control *control;
	int error = queue_update_load(request->manager->store,
				      message_facts_are_s4(facts) ? &stage : NULL,
				      request->id.number, &control, NULL);

	if (error < 0)
		return error;
	request->id.born_us = control->envelope->id.born_us;
	queue_control_free(control);
	return 0;
}

/* ORDER_NO_MESSAGE only if that is certain: who has chosen a message by what it is does not hear of
 * one that has ended. */
static enum order_code find_subject(struct request *request)
{
	struct manager *manager = request->manager;
	struct mail_id id = request->order->id;
	int error = 0;

	request->id.number = id.number;
	request->message = message_find(manager, id.number);
	if (request->message != NULL)
		request->id.born_us = request->message->id.born_us;
	else
		request->sleeper = scan_find(manager->scan, id.number);
	if (request->message == NULL && request->sleeper == NULL)
		return scan_has_yet_to_find(manager->scan, id.number) ? ORDER_BUSY
								      : ORDER_NO_MESSAGE;
	if (request->sleeper != NULL)
		error = learn_birth(request);
	if (error < 0 && error != -ENOENT)
		return ORDER_UNREADABLE;
	return error == 0 && (id.born_us == 0 || id.born_us == request->id.born_us)
		       ? ORDER_OK
		       : ORDER_NO_MESSAGE;
}

/* The order's name is the trigger whose release ends the hold, and which is set for that; or
 * empty. */
static enum order_code set_hold(const struct request *request)
{
	struct triggers *triggers = request->manager->triggers;
	struct str until = request->order->name;
	char id[MAIL_ID_SIZE];
	struct buffer name CLEANUP(buffer_clear) = {0};

	if (until.length > 0 &&
	    (!queue_trigger_name_is_valid(until) || queue_trigger_name_is_ours(until)))
		return ORDER_NO_UNTIL_NAME;
	if (hold_find_any(request->manager, request->id) != NULL)
		return until.length > 0 ? ORDER_IS_HELD : ORDER_OK;
	if (until.length > 0 &&
	    triggers_set(triggers, until, STR("messages are held until it")) == NULL)
		return ORDER_TRIGGER_NOT_SET;
	mail_id_format(request->id, id);
	buffer_append_format(&name, "hold.%s", id);
	return triggers_set_until(triggers, buffer_view(&name), STR("held by the operator"),
				  until) != NULL
		       ? ORDER_OK
		       : ORDER_HOLD_NOT_RECORDED;
}

/* What waits for its turn waits no longer. */
static enum order_code hold_message(const struct request *request)
{
	enum order_code code = set_hold(request);

	if (code == ORDER_OK && request->message != NULL)
		dispatch_end_waiting(request->manager, request->message);
	return code;
}

static enum order_code release_message(const struct request *request)
{
	struct trigger *trigger = hold_find_any(request->manager, request->id);

	if (trigger == NULL)
		return ORDER_NOT_HELD;
	return triggers_release_for_good(request->manager->triggers, trigger) == 0
		       ? ORDER_OK
		       : ORDER_NOT_RECORDED;
}

/* No order makes a place in a class of hosts: who waits for one keeps his in the line
 * (wait/trigger/gate.h). */
static void retry_sleeper(struct manager *manager, struct sleeper *sleeper)
{
	struct trigger *probe = triggers_of_waiters(manager->triggers, sleeper->waiters);
	bool is_in_line = probe != NULL && trigger_is_of_class(probe);

	sleeper->facts.is_released = true;
	sleeper->facts.is_hurried = true;
	if (!is_in_line || sleeper->facts.is_partial)
		life_wake(manager, sleeper, false, is_in_line ? NULL : probe);
}

/* What waits of it is due. What is with a helper, or waits for its turn there, is being tried: it
 * is not tried a second time when that ends. */
static void retry_awake(struct manager *manager, struct message *message)
{
	message->facts.is_hurried = true;
	if (message->control != NULL && message->control->is_mapped)
		deliver_make_due(manager, message, os_clock_wall_us());
	else
		message->facts.is_released = true;
}

/* What it cannot do is told: wait for the end of a pause. */
static enum order_code retry_message(const struct request *request)
{
	struct manager *manager = request->manager;
	struct transport_pause pause;

	if (hold_find(manager, request->id) != NULL)
		return ORDER_IS_HELD;
	if (request->message != NULL)
		retry_awake(manager, request->message);
	else
		retry_sleeper(manager, request->sleeper);
	if (why_is_paused(manager, message_find(manager, request->id.number),
			  sleepers_find(&manager->sleepers, request->id.number), &pause))
		buffer_append_format(request->told, "(%s: %s)", pause.destination, pause.reason);
	return ORDER_OK;
}

/* Whether a message that was woken for an order went back to sleep with it, because it cannot be
 * read. The order is withdrawn, because only this process would know of it. */
static bool take_order_back(struct manager *manager, uint64_t number)
{
	struct sleeper *sleeper = sleepers_find(&manager->sleepers, number);

	if (sleeper == NULL || sleeper->facts.order == MESSAGE_ORDER_NONE)
		return false;
	sleeper->facts.order = MESSAGE_ORDER_NONE;
	return true;
}

/* Whether a delivery is under way. */
static bool has_flight(const struct message *message)
{
	for (const struct job *job = message->job_list; job != NULL; job = job->of_message_next)
		if (!job_waits(job))
			return true;
	return false;
}

/* Gives up what is not decided, or looks up its addresses again, or takes its data as they are,
 * when the message has its deliveries in memory and none is in flight. The result is news being
 * written when this returns; while the disk does not accept news, the order is not confirmed. */
static enum order_code apply_order_to_message(const struct request *request)
{
	static const enum message_order orders[] = {[ORDER_BOUNCE] = MESSAGE_ORDER_BOUNCE,
						    [ORDER_REMOVE] = MESSAGE_ORDER_REMOVE,
						    [ORDER_REQUEUE] = MESSAGE_ORDER_REQUEUE,
						    [ORDER_ACCEPT] = MESSAGE_ORDER_ACCEPT};
	enum message_order order = orders[request->order->kind];

	if (request->message == NULL) {
		request->sleeper->facts.order = order & 7U;
		life_wake(request->manager, request->sleeper, false, NULL);
		return take_order_back(request->manager, request->id.number) ? ORDER_UNREADABLE
									     : ORDER_OK;
	}
	if (request->message->record_failures > 0 &&
	    (request->message->state == MESSAGE_OWING || request->message->jobs > 0))
		return ORDER_NOT_RECORDED;
	if (request->message->state == MESSAGE_OWING) { /* done once its news is on disk */
		request->message->facts.order = order & 7U;
		return ORDER_OK;
	}
	if (has_flight(request->message))
		return ORDER_UNDER_WAY;
	if (request->message->jobs == 0)
		return ORDER_BUSY;
	request->message->facts.order = order & 7U;
	dispatch_end_waiting(request->manager, request->message);
	return ORDER_OK;
}

static enum order_code tell_why_message_waits(const struct request *request)
{
	why_tell(request->manager, request->message, request->sleeper, request->told);
	return ORDER_OK;
}

static void tell_pause(const struct request *request, const struct transport_pause *pause)
{
	buffer_append_format(request->told, "%s %lld %zu %s", pause->destination,
			     (long long)(pause->left_us / (SECOND_US / 1000)), pause->waiting,
			     pause->reason);
}

/* The load comes first, as a pause of "*", all destinations. */
static enum order_code tell_next_pause(const struct request *request)
{
	const struct transport *remote =
		transports_find(request->manager->transports, STR("remote"));
	struct str after = request->order->name;
	struct transport_pause pause = {.destination = "*",
					.left_us = DISPATCH_LOAD_AGAIN_US,
					.reason = "the load has reached load_queue"};

	if (remote == NULL)
		return ORDER_OK;
	if (after.length == 0 && request->manager->is_loaded) {
		pause.waiting = transport_count(remote).waiting;
		tell_pause(request, &pause);
		return ORDER_OK;
	}
	if (str_equal(after, STR("*")))
		after = STR("");
	if (transport_next_pause(remote, after, os_clock_monotonic_us(), &pause))
		tell_pause(request, &pause);
	return ORDER_OK;
}

/* Another number than one is as large as can be. */
static enum order_code tell_server_limit(const struct request *request)
{
	uint64_t index = 0;

	if (request->order->name.length > 0 && !str_to_u64(request->order->name, &index))
		index = SIZE_MAX;
	said_tell(request->manager->said, (size_t)index, os_clock_wall_us(), request->told);
	return ORDER_OK;
}

static enum order_code scan_queue_soon(const struct request *request)
{
	os_loop_defer(request->manager->loop, &request->manager->scan_task);
	return ORDER_OK;
}

static enum order_code release_trigger(const struct request *request)
{
	struct triggers *triggers = request->manager->triggers;
	struct trigger *named = triggers_find(triggers, request->order->name);

	if (named == NULL)
		return ORDER_NOTHING_WAITS;
	triggers_release(triggers, named);
	return ORDER_OK;
}

static enum order_code set_trigger_to_wait_for(const struct request *request)
{
	const struct order *order = request->order;

	if (!queue_trigger_name_is_valid(order->name))
		return ORDER_NO_TRIGGER_NAME;
	return triggers_set(request->manager->triggers, order->name, order->reason) != NULL
		       ? ORDER_OK
		       : ORDER_TRIGGER_NOT_SET;
}

static enum order_code ask_nodes(const struct request *request)
{
	struct str message = request->order->name;

	if (message.length > 0 && !mail_id_parse(message, &(struct mail_id){0, 0}))
		return ORDER_NO_ID;
	return answers_begin(request->manager->answers, message, request->told);
}

static enum order_code tell_answers_of_nodes(const struct request *request)
{
	return answers_read(request->manager->answers, request->order->name, request->told);
}

static const struct {
	bool is_of_message;
	enum order_code (*carry_out)(const struct request *request);
} rows[ORDER_KINDS] = {
	[ORDER_QUEUED] = {false, scan_queue_soon},
	[ORDER_TRIGGER] = {false, release_trigger},
	[ORDER_WAIT] = {false, set_trigger_to_wait_for},
	[ORDER_RETRY] = {true, retry_message},
	[ORDER_HOLD] = {true, hold_message},
	[ORDER_RELEASE] = {true, release_message},
	[ORDER_BOUNCE] = {true, apply_order_to_message},
	[ORDER_REMOVE] = {true, apply_order_to_message},
	[ORDER_REQUEUE] = {true, apply_order_to_message},
	[ORDER_ACCEPT] = {true, apply_order_to_message},
	[ORDER_WHY] = {true, tell_why_message_waits},
	[ORDER_PAUSED] = {false, tell_next_pause},
	[ORDER_SAID] = {false, tell_server_limit},
	[ORDER_NODES] = {false, ask_nodes},
	[ORDER_ANSWERS] = {false, tell_answers_of_nodes},
};

/* Why a message waits, if who knows cannot say for now. */
static enum order_code tell_obstacle(enum order_code code, struct buffer *told)
{
	struct str text = code == ORDER_NO_QUEUE
				  ? STR("the queue, or what its mail waits for, is not read yet")
			  : code == ORDER_BUSY ? STR("it has not been looked at since the start")
					       : order_refusal(code).text;

	buffer_append_format(told, "(send: " STR_FORMAT ")", STR_ARGUMENTS(text));
	return ORDER_OK;
}

enum order_code command_carry_out(void *context, const struct order *order, struct buffer *told)
{
	struct request request = {.manager = context, .order = order, .told = told};
	enum order_code code = ORDER_OK;

	if (!queue_link_is_up(request.manager->queue) ||
	    !triggers_are_read(request.manager->triggers))
		code = ORDER_NO_QUEUE;
	else if (rows[order->kind].is_of_message)
		code = find_subject(&request);
	if (order->kind == ORDER_WHY && order_code_is_passing(code))
		return tell_obstacle(code, told);
	return code == ORDER_OK ? rows[order->kind].carry_out(&request) : code;
}
