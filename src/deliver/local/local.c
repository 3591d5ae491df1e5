// SPDX-License-Identifier: ISC
#include "deliver/local/local.h"
#include "base/panic.h"
#include "deliver/local/devices.h"
#include "deliver/local/group.h"
#include "deliver/local/locked.h"
#include "deliver/local/threads.h"
#include "deliver/owner.h"
#include "deliver/quotas.h"
#include "log/event.h"
#include "os/clock.h"
#include "os/process/process.h"
#include <stdlib.h>
#include <string.h>

enum { GROUP_MAX = 256 }; /* deliveries written together; a larger job is not split */

static const int64_t PATIENCE_US = 5 * SECOND_US;   /* with one owner; then another thread
						     * continues */
static const int64_t PATIENCE_STUCK_US = SECOND_US; /* when another owner is stuck */
static const int64_t WATCH_US = SECOND_US;

struct deliver_local {
	const struct config *config;
	const struct config_service *service;
	unsigned generation; /* of CONFIG and SERVICE */
	struct os_loop *loop;
	struct os_wakeup *wakeup;
	struct os_timer *watch;      /* runs while a worker is busy and not stuck */
	struct os_task start;        /* at the end of the turn, so that what came in one turn
				      * goes together */
	struct directory *directory; /* NULL: none */
	struct deliver_quotas *quotas;
	struct local_list waiting;
	struct local_batch
		rest; /* taken back from a stuck worker, to go next; may have no targets */
	struct local_locked *locked;
	bool is_draining; /* nothing is set aside any more */
	struct local_threads threads;
	struct local_devices *devices;
};

static bool may_try(const struct deliver_local *local, const struct local_target *target,
		    struct mail_verdict *why)
{
	const struct os_process_user *owner = &target->owner;

	if (!owner->change ||
	    !local_threads_blocks(&local->threads, local->devices, owner->uid, target->path))
		return true;
	mail_verdict_set(why, "4.3.0", "The disk of the mailbox does not answer");
	return false;
}

/* False if the address can have no mailbox, or one that does not answer now. */
static bool find_mailbox(const struct deliver_local *local, struct local_target *target,
			 struct mail_verdict *why)
{
	struct deliver_helper_job *job = target->entry->job;
	struct str address = job->recipients[target->index].address;
	struct os_process_account owner;
	struct buffer path = {0};
	bool is_found = maildir_path_expand(local->service->path, address, &path) == 0;

	if (is_found)
		target->path = arena_copy_str(job->arena, buffer_view(&path));
	else
		mail_verdict_set(why, "5.1.3", "No mailbox can have such a name");
	buffer_clear(&path);
	if (!is_found || !owner_find(local->config, local->service, address, &owner, why))
		return false;
	target->owner = owner.user;
	return may_try(local, target, why);
}

/* Whether one of TARGETS, of the same message, has the mailbox of TARGET: spellings of one address,
 * or an alias beside it, have one copy. */
static bool join_earlier_target(const struct local_target *targets, size_t count,
				const struct local_target *target)
{
	for (size_t i = 0; i < count; i++) {
		if (!str_equal(targets[i].path, target->path))
			continue;
		target->entry->first[target->index] = targets[i].index;
		return true;
	}
	return false;
}

static void add_job(struct deliver_local *local, struct local_batch *batch,
		    struct local_entry *entry)
{
	struct deliver_helper_job *job = entry->job;
	struct local_target *targets = &batch->targets[batch->group.count];
	size_t count = job->recipient_count;
	size_t used = 0;

	entry->left = count;
	entry->first = arena_alloc(job->arena, count * sizeof *entry->first);
	for (size_t i = 0; i < count; i++)
		entry->first[i] = i;
	for (size_t i = 0; i < count; i++) {
		struct local_target *target = &targets[used];
		struct mail_verdict why;

		*target = (struct local_target){.entry = entry, .index = i};
		if (!find_mailbox(local, target, &why))
			local_entry_finish_one(entry, i, &why); /* the last one frees ENTRY */
		else if (!join_earlier_target(targets, used, target))
			used++;
	}
	batch->group.count += used;
}

/* Moves waiting jobs into GROUP, up to its limit. */
static void gather_local_batch(struct deliver_local *local, struct local_batch *batch)
{
	const struct local_entry *end = local->waiting.first;
	size_t count = 0;

	for (; end != NULL && (count == 0 || count + end->job->recipient_count <= GROUP_MAX);
	     end = end->next)
		count += end->job->recipient_count;
	batch->targets = memory_alloc_zero(count + 1, sizeof *batch->targets);
	while (local->waiting.first != end)
		add_job(local, batch, local_list_take(&local->waiting));
	local_batch_fill(batch);
}

static void give_local_batch(struct deliver_local *local, struct local_thread *thread)
{
	if (thread->generation != local->generation || thread->writer == NULL)
		thread->writer = local_writer_new(local->config, local->service);
	thread->generation = local->generation;
	thread->first = 0;
	thread->is_busy = true;
	thread->is_lost = false;
	local_worker_give(thread->worker, thread->writer, &thread->batch.group);
	os_timer_start(local->watch, WATCH_US);
}

