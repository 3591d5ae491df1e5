// SPDX-License-Identifier: ISC
#include "manager/outcome.h"
#include "log/event.h"
#include "mail/localpart.h"
#include "mail/verdict.h"
#include "manager/wait/schedule.h"
#include "queue/trigger.h"

enum { INTERRUPTIONS = 3 }; /* after so many it waits as after any failure */

static const int64_t NODES_AGAIN_US = 5 * SECOND_US;
static const int64_t REFUSED_AGAIN_US = 20 * SECOND_US;
static const int64_t INTERRUPTED_US = 2 * SECOND_US;

bool outcome_is_open(const struct queue_delivery *delivery)
{
	return delivery->outcome == QUEUE_PENDING || delivery->outcome == QUEUE_WAIT;
}

static enum log_name event_of_outcome(const struct queue_delivery *delivery)
{
	if (outcome_is_redirected(delivery))
		return EVENT_POSTMASTER_MISSING;
	return delivery->outcome == QUEUE_DONE   ? EVENT_DELIVERED
	       : delivery->outcome == QUEUE_WAIT ? EVENT_DEFERRED
						 : EVENT_FAILED;
}

static struct str place_of_delivery(const struct queue_delivery *delivery)
{
	return delivery->route == QUEUE_ROUTE_LOCAL    ? delivery->service
	       : delivery->route == QUEUE_ROUTE_REMOTE ? STR("remote")
						       : STR("none");
}

/* The recipient as the sender wrote it, if that is another one. */
static struct str original_of(const struct mail_envelope *envelope,
			      const struct queue_delivery *delivery)
{
	const struct mail_recipient *recipient = mail_envelope_find(envelope, delivery->recipient);

	return recipient != NULL && !str_equal(recipient->address, delivery->address)
		       ? recipient->address
		       : STR("");
}

void outcome_log(const struct mail_envelope *envelope, const struct queue_delivery *delivery,
		 const struct ipc_job_report *report)
{
	static const struct ipc_job_report nothing;
	char until[TIMESTAMP_SIZE] = "";

	if (report == NULL)
		report = &nothing;
	if (delivery->outcome == QUEUE_WAIT)
		timestamp_format_seconds(delivery->until_us, until);
	log_event_like(log_write, event_of_outcome(delivery), EVENT_DEFERRED, log_id(envelope->id),
		       log_number(delivery, delivery->number), log_from(envelope->sender),
		       log_str(to, delivery->address),
		       log_str(original, original_of(envelope, delivery)),
		       log_str(by, place_of_delivery(delivery)), log_str(server, delivery->server),
		       log_number(size, (int64_t)envelope->size),
		       log_seconds(delay, delivery->changed_us - envelope->id.born_us),
		       log_str(status, delivery->status), log_str(text, delivery->text),
		       log_string(until, until), log_str(tls, report->tls.version),
		       log_str(cipher, report->tls.cipher), log_str(policy, report->tls.policy),
		       log_str(verified, report->tls.verified), log_str(source, report->source));
}

/* It has failed with VERDICT. */
static void fail_delivery(struct arena *arena, struct queue_delivery *delivery,
			  const struct mail_verdict *verdict, int64_t now_us)
{
	delivery->outcome = QUEUE_FAIL;
	delivery->changed_us = now_us;
	delivery->status = arena_copy_str(arena, str_from(verdict->status));
	delivery->text = arena_copy_str(arena, str_from(verdict->text));
}

void outcome_expire(struct arena *arena, struct queue_delivery *delivery, int64_t now_us)
{
	struct mail_verdict verdict;

	mail_verdict_set(&verdict, MAIL_STATUS_EXPIRED,
			 MAIL_NOT_DELIVERED "in time" MAIL_LAST_ATTEMPT STR_FORMAT,
			 STR_ARGUMENTS(delivery->text));
	fail_delivery(arena, delivery, &verdict, now_us);
}

bool outcome_is_missed(const struct mail_deadline *deadline, int64_t now_us)
{
	return deadline->mode == MAIL_DEADLINE_RETURN && mail_deadline_has_passed(deadline, now_us);
}

