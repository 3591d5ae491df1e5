// SPDX-License-Identifier: ISC
#include "manager/notice.h"
#include "base/timestamp.h"
#include "mail/address.h"
#include "mail/verdict.h"
#include "mail/verp.h"

/* For senders that request it on a node that otherwise reports no delays. */
static const int64_t DELAY_US = 4 * HOUR_US;

static const struct mail_recipient *recipient_of(const struct queue_control *control,
						 const struct queue_delivery *delivery)
{
	return mail_envelope_find(control->envelope, delivery->recipient);
}

static bool is_waiting(const struct queue_delivery *delivery)
{
	return delivery->outcome == QUEUE_WAIT || delivery->outcome == QUEUE_PENDING;
}

/* The success or delay of a report is not reported. */
bool notice_is_success_wanted(const struct queue_control *control,
			      const struct queue_delivery *delivery)
{
	return !mail_sender_is_null(control->envelope->sender) &&
	       bounce_is_success_wanted(recipient_of(control, delivery)->notify);
}

bool notice_is_at_end(const struct queue_control *control, const struct queue_delivery *delivery)
{
	if (delivery->outcome == QUEUE_DONE)
		return delivery->is_announced ||
		       (!delivery->is_quiet && notice_is_success_wanted(control, delivery));
	return delivery->outcome == QUEUE_FAIL &&
	       bounce_is_wanted(recipient_of(control, delivery)->notify);
}

bool notice_has_any_at_end(const struct queue_control *control)
{
	for (size_t i = 0; i < control->delivery_count; i++)
		if (notice_is_at_end(control, &control->deliveries[i]))
			return true;
	return false;
}

/* --- the time that the sender has set --- */

/* RFC 2852 section 4.1.4. */
bool notice_is_relay_wanted(const struct queue_control *control,
			    const struct queue_delivery *delivery, bool is_timed)
{
	const struct mail_deadline *deadline = &control->envelope->deadline;
	bool is_lost = deadline->mode == MAIL_DEADLINE_NOTIFY && !is_timed &&
		       !queue_control_is_deadline_told(control);

	return (is_lost || deadline->is_traced) && delivery->route == QUEUE_ROUTE_REMOTE &&
	       !mail_sender_is_null(control->envelope->sender) &&
	       (recipient_of(control, delivery)->notify & MAIL_NOTIFY_NEVER) == 0;
}

/* Whether its passing is still to be reported. */
static bool may_pass(const struct queue_control *control)
{
	return control->envelope->deadline.mode == MAIL_DEADLINE_NOTIFY &&
	       !queue_control_is_deadline_told(control);
}

/* --- delays --- */

bool notice_is_delay_wanted(const struct queue_control *control,
			    const struct queue_delivery *delivery, const struct config *config,
			    int64_t now_us)
{
	bool has_passed =
		may_pass(control) && mail_deadline_has_passed(&control->envelope->deadline, now_us);

	return is_waiting(delivery) &&
	       bounce_is_delay_wanted(recipient_of(control, delivery)->notify,
				      config->delaynotice_us > 0 || has_passed);
}

/* One whose recipients are not mapped waits for all of them. */
static bool is_any_wanted(const struct queue_control *control, bool by_default)
{
	const struct mail_envelope *envelope = control->envelope;

	for (size_t i = 0; !control->is_mapped && i < envelope->recipient_count; i++)
		if (bounce_is_delay_wanted(envelope->recipients[i].notify, by_default))
			return true;
	for (size_t i = 0; i < control->delivery_count; i++)
		if (is_waiting(&control->deliveries[i]) &&
		    bounce_is_delay_wanted(recipient_of(control, &control->deliveries[i])->notify,
					   by_default))
			return true;
	return false;
}

static bool is_told(const struct queue_control *control)
{
	for (size_t i = 0; i < control->delivery_count; i++)
		if (control->deliveries[i].delayed_us > 0)
			return true;
	return false;
}

int64_t notice_delay_due_us(const struct queue_control *control, const struct config *config)
{
	int64_t delay_us = config->delaynotice_us > 0 ? config->delaynotice_us : DELAY_US;
	const struct mail_deadline *deadline = &control->envelope->deadline;
	int64_t due_us = INT64_MAX;

	if (mail_sender_is_null(control->envelope->sender))
		return INT64_MAX;
	if (delay_us < config->queuelifetime_us && !is_told(control) &&
	    is_any_wanted(control, config->delaynotice_us > 0))
		due_us = mail_envelope_start_us(control->envelope) + delay_us;
	if (deadline->at_us < due_us && may_pass(control) && is_any_wanted(control, true))
		due_us = deadline->at_us;
	return due_us;
}

static struct bounce_outcome *collect(const struct queue_control *control, size_t *count_out)
{
	*count_out = 0;
	return arena_alloc(control->envelope->arena,
			   (control->delivery_count + 1) * sizeof(struct bounce_outcome));
}