/* Sends the reports made so far of messages that also have a stuck delivery. */
static void tell_of_stuck(struct deliver_local *local)
{
	for (size_t i = 0; i < local->threads.count; i++) {
		struct local_thread *thread = &local->threads.all[i];

		if (thread->is_stuck)
			local_batch_tell(&thread->batch, thread->first, thread->batch.group.count);
	}
}

static bool may_go_on(void *context, struct local_target *target)
{
	const struct deliver_local *local = context;
	struct mail_verdict why;

	if (may_try(local, target, &why))
		return true;
	local_entry_finish_one(target->entry, target->index, &why);
	return false;
}

/* Takes the deliveries taken back, or those whose mailboxes were locked, except for owners who
 * became stuck since they were gathered; or jobs that wait. */
static void take_next_local_batch(struct deliver_local *local, struct local_batch *batch)
{
	bool is_again = local->rest.targets != NULL;

	*batch = local->rest;
	local->rest = (struct local_batch){0};
	if (!is_again)
		is_again = local_locked_give(local->locked, batch);
	if (is_again) {
		local_batch_keep(batch, may_go_on, local);
		tell_of_stuck(local);
	}
	while (batch->group.count == 0) { /* perhaps all were refused */
		local_batch_clear(batch);
		if (local->waiting.first == NULL)
			return;
		gather_local_batch(local, batch);
	}
}

static void start_local_deliveries(void *context)
{
	struct deliver_local *local = context;
	struct local_thread *thread;

	if (local_threads_is_working(&local->threads) ||
	    (local->waiting.first == NULL && local->rest.targets == NULL &&
	     !local_locked_is_due(local->locked)))
		return;
	thread = local_threads_idle(&local->threads, local->wakeup);
	if (thread == NULL)
		return;
	take_next_local_batch(local, &thread->batch);
	if (thread->batch.group.count > 0)
		give_local_batch(local, thread);
}

/* How many may wait for locks: half of the transport's places. */
static size_t locked_max(const struct deliver_local *local)
{
	const struct config_transport *transport =
		config_transport_find(local->config, str_from(local->service->name));

	return transport != NULL ? (transport->concurrency + 1) / 2 : 1;
}

/* The disk of the owner of PLACE's delivery I. */
static struct local_disk disk_of(const struct deliver_local *local,
				 const struct local_thread *thread, size_t i)
{
	return local_devices_find(local->devices, thread->batch.group.owners[i].uid,
				  thread->batch.group.deliveries[i].path);
}

/* Deliveries [FIRST, END) of PLACE are done. */
static void finish_local_deliveries(struct deliver_local *local, struct local_thread *thread,
				    size_t first, size_t end)
{
	local_thread_log_found(thread, first, end);
	if (!thread->is_lost && !local->is_draining)
		local_locked_take(local->locked, local->service, locked_max(local), &thread->batch,
				  first, end);
	local_batch_finish(&thread->batch, first, end, thread->is_lost);
}

/* Deliveries from END on, which nobody has begun. Who has given them up would have them delivered
 * a second time. */
static void take_rest_of_batch(struct deliver_local *local, struct local_thread *thread, size_t end)
{
	struct local_batch rest = local_batch_split(&thread->batch, end);

	if (!thread->is_lost && !local->is_draining) {
		local->rest = rest;
		return;
	}
	local_batch_finish(&rest, 0, rest.group.count, true);
	local_batch_clear(&rest);
}

/* Deliveries from END on are for another worker. Those already done are reported now, even if
 * other deliveries of the same message wait. */
static void set_stuck(struct deliver_local *local, struct local_thread *thread, size_t first,
		      size_t end)
{
	take_rest_of_batch(local, thread, end);
	finish_local_deliveries(local, thread, 0, first);
	thread->first = first;
	thread->disk = disk_of(local, thread, first);
	thread->is_stuck = true;
	local_thread_log(thread, EVENT_MAILBOX_STUCK);
	tell_of_stuck(local);
}

static void come_back(struct deliver_local *local, struct local_thread *thread)
{
	if (thread->is_stuck)
		local_thread_log(thread, EVENT_MAILBOX_BACK);
	local_devices_learn(local->devices, &thread->batch.group);
	finish_local_deliveries(local, thread, thread->first, thread->batch.group.count);
	local_batch_clear(&thread->batch);
	thread->is_busy = false;
	thread->is_stuck = false;
	tell_of_stuck(local);
}

/* If the disk of the current owner of PLACE, which is busy, does not answer: takes back the
 * rest. */
