// SPDX-License-Identifier: ISC
/* Messages as they come, and what must have become of them when they go: the ledger. */
#include "base/checksum.h"
#include "bounce/report.h"
#include "ipc/job.h"
#include "ipc/pack.h"
#include "mail/verp.h"
#include "model.h"
#include "queue/control/checksum.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* --- new messages --- */

static uint64_t next_number = 100;

uint64_t model_next_number(void)
{
	return next_number;
}

static struct model_message *make(void)
{
	size_t i = 0;

	while (i < model_disk.capacity && model_disk.messages[i].is_present)
		i++;
	if (i == model_disk.capacity)
		model_fail("the model has no room for another message");
	model_disk.messages[i] = (struct model_message){.id = {next_number++, model_wall_us},
							.is_present = true,
							.is_queued = true,
							.jumped_us = model_jumped_us};
	model_disk.alive++;
	return &model_disk.messages[i];
}

/* Of most messages. Those of another length have to be read all the same. */
static void pack_content(struct buffer *body)
{
	char content[MODEL_SIZE];

	memset(content, 'x', sizeof content);
	pack_str(body, model_once_in(2) ? STR("") : str_slice(content, sizeof content));
}

static void notice(const struct model_message *m)
{
	struct buffer body = {0};

	if (!model_disk.is_up)
		return;
	if (model_once_in(50)) {
		model_tell(QUEUE_PROTOCOL_MISSED, STR(""));
		return;
	}
	pack_u32(&body, m->stage);
	pack_u64(&body, m->id.number);
	pack_str(&body, model_once_in(20) ? STR("") : buffer_view(&m->envelope));
	pack_content(&body);
	model_tell(QUEUE_PROTOCOL_QUEUED, buffer_view(&body));
	buffer_clear(&body);
}

/* Of SIZE bytes 'x', as model_disk.c reads them; nobody reads those of a large message. */
static uint32_t checksum_of(uint64_t size)
{
	uint32_t checksum = 0;

	for (uint64_t i = 0; size <= QUEUE_BY_VALUE_MAX && i < size; i++)
		checksum = checksum_extend(checksum, "x", 1);
	return checksum;
}

void model_add_mail(struct mail_envelope *envelope, bool is_report)
{
	struct model_message *m = make();

	m->is_report = is_report;
	m->is_verp = mail_verp_is(envelope->sender);
	m->is_empty = !is_report && model_once_in(200);
	m->stage = envelope->stage;
	if (envelope->size == 0)
		envelope->size = model_once_in(50) ? (uint64_t)QUEUE_BY_VALUE_MAX + model_random(2)
						   : MODEL_SIZE;
	envelope->id = m->id;
	if (envelope->received.length == 0)
		envelope->received = STR("model");
	if (queue_control_write_envelope(&m->envelope, envelope) < 0)
		model_fail("an envelope cannot be written");
	queue_checksum_add_head(&m->envelope, buffer_view(&m->envelope),
				checksum_of(envelope->size));
	m->release_us = envelope->release_us;
	m->deadline = envelope->deadline;
	m->recipients = (uint32_t)envelope->recipient_count;
	for (uint32_t i = 1; i <= m->recipients; i++)
		m->notify[i] = envelope->recipients[i - 1].notify;
	notice(m);
	model_run_tasks();
}

struct model_message *model_mail_to(const char *sender, const char *const *addresses, uint64_t size)
{
	struct mail_envelope *envelope = mail_envelope_new();
	uint64_t number = next_number;

	envelope->stage = MAIL_STAGE_ARRIVE;
	envelope->size = size;
	envelope->sender = arena_copy_str(envelope->arena, str_from(sender));
	for (size_t i = 0; addresses[i] != NULL; i++)
		mail_envelope_add(envelope,
				  arena_copy_str(envelope->arena, str_from(addresses[i])));
	model_add_mail(envelope, false);
	mail_envelope_free(envelope);
	return model_find(number);
}

struct model_message *model_mail_that_waits(const char *address, const char *trigger)
{
	struct mail_envelope *envelope = mail_envelope_new();
	uint64_t number = next_number;

	envelope->stage = MAIL_STAGE_ARRIVE;
	envelope->size = 100;
	envelope->sender = STR("s@sender.example");
	envelope->trigger = str_from(trigger);
	mail_envelope_add(envelope, str_from(address));
	model_add_mail(envelope, false);
	mail_envelope_free(envelope);
	return model_find(number);
}

