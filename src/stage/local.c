// SPDX-License-Identifier: ISC
#include "stage/local.h"
#include "base/panic.h"
#include "mailbox/maildir.h"
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { GROUP_MAX = 256 }; /* deliveries at the disk together; a larger job still goes whole */

/* A job in one of our lists; lives in the job's arena. */
struct entry {
	struct stage_helper_job *job;
	struct entry *next;
};

struct list {
	struct entry *first;
	struct entry **last; /* NULL: empty */
};

/* Jobs that go to the disk together. deliveries[i] is of targets[i]. */
struct group {
	struct list jobs;
	struct maildir_delivery *deliveries;
	struct target {
		struct stage_helper_job *job;
		size_t index;
	} * targets;
	size_t count;
};

struct stage_local {
	struct maildir *maildir; /* the thread's while is_busy */
	const struct config_service *service;
	struct os_loop *loop;
	struct os_wakeup *wakeup;
	struct os_task start; /* at the end of the turn: what came in it goes together */
	struct list waiting;
	struct group group; /* at the disk while is_busy */
	bool is_busy;
	bool is_lost; /* the group's jobs get no report */
	pthread_t thread;
	pthread_mutex_t mutex; /* for the two below */
	pthread_cond_t changed;
	bool is_given; /* the group is the thread's */
	bool is_stopping;
};

static void append(struct list *list, struct entry *entry)
{
	if (list->first == NULL)
		list->last = &list->first;
	entry->next = NULL;
	*list->last = entry;
	list->last = &entry->next;
}

static struct entry *take_first(struct list *list)
{
	struct entry *entry = list->first;

	if (entry != NULL)
		list->first = entry->next;
	return entry;
}

static void finish_all(struct list *list)
{
	struct entry *entry;

	while ((entry = take_first(list)) != NULL)
		stage_helper_finish(entry->job);
}

static void *work(void *context)
{
	struct stage_local *local = context;

	pthread_mutex_lock(&local->mutex);
	for (;;) {
		while (!local->is_given && !local->is_stopping)
			pthread_cond_wait(&local->changed, &local->mutex);
		if (!local->is_given)
			break;
		pthread_mutex_unlock(&local->mutex);
		maildir_deliver_group(local->maildir, local->group.deliveries, local->group.count);
		pthread_mutex_lock(&local->mutex);
		local->is_given = false;
		os_wakeup_send(local->wakeup);
	}
	pthread_mutex_unlock(&local->mutex);
	return NULL;
}

static void give(struct stage_local *local)
{
	local->is_busy = true;
	local->is_lost = false;
	pthread_mutex_lock(&local->mutex);
	local->is_given = true;
	pthread_cond_signal(&local->changed);
	pthread_mutex_unlock(&local->mutex);
}

/* False when the address can have no mailbox. */
static bool add_delivery(struct stage_local *local, struct stage_helper_job *job, size_t index)
{
	struct group *group = &local->group;
	struct str address = job->recipients[index].address;
	struct buffer path = {0};

	if (maildir_path_expand(local->service->path, address, &path) < 0) {
		buffer_clear(&path);
		return false;
	}
	group->targets[group->count] = (struct target){job, index};
	group->deliveries[group->count] = (struct maildir_delivery){
		.path = arena_copy_str(job->arena, buffer_view(&path)),
		.sender = job->sender,
		.recipient = address,
		.file = job->file,
		.size = job->size,
	};
	group->count++;
	buffer_clear(&path);
	return true;
}

static void add_job(struct stage_local *local, struct entry *entry)
{
	struct mail_verdict impossible;

	mail_verdict_set(&impossible, "5.1.3", "No mailbox can have such a name");
	append(&local->group.jobs, entry);
	for (size_t i = 0; i < entry->job->recipient_count; i++)
		if (!add_delivery(local, entry->job, i))
			stage_helper_report(entry->job, i, &impossible, NULL);
}

/* Moves waiting jobs into the group, up to its bound. */
static void gather(struct stage_local *local)
{
	const struct entry *end = local->waiting.first;
	size_t count = 0;

	for (; end != NULL && (count == 0 || count + end->job->recipient_count <= GROUP_MAX);
	     end = end->next)
		count += end->job->recipient_count;
	local->group.deliveries = memory_alloc_zero(count + 1, sizeof *local->group.deliveries);
	local->group.targets = memory_alloc_zero(count + 1, sizeof *local->group.targets);
	while (local->waiting.first != end)
		add_job(local, take_first(&local->waiting));
}

static void start(void *context)
{
	struct stage_local *local = context;

	if (local->is_busy || local->waiting.first == NULL)
		return;
	gather(local);
	give(local);
}

static void come_back(struct stage_local *local)
{
	struct group group = local->group;

	local->is_busy = false;
	local->group = (struct group){0};
	for (size_t i = 0; i < group.count && !local->is_lost; i++)
		stage_helper_report(group.targets[i].job, group.targets[i].index,
				    &group.deliveries[i].verdict, NULL);
	finish_all(&group.jobs);
	free(group.deliveries);
	free(group.targets);
}

static void on_wakeup(void *context)
{
	struct stage_local *local = context;
	bool is_given;

	pthread_mutex_lock(&local->mutex);
	is_given = local->is_given;
	pthread_mutex_unlock(&local->mutex);
	if (local->is_busy && !is_given)
		come_back(local);
	start(local);
}

static enum maildir_sync sync_of(enum config_sync sync)
{
	if (sync == CONFIG_SYNC_FILESYSTEM)
		return MAILDIR_SYNC_FILESYSTEM;
	return sync == CONFIG_SYNC_FILES ? MAILDIR_SYNC_FILES : MAILDIR_SYNC_AUTO;
}

/* Signals are the loop's, not the thread's. */
static void start_thread(struct stage_local *local)
{
	sigset_t all;
	sigset_t before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (pthread_create(&local->thread, NULL, work, local) != 0)
		panic("no thread for deliveries can be started");
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

struct stage_local *stage_local_new(struct os_loop *loop, const struct config *config,
				    const struct config_service *service)
{
	struct stage_local *local = memory_alloc_zero(1, sizeof *local);

	umask(077);
	local->maildir = maildir_new(config->hostname, sync_of(config->queue_sync));
	local->service = service;
	local->loop = loop;
	local->wakeup = os_wakeup_new(loop, on_wakeup, local);
	local->start = (struct os_task){.call = start, .context = local};
	pthread_mutex_init(&local->mutex, NULL);
	pthread_cond_init(&local->changed, NULL);
	start_thread(local);
	return local;
}

void stage_local_free(struct stage_local *local)
{
	if (local == NULL)
		return;
	pthread_mutex_lock(&local->mutex);
	local->is_stopping = true;
	pthread_cond_signal(&local->changed);
	pthread_mutex_unlock(&local->mutex);
	pthread_join(local->thread, NULL);
	if (local->is_busy)
		come_back(local);
	finish_all(&local->waiting);
	os_task_cancel(local->loop, &local->start);
	os_wakeup_free(local->wakeup);
	pthread_mutex_destroy(&local->mutex);
	pthread_cond_destroy(&local->changed);
	maildir_free(local->maildir);
	free(local);
}

void stage_local_deliver(struct stage_local *local, struct stage_helper_job *job)
{
	struct entry *entry = arena_alloc(job->arena, sizeof *entry);

	entry->job = job;
	append(&local->waiting, entry);
	os_loop_defer(local->loop, &local->start);
}

void stage_local_lost(struct stage_local *local)
{
	local->is_lost = true;
	finish_all(&local->waiting);
}