static bool take_back_stuck_deliveries(struct deliver_local *local, struct local_thread *thread,
				       size_t *first_out, size_t *end_out)
{
	int64_t patience_us = PATIENCE_US;
	struct local_disk disk;
	size_t at;

	if (!local_worker_owner(thread->worker, &at))
		return false;
	disk = disk_of(local, thread, at);
	if (local_threads_stuck_on(&local->threads, &disk) > 0)
		patience_us = PATIENCE_STUCK_US;
	return local_worker_take_back(thread->worker, os_clock_monotonic_us() - patience_us,
				      first_out, end_out);
}

static void watch_stuck_disks(void *context)
{
	struct deliver_local *local = context;
	size_t first;
	size_t end;

	for (size_t i = 0; i < local->threads.count; i++) {
		struct local_thread *thread = &local->threads.all[i];

		if (thread->is_busy && !thread->is_stuck &&
		    take_back_stuck_deliveries(local, thread, &first, &end))
			set_stuck(local, thread, first, end);
	}
	start_local_deliveries(local);
	if (local_threads_is_working(&local->threads))
		os_timer_start(local->watch, WATCH_US);
}

static void on_local_threads_done(void *context)
{
	struct deliver_local *local = context;

	for (size_t i = 0; i < local->threads.count; i++)
		if (local->threads.all[i].is_busy &&
		    local_worker_is_done(local->threads.all[i].worker))
			come_back(local, &local->threads.all[i]);
	start_local_deliveries(local);
}

static void take_local_entry(void *context, void *owner)
{
	struct deliver_local *local = context;
	struct local_entry *entry = owner;

	local_list_append(&local->waiting, entry);
	os_loop_defer(local->loop, &local->start);
}

static void give_up_local_entry(void *context, void *owner)
{
	(void)context;
	deliver_helper_finish(((struct local_entry *)owner)->job);
}

struct deliver_local *deliver_local_new(struct os_loop *loop, const struct config *config,
					const struct config_service *service,
					struct directory *directory)
{
	struct deliver_local *local = memory_alloc_zero(1, sizeof *local);

	os_process_private_mask();
	local->config = config;
	local->service = service;
	local->loop = loop;
	local->wakeup = os_wakeup_new(loop, on_local_threads_done, local);
	local->watch = os_timer_new(loop, watch_stuck_disks, local);
	local->start = (struct os_task){.call = start_local_deliveries, .context = local};
	local->devices = local_devices_new();
	local->locked = local_locked_new(loop, start_local_deliveries, local);
	local->directory = directory;
	local->quotas = deliver_quotas_new(take_local_entry, give_up_local_entry, local);
	(void)local_threads_idle(&local->threads,
				 local->wakeup); /* while threads can still be created */
	return local;
}

void deliver_local_configure(struct deliver_local *local, const struct config *config,
			     const struct config_service *service, struct directory *directory)
{
	local->config = config;
	local->service = service;
	local->directory = directory;
	local->generation++;
}

static void give_up_waiting_local_jobs(struct deliver_local *local)
{
	struct local_entry *entry;

	deliver_quotas_give_up(local->quotas);
	while ((entry = local_list_take(&local->waiting)) != NULL)
		deliver_helper_finish(entry->job);
	local_locked_give_up(local->locked);
	local_batch_finish(&local->rest, 0, local->rest.group.count, true);
	local_batch_clear(&local->rest);
}

void deliver_local_free(void *transport)
{
	struct deliver_local *local = transport;

	if (local == NULL)
		return;
	os_task_cancel(local->loop, &local->start);
	os_timer_free(local->watch);
	for (size_t i = 0; i < local->threads.count; i++) {
		local_worker_free(local->threads.all[i].worker);
		if (local->threads.all[i].is_busy)
			come_back(local, &local->threads.all[i]);
	}
	give_up_waiting_local_jobs(local);
	deliver_quotas_free(local->quotas);
	os_wakeup_free(local->wakeup);
	local_devices_free(local->devices);
	local_locked_free(local->locked);
	free(local);
}

void deliver_local_start(void *transport, struct deliver_helper_job *job)
{
	struct deliver_local *local = transport;
	struct local_entry *entry = arena_alloc(job->arena, sizeof *entry);
	struct str *addresses = arena_alloc(job->arena, job->recipient_count * sizeof *addresses);

	for (size_t i = 0; i < job->recipient_count; i++)
		addresses[i] = job->recipients[i].address;
	*entry = (struct local_entry){
		.job = job,
		.wanted = {entry, job->arena, addresses, job->recipient_count, NULL},
		.refuses_over_quota = local->service->over_quota == CONFIG_OVER_QUOTA_REFUSE,
		.site_key = local->config->site_key,
	};
	deliver_quotas_find(local->quotas, local->directory, local->service, &entry->wanted);
}

void deliver_local_drain(void *transport)
{
	struct deliver_local *local = transport;

	local->is_draining = true;
	give_up_waiting_local_jobs(local);
}

void deliver_local_lost(void *transport)
{
	struct deliver_local *local = transport;

	for (size_t i = 0; i < local->threads.count; i++)
		local->threads.all[i].is_lost = true;
	give_up_waiting_local_jobs(local);
}
