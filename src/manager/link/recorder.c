// SPDX-License-Identifier: ISC
#include "manager/link/recorder.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include "log/event.h"
#include "manager/link/service_names.h"
#include "manager/notice.h"
#include "manager/outcome.h"
#include "os/clock.h"
#include "queue/group.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const int64_t RECORDER_DELAY_US = SECOND_US / 4;

/* Beside enum recorder_news, of what is being written: its record in bounce/, too. */
enum { BOUNCING = 1 << 7 };

struct recorder {
	struct queue_store *store;
	const struct recorder_handler *handler;
	void *context;
	struct queue_group *group;
	size_t writing;
	struct heap due; /* struct recording, by monotonic time */
	struct os_timer *timer;
};

/* What must be written for one message. */
struct record {
	struct queue_update update;
	struct message *message;
	struct queue_control *subject;
	struct buffer control;
	struct buffer whole; /* the text, if the control file is rewritten */
	struct buffer bounce;
	const struct queue_delivery *former; /* of recorder_work */
	size_t former_count;
	const char **services; /* owned, as its names are */
	unsigned char *news;   /* what is being written, for each delivery */
};

static void record_free(struct record *record)
{
	for (size_t i = 0; i < record->update.link_service_count; i++)
		free((char *)(uintptr_t)record->services[i]);
	buffer_clear(&record->control);
	buffer_clear(&record->whole);
	buffer_clear(&record->bounce);
	free(record->services);
	free(record->news);
	free(record);
}

/* --- what to write --- */

static char *copy_name(struct str name)
{
	char *copy = memory_alloc(name.length + 1);

	if (name.length > 0)
		memcpy(copy, name.data, name.length);
	copy[name.length] = '\0';
	return copy;
}

static bool has_link(const struct record *record, struct str service)
{
	for (size_t i = 0; i < record->update.link_service_count; i++)
		if (str_equal(service, str_from(record->services[i])))
			return true;
	return false;
}

/* The places with deliveries that are not done. */
static void add_links(struct recorder *recorder, struct record *record)
{
	const struct queue_control *control = record->subject;

	record->services = memory_alloc(control->delivery_count * sizeof(char *) + sizeof(char *));
	for (size_t i = 0; i < control->delivery_count; i++) {
		const struct queue_delivery *delivery = &control->deliveries[i];

		if (!outcome_is_open(delivery))
			continue;
		if (delivery->route == QUEUE_ROUTE_REMOTE)
			record->update.link_remote = true;
		if (delivery->route != QUEUE_ROUTE_LOCAL || has_link(record, delivery->service) ||
		    !recorder->handler->has_service(recorder->context, delivery->service))
			continue;
		record->services[record->update.link_service_count++] =
			copy_name(delivery->service);
	}
	record->update.link_services = record->services;
}

/* Deliveries whose outcome is news, and which of them are in the report at the end. */
static int add_outcomes(struct record *record)
{
	struct queue_control *control = record->subject;
	uint32_t *indexes = memory_alloc((control->delivery_count + 1) * sizeof *indexes);
	uint32_t count = 0;
	uint32_t at_end = 0;
	int error;

	for (uint32_t i = 0; i < control->delivery_count; i++)
		if (record->news[i] & RECORDER_OUTCOME)
			indexes[count++] = i;
	error = queue_control_write_outcomes(&record->control, control, indexes, count,
					     record->update.is_queued);
	for (uint32_t i = 0; i < count; i++) {
		if (record->news[indexes[i]] & RECORDER_BOUNCED ||
		    !notice_is_at_end(control, &control->deliveries[indexes[i]]))
			continue;
		record->news[indexes[i]] |= BOUNCING;
		indexes[at_end++] = indexes[i];
	}
	if (error == 0)
		error = queue_control_write_outcomes(&record->bounce, control, indexes, at_end,
						     false);
	free(indexes);
	return error;
}

static int add_news(struct record *record, const unsigned char *news)
{
	const struct queue_control *control = record->subject;
	int error;

	record->news = memory_alloc(control->delivery_count + 1);
	memcpy(record->news, news, control->delivery_count);
	error = add_outcomes(record);
	for (size_t i = 0; error == 0 && i < control->delivery_count; i++) {
		if (news[i] & RECORDER_DELAY)
			error = queue_control_write_delayed(&record->control,
							    &control->deliveries[i]);
		if (error == 0 && news[i] & RECORDER_REQUEUE)
			error = queue_control_write_requeued(&record->control,
							     &control->deliveries[i]);
	}
	return error;
}

static bool has_new_map(const struct record *record)
{
	return record->news[0] & RECORDER_MAP;
}

/* Whether the control file is an earlier writer's, which does not say what of it was durable. */
static bool lacks_mark(const struct record *record)
{
	return !record->update.is_queued && record->subject->format > 1 &&
	       !record->subject->has_mark;
}

/* A file that has grown too long is rewritten, and so is one with a new map. */
static int set_text(struct recorder *recorder, struct record *record, bool may_be_lost)
{
	struct queue_update *update = &record->update;

	record->subject->must_be_whole |=
		has_new_map(record) || (!may_be_lost && lacks_mark(record));
	update->is_whole =
		!update->is_queued &&
		queue_control_outgrown(record->subject, record->control.length, &record->whole);
	update->may_be_lost = may_be_lost && !update->is_whole;
	if (update->is_whole)
		add_links(recorder, record);
	update->control = buffer_view(update->is_whole ? &record->whole : &record->control);
	return has_new_map(record) && !update->is_whole ? -EINVAL : 0;
}

bool recorder_only_waits(const struct recorder_work *work)
{
	for (size_t i = 0; i < work->control->delivery_count; i++)
		if (work->news[i] & ~RECORDER_OUTCOME ||
		    (work->news[i] != 0 && work->control->deliveries[i].outcome != QUEUE_WAIT))
			return false;
	return true;
}