/* Texts that are as long as may be told, and longer. */
static struct str long_text(struct arena *arena, size_t length)
{
	char *text = arena_alloc(arena, length);

	memset(text, 'e', length);
	return str_slice(text, length);
}

void model_set_wishes(struct mail_envelope *envelope, uint64_t number)
{
	struct arena *arena = envelope->arena;

	envelope->utf8 = number % 2 == 1;
	envelope->binary = number % 3 == 1;
	envelope->require_tls = number % 5 == 1;
	envelope->ret = number % 4 == 1   ? MAIL_RET_HEADERS
			: number % 4 == 2 ? MAIL_RET_FULL
					  : envelope->ret;
	if (number % 7 < 3)
		envelope->envid = long_text(arena, number % 7 == 0   ? MAIL_ENVID_MAX
						   : number % 7 == 1 ? MAIL_ENVID_MAX + 1
								     : 1);
	if (number % 11 < 2)
		envelope->received = long_text(arena, IPC_JOB_RECEIVED_MAX + number % 11);
	for (size_t i = 0; i < envelope->recipient_count; i++)
		if ((number + i) % 4 < 3)
			envelope->recipients[i].original =
				long_text(arena, (number + i) % 4 == 0   ? MAIL_ORCPT_MAX
						 : (number + i) % 4 == 1 ? MAIL_ORCPT_MAX + 1
									 : 7);
}

/* Domains tell what becomes of it: model_helpers.c. */
void model_new_mail(uint32_t recipients)
{
	static const char *const kinds[] = {"local", "fast", "fast",  "slow", "dead",
					    "grey",  "none", "extra", "wait"};
	static const unsigned wishes[] = {0,
					  0,
					  MAIL_NOTIFY_NEVER,
					  MAIL_NOTIFY_SUCCESS,
					  MAIL_NOTIFY_SUCCESS | MAIL_NOTIFY_FAILURE,
					  MAIL_NOTIFY_DELAY,
					  MAIL_NOTIFY_FAILURE | MAIL_NOTIFY_DELAY};
	struct mail_envelope *envelope = mail_envelope_new();
	char address[64];

	envelope->stage = MAIL_STAGE_ARRIVE;
	snprintf(address, sizeof address, "s%u@sender.example%s", (unsigned)model_random(5),
		 model_once_in(8) ? "-@[]" : "");
	envelope->sender = arena_copy_str(envelope->arena, str_from(address));
	for (uint32_t i = 0; i < recipients; i++) {
		snprintf(address, sizeof address, "r@%s%u.example",
			 kinds[model_random(COUNT_OF(kinds))], (unsigned)model_random(3));
		mail_envelope_add(envelope, str_from(address))->notify =
			wishes[model_random(COUNT_OF(wishes))];
	}
	if (model_once_in(10))
		envelope->release_us = (model_wall_us / SECOND_US +
					(int64_t)model_random(3 * HOUR_US / SECOND_US)) *
				       SECOND_US;
	if (model_once_in(10)) {
		envelope->deadline.mode =
			model_once_in(2) ? MAIL_DEADLINE_NOTIFY : MAIL_DEADLINE_RETURN;
		envelope->deadline.is_traced = model_once_in(2);
		mail_deadline_set(&envelope->deadline,
				  1 + (int64_t)model_random(3 * HOUR_US / SECOND_US),
				  model_wall_us);
	}
	model_set_wishes(envelope, next_number);
	model_add_mail(envelope, false);
	mail_envelope_free(envelope);
}

/* --- the ledger --- */

static int64_t start_of(const struct model_message *m)
{
	return m->release_us > m->id.born_us ? m->release_us : m->id.born_us;
}

bool model_is_early(const struct model_message *m)
{
	return !m->is_hurried && model_wall_us + model_jumped_us - m->jumped_us < m->release_us;
}

/* It may still be early, by a clock that was set. */
static bool may_be_early(const struct model_message *m)
{
	return model_wall_us - (model_jumped_us - m->jumped_us) < m->release_us;
}

/* Whether its sender may know that it is late: the clock may have been set back while that was
 * reported. */
static bool may_be_told(const struct model_message *m)
{
	return m->is_late_told ||
	       (m->delays > 0 && m->deadline.mode == MAIL_DEADLINE_NOTIFY &&
		m->deadline.at_us <= model_wall_us + model_jumped_us - m->jumped_us);
}

