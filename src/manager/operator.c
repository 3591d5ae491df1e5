// SPDX-License-Identifier: ISC
/*
 * Notices and commands, one a datagram, a line of text each. Who bound an address
 * of its own is answered "ok" or "err REASON".
 *
 *   queued            a message was queued without the daemon
 *   trigger NAME      the event NAME happened
 *   wait NAME REASON  the event NAME is to be waited for
 *   retry ID          try all of its deliveries now, whatever they wait for
 *   hold ID           try none of them before it is released
 *   release ID        end a hold
 *   bounce ID         give up what is not done: report it to the sender
 *   remove ID         give up what is not done, and say nothing
 *
 * ID is a message's number, or number and birth time.
 */
#include "base/panic.h"
#include "log/event.h"
#include "manager/internal.h"
#include "os/clock.h"
#include "os/socket.h"
#include "queue/trigger.h"
#include <errno.h>
#include <stdio.h>

enum { NOTICE_MAX = 1024, NOTICES_A_TURN = 256 };

/* --- holds: a trigger for one message --- */

static struct str hold_name(struct mail_id message, char name[MAIL_ID_SIZE + 8])
{
	char id[MAIL_ID_SIZE];

	mail_id_format(message, id);
	snprintf(name, MAIL_ID_SIZE + 8, "hold.%s", id);
	return str_from(name);
}

struct waiters *operator_hold_of(struct manager *manager, struct mail_id message)
{
	char name[MAIL_ID_SIZE + 8];
	struct trigger *trigger;

	if (manager->triggers == NULL)
		return NULL;
	trigger = trigger_find(manager, hold_name(message, name));
	return trigger != NULL ? trigger_waiters(trigger) : NULL;
}

void operator_end_hold(struct manager *manager, struct mail_id message)
{
	char name[MAIL_ID_SIZE + 8];

	if (manager->triggers != NULL)
		trigger_release(manager, hold_name(message, name));
}

/* A message that is not done: awake, or else asleep. */
struct subject {
	struct mail_id id;
	struct message *message;
	struct sleeper *sleeper;
};

/* Of one that sleeps the birth stands in its control file alone. */
static bool learn_birth(struct manager *manager, struct subject *subject)
{
	enum mail_stage stage = (enum mail_stage)subject->sleeper->stage;
	struct queue_control *control;

	if (queue_update_load(manager->store, subject->sleeper->is_queued ? &stage : NULL,
			      subject->id.number, &control, NULL) < 0)
		return false;
	subject->id.born_us = control->envelope->id.born_us;
	queue_control_free(control);
	return true;
}

/* ID's birth may be 0: whatever message has that number. */
static bool find_subject(struct manager *manager, struct mail_id id, struct subject *subject)
{
	*subject = (struct subject){.id.number = id.number};
	subject->message = message_find(manager, id.number);
	if (subject->message != NULL)
		subject->id.born_us = subject->message->born_us;
	else
		subject->sleeper = scan_find(manager, id.number);
	if (subject->sleeper != NULL && !learn_birth(manager, subject))
		return false;
	return (subject->message != NULL || subject->sleeper != NULL) &&
	       (id.born_us == 0 || id.born_us == subject->id.born_us);
}

static const char *hold(struct manager *manager, const struct subject *subject)
{
	char name[MAIL_ID_SIZE + 8];

	trigger_set(manager, hold_name(subject->id, name), STR("held by the operator"));
	return operator_hold_of(manager, subject->id) != NULL ? NULL
							      : "the hold cannot be recorded";
}

/* --- one message --- */

static const char *retry(struct manager *manager, const struct subject *subject)
{
	const struct waiters *waiters;
	struct message *message;

	if (operator_hold_of(manager, subject->id) != NULL)
		return "it is held";
	if (subject->message != NULL) {
		subject->message->is_released = true;
		return NULL;
	}
	waiters = subject->sleeper->waiters;
	message = message_take(manager, subject->sleeper);
	message->is_released = true;
	trigger_let_try(manager, message, waiters);
	message_wake(manager, message, STR(""));
	return NULL;
}

/* What is not done is given up when the message has its deliveries in memory and
 * none is in flight. */
static const char *give_up(struct manager *manager, const struct subject *subject,
			   enum message_order order)
{
	struct message *message = subject->message;

