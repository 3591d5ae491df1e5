// SPDX-License-Identifier: ISC
#include "deliver/local/threads.h"
#include "base/panic.h"

enum {
	DEVICE_MAX = 4,   /* stuck on one filesystem: its other owners are not tried meanwhile */
	UNKNOWN_MAX = 16, /* the same, for owners whose filesystem is unknown */
};

bool local_threads_is_working(const struct local_threads *threads)
{
	for (size_t i = 0; i < threads->count; i++)
		if (threads->all[i].is_busy && !threads->all[i].is_stuck)
			return true;
	return false;
}

struct local_thread *local_threads_idle(struct local_threads *threads, struct os_wakeup *wakeup)
{
	struct local_thread *thread = threads->all;
	int error;

	while (thread < threads->all + threads->count && thread->is_busy)
		thread++;
	if (thread < threads->all + threads->count)
		return thread;
	if (threads->count == LOCAL_THREADS_MAX)
		return NULL;
	error = local_worker_new(wakeup, &thread->worker);
	if (error < 0 && threads->count == 0)
		cannot_begin("no thread for deliveries", error);
	if (error < 0)
		return NULL;
	threads->count++;
	return thread;
}

size_t local_threads_stuck_on(const struct local_threads *threads, const struct local_disk *disk)
{
	size_t count = 0;

	for (size_t i = 0; i < threads->count; i++)
		count +=
			threads->all[i].is_stuck && local_disk_is_same(&threads->all[i].disk, disk);
	return count;
}

bool local_threads_blocks(const struct local_threads *threads, const struct local_devices *devices,
			  uid_t uid, struct str path)
{
	struct local_disk disk;
	bool is_any_stuck = false;

	for (size_t i = 0; i < threads->count; i++) {
		const struct local_thread *thread = &threads->all[i];

		if (thread->is_stuck && thread->batch.group.owners[thread->first].uid == uid)
			return true;
		is_any_stuck |= thread->is_stuck;
	}
	if (!is_any_stuck)
		return false;
	disk = local_devices_find(devices, uid, path);
	return local_threads_stuck_on(threads, &disk) >=
	       (disk.device != 0 ? DEVICE_MAX : UNKNOWN_MAX);
}

void local_thread_log(const struct local_thread *thread, enum log_name name)
{
	const struct maildir_delivery *delivery = &thread->batch.group.deliveries[thread->first];

	log_event_like(log_write, name, EVENT_MAILBOX_STUCK, log_str(path, delivery->path),
		       log_str(to, delivery->recipient),
		       log_number(uid, (int64_t)thread->batch.group.owners[thread->first].uid));
}

void local_thread_log_found(const struct local_thread *thread, size_t first, size_t end)
{
	for (size_t i = first; i < end; i++) {
		const struct maildir_delivery *delivery = &thread->batch.group.deliveries[i];

		if (delivery->flaw != NULL)
			log_event_rated(EVENT_MAILBOX_REFUSED, log_str(path, delivery->path),
					log_str(to, delivery->recipient),
					log_string(reason, delivery->flaw));
		if (delivery->removed > 0)
			log_event(EVENT_MAILBOX_RECOVERED, log_str(path, delivery->path),
				  log_number(bytes, (int64_t)delivery->removed));
	}
}