/* That it was sent on is no news for who knows that it is late. */
void model_note_sent(struct model_message *m, uint32_t delivery, const char *service, bool is_timed)
{
	bool is_lost = m->deadline.mode == MAIL_DEADLINE_NOTIFY && !is_timed;
	bool is_told =
		strcmp(service, "remote") == 0 && (m->notify[delivery] & MAIL_NOTIFY_NEVER) == 0;

	m->may_be_announced[delivery] = is_told && (is_lost || m->deadline.is_traced);
	m->is_announced[delivery] =
		is_told && ((is_lost && !may_be_told(m)) || m->deadline.is_traced);
}

/* Whether it is to be reported that somebody has it, or IS_DOUBTFUL: may be. */
static bool is_success_wanted(const struct model_message *m, bool is_doubtful)
{
	for (uint32_t i = 1; i <= m->recipients; i++)
		if (m->decided[i] == '2' &&
		    ((!m->is_passed_on[i] && bounce_is_success_wanted(m->notify[i])) ||
		     (is_doubtful ? m->may_be_announced[i] : m->is_announced[i])))
			return true;
	return false;
}

bool model_is_late(const struct model_message *m)
{
	return m->deadline.mode == MAIL_DEADLINE_RETURN && m->deadline.at_us <= model_wall_us;
}

/* Whether it may have been late, by a clock that was set. */
static bool may_be_late(const struct model_message *m)
{
	return m->deadline.mode == MAIL_DEADLINE_RETURN &&
	       m->deadline.at_us <= model_wall_us + model_jumped_us - m->jumped_us;
}

/* Whether it may have been given up for its age: clocks were set meanwhile. */
static bool may_be_old(const struct model_message *m)
{
	return may_be_late(m) ||
	       model_wall_us - start_of(m) + model_jumped_us - m->jumped_us >= MODEL_LIFETIME_US;
}

/* What is delivered is decided, or was given up; who asked to hear of it has heard. */
static void check_told(const struct model_message *m)
{
	bool is_failure = false;

	for (uint32_t i = 1; i <= m->recipients; i++) {
		/* what was never decided was given up for its age */
		is_failure |= (m->decided[i] == '5' || (m->decided[i] == 0 && !m->is_given_up)) &&
			      bounce_is_wanted(m->notify[i]);
	}
	if (is_failure && m->reports == 0)
		model_fail("message %" PRIu64 " ends without a report", m->id.number);
	if (is_success_wanted(m, false) && m->reports + m->successes == 0)
		model_fail("success of %" PRIu64 " is not reported", m->id.number);
	if (!is_success_wanted(m, true) && m->successes > 0)
		model_fail("success of %" PRIu64 " is reported to who did not ask", m->id.number);
	if (!is_failure && m->reports > 0 && !m->is_given_up)
		model_fail("failure of %" PRIu64 " is reported to who did not ask", m->id.number);
}

static bool wants_delay(const struct model_message *m)
{
	for (uint32_t i = 1; i <= m->recipients; i++)
		if (m->decided[i] == 0 && bounce_is_delay_wanted(m->notify[i], true))
			return true;
	return false;
}

/* What cannot be read or recorded may be looked at so much later. */
static const int64_t AGAIN_US = 11 * MINUTE_US;

/* Who must wait is woken for a reason, and then waits for something. */
enum { READS_MAX = 100 };

void model_note_read(struct model_message *m)
{
	if (model_mono_us - m->minute_us > MINUTE_US) {
		m->minute_us = model_mono_us;
		m->reads = 0;
	}
	if (++m->reads > READS_MAX)
		model_fail("message %" PRIu64 " is read again and again", m->id.number);
	m->is_due = m->is_released;
	m->is_released = false;
}

static bool has_hold(const struct model_message *m)
{
	char id[MAIL_ID_SIZE];
	char name[MAIL_ID_SIZE + 8];

	mail_id_format(m->id, id);
	snprintf(name, sizeof name, "hold.%s", id);
	return model_has_trigger(name);
}

bool model_is_requeued(const struct model_message *m)
{
	static const char mark[] = "\nrequeue: 1\n";

	return memmem(buffer_data(&m->control), m->control.length, mark, strlen(mark)) != NULL;
}

/* A delay is on record; of which time depends on the clock, which may have been set since. */
static bool is_delay_recorded(const struct model_message *m)
{
	static const char mark[] = "\ndelayed: ";

	return m->control.length > 0 &&
	       memmem(buffer_data(&m->control), m->control.length, mark, sizeof mark - 1) != NULL;
}

