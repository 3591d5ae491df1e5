// SPDX-License-Identifier: ISC
#include "manager/notice.h"
#include "base/timestamp.h"
#include "mail/address.h"
#include "mail/verdict.h"
#include "mail/verp.h"
#include <string.h>

/* For senders that request it on a node that otherwise reports no delays. */
static const int64_t NOTICE_DELAY_US = 4 * HOUR_US;

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
static bool may_report_passed_deadline(const struct queue_control *control)
{
	return control->envelope->deadline.mode == MAIL_DEADLINE_NOTIFY &&
	       !queue_control_is_deadline_told(control);
}

/* --- delays --- */

bool notice_is_delay_wanted(const struct queue_control *control,
			    const struct queue_delivery *delivery, const struct config *config,
			    int64_t now_us)
{
	bool has_passed = may_report_passed_deadline(control) &&
			  mail_deadline_has_passed(&control->envelope->deadline, now_us);

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
	int64_t delay_us = config->delaynotice_us > 0 ? config->delaynotice_us : NOTICE_DELAY_US;
	const struct mail_deadline *deadline = &control->envelope->deadline;
	int64_t due_us = INT64_MAX;

	if (mail_sender_is_null(control->envelope->sender))
		return INT64_MAX;
	if (delay_us < config->queuelifetime_us && !is_told(control) &&
	    is_any_wanted(control, config->delaynotice_us > 0))
		due_us = mail_envelope_start_us(control->envelope) + delay_us;
	if (deadline->at_us < due_us && may_report_passed_deadline(control) &&
	    is_any_wanted(control, true))
		due_us = deadline->at_us;
	return due_us;
}

/* --- what is reported --- */

/* What a report says; OUTCOMES has room for all deliveries. */
struct collection {
	const struct queue_control *control;
	enum config_reported addresses;
	struct bounce_outcome *outcomes;
	size_t count;
	unsigned char *reported; /* by the recipient's number: a bit for each action */
};

static uint32_t last_number(const struct mail_envelope *envelope)
{
	return envelope->recipient_count > 0
		       ? envelope->recipients[envelope->recipient_count - 1].number
		       : 0;
}

static struct collection begin_collection(const struct queue_control *control,
					  const struct config *config)
{
	struct arena *arena = control->envelope->arena;
	size_t numbers = (size_t)last_number(control->envelope) + 1;
	struct collection collection = {.control = control, .addresses = config->report_addresses};

	collection.outcomes =
		arena_alloc(arena, (control->delivery_count + 1) * sizeof(struct bounce_outcome));
	collection.reported = arena_alloc(arena, numbers);
	memset(collection.reported, 0, numbers);
	return collection;
}

/* Texts from our own directory and services about their faults belong in the log. What a next
 * hop has said is for the sender. */
static struct str public_text_of_delivery(const struct queue_delivery *delivery)
{
	bool is_ours =
		delivery->route == QUEUE_ROUTE_NONE ||
		(delivery->route == QUEUE_ROUTE_LOCAL && str_equal(delivery->status, STR("4.3.5")));
	const char *text = is_ours ? mail_status_public_text(delivery->status) : NULL;

	return text != NULL ? str_from(text) : delivery->text;
}

/* TEXT with WRITTEN for each MAPPED, in upper or lower case. */
static struct str hide_mapped(struct arena *arena, struct str text, struct str mapped,
			      struct str written)
{
	struct buffer out CLEANUP(buffer_clear) = {0};

	if (mapped.length == 0 || str_equal(mapped, written))
		return text;
	while (text.length > 0) {
		bool is_here = text.length >= mapped.length &&
			       str_equal_nocase(str_slice(text.data, mapped.length), mapped);

		if (is_here)
			buffer_append_str(&out, written);
		else
			buffer_append_byte(&out, text.data[0]);
		text = str_skip(text, is_here ? mapped.length : 1);
	}
	return arena_copy_str(arena, buffer_view(&out));
}

static struct bounce_outcome bounce_outcome_of_delivery(const struct queue_control *control,
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
		.text = public_text_of_delivery(delivery),
		.changed_us = delivery->changed_us,
	};

	if (outcome.action == BOUNCE_DELIVERED && delivery->route == QUEUE_ROUTE_REMOTE)
		outcome.action = BOUNCE_RELAYED;
	return outcome;
}

/* RFC 3464 section 2.3.2: the final recipient is the address that was accepted. Where the site
 * lets it lead is its own affair, and so what became of each of those is told once. */
static void collect_outcome(struct collection *collection, const struct queue_delivery *delivery)
{
	const struct mail_recipient *recipient = recipient_of(collection->control, delivery);
	struct bounce_outcome outcome = bounce_outcome_of_delivery(collection->control, delivery);
	unsigned char *reported = &collection->reported[recipient->number];
	unsigned char bit = (unsigned char)(1u << outcome.action);

	if (collection->addresses == CONFIG_REPORTED_WRITTEN) {
		if ((*reported & bit) != 0)
			return;
		*reported |= bit;
		outcome.address = recipient->address;
		outcome.text = hide_mapped(collection->control->envelope->arena, outcome.text,
					   delivery->address, recipient->address);
	}
	collection->outcomes[collection->count++] = outcome;
}

struct bounce_outcome *notice_collect_end(const struct queue_control *control,
					  const struct config *config, size_t *count_out)
{
	struct collection collection = begin_collection(control, config);

	for (size_t i = 0; i < control->delivery_count; i++)
		if (notice_is_at_end(control, &control->deliveries[i]))
			collect_outcome(&collection, &control->deliveries[i]);
	*count_out = collection.count;
	return collection.outcomes;
}

struct bounce_outcome *notice_collect_success(const struct queue_control *control,
					      const struct config *config, size_t *count_out)
{
	struct collection collection = begin_collection(control, config);

	for (size_t i = 0; i < control->delivery_count; i++)
		if (control->deliveries[i].outcome == QUEUE_DONE &&
		    notice_is_at_end(control, &control->deliveries[i]))
			collect_outcome(&collection, &control->deliveries[i]);
	*count_out = collection.count;
	return collection.outcomes;
}

struct bounce_outcome *notice_collect_delay(const struct queue_control *control,
					    const struct config *config, int64_t now_us,
					    size_t *count_out)
{
	struct collection collection = begin_collection(control, config);

	for (size_t i = 0; i < control->delivery_count; i++)
		if (notice_is_delay_wanted(control, &control->deliveries[i], config, now_us))
			collect_outcome(&collection, &control->deliveries[i]);
	*count_out = collection.count;
	return collection.outcomes;
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
