// SPDX-License-Identifier: ISC
/* Events from "queue": new messages and removals; and what is asked again after a reconnect. */
#include "base/panic.h"
#include "mail/unicode.h"
#include "manager/internal.h"
#include <errno.h>

/* A number is reused only after its removal was answered. If we still had an older message with
 * that number, its records would get into the new one's file. A compromised smtpd can pretend
 * that: it may write into a file until it closes it, before we read it and afterwards. So
 * reading again proves nothing, and to end the process loses nothing. */
static void check_is_same(const struct message *message, struct str text)
{
	struct queue_control *control;

	if (message->id.born_us == 0 || queue_control_parse(text, &control, NULL) < 0)
		return;
	if (control->envelope->id.born_us != message->id.born_us)
		panic("number %llu was used again too early",
		      (unsigned long long)message->id.number);
	queue_control_free(control);
}

/* A message that a scan found before, and that sleeps, is not affected. */
static void on_message_queued(void *context, const struct queue_link_notice *notice)
{
	struct manager *manager = context;
	const struct message *message = message_find(manager, notice->number);
	struct sleeper *sleeper;

	wake_new_mail(manager->wake);
	if (message != NULL) { /* found before by a scan */
		check_is_same(message, notice->text);
		return;
	}
	if (sleepers_find(&manager->sleepers, notice->number) != NULL)
		return;
	if (!manager->is_stopping && share_may_map(&manager->share, true)) {
		life_begin(manager, notice);
		return;
	}
	sleeper = sleepers_add(&manager->sleepers, notice->number, INT64_MAX);
	sleeper->facts.stage = (unsigned)notice->stage & 15U;
	wake_first(manager->wake, sleeper);
}

static void on_message_of_group_stands(void *context, enum mail_stage stage, uint64_t number)
{
	struct manager *manager = context;

	scan_add(manager->scan, stage, number);
}

static void on_unknown(void *context)
{
	struct manager *manager = context;

	scan_repeat(manager->scan);
}

static void on_message_removed(void *context, uint64_t number)
{
	struct manager *manager = context;
	struct message *message = message_find(manager, number);
	struct sleeper *sleeper;

	if (message == NULL) {
		sleeper = sleepers_find(&manager->sleepers, number);
		if (sleeper != NULL && sleeper->facts.place == MESSAGE_AT_S5_TODO)
			sleeper->facts.place = MESSAGE_AT_S5;
	} else if (message->state == MESSAGE_REMOVING) {
		life_event(manager, message, MESSAGE_REMOVED);
	} else if (message->facts.place == MESSAGE_AT_S5_TODO) {
		life_todo_removed(manager, message);
	}
}

static void on_missed(void *context)
{
	manager_hear_scan.wanted(context, true);
}

/* Whether todo/ID is still that message: then its removal was not carried out, and since only
 * "queue" removes it, its number is not reused meanwhile. 1, 0 or -errno: unknown for now. */
static int is_still_queued(struct manager *manager, const struct message *message)
{
	enum mail_stage stage = (enum mail_stage)message->facts.stage;
	struct queue_control *control;
	bool is_same;
	int error = queue_update_load(manager->store, &stage, message->id.number, &control, NULL);

	if (error == -ENOENT || message_is_damage(error))
		return 0;
	if (error < 0)
		return error;
	is_same = control->envelope->id.born_us == message->id.born_us;
	queue_control_free(control);
	return is_same;
}

/* At S2: mess/ still exists if the removal was not carried out; a later message with this number
 * has a control file. If it were forgotten too early it would be found again, and delivered
 * again. */
static void ask_again_or_forget(struct manager *manager, struct message *message)
{
	int result = message_facts_are_s4(message->facts) ? is_still_queued(manager, message) : 0;

	message->is_doubtful = result < 0;
	manager->has_doubts |= result < 0;
	if (result > 0)
		queue_link_remove(manager->queue, QUEUE_REMOVE_QUEUED,
				  (enum mail_stage)message->facts.stage, message->id.number);
	else if (result == 0)
		life_event(manager, message, MESSAGE_REMOVED);
}

void manager_hear_queue_doubts(struct manager *manager)
{
	struct message *message;
	struct message *next;

	if (!manager->has_doubts || !queue_link_is_up(manager->queue))
		return;
	manager->has_doubts = false;
	HASH_ITER (hh, manager->messages, message, next)
		if (message->is_doubtful)
			ask_again_or_forget(manager, message);
}

static void ask_again_for_todo(struct manager *manager, struct message_facts facts, uint64_t number)
{
	if (facts.place == MESSAGE_AT_S5_TODO)
		queue_link_remove(manager->queue, QUEUE_REMOVE_TODO, (enum mail_stage)facts.stage,
				  number);
}

static void ask_again_asleep(void *context, struct sleeper *sleeper)
{
	ask_again_for_todo(context, sleeper->facts, sleeper->number);
}

static void ask_again_for_all(struct manager *manager)
{
	struct message *message;
	struct message *next;

	HASH_ITER (hh, manager->messages, message, next) {
		if (message->state == MESSAGE_REMOVING)
			ask_again_or_forget(manager, message);
		else
			ask_again_for_todo(manager, message->facts, message->id.number);
	}
	sleepers_each(&manager->sleepers, ask_again_asleep, manager);
}

static void on_queue_managed(void *context)
{
	struct manager *manager = context;
	void (*ready)(void *context) = manager->ready;

	if (manager->is_cleaned)
		queue_link_cleaned(manager->queue);
	ask_again_for_all(manager);
	handed_ask_again(manager->handed);
	if (triggers_are_read(manager->triggers))
		scan_begin(manager->scan, false);
	else
		manager_hear_scan.wanted(manager, false);
	manager->ready = NULL;
	if (ready != NULL)
		ready(manager->ready_context);
}

static void on_release_of_domain(void *context, struct str domain)
{
	struct manager *manager = context;
	struct mail_domain form;

	if (mail_domain_form(domain, &form))
		triggers_release_domain(manager->triggers, mail_domain_view(&form));
}

const struct queue_link_handler manager_hear_queue = {
	on_queue_managed, stop_check, on_message_queued,    on_message_of_group_stands,
	on_unknown,       on_missed,  on_release_of_domain, on_message_removed};
