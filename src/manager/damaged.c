// SPDX-License-Identifier: ISC
/* A message at S4 whose envelope is damaged: nobody knows any more to whom it goes. */
#include "log/event.h"
#include "manager/internal.h"
#include "manager/link/cleaning.h"
#include "os/clock.h"
#include "queue/cleaner.h"
#include <errno.h>

static const int64_t DAMAGED_AGAIN_US = 10 * MINUTE_US;

static void on_damaged_set_aside(void *context, const struct queue_cleaner_finding *finding)
{
	struct manager *manager = context;

	cleaning_log_finding(finding);
	if (finding->report != 0)
		(void)scan_find(manager->scan, finding->report);
}

/* Its file has a name in damaged/ then; only "queue" removes names in todo/. If that order is lost
 * the message is found again, and only asked for again. */
enum message_state damaged_set_aside(struct manager *manager, struct message *message)
{
	enum mail_stage stage = (enum mail_stage)message->facts.stage;
	int error = queue_cleaner_set_aside(manager->store, stage, message->id.number,
					    on_damaged_set_aside, manager);

	if (error < 0 && error != -EPROTO) /* that is logged */
		log_event(EVENT_QUEUE_ERROR, log_number(number, (int64_t)message->id.number),
			  log_string(operation, "set aside"), log_error(error));
	message->facts.rest = MESSAGE_RESTS_UNREADABLE;
	if (error < 0)
		return message_sleep(manager, message, NULL, os_clock_wall_us() + DAMAGED_AGAIN_US);
	queue_link_remove(manager->queue, QUEUE_REMOVE_TODO, stage, message->id.number);
	return MESSAGE_REMOVING;
}
