// SPDX-License-Identifier: ISC
#include "stage/local.h"
#include "base/panic.h"
#include "mailbox/maildir.h"
#include "stage/owner.h"
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

/* Jobs that go to the disk together. deliveries[i] is of targets[i]; those of one
 * owner stand together. */
struct group {
	struct list jobs;
	struct maildir_delivery *deliveries;
	struct target {
		struct stage_helper_job *job;
		size_t index;
		struct str path;
		struct os_process_user owner;
	} * targets;
	size_t count;
};

struct stage_local {
	struct maildir *maildir; /* the thread's while is_busy */
	struct maildir *next;    /* takes its place when it is not; or NULL */
	const struct config *config;
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

static bool is_same_owner(const struct os_process_user *a, const struct os_process_user *b)
{
	return a->change == b->change && a->uid == b->uid && a->gid == b->gid;
}

static void deliver_as(struct stage_local *local, const struct os_process_user *owner,
		       struct maildir_delivery *deliveries, size_t count)
{
	int error = owner->change ? os_process_files_as(owner) : 0;

	if (error == 0)
		maildir_deliver_group(local->maildir, deliveries, count);
	for (size_t i = 0; i < count && error < 0; i++)
		mail_verdict_set(&deliveries[i].verdict, "4.3.0",
				 "Cannot deliver as the mailbox's owner: %s", strerror(-error));
	if (owner->change && error == 0)
		os_process_files_as_root();
}

/* Owner by owner: this thread's rights over files are theirs meanwhile, so that
 * links in their directories lead nowhere that they could not go. */
static void deliver_group(struct stage_local *local)
{
	struct group *group = &local->group;
	size_t end;

	for (size_t first = 0; first < group->count; first = end) {
		const struct os_process_user *owner = &group->targets[first].owner;

		end = first + 1;
		while (end < group->count && is_same_owner(owner, &group->targets[end].owner))
			end++;
		deliver_as(local, owner, group->deliveries + first, end - first);
	}
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
		deliver_group(local);
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
static bool find_mailbox(const struct stage_local *local, struct target *target,
			 struct mail_verdict *why)
{
	struct stage_helper_job *job = target->job;
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
	return true;
}

static void add_job(struct stage_local *local, struct entry *entry)
{
	struct group *group = &local->group;

	append(&group->jobs, entry);
	for (size_t i = 0; i < entry->job->recipient_count; i++) {
		struct target *target = &group->targets[group->count];
		struct mail_verdict why;

		*target = (struct target){.job = entry->job, .index = i};
		if (find_mailbox(local, target, &why))
			group->count++;
		else
			stage_helper_report(entry->job, i, &why, NULL);
	}
}

static int compare_owners(const void *a, const void *b)
{
	const struct os_process_user *one = &((const struct target *)a)->owner;
	const struct os_process_user *other = &((const struct target *)b)->owner;

	if (one->uid != other->uid)
		return one->uid < other->uid ? -1 : 1;
	return (one->gid > other->gid) - (one->gid < other->gid);
}

static void fill_deliveries(struct group *group)
{
	qsort(group->targets, group->count, sizeof *group->targets, compare_owners);
	for (size_t i = 0; i < group->count; i++) {
		const struct target *target = &group->targets[i];

		group->deliveries[i] = (struct maildir_delivery){
			.path = target->path,
			.sender = target->job->sender,
			.recipient = target->job->recipients[target->index].address,
			.content = target->job->content,
		};
	}
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
	fill_deliveries(&local->group);
}

static void start(void *context)
{
	struct stage_local *local = context;

	if (local->is_busy || local->waiting.first == NULL)
		return;
	gather(local);
	give(local);
}

static void take_next(struct stage_local *local)
{
	if (local->next == NULL)
		return;
	maildir_free(local->maildir);
	local->maildir = local->next;
	local->next = NULL;
}

static void come_back(struct stage_local *local)
{
	struct group group = local->group;

	local->is_busy = false;
	take_next(local);
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
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&local->thread, NULL, work, local);
	if (error != 0)
		cannot_begin("no thread for deliveries", -error);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

struct stage_local *stage_local_new(struct os_loop *loop, const struct config *config,
				    const struct config_service *service)
{
	struct stage_local *local = memory_alloc_zero(1, sizeof *local);

	umask(077);
	local->maildir = maildir_new(config->hostname, sync_of(config->queue_sync));
	local->config = config;
	local->service = service;
	local->loop = loop;
	local->wakeup = os_wakeup_new(loop, on_wakeup, local);
	local->start = (struct os_task){.call = start, .context = local};
	pthread_mutex_init(&local->mutex, NULL);
	pthread_cond_init(&local->changed, NULL);
	start_thread(local);
	return local;
}

void stage_local_configure(struct stage_local *local, const struct config *config,
			   const struct config_service *service)
{
	maildir_free(local->next);
	local->next = maildir_new(config->hostname, sync_of(config->queue_sync));
	local->config = config;
	local->service = service;
	if (!local->is_busy)
		take_next(local);
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
	maildir_free(local->next);
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
