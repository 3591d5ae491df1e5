// SPDX-License-Identifier: ISC
/* What servers refuse, and show of their limits by it (shape.h). */
#include "base/timestamp.h"
#include "deliver/shape/internal.h"
#include <stdlib.h>

static void tell_shape_news(const struct shape_entry *server, enum shape_news news, int64_t amount,
			    const struct shape_said *said)
{
	if (said->tell != NULL)
		said->tell(said->context, server->name, server->port, news, (uint32_t)amount, said);
}

static struct log_field amount_of(enum shape_news news, int64_t amount)
{
	LOG_ROW(EVENT_HOST_LIMIT_LEARNT);

	switch (news) {
	case SHAPE_CONNECTIONS:
		return log_number(connections, amount);
	case SHAPE_RECIPIENTS:
		return log_number(recipients, amount);
	default:
		return log_number(messages, amount);
	}
}

static void log_said(enum log_name event, const struct shape_entry *server, enum shape_news news,
		     int64_t amount, const struct shape_said *said)
{
	log_event_like(log_write, event, EVENT_HOST_LIMIT_LEARNT, log_string(host, server->name),
		       log_number(port, server->port), amount_of(news, amount), log_id(said->id),
		       log_str(to, said->to), log_string(status, said->verdict->status),
		       log_string(text, said->verdict->text));
	tell_shape_news(server, news, amount, said);
}

static void keep_words(struct shape_entry *server, const struct shape_said *said)
{
	free(server->words);
	server->words = memory_copy_string(said->verdict->text);
}

void shape_slow_down(struct shape_entry *server, const struct shape_complaint *complaint,
		     int64_t now_us)
{
	struct shape_throttle *throttle = &server->throttle;
	const struct shape_said *said = &complaint->said;
	uint64_t seen = shape_meter_count(&server->messages, MINUTE_US, now_us);

	if (!shape_throttle_slow(throttle, (unsigned)seen, complaint->wait_us, complaint->began_us,
				 now_us))
		return;
	keep_words(server, said);
	log_event(EVENT_HOST_THROTTLED, log_string(host, server->name),
		  log_number(port, server->port),
		  log_number(apart_ms, throttle->gap_us / (SECOND_US / 1000)),
		  log_number(wait, complaint->wait_us / SECOND_US), log_id(said->id),
		  log_str(to, said->to), log_string(status, said->verdict->status),
		  log_string(text, said->verdict->text));
	tell_shape_news(server, SHAPE_SLOWER, throttle->gap_us / (SECOND_US / 1000), said);
}

void shape_narrow(struct shape_entry *server, const struct shape_complaint *complaint,
		  int64_t now_us)
{
	if (!shape_room_less(&server->room, server->places - 1, now_us))
		return;
	keep_words(server, &complaint->said);
	log_said(EVENT_HOST_THROTTLED, server, SHAPE_CONNECTIONS, server->room.most,
		 &complaint->said);
}

enum shape_told_whom shape_refused(struct shape_hold *hold, const struct shape_told *told,
				   int64_t now_us)
{
	return shape_alike_refused(&hold->server->alike, told, now_us);
}

void shape_taken(struct shape_hold *hold)
{
	shape_alike_taken(&hold->server->alike);
}

void shape_learn_messages(struct shape_hold *hold, uint32_t count, const struct shape_said *said,
			  int64_t now_us)
{
	if (shape_learnt_note(&hold->server->learnt_messages, count, now_us))
		log_said(EVENT_HOST_LIMIT_LEARNT, hold->server, SHAPE_MESSAGES, count, said);
}

void shape_learn_recipients(struct shape_hold *hold, uint32_t count, const struct shape_said *said,
			    int64_t now_us)
{
	if (shape_learnt_note(&hold->server->learnt_recipients, count, now_us))
		log_said(EVENT_HOST_LIMIT_LEARNT, hold->server, SHAPE_RECIPIENTS, count, said);
}

void shape_renewed(const struct shape_hold *hold, uint32_t count, const struct shape_said *said)
{
	log_said(EVENT_SESSION_RENEWED, hold->server, SHAPE_RENEWED, count, said);
}