void outcome_miss(struct arena *arena, struct queue_delivery *delivery,
		  const struct mail_deadline *deadline, int64_t now_us)
{
	const char *before = delivery->text.length > 0 ? MAIL_LAST_ATTEMPT : "";
	char at[TIMESTAMP_SIZE];
	struct mail_verdict verdict;

	timestamp_format_seconds(deadline->at_us, at);
	mail_verdict_set(&verdict, MAIL_STATUS_EXPIRED,
			 MAIL_NOT_DELIVERED "by %s, as its sender has asked%s" STR_FORMAT, at,
			 before, STR_ARGUMENTS(delivery->text));
	fail_delivery(arena, delivery, &verdict, now_us);
}

static bool is_past_lifetime(const struct outcome_terms *terms)
{
	return terms->now_us - terms->start_us >= terms->lifetime_us;
}

static void end_if_late(struct arena *arena, struct queue_delivery *delivery,
			const struct outcome_terms *terms)
{
	if (outcome_is_missed(&terms->deadline, terms->now_us))
		outcome_miss(arena, delivery, &terms->deadline, terms->now_us);
	else if (is_past_lifetime(terms))
		outcome_expire(arena, delivery, terms->now_us);
}

/* What had no place in a class of hosts was not tried: should its trigger be lost, it does not wait
 * for the next attempt. */
static void schedule_next_attempt(struct arena *arena, struct queue_delivery *delivery,
				  const struct outcome_terms *terms)
{
	bool is_held = queue_trigger_kind(delivery->trigger) == QUEUE_TRIGGER_CLASS;

	delivery->outcome = QUEUE_WAIT;
	delivery->attempts++;
	delivery->until_us = is_held ? terms->now_us + SECOND_US
				     : schedule_next(terms->start_us, terms->now_us, terms->skip,
						     delivery->attempts - 1, terms->random);
	end_if_late(arena, delivery, terms);
}

/* For nodes it waits until their trigger is released; its time only counts once nobody knows any
 * more that it was, as after a restart. A node that has refused may be active, or have room, soon.
 * To ask costs next to nothing. */
static void hurry_for_nodes(struct queue_delivery *delivery, int64_t now_us)
{
	int64_t delay_us = delivery->trigger.length > 0 ? NODES_AGAIN_US : REFUSED_AGAIN_US;

	if (delivery->outcome == QUEUE_WAIT && delivery->until_us > now_us + delay_us)
		delivery->until_us = now_us + delay_us;
}

void outcome_report(struct arena *arena, struct queue_delivery *delivery,
		    const struct ipc_job_report *report, const struct outcome_terms *terms)
{
	delivery->status = arena_copy_str(arena, report->status);
	delivery->text = arena_copy_str(arena, report->text);
	delivery->trigger = arena_copy_str(arena, report->trigger);
	delivery->changed_us = terms->now_us;
	switch (report->status.data[0]) {
	case '2':
		delivery->outcome = QUEUE_DONE;
		break;
	case '5':
		delivery->outcome = QUEUE_FAIL;
		break;
	default:
		schedule_next_attempt(arena, delivery, terms);
		if (terms->is_handed)
			hurry_for_nodes(delivery, terms->now_us);
	}
}

/* --- the postmaster --- */

/* RFC 3463 section 3.2; others of 5.1 are about the sender, or other hosts. */
static bool is_no_mailbox_status(struct str status)
{
	static const struct str statuses[] = {STR("5.1.0"), STR("5.1.1"), STR("5.1.3"),
					      STR("5.1.6"), STR("5.1.10")};

	for (size_t i = 0; i < COUNT_OF(statuses); i++)
		if (str_equal(status, statuses[i]))
			return true;
	return false;
}

