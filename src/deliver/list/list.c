// SPDX-License-Identifier: ISC
#include "deliver/list/list.h"
#include "base/panic.h"
#include "deliver/list/internal.h"
#include <stdlib.h>
#include <utlist.h>

/* One recipient of a job, which is a list. */
struct entry {
	struct deliver_list *list;
	struct deliver_helper_job *job;
	size_t index;
	struct list_expansion expansion; /* while it is active */
	struct entry *next, *previous;
};

struct deliver_list {
	struct os_loop *loop;
	struct directory *directory;
	struct queue_client *queue;
	struct hash_key key;
	struct entry *waiting;
	struct entry *active;
	size_t active_count;
	struct os_task start;
};

/* The job's context counts the entries that are left. The last one finishes the job. */
static void entry_free(struct entry *entry)
{
	struct deliver_helper_job *job = entry->job;
	size_t *left = job->context;

	free(entry);
	if (--*left == 0)
		deliver_helper_finish(job);
}

static void end_active_expansion(struct entry *entry)
{
	struct deliver_list *list = entry->list;

	DL_DELETE2(list->active, entry, previous, next);
	list->active_count--;
	list_expansion_clear(&entry->expansion);
	entry_free(entry);
	os_loop_defer(list->loop, &list->start);
}

static void on_expansion_done(void *context, const struct mail_verdict *verdict,
			      const char *trigger)
{
	struct entry *entry = context;

	deliver_helper_report(entry->job, entry->index, verdict, trigger);
	end_active_expansion(entry);
}

static void start_entry(struct entry *entry)
{
	struct deliver_list *list = entry->list;

	DL_DELETE2(list->waiting, entry, previous, next);
	DL_APPEND2(list->active, entry, previous, next);
	list->active_count++;
	entry->expansion = (struct list_expansion){
		.loop = list->loop,
		.directory = list->directory,
		.queue = list->queue,
		.job = entry->job,
		.key = list->key,
		.list = entry->job->recipients[entry->index].address,
		.via = entry->job->recipients[entry->index].via,
		.done = on_expansion_done,
		.context = entry,
	};
	list_expansion_start(&entry->expansion);
}

static void start_waiting_expansions(void *context)
{
	struct deliver_list *list = context;

	while (list->waiting != NULL && list->active_count < DELIVER_LIST_ACTIVE)
		start_entry(list->waiting);
}

struct deliver_list *deliver_list_new(struct os_loop *loop, struct directory *directory,
				      struct queue_client *queue, struct hash_key key)
{
	struct deliver_list *list = memory_alloc_zero(1, sizeof *list);

	list->loop = loop;
	list->key = key;
	list->directory = directory;
	list->queue = queue;
	list->start = (struct os_task){.call = start_waiting_expansions, .context = list};
	return list;
}

void deliver_list_configure(struct deliver_list *list, struct hash_key key)
{
	list->key = key;
}

void deliver_list_free(void *transport)
{
	struct deliver_list *list = transport;

	deliver_list_give_up(list);
	os_task_cancel(list->loop, &list->start);
	free(list);
}

void deliver_list_start(void *transport, struct deliver_helper_job *job)
{
	struct deliver_list *list = transport;
	size_t *left = arena_alloc(job->arena, sizeof *left);

	*left = job->recipient_count;
	job->context = left;
	for (size_t i = 0; i < job->recipient_count; i++) {
		struct entry *entry = memory_alloc_zero(1, sizeof *entry);

		entry->list = list;
		entry->job = job;
		entry->index = i;
		DL_APPEND2(list->waiting, entry, previous, next);
	}
	os_loop_defer(list->loop, &list->start);
}

static void drop_waiting_expansions(struct deliver_list *list)
{
	while (list->waiting != NULL) {
		struct entry *entry = list->waiting;

		DL_DELETE2(list->waiting, entry, previous, next);
		entry_free(entry);
	}
}

void deliver_list_drain(void *transport)
{
	struct deliver_list *list = transport;
	struct entry *entry;
	struct entry *next;

	drop_waiting_expansions(list);
	DL_FOREACH_SAFE2 (list->active, entry, next, next)
		if (!entry->expansion.is_begun && entry->expansion.committing == 0)
			end_active_expansion(entry);
}

void deliver_list_give_up(void *transport)
{
	struct deliver_list *list = transport;

	drop_waiting_expansions(list);
	while (list->active != NULL)
		end_active_expansion(list->active);
}