void model_check_asleep(const struct model_message *m, const struct sleeper *sleeper,
			bool is_triggered)
{
	int64_t notice_us = start_of(m) + MODEL_DELAY_NOTICE_US;
	int64_t late_us = AGAIN_US + model_jumped_us - m->jumped_us;

	if (!m->is_at_s5 || m->is_queued || m->is_report || m->is_given_up)
		return;
	if (is_triggered && m->due_us > model_wall_us + late_us)
		model_fail("message %" PRIu64 " waits for a trigger, and the next one looks late",
			   m->id.number);
	if (is_triggered && !m->is_held && !has_hold(m) &&
	    (sleeper->due_us == INT64_MAX ||
	     sleeper->due_us > start_of(m) + MODEL_LIFETIME_US + late_us))
		model_fail("message %" PRIu64 " waits for a trigger longer than it may",
			   m->id.number);
	/* who was released waits for a turn among the retries */
	if (m->deadline.mode == MAIL_DEADLINE_RETURN && !m->is_held && !has_hold(m) &&
	    !sleeper->facts.is_released &&
	    (sleeper->due_us == INT64_MAX ||
	     sleeper->due_us >
		     (m->deadline.at_us > model_wall_us ? m->deadline.at_us : model_wall_us) +
			     late_us))
		model_fail("message %" PRIu64 " sleeps beyond its sender's time", m->id.number);
	if (m->is_due && sleeper->waiters == NULL && m->recipients == 1 && m->decided[1] == 0 &&
	    !model_is_requeued(m) && !may_be_early(m))
		model_fail("message %" PRIu64 " was released and is not tried", m->id.number);
	/* a hold is known to last; and who is late is not known while it is to be mapped */
	if (m->is_held || has_hold(m) || model_is_requeued(m) || sleeper->facts.is_released ||
	    !wants_delay(m))
		return;
	if (m->deadline.mode == MAIL_DEADLINE_NOTIFY && !m->is_late_told &&
	    (m->jumped_us == model_jumped_us || !is_delay_recorded(m)) &&
	    sleeper->due_us >
		    (m->deadline.at_us > model_wall_us ? m->deadline.at_us : model_wall_us) +
			    late_us)
		model_fail("message %" PRIu64 " sleeps when its deadline passes", m->id.number);
	/* what was taken for a report of success, as the message may have been at its end */
	if (m->delays > 0 || (m->successes > 0 && is_delay_recorded(m)))
		return;
	if (sleeper->due_us > (notice_us > model_wall_us ? notice_us : model_wall_us) + late_us)
		model_fail("message %" PRIu64 " sleeps when its delay is to be reported",
			   m->id.number);
}

void model_check_over(const struct model_message *m)
{
	if (has_hold(m))
		model_fail("message %" PRIu64 " ends and leaves its hold", m->id.number);
	for (uint32_t i = 1; i <= m->recipients; i++) {
		if (m->flight[i] != NULL)
			model_fail("message %" PRIu64 " ends while delivery %u is in flight",
				   m->id.number, i);
		if (m->decided[i] == 0 && !m->is_given_up && !may_be_old(m))
			model_fail("message %" PRIu64 " ends before delivery %u is decided",
				   m->id.number, i);
	}
	if (!m->is_report)
		check_told(m);
}

static bool is_all_decided(const struct model_message *m)
{
	for (uint32_t i = 1; i <= m->recipients; i++)
		if (m->decided[i] == 0)
			return false;
	return true;
}

void model_notified(uint64_t number)
{
	struct model_message *m = model_find(number);

	if (m == NULL)
		model_fail("a message that is gone is reported on");
	if (is_all_decided(m) || m->is_given_up || (may_be_old(m) && is_success_wanted(m, true))) {
		m->successes++;
		return;
	}
	m->is_late_told |= mail_deadline_has_passed(&m->deadline, model_wall_us);
	if (++m->delays > (m->deadline.mode == MAIL_DEADLINE_NOTIFY ? 2 : 1))
		model_fail("the delay of message %" PRIu64 " is reported twice", number);
	if (!wants_delay(m))
		model_fail("the delay of message %" PRIu64 " is reported to who did not ask",
			   number);
}

void model_reported(uint64_t number)
{
	struct model_message *m = model_find(number);

	if (m == NULL)
		model_fail("a message that is gone is reported on");
	m->reports++;
}