bool outcome_redirect(struct queue_delivery *delivery, const struct mail_recipient *recipient,
		      int64_t now_us)
{
	if (delivery->outcome != QUEUE_FAIL || delivery->route != QUEUE_ROUTE_LOCAL ||
	    !is_no_mailbox_status(delivery->status) ||
	    !(mail_is_postmaster(delivery->address) || mail_is_postmaster(recipient->address)))
		return false;
	delivery->outcome = QUEUE_WAIT;
	delivery->attempts++;
	delivery->until_us = now_us;
	delivery->is_requeued = true;
	return true;
}

bool outcome_is_redirected(const struct queue_delivery *delivery)
{
	return delivery->outcome == QUEUE_WAIT && delivery->status.length > 0 &&
	       delivery->status.data[0] == '5';
}

void outcome_interrupt(struct arena *arena, struct queue_delivery *delivery,
		       const struct outcome_terms *terms)
{
	outcome_defer(delivery, terms->now_us, terms->now_us + INTERRUPTED_US, "4.3.0",
		      "the delivery was interrupted");
	delivery->attempts++;
	if (delivery->attempts > INTERRUPTIONS)
		delivery->until_us = schedule_next(terms->start_us, terms->now_us, terms->skip,
						   delivery->attempts - 1, terms->random);
	if (delivery->attempts > INTERRUPTIONS)
		end_if_late(arena, delivery, terms);
	if (terms->is_handed) /* what waited for nodes, or was refused there, was an attempt, too */
		hurry_for_nodes(delivery, terms->now_us);
}

/* Not as old mail is, of which the text says that trying again would not help. */
void outcome_damage(struct queue_delivery *delivery, const struct outcome_terms *terms)
{
	static const char *const text = "the disk of this host has damaged the message; it is held";

	outcome_defer(delivery, terms->now_us, terms->start_us + terms->lifetime_us, "4.3.0", text);
	if (outcome_is_missed(&terms->deadline, terms->now_us) || is_past_lifetime(terms)) {
		delivery->outcome = QUEUE_FAIL;
		delivery->until_us = 0;
		delivery->status = STR("5.3.0");
		delivery->text = STR("the disk of this host has damaged the message");
	} else {
		delivery->attempts++;
	}
}

void outcome_defer(struct queue_delivery *delivery, int64_t now_us, int64_t until_us,
		   const char *status, const char *text)
{
	delivery->outcome = QUEUE_WAIT;
	delivery->changed_us = now_us;
	delivery->until_us = until_us;
	delivery->status = str_from(status);
	delivery->text = str_from(text);
	delivery->trigger = STR("");
}

/* No attempt: attempts stay as they are, and there is no status. */
void outcome_postpone(struct arena *arena, struct mail_id message, struct queue_delivery *delivery,
		      int64_t now_us, int64_t release_us)
{
	char until[TIMESTAMP_SIZE];
	struct buffer text CLEANUP(buffer_clear) = {0};

	timestamp_format_seconds(release_us, until);
	buffer_append_format(&text, "held until %s, as its sender has asked", until);
	outcome_defer(delivery, now_us, release_us, "", "");
	delivery->text = arena_copy_str(arena, buffer_view(&text));
	log_event(EVENT_POSTPONED, log_id(message), log_number(delivery, delivery->number),
		  log_str(to, delivery->address), log_string(until, until));
}

/* Times of attempts are in microseconds: after one, it waits until exactly then by chance only. */
bool outcome_is_postponed(const struct queue_delivery *delivery, int64_t release_us, int64_t now_us)
{
	return release_us > now_us && delivery->outcome == QUEUE_WAIT &&
	       delivery->until_us == release_us;
}

void outcome_give_up(struct queue_delivery *delivery, bool is_bounce, int64_t now_us)
{
	delivery->outcome = is_bounce ? QUEUE_FAIL : QUEUE_DONE;
	delivery->is_quiet = !is_bounce;
	delivery->status = is_bounce ? STR("5.7.0") : STR("2.7.0");
	delivery->text = is_bounce ? STR("returned by the operator of the mail system")
				   : STR("removed by the operator");
	delivery->trigger = STR("");
	delivery->changed_us = now_us;
}