	if (message != NULL && message->state != MESSAGE_BUSY)
		return "it is being worked on; ask again";
	if (message != NULL && message->jobs > 0)
		return "a delivery is under way; ask again";
	if (message != NULL) {
		message->order = order;
		return NULL;
	}
	message = message_take(manager, subject->sleeper);
	message->order = order;
	message_wake(manager, message, STR(""));
	return NULL;
}

static void give_up_delivery(const struct message *message, struct queue_delivery *delivery)
{
	bool is_bounce = message->order == MESSAGE_ORDER_BOUNCE;

	delivery->outcome = is_bounce ? QUEUE_FAIL : QUEUE_DONE;
	delivery->is_quiet = !is_bounce;
	delivery->status = is_bounce ? STR("5.7.0") : STR("2.7.0");
	delivery->text = is_bounce ? STR("returned by the operator of the mail system")
				   : STR("removed by the operator");
	delivery->trigger = STR("");
	delivery->changed_us = os_clock_wall_us();
}

void operator_carry_out(struct message *message)
{
	for (size_t i = 0; i < message->control->delivery_count; i++) {
		struct queue_delivery *delivery = &message->control->deliveries[i];

		if (delivery->outcome != QUEUE_PENDING && delivery->outcome != QUEUE_WAIT)
			continue;
		give_up_delivery(message, delivery);
		message->unrecorded[i] = true;
		log_event(EVENT_OPERATOR, log_id(message->control->envelope->id),
			  log_str("to", delivery->address), log_str("text", delivery->text));
	}
	message->order = MESSAGE_ORDER_NONE;
}

static const char *on_message_command(struct manager *manager, struct str command,
				      struct str argument)
{
	struct mail_id id = {0};
	struct subject subject;

	if (!mail_id_parse(argument, &id) && !str_to_u64(argument, &id.number))
		return "no message id";
	if (!find_subject(manager, id, &subject))
		return "no such message";
	if (str_equal(command, STR("retry")))
		return retry(manager, &subject);
	if (str_equal(command, STR("hold")))
		return hold(manager, &subject);
	if (str_equal(command, STR("release"))) {
		if (operator_hold_of(manager, subject.id) == NULL)
			return "it is not held";
		operator_end_hold(manager, subject.id);
		return NULL;
	}
	if (str_equal(command, STR("bounce")))
		return give_up(manager, &subject, MESSAGE_ORDER_BOUNCE);
	if (str_equal(command, STR("remove")))
		return give_up(manager, &subject, MESSAGE_ORDER_REMOVE);
	return "unknown command";
}

/* --- the socket --- */

static const char *on_wait(struct manager *manager, struct str argument)
{
	struct str name = argument;

	(void)str_split(&argument, ' ', &name);
	if (!queue_trigger_name_is_valid(name))
		return "that is no name of a trigger";
	trigger_set(manager, name, argument.data != NULL ? argument : STR("asked for"));
	return trigger_find(manager, name) != NULL ? NULL : "the trigger cannot be set";
}

/* NULL, or why not. */
static const char *on_notice(struct manager *manager, struct str text)
{
	struct str argument = text;
	struct str command = text;

	(void)str_split(&argument, ' ', &command);
	if (argument.data == NULL)
		argument = STR("");
	if (str_equal(command, STR("queued"))) {
		os_loop_defer(manager->loop, &manager->scan_task);
		return NULL;
	}
	if (str_equal(command, STR("trigger"))) {
		if (trigger_find(manager, argument) == NULL)
			return "nothing waits for that";
		trigger_release(manager, argument);
		return NULL;
	}
	if (str_equal(command, STR("wait")))
		return on_wait(manager, argument);
	return on_message_command(manager, command, argument);
}

void operator_on_notice(void *context, unsigned events)
{
	struct manager *manager = context;

	(void)events;
	for (unsigned i = 0; i < NOTICES_A_TURN; i++) {
		char text[NOTICE_MAX];
		char answer[128] = "ok";
		struct os_socket_sender sender;
		const char *reason;
		ssize_t length =
			os_socket_receive_from(manager->peers.notify, text, sizeof text, &sender);

		if (length < 0)
			break;
		if (sender.user != 0 && sender.user != manager->peers.owner)
			reason = "only root and the queue's owner may give orders";
		else if (!manager->is_managing)
			reason = "the queue is not there yet";
		else
			reason = on_notice(manager, str_trim(str_slice(text, (size_t)length)));
		if (reason != NULL)
			snprintf(answer, sizeof answer, "err %s", reason);
		os_socket_answer(manager->peers.notify, answer, strlen(answer), &sender);
	}
}
