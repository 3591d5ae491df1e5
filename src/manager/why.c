// SPDX-License-Identifier: ISC
/* What a message waits for, in words: there is a reason for each way to wait, because what waits
 * without one is taken for lost. */
#include "manager/internal.h"
#include "os/clock.h"

/* What is going on with a message that is awake and has no jobs, or is at an end. */
static const char *const doings[MESSAGE_STATES] = {
	[MESSAGE_READING] = "(disk: its control file is being read)",
	[MESSAGE_MAPPING] = "(directory: it is being asked where its recipients go)",
	[MESSAGE_OWING] = "(disk: what became of it is about to be recorded)",
	[MESSAGE_RECORDING] = "(disk: what became of it is being recorded)",
	[MESSAGE_REPORTING] = "(queue: the report to its sender is being queued)",
	[MESSAGE_ENDING] = "(queue: it has ended, and is being removed)",
	[MESSAGE_REMOVING] = "(queue: it has ended, and is being removed)",
};

static const char *const rests[] = {
	[MESSAGE_RESTS_FOR_TIME] = "",
	[MESSAGE_RESTS_FOR_DIRECTORY] =
		"(directory: it could not tell where its recipients go, and is asked again)",
	[MESSAGE_RESTS_FOR_ROOM] = "(memory: there is no room to find out where more messages go)",
	[MESSAGE_RESTS_UNREADABLE] = "(disk: it could not be read, and is tried again; see "
				     "queue_error in the log)",
	[MESSAGE_RESTS_UNRECORDED] = "(disk: what became of it could not be recorded, which is "
				     "tried again; see queue_error in the log)",
};

static const char turn_among_others[] =
	"(send: nothing keeps it any more; it is tried when its turn comes among all that are due)";

static void tell_pause_of_message(const struct transport_pause *pause, struct buffer *told)
{
	buffer_append_format(told, "(%s: %s)", pause->destination, pause->reason);
}

/* A job that waits says more than one that is in flight. */
static const struct job *find_telling_job(const struct message *message)
{
	for (const struct job *job = message->job_list; job != NULL; job = job->of_message_next)
		if (job_waits(job))
			return job;
	return message->job_list;
}

static void tell_of_job(const struct job *job, struct buffer *told)
{
	const struct trigger *obstacle = job_obstacle(job);
	const struct transport_turn turn = job_turn(job);

	if (!job_waits(job))
		buffer_append_format(told, "(%s: a delivery is under way)", turn.destination);
	else if (obstacle != NULL)
		buffer_append_str(told, trigger_name(obstacle));
	else
		buffer_append_format(told,
				     "(%s: it waits for its turn; %zu deliveries there are under "
				     "way, and %zu wait)",
				     turn.destination, turn.in_flight, turn.waiting);
}

static void tell_of_awake(struct manager *manager, const struct message *message,
			  struct buffer *told)
{
	struct transport_pause pause;

	if (deliver_paused_by(manager, message, &pause))
		tell_pause_of_message(&pause, told);
	else if (message->record_failures > 0)
		buffer_append_string(told, rests[MESSAGE_RESTS_UNRECORDED]);
	else if (message->job_list != NULL)
		tell_of_job(find_telling_job(message), told);
	else if (doings[message->state] != NULL)
		buffer_append_string(told, doings[message->state]);
}

bool why_is_paused(struct manager *manager, const struct message *message,
		   const struct sleeper *sleeper, struct transport_pause *pause_out)
{
	static const struct transport_pause unmapped = {
		.destination = "memory",
		.reason = "there is no room to find out where more messages go; this one is looked "
			  "at when others are done",
	};

	if (message != NULL)
		return deliver_paused_by(manager, message, pause_out);
	if (sleeper == NULL)
		return false;
	*pause_out = unmapped;
	return sleeper->waiters == wake_unmapped(manager->wake) ||
	       transports_pause_of_waiters(manager->transports, sleeper->waiters,
					   os_clock_monotonic_us(), pause_out);
}

static void tell_of_sleeper(struct manager *manager, const struct sleeper *sleeper,
			    struct buffer *told)
{
	const struct trigger *trigger = triggers_of_waiters(manager->triggers, sleeper->waiters);
	struct transport_pause pause;

	if (trigger != NULL)
		buffer_append_str(told, trigger_name(trigger));
	else if (why_is_paused(manager, NULL, sleeper, &pause))
		tell_pause_of_message(&pause, told);
	else if (sleeper->waiters == NULL && sleeper->due_us > os_clock_wall_us())
		buffer_append_string(told, rests[sleeper->facts.rest]);
	else
		buffer_append_string(told, turn_among_others);
}

void why_tell(struct manager *manager, const struct message *message, const struct sleeper *sleeper,
	      struct buffer *told)
{
	if (message != NULL)
		tell_of_awake(manager, message, told);
	else
		tell_of_sleeper(manager, sleeper, told);
}