static int fill_record(struct recorder *recorder, struct record *record,
		       const struct recorder_work *work)
{
	bool is_s4 = message_facts_are_s4(work->facts);
	int error = 0;

	record->update.number = work->id.number;
	record->update.born_us = work->id.born_us;
	record->update.is_queued = is_s4;
	record->update.stage = (enum mail_stage)work->facts.stage;
	record->update.preprocess = is_s4;
	if (is_s4) {
		add_links(recorder, record);
		/* a second block, after an interruption, is ignored */
		error = queue_control_write_map(&record->control, work->control->deliveries,
						work->control->delivery_count,
						work->control->directory_version);
	}
	if (error == 0)
		error = add_news(record, work->news);
	if (error == 0)
		error = set_text(recorder, record, !is_s4 && recorder_only_waits(work));
	record->update.bounce = buffer_view(&record->bounce);
	record->update.synced = work->control->synced;
	return error;
}

int recorder_write(struct recorder *recorder, struct message *message,
		   const struct recorder_work *work)
{
	struct record *record = memory_alloc_zero(1, sizeof *record);
	int error;

	record->message = message;
	record->subject = work->control;
	record->former = work->former;
	record->former_count = work->former_count;
	error = fill_record(recorder, record, work);
	if (error < 0) {
		record_free(record);
		return error;
	}
	memset(work->news, 0, work->control->delivery_count);
	recorder->writing++;
	queue_group_add(recorder->group, record);
	return 0;
}

/* --- waiting --- */

int64_t recorder_delay_us(void)
{
	return RECORDER_DELAY_US;
}

static void schedule_recordings(struct recorder *recorder)
{
	const struct heap_node *first = heap_first(&recorder->due);

	if (first != NULL)
		os_timer_start(recorder->timer, first->key - os_clock_monotonic_us());
	else
		os_timer_stop(recorder->timer);
}

void recorder_soon(struct recorder *recorder, struct recording *recording, int64_t delay_us)
{
	int64_t at_us = os_clock_monotonic_us() + delay_us;

	if (heap_has(&recording->due) && recording->due.key <= at_us)
		return;
	heap_put(&recorder->due, &recording->due, at_us);
	if (heap_first(&recorder->due) == &recording->due)
		schedule_recordings(recorder);
}

void recorder_cancel(struct recorder *recorder, struct recording *recording)
{
	heap_remove(&recorder->due, &recording->due);
}

static void on_recording_due(void *context)
{
	struct recorder *recorder = context;
	int64_t now_us = os_clock_monotonic_us();
	struct heap_node *first;

	while ((first = heap_first(&recorder->due)) != NULL && first->key <= now_us) {
		heap_remove(&recorder->due, first);
		recorder->handler->due(recorder->context,
				       CONTAINER_OF(first, struct recording, due)->message);
	}
	schedule_recordings(recorder);
}

void recorder_flush(struct recorder *recorder)
{
	size_t count = recorder->due.count;

	for (struct heap_node *first; count > 0; count--) {
		first = heap_first(&recorder->due);
		if (first == NULL)
			break;
		heap_remove(&recorder->due, first);
		recorder->handler->due(recorder->context,
				       CONTAINER_OF(first, struct recording, due)->message);
	}
}

/* --- the thread, and what follows --- */

static void write_records_of_group(void *context, void **items, size_t count)
{
	struct recorder *recorder = context;
	struct queue_update **updates = memory_alloc(count * sizeof *updates);

	for (size_t i = 0; i < count; i++)
		updates[i] = &((struct record *)items[i])->update;
	queue_update_commit_group(recorder->store, updates, count);
	free(updates);
}

/* What has failed is written again; but what is in bounce/ by now would be there twice. */
static void note_bounced_deliveries(const struct record *record)
{
	for (size_t i = 0; i < record->subject->delivery_count; i++) {
		if (record->news[i] & BOUNCING && record->update.is_bounced)
			record->news[i] |= RECORDER_BOUNCED;
		record->news[i] &= (unsigned char)~BOUNCING;
	}
}

static void leave_places(struct recorder *recorder, const struct record *record)
{
	if (has_new_map(record))
		service_names_remove_former(recorder->store, record->subject, record->former,
					    record->former_count);
	else
		service_names_remove_finished(recorder->store, record->subject, record->news);
}

static void report_records_of_group(void *context, void **items, size_t count)
{
	struct recorder *recorder = context;

	for (size_t i = 0; i < count; i++) {
		struct record *record = items[i];

		recorder->writing--;
		queue_update_account(record->subject, &record->update);
		if (record->update.result == 0)
			leave_places(recorder, record);
		note_bounced_deliveries(record);
		recorder->handler->recorded(recorder->context, record->message,
					    record->update.result, record->news);
		record_free(record);
	}
	recorder->handler->idle(recorder->context);
}

static const struct queue_group_handler group_handler = {write_records_of_group,
							 report_records_of_group};

struct recorder *recorder_new(struct os_loop *loop, struct queue_store *store,
			      const struct recorder_handler *handler, void *context)
{
	struct recorder *recorder = memory_alloc_zero(1, sizeof *recorder);

	recorder->store = store;
	recorder->handler = handler;
	recorder->context = context;
	recorder->group = queue_group_new(loop, &group_handler, recorder);
	recorder->timer = os_timer_new(loop, on_recording_due, recorder);
	return recorder;
}

void recorder_free(struct recorder *recorder)
{
	queue_group_free(recorder->group);
	os_timer_free(recorder->timer);
	heap_clear(&recorder->due);
	free(recorder);
}

bool recorder_is_idle(const struct recorder *recorder)
{
	return recorder->writing == 0;
}
