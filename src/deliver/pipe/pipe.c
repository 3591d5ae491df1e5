// SPDX-License-Identifier: ISC
#include "deliver/pipe/pipe.h"
#include "base/panic.h"
#include "deliver/pipe/run.h"
#include "mail/address.h"
#include <stdlib.h>
#include <utlist.h>

/* A job, for whose recipients programs are run one after the other, or in parallel. In the job's
 * arena. */
struct entry {
	struct deliver_pipe *pipe;
	struct deliver_helper_job *job;
	size_t started; /* recipients */
	size_t running;
	struct entry *next, *previous; /* while some recipients are not started */
};

struct active { /* a run */
	struct pipe_run *run;
	struct entry *entry;
	size_t index; /* of the recipient */
	struct active *next, *previous;
};

struct deliver_pipe {
	struct os_loop *loop;
	struct launch_client *launcher;
	const struct config_service *service;
	struct hash_key site_key;
	struct entry *waiting;
	struct active *active;
	size_t active_count;
	size_t active_max;
	char *block;
	struct os_task start;
};

static void report_pipe_recipient(struct entry *entry, size_t index,
				  const struct mail_verdict *verdict, const char *trigger)
{
	deliver_helper_report(entry->job, index, verdict, trigger);
}

static void finish_if_over(struct entry *entry)
{
	if (entry->running == 0 && entry->started == entry->job->recipient_count)
		deliver_helper_finish(entry->job);
}

/* May free ACTIVE's entry. */
static void end_pipe_delivery(struct active *active)
{
	struct entry *entry = active->entry;

	DL_DELETE2(entry->pipe->active, active, previous, next);
	entry->pipe->active_count--;
	entry->running--;
	free(active);
	finish_if_over(entry);
}

static void on_pipe_run_done(void *context, const struct mail_verdict *verdict, const char *trigger)
{
	struct active *active = context;
	struct deliver_pipe *pipe = active->entry->pipe;

	report_pipe_recipient(active->entry, active->index, verdict, trigger);
	end_pipe_delivery(active);
	os_loop_defer(pipe->loop, &pipe->start);
}

static void start_recipient(struct entry *entry, size_t index)
{
	const struct deliver_helper_job *job = entry->job;
	struct deliver_pipe *pipe = entry->pipe;
	struct active *active = memory_alloc_zero(1, sizeof *active);
	struct pipe_run_order order = {
		.service = pipe->service,
		.id = job->id,
		.sender = mail_sender_told(job->sender),
		.owner = {job->recipients[index].address, job->recipients[index].via,
			  pipe->site_key},
		.content = job->content,
		.is_binary = job->binary,
		.block = pipe->block,
	};
	struct mail_verdict verdict;

	active->entry = entry;
	active->index = index;
	active->run = pipe_run_start(pipe->loop, pipe->launcher, &order, on_pipe_run_done, active,
				     &verdict);
	if (active->run == NULL) {
		free(active);
		report_pipe_recipient(entry, index, &verdict, NULL);
		return;
	}
	DL_APPEND2(pipe->active, active, previous, next);
	pipe->active_count++;
	entry->running++;
}

static void start_pipe_deliveries(void *context)
{
	struct deliver_pipe *pipe = context;

	while (pipe->waiting != NULL && pipe->active_count < pipe->active_max &&
	       launch_client_is_ready(pipe->launcher)) {
		struct entry *entry = pipe->waiting;

		start_recipient(entry, entry->started++);
		if (entry->started < entry->job->recipient_count)
			continue;
		DL_DELETE2(pipe->waiting, entry, previous, next);
		finish_if_over(entry);
	}
}

struct deliver_pipe *deliver_pipe_new(struct os_loop *loop, struct launch_client *launcher,
				      const struct config *config,
				      const struct config_service *service)
{
	struct deliver_pipe *pipe = memory_alloc_zero(1, sizeof *pipe);

	pipe->loop = loop;
	pipe->launcher = launcher;
	pipe->block = memory_alloc(PIPE_BLOCK_SIZE);
	pipe->start = (struct os_task){.call = start_pipe_deliveries, .context = pipe};
	deliver_pipe_configure(pipe, config, service);
	return pipe;
}

void deliver_pipe_configure(void *transport, const struct config *config,
			    const struct config_service *service)
{
	struct deliver_pipe *pipe = transport;
	const struct config_transport *limits =
		config_transport_find(config, str_from(service->name));

	pipe->service = service;
	pipe->site_key = config->site_key;
	pipe->active_max = limits != NULL ? limits->concurrency : 1;
	os_loop_defer(pipe->loop, &pipe->start);
}

static void drop_waiting_pipe_jobs(struct deliver_pipe *pipe)
{
	while (pipe->waiting != NULL) {
		struct entry *entry = pipe->waiting;

		DL_DELETE2(pipe->waiting, entry, previous, next);
		entry->started = entry->job->recipient_count;
		finish_if_over(entry);
	}
}

void deliver_pipe_free(void *transport)
{
	struct deliver_pipe *pipe = transport;

	if (pipe == NULL)
		return;
	drop_waiting_pipe_jobs(pipe);
	while (pipe->active != NULL) {
		pipe_run_free(pipe->active->run);
		end_pipe_delivery(pipe->active);
	}
	os_task_cancel(pipe->loop, &pipe->start);
	free(pipe->block);
	free(pipe);
}

void deliver_pipe_start(void *transport, struct deliver_helper_job *job)
{
	struct deliver_pipe *pipe = transport;
	struct entry *entry = arena_alloc(job->arena, sizeof *entry);

	entry->pipe = pipe;
	entry->job = job;
	DL_APPEND2(pipe->waiting, entry, previous, next);
	os_loop_defer(pipe->loop, &pipe->start);
}

void deliver_pipe_lost(void *transport)
{
	struct deliver_pipe *pipe = transport;
	struct active *active;

	drop_waiting_pipe_jobs(pipe);
	DL_FOREACH2 (pipe->active, active, next)
		pipe_run_kill(active->run);
}

void deliver_pipe_go_on(void *transport)
{
	struct deliver_pipe *pipe = transport;

	os_loop_defer(pipe->loop, &pipe->start);
}

void deliver_pipe_drain(void *transport)
{
	struct deliver_pipe *pipe = transport;

	drop_waiting_pipe_jobs(pipe);
}
