// SPDX-License-Identifier: ISC
#include "stage/list.h"
#include "base/panic.h"
#include "stage/list_internal.h"
#include <stdlib.h>
#include <utlist.h>

/* A recipient of a job, which is a list. */
struct entry {
	struct stage_list *stage;
	struct stage_helper_job *job;
	size_t index;
	struct list_expansion expansion; /* while it is active */
	struct entry *next, *previous;
};

struct stage_list {
	struct os_loop *loop;
	struct directory *directory;
	struct queue_client *queue;
	struct entry *waiting;
	struct entry *active;
	size_t active_count;
	struct os_task start;
};

/* The job's context: how many of its entries are left. The last one finishes it. */
static void entry_free(struct entry *entry)
{
	struct stage_helper_job *job = entry->job;
	size_t *left = job->context;

	free(entry);
	if (--*left == 0)
		stage_helper_finish(job);
}

static void end_active(struct entry *entry)
{
	struct stage_list *stage = entry->stage;

	DL_DELETE2(stage->active, entry, previous, next);
	stage->active_count--;
	list_expansion_clear(&entry->expansion);
	entry_free(entry);
	os_loop_defer(stage->loop, &stage->start);
}

static void on_done(void *context, const struct mail_verdict *verdict, const char *trigger)
{
	struct entry *entry = context;

	stage_helper_report(entry->job, entry->index, verdict, trigger);
	end_active(entry);
}

static void start_entry(struct entry *entry)
{
	struct stage_list *stage = entry->stage;

	DL_DELETE2(stage->waiting, entry, previous, next);
	DL_APPEND2(stage->active, entry, previous, next);
	stage->active_count++;
	entry->expansion = (struct list_expansion){
		.loop = stage->loop,
		.directory = stage->directory,
		.queue = stage->queue,
		.job = entry->job,
		.list = entry->job->recipients[entry->index].address,
		.done = on_done,
		.context = entry,
	};
	list_expansion_start(&entry->expansion);
}

static void start(void *context)
{
	struct stage_list *stage = context;

	while (stage->waiting != NULL && stage->active_count < STAGE_LIST_ACTIVE)
		start_entry(stage->waiting);
}

struct stage_list *stage_list_new(struct os_loop *loop, struct directory *directory,
				  struct queue_client *queue)
{
	struct stage_list *stage = memory_alloc_zero(1, sizeof *stage);

	stage->loop = loop;
	stage->directory = directory;
	stage->queue = queue;
	stage->start = (struct os_task){.call = start, .context = stage};
	return stage;
}

void stage_list_free(struct stage_list *stage)
{
	stage_list_give_up(stage);
	os_task_cancel(stage->loop, &stage->start);
	free(stage);
}

void stage_list_deliver(struct stage_list *stage, struct stage_helper_job *job)
{
	size_t *left = arena_alloc(job->arena, sizeof *left);

	*left = job->recipient_count;
	job->context = left;
	for (size_t i = 0; i < job->recipient_count; i++) {
		struct entry *entry = memory_alloc_zero(1, sizeof *entry);

		entry->stage = stage;
		entry->job = job;
		entry->index = i;
		DL_APPEND2(stage->waiting, entry, previous, next);
	}
	os_loop_defer(stage->loop, &stage->start);
}

static void drop_waiting(struct stage_list *stage)
{
	while (stage->waiting != NULL) {
		struct entry *entry = stage->waiting;

		DL_DELETE2(stage->waiting, entry, previous, next);
		entry_free(entry);
	}
}

void stage_list_give_up(struct stage_list *stage)
{
	drop_waiting(stage);
	while (stage->active != NULL)
		end_active(stage->active);
}
