// SPDX-License-Identifier: ISC
#include "stage/helper.h"
#include "base/panic.h"
#include "ipc/channel.h"
#include "ipc/job.h"
#include "ipc/pack.h"
#include "os/file.h"
#include <stdlib.h>
#include <utlist.h>

struct stage_helper {
	struct ipc_client *ipc;
	char *service;
	uint32_t concurrency;
	const struct stage_helper_handler *handler;
	void *context;
	struct stage_helper_job *jobs;
	size_t job_count;
	bool is_draining; /* "send" of this connection stops */
	bool is_retired;
};

/* A job as the helper library sees it. */
struct job {
	struct stage_helper_job public;
	struct buffer reports; /* not sent yet */
	bool is_orphan;        /* of a connection that was lost */
};

static struct job *job_of(struct stage_helper_job *public)
{
	return CONTAINER_OF(public, struct job, public);
}

static struct str copy(struct stage_helper_job *job, struct unpack *body)
{
	return arena_copy_str(job->arena, unpack_str(body));
}

static bool read_job(struct stage_helper_job *job, struct unpack *body)
{
	uint32_t ret;
	size_t count;

	job->id.number = unpack_u64(body);
	job->id.born_us = (int64_t)unpack_u64(body);
	job->sender = copy(job, body);
	job->size = unpack_u64(body);
	job->utf8 = unpack_u32(body) != 0;
	ret = unpack_u32(body);
	job->ret = (enum mail_ret)ret;
	job->envid = copy(job, body);
	job->destination = copy(job, body);
	count = unpack_u32(body);
	if (body->failed || ret > MAIL_RET_HEADERS || count == 0 || count > IPC_JOB_RECIPIENTS_MAX)
		return false;
	job->recipients = arena_alloc(job->arena, count * sizeof *job->recipients);
	for (size_t i = 0; i < count; i++) {
		job->recipients[i].number = unpack_u32(body);
		job->recipients[i].notify = unpack_u32(body);
		job->recipients[i].address = copy(job, body);
		job->recipients[i].original = copy(job, body);
	}
	job->recipient_count = count;
	return unpack_is_whole(body);
}

static void on_start(struct stage_helper *helper, struct ipc_message *message)
{
	struct unpack body = {message->body, false};
	struct job *job = memory_alloc_zero(1, sizeof *job);

	job->public.arena = arena_new();
	job->public.helper = helper;
	job->public.tag = message->tag;
	job->public.file = -1;
	if (message->descriptor_count != 1 || !read_job(&job->public, &body)) {
		ipc_channel_refuse(ipc_client_channel(helper->ipc), message->type);
		arena_free(job->public.arena);
		free(job);
		return;
	}
	job->public.file = message->descriptors[0];
	message->descriptors[0] = -1;
	DL_APPEND2(helper->jobs, &job->public, previous, next);
	helper->job_count++;
	if (helper->is_draining || helper->is_retired) /* it was on its way */
		stage_helper_finish(&job->public);
	else
		helper->handler->job(helper->context, &job->public);
}

static void drain(struct stage_helper *helper)
{
	if (helper->handler->drain != NULL)
		helper->handler->drain(helper->context);
}

static void on_connected(void *context)
{
	struct stage_helper *helper = context;
	struct buffer body = {0};

	if (helper->is_retired)
		return;
	ipc_job_add_hello(&body,
			  &(struct ipc_job_hello){str_from(helper->service), helper->concurrency});
	ipc_channel_send(ipc_client_channel(helper->ipc), IPC_JOB_HELLO, 0, buffer_view(&body),
			 NULL, 0);
	buffer_clear(&body);
}

static void on_message(void *context, struct ipc_message *message)
{
	struct stage_helper *helper = context;

	switch (message->type) {
	case IPC_JOB_START:
		on_start(helper, message);
		break;
	case IPC_JOB_DRAIN:
		helper->is_draining = true;
		drain(helper);
		break;
	default:
		ipc_channel_refuse(ipc_client_channel(helper->ipc), message->type);
	}
}

static void on_lost(void *context)
{
	struct stage_helper *helper = context;
	struct stage_helper_job *job;

	helper->is_draining = false;
	DL_FOREACH2 (helper->jobs, job, next)
		job_of(job)->is_orphan = true;
	helper->handler->lost(helper->context);
}

static const struct ipc_client_handler client_handler = {on_connected, on_message, on_lost};

struct stage_helper *stage_helper_new(struct os_loop *loop, const char *path, const char *service,
				      uint32_t concurrency,
				      const struct stage_helper_handler *handler, void *context)
{
	struct stage_helper *helper = memory_alloc_zero(1, sizeof *helper);

	helper->service = memory_copy_string(service);
	helper->concurrency = concurrency;
	helper->handler = handler;
	helper->context = context;
	helper->ipc = ipc_client_new(loop, path, &client_handler, helper);
	return helper;
}

void stage_helper_free(struct stage_helper *helper)
{
	if (helper == NULL)
		return;
	while (helper->jobs != NULL)
		stage_helper_finish(helper->jobs);
	ipc_client_free(helper->ipc);
	free(helper->service);
	free(helper);
}

static void send_reports(struct job *job, enum ipc_job type)
{
	struct ipc_channel *channel = ipc_client_channel(job->public.helper->ipc);

	if (!job->is_orphan && channel != NULL)
		ipc_channel_send(channel, (uint16_t)type, job->public.tag,
				 buffer_view(&job->reports), NULL, 0);
	buffer_reset(&job->reports);
}

void stage_helper_report(struct stage_helper_job *public, size_t index,
			 const struct mail_verdict *verdict, const char *trigger)
{
	enum { FLUSH_AT = IPC_BODY_MAX - 2048 };
	struct stage_helper_recipient *recipient = &public->recipients[index];
	struct job *job = job_of(public);
	struct ipc_job_report report = {
		.number = recipient->number,
		.flags = recipient->is_passed_on ? IPC_JOB_PASSED_ON : 0,
		.status = str_from(verdict->status),
		.text = str_from(verdict->text),
		.trigger = str_from(trigger != NULL ? trigger : ""),
	};

	if (recipient->is_reported)
		return;
	recipient->is_reported = true;
	ipc_job_add_report(&job->reports, &report);
	if (job->reports.length > FLUSH_AT)
		send_reports(job, IPC_JOB_REPORT);
}

void stage_helper_report_rest(struct stage_helper_job *job, const struct mail_verdict *verdict,
			      const char *trigger)
{
	for (size_t i = 0; i < job->recipient_count; i++)
		stage_helper_report(job, i, verdict, trigger);
}

void stage_helper_finish(struct stage_helper_job *public)
{
	struct job *job = job_of(public);
	struct stage_helper *helper = public->helper;

	send_reports(job, IPC_JOB_FINISH);
	DL_DELETE2(helper->jobs, public, previous, next);
	helper->job_count--;
	os_file_close(public->file);
	buffer_clear(&job->reports);
	arena_free(public->arena);
	free(job);
}

void stage_helper_retire(struct stage_helper *helper)
{
	struct ipc_channel *channel = ipc_client_channel(helper->ipc);

	if (helper->is_retired)
		return;
	helper->is_retired = true;
	if (channel != NULL)
		ipc_channel_send(channel, IPC_JOB_RETIRE, 0, STR(""), NULL, 0);
	drain(helper);
}

size_t stage_helper_job_count(const struct stage_helper *helper)
{
	return helper->job_count;
}