/* Texts from our own directory and services about their faults belong in the log. What a next
 * hop has said is for the sender. */
static struct str text_of(const struct queue_delivery *delivery)
{
	bool is_ours =
		delivery->route == QUEUE_ROUTE_NONE ||
		(delivery->route == QUEUE_ROUTE_LOCAL && str_equal(delivery->status, STR("4.3.5")));
	const char *text = is_ours ? mail_status_public_text(delivery->status) : NULL;

	return text != NULL ? str_from(text) : delivery->text;
}

static struct bounce_outcome outcome_of(const struct queue_control *control,
					const struct queue_delivery *delivery)
{
	static const enum bounce_action actions[] = {
		[QUEUE_PENDING] = BOUNCE_DELAYED,
		[QUEUE_WAIT] = BOUNCE_DELAYED,
		[QUEUE_FAIL] = BOUNCE_FAILED,
		[QUEUE_DONE] = BOUNCE_DELIVERED,
	};
	struct bounce_outcome outcome = {
		.action = actions[delivery->outcome],
		.address = delivery->address,
		.original = recipient_of(control, delivery)->original,
		.status = delivery->status,
		.text = text_of(delivery),
		.changed_us = delivery->changed_us,
	};

	if (outcome.action == BOUNCE_DELIVERED && delivery->route == QUEUE_ROUTE_REMOTE)
		outcome.action = BOUNCE_RELAYED;
	return outcome;
}

struct bounce_outcome *notice_collect_end(const struct queue_control *control, size_t *count_out)
{
	struct bounce_outcome *outcomes = collect(control, count_out);

	for (size_t i = 0; i < control->delivery_count; i++)
		if (notice_is_at_end(control, &control->deliveries[i]))
			outcomes[(*count_out)++] = outcome_of(control, &control->deliveries[i]);
	return outcomes;
}

struct bounce_outcome *notice_collect_success(const struct queue_control *control,
					      size_t *count_out)
{
	struct bounce_outcome *outcomes = collect(control, count_out);

	for (size_t i = 0; i < control->delivery_count; i++)
		if (control->deliveries[i].outcome == QUEUE_DONE &&
		    notice_is_at_end(control, &control->deliveries[i]))
			outcomes[(*count_out)++] = outcome_of(control, &control->deliveries[i]);
	return outcomes;
}

struct bounce_outcome *notice_collect_delay(const struct queue_control *control,
					    const struct config *config, int64_t now_us,
					    size_t *count_out)
{
	struct bounce_outcome *outcomes = collect(control, count_out);

	for (size_t i = 0; i < control->delivery_count; i++)
		if (notice_is_delay_wanted(control, &control->deliveries[i], config, now_us))
			outcomes[(*count_out)++] = outcome_of(control, &control->deliveries[i]);
	return outcomes;
}

uint64_t notice_original_max(const struct queue_control *control, const struct config *config)
{
	enum { MORE = 65536 };
	uint64_t size = control->envelope->size;

	if (config->bouncemaxbytes > 0 && size > config->bouncemaxbytes + MORE)
		return config->bouncemaxbytes + MORE;
	return size;
}

/* What came by REQUIRETLS goes back without its text, unless that was asked for (RFC 8689 section
 * 5); so does a binary body, which a report, a text, cannot have. */
static enum mail_ret ret_of(const struct mail_envelope *envelope)
{
	bool is_secret = envelope->require_tls && envelope->ret == MAIL_RET_NONE;

	return is_secret || envelope->binary ? MAIL_RET_HEADERS : envelope->ret;
}

bool notice_write(const struct notice *notice, const struct queue_control *control,
		  const struct config *config, struct buffer *out)
{
	const struct mail_envelope *envelope = control->envelope;
	const struct bounce_report report = {
		.recipient = notice->recipient,
		.hostname = str_from(config->hostname),
		.from = str_from(config->bouncefrom),
		.id = envelope->id,
		.now_us = notice->now_us,
		.retry_until_us = mail_envelope_start_us(envelope) + config->queuelifetime_us,
		.release_us = envelope->release_us,
		.deadline = envelope->deadline,
		.envid = envelope->envid,
		.ret = ret_of(envelope),
		.is_utf8 = envelope->utf8,
		.outcomes = notice->outcomes,
		.outcome_count = notice->count,
		.message = notice->original,
		.message_size = envelope->size,
		.max_bytes = config->bouncemaxbytes,
		.format = config->bounceformat,
		.sender = mail_verp_whole(envelope->sender),
	};

	return bounce_report_write(&report, out);
}

struct mail_envelope *notice_envelope(const struct notice *notice, bool is_utf8)
{
	struct mail_envelope *envelope = mail_envelope_new();

	envelope->stage = MAIL_STAGE_SUBMIT;
	envelope->sender = arena_copy_str(envelope->arena, notice->sender);
	envelope->utf8 = is_utf8;
	envelope->received = STR("bounce");
	mail_envelope_add(envelope, notice->recipient);
	return envelope;
}
