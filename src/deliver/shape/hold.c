// SPDX-License-Identifier: ISC
/* What is under way to a server, and when it counts as what has been (shape.h). */
#include "deliver/shape/internal.h"

void shape_hold_message(struct shape_hold *hold, struct shape_entry *bearer, int64_t interval_us,
			uint32_t recipients)
{
	hold->bearer = bearer;
	hold->interval_us = interval_us;
	hold->recipients = recipients;
	bearer->holds++;
	bearer->under_way.messages++;
	bearer->under_way.recipients += recipients;
}

void shape_hold_session(struct shape_hold *hold, struct shape_entry *bearer)
{
	hold->server->places++;
	hold->place = bearer;
	if (bearer == NULL)
		return;
	bearer->holds++;
	bearer->places++;
	bearer->under_way.sessions++;
	hold->is_new = true;
}

/* Nothing is under way any more. The bearer that it was is returned; NULL: none. */
static struct shape_entry *end_message_of_hold(struct shape_hold *hold)
{
	struct shape_entry *bearer = hold->bearer;

	if (bearer == NULL)
		return NULL;
	bearer->holds--;
	bearer->under_way.messages--;
	bearer->under_way.recipients -= hold->recipients;
	hold->bearer = NULL;
	return bearer;
}

static void end_session_of_hold(struct shape_hold *hold)
{
	if (hold->is_new)
		hold->place->under_way.sessions--;
	hold->is_new = false;
}

/* The interval may be another one since it began. */
static void count_in_meter(struct shape_meter *meter, const struct shape_hold *hold, int64_t now_us,
			   uint32_t amount)
{
	int64_t interval_us = meter->interval_us > 0 ? meter->interval_us : hold->interval_us;

	shape_meter_add(meter, interval_us, now_us, amount);
}

void shape_ended(struct shape_hold *hold, int64_t now_us)
{
	struct shape_entry *bearer = end_message_of_hold(hold);

	if (bearer != NULL) {
		count_in_meter(&bearer->messages, hold, now_us, 1);
		count_in_meter(&bearer->recipients, hold, now_us, hold->recipients);
	}
	if (hold->is_new)
		count_in_meter(&hold->place->sessions, hold, now_us, 1);
	end_session_of_hold(hold);
	hold->ended_us = now_us;
}

void shape_unsent(struct shape_hold *hold)
{
	(void)end_message_of_hold(hold);
}

void shape_leave(struct shape_hold *hold, int64_t now_us)
{
	shape_ended(hold, now_us);
	shape_cancel(hold);
}

void shape_cancel(struct shape_hold *hold)
{
	(void)end_message_of_hold(hold);
	end_session_of_hold(hold);
	if (hold->server != NULL) {
		hold->server->holds--;
		hold->server->places--;
	}
	if (hold->place != NULL) {
		hold->place->holds--;
		hold->place->places--;
	}
	*hold = (struct shape_hold){0};
}
