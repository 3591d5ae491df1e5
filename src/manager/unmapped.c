// SPDX-License-Identifier: ISC
/* A message whose recipients are not mapped: resolve is asked where they go, once there is room for
 * the answer, and again while the directory cannot tell. */
#include "manager/internal.h"
#include "manager/notice.h"
#include "manager/outcome.h"
#include "os/clock.h"

static const int64_t ROOM_AGAIN_US = MINUTE_US;
static const int64_t ASK_AGAIN_US = 2 * SECOND_US;
static const int64_t ASK_AGAIN_MAX_US = MINUTE_US;

/* A retry is read although others may have all the room there is for messages that are mapped, for
 * it may be its time to be returned: it waits for room, and no longer than it may. */
static bool has_room_for_mapping(const struct manager *manager, const struct message *message)
{
	struct share others = manager->share;

	others.used -= message->units;
	others.mapping -= message->units;
	return !message->is_retry || share_may_map(&others, false);
}

static enum message_state wait_for_room(struct manager *manager, struct message *message)
{
	int64_t latest_us = message_latest_us(manager, message);
	int64_t again_us = os_clock_wall_us() + ROOM_AGAIN_US;

	return message_sleep(manager, message, wake_unmapped(manager->wake),
			     latest_us > again_us ? latest_us : again_us);
}

/* What an earlier process has left may be at another node: it waits until that is known, because it
 * would be mapped anew. NULL: it need not wait. */
static struct trigger *doubt_about(struct manager *manager, const struct message *message)
{
	struct buffer name CLEANUP(buffer_clear) = {0};

	if (message->is_new || !message_facts_are_s4(message->facts) ||
	    !handed_is_doubtful(manager->handed, &name))
		return NULL;
	return triggers_set(manager->triggers, buffer_view(&name),
			    STR("the node may have this mail, and is asked"));
}

enum message_state unmapped_ask(struct manager *manager, struct message *message)
{
	struct trigger *doubt = doubt_about(manager, message);

	if (doubt != NULL)
		return message_sleep(manager, message, trigger_waiters(doubt),
				     message_latest_us(manager, message));
	if (!has_room_for_mapping(manager, message))
		return wait_for_room(manager, message);
	resolver_ask(manager->resolver, message, message->id.number, message->control->envelope);
	return MESSAGE_MAPPING;
}

/* If there is another reason, resolve is asked less and less often. */
static int64_t ask_again_us(const struct message *message)
{
	int64_t now_us = os_clock_wall_us();
	int64_t delay_us = (now_us - message->id.born_us) / 2;

	if (delay_us < ASK_AGAIN_US)
		delay_us = ASK_AGAIN_US;
	return now_us + (delay_us < ASK_AGAIN_MAX_US ? delay_us : ASK_AGAIN_MAX_US);
}

/* Its sender is to hear that it waits, which is noted in a control file: then it is asked again. */
static enum message_state report_unmapped(struct manager *manager, struct message *message,
					  struct str text)
{
	if (message->control->is_mapped)
		message_weigh(manager, message, share_of_message(message->control->delivery_count),
			      false);
	else
		message_map_later(manager, message, text);
	message->is_delay_due = true;
	return MESSAGE_DECIDING;
}

enum message_state unmapped_wait(struct manager *manager, struct message *message, bool is_away,
				 struct str text)
{
	int64_t notice_us = notice_delay_due_us(message->control, manager->config);
	int64_t latest_us = message_latest_us(manager, message);
	struct trigger *trigger = NULL;

	if (is_away) {
		trigger = triggers_set(manager->triggers, STR(TRIGGER_DIRECTORY), text);
		resolver_await(manager->resolver);
	}
	if (notice_us <= os_clock_wall_us() && !manager->is_stopping)
		return report_unmapped(manager, message, text);
	if (trigger != NULL)
		return await_with(manager, message, trigger_waiters(trigger),
				  notice_us < latest_us ? notice_us : latest_us);
	message->facts.rest = MESSAGE_RESTS_FOR_DIRECTORY;
	return await_with(manager, message, NULL, ask_again_us(message));
}

/* The directory may have decided some recipients: that is news. And its answer is the event that
 * messages wait for. */
void unmapped_end(struct manager *manager, struct message *message)
{
	struct trigger *trigger = triggers_find(manager->triggers, STR(TRIGGER_DIRECTORY));

	for (size_t i = 0; i < message->control->delivery_count; i++)
		if (message->news[i] & RECORDER_OUTCOME)
			outcome_log(message->control->envelope, &message->control->deliveries[i],
				    NULL);
	if (trigger != NULL && trigger_is_probe(trigger, message))
		triggers_release(manager->triggers, trigger);
}
