// SPDX-License-Identifier: ISC
/* Trigger files that other processes make and remove. */
#include "base/panic.h"
#include "log/event.h"
#include "manager/wait/trigger/internal.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

void triggers_look(struct triggers *triggers, struct str name)
{
	int result;

	if (triggers_find(triggers, name) != NULL)
		return;
	result = queue_trigger_is_set(triggers->store, name);
	if (result < 0)
		log_event(EVENT_QUEUE_ERROR, log_str(trigger, name), log_error(result));
	if (result != 0)
		trigger_add(triggers, name);
}

/* Read only on demand: a node may have a hundred thousand holds. */
struct str triggers_until(struct triggers *triggers, struct trigger *trigger)
{
	struct buffer until CLEANUP(buffer_clear) = {0};
	int error;

	if (trigger->until != NULL)
		return str_from(trigger->until);
	error = queue_trigger_read_until(triggers->store, str_from(trigger->name), &until);
	if (error < 0 && error != -ENOENT) /* removed by hand: the next reading notices */
		log_event(EVENT_QUEUE_ERROR, log_string(trigger, trigger->name), log_error(error));
	if (error < 0)
		return STR("");
	trigger->until = trigger_copy(buffer_view(&until));
	return str_from(trigger->until);
}

bool trigger_knows_until(const struct trigger *trigger)
{
	return trigger->until != NULL;
}

static int on_trigger_file_name(void *context, struct str name)
{
	trigger_add(context, name)->is_seen = true;
	return 0;
}

/* Whether its file is gone, or nobody has asked for it since the last reading: triggers of
 * programs are not probed, so only this shows that all waiters have gone. */
static bool is_trigger_over(struct trigger *trigger)
{
	bool is_wanted = trigger->waiters.count > 0 || trigger->is_wanted;

	if (!trigger->is_seen)
		return true;
	if (trigger_is_of_program(str_from(trigger->name)))
		trigger->is_wanted = false;
	return trigger_is_of_program(str_from(trigger->name)) && !is_wanted;
}

/* By name, because waking the waiters of one may release others. */
static void release_all(struct triggers *triggers, struct str names)
{
	struct str name;

	while (names.length > 0 && str_split(&names, '\n', &name)) {
		struct trigger *trigger;

		HASH_FIND(hh, triggers->by_name, name.data, name.length, trigger);
		if (trigger == NULL || trigger->state == TRIGGER_RELEASED)
			continue;
		if (trigger->is_seen)
			triggers_release(triggers, trigger);
		else
			trigger_drop(triggers, trigger);
	}
}

int triggers_read(struct triggers *triggers)
{
	struct buffer over CLEANUP(buffer_clear) = {0};
	struct trigger *trigger;
	struct trigger *next;
	int error;

	HASH_ITER (hh, triggers->by_name, trigger, next)
		trigger->is_seen = false;
	error = queue_trigger_each(triggers->store, on_trigger_file_name, triggers);
	if (error < 0) {
		log_event(EVENT_QUEUE_ERROR, log_string(operation, "read triggers"),
			  log_error(error));
		triggers->is_read |= error == -ENOENT; /* nothing can be held there */
		return error;
	}
	triggers->is_read = true;
	trigger_search(triggers);
	HASH_ITER (hh, triggers->by_name, trigger, next)
		if (is_trigger_over(trigger))
			buffer_append_format(&over, "%s\n", trigger->name);
	release_all(triggers, buffer_view(&over));
	return 0;
}

bool triggers_are_read(const struct triggers *triggers)
{
	return triggers->is_read;
}
