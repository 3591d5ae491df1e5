// SPDX-License-Identifier: ISC
#include "deliver/helper.h"
#include "base/panic.h"
#include "ipc/channel.h"
#include "ipc/job.h"
#include "ipc/pack.h"
#include "os/file/file.h"
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

struct deliver_helper {
	struct ipc_client *ipc;
	struct buffer hello;
	const struct deliver_helper_handler *handler;
	void *context;
	struct deliver_helper_job *jobs;
	size_t job_count;
	bool is_draining; /* "send" is stopping */
	bool is_retired;
	struct job *incomplete; /* a job whose content has not come completely; or NULL */
};

/* A job, with the library's private part. */
struct job {
	struct deliver_helper_job public;
	struct buffer reports; /* not sent yet */
	bool is_orphan;        /* its connection was lost */
	char *content;         /* in the arena, while it is incomplete */
	size_t content_length;
};

static struct job *job_of(struct deliver_helper_job *public)
{
	return CONTAINER_OF(public, struct job, public);
}

static struct str copy_packed_text(struct deliver_helper_job *job, struct unpack *body)
{
	return arena_copy_str(job->arena, unpack_str(body));
}

static struct mail_deadline deadline_from_needs(uint32_t needs, uint64_t at_us)
{
	enum mail_deadline_mode mode =
		(needs & IPC_JOB_RETURN) != 0 ? MAIL_DEADLINE_RETURN : MAIL_DEADLINE_NOTIFY;

	if ((needs & IPC_JOB_DEADLINE) == 0)
		return (struct mail_deadline){0};
	return (struct mail_deadline){.mode = mode,
				      .is_traced = (needs & IPC_JOB_TRACE) != 0,
				      .is_told = (needs & IPC_JOB_TOLD) != 0,
				      .at_us = (int64_t)at_us};
}

/* A byte, in two's complement. */
static int priority_from_needs(uint32_t needs)
{
	int byte = needs >> IPC_JOB_PRIORITY & 0xff;

	return byte < 0x80 ? byte : byte - 0x100;
}

static bool read_job(struct deliver_helper_job *job, struct unpack *body)
{
	uint32_t needs;
	uint32_t ret;
	size_t count;

	job->id.number = unpack_u64(body);
	job->id.born_us = (int64_t)unpack_u64(body);
	job->sender = copy_packed_text(job, body);
	job->content.size = unpack_u64(body);
	job->content.checksum = unpack_u32(body);
	needs = unpack_u32(body);
	job->content.has_checksum = (needs & IPC_JOB_CHECKSUM) != 0;
	job->utf8 = (needs & IPC_JOB_UTF8) != 0;
	job->binary = (needs & IPC_JOB_BINARY) != 0;
	job->has_turn = (needs & IPC_JOB_TURN) != 0;
	job->requires_tls = (needs & IPC_JOB_REQUIRE_TLS) != 0;
	job->priority = priority_from_needs(needs);
	job->deadline = deadline_from_needs(needs, unpack_u64(body));
	ret = unpack_u32(body);
	job->ret = (enum mail_ret)ret;
	job->envid = copy_packed_text(job, body);
	job->destination = copy_packed_text(job, body);
	job->received = copy_packed_text(job, body);
	count = unpack_u32(body);
	if (body->failed || ret > MAIL_RET_HEADERS || count == 0 || count > IPC_JOB_RECIPIENTS_MAX)
		return false;
	job->recipients = arena_alloc(job->arena, count * sizeof *job->recipients);
	for (size_t i = 0; i < count; i++) {
		job->recipients[i].number = unpack_u32(body);
		job->recipients[i].notify = unpack_u32(body);
		job->recipients[i].address = copy_packed_text(job, body);
		job->recipients[i].original = copy_packed_text(job, body);
		job->recipients[i].via = copy_packed_text(job, body);
	}
	job->recipient_count = count;
	return true;
}

static bool read_package_job(struct deliver_helper_job *job, struct unpack *body)
{
	size_t count;

	job->id.number = unpack_u64(body);
	job->id.born_us = (int64_t)unpack_u64(body);
	job->content.size = unpack_u64(body);
	job->is_new = (unpack_u32(body) & IPC_JOB_HAND_NEW) != 0;
	job->group = copy_packed_text(job, body);
	job->package = copy_packed_text(job, body);
	job->text = copy_packed_text(job, body);
	count = unpack_u32(body);
	if (body->failed || job->package.length == 0 || count == 0 ||
	    count > IPC_JOB_RECIPIENTS_MAX)
		return false;
	job->recipients = arena_alloc(job->arena, count * sizeof *job->recipients);
	for (size_t i = 0; i < count; i++)
		job->recipients[i] = (struct deliver_helper_recipient){
			.number = unpack_u32(body), .is_passed_on = true, .is_timed = true};
	job->recipient_count = count;
	return true;
}

/* Takes over the content: from a file, from this packet, or from the packets that follow. */
static bool take_content(struct job *job, struct unpack *body, struct ipc_message *message)
{
	struct ipc_content *content = &job->public.content;
	struct str bytes = unpack_str(body);

	if (!unpack_is_whole(body) || message->descriptor_count > 1)
		return false;
	if (message->descriptor_count == 1) {
		content->file = message->descriptors[0];
		message->descriptors[0] = -1;
		return bytes.length == 0;
	}
	if (content->size > IPC_JOB_CONTENT_MAX ||
	    (bytes.length != content->size && bytes.length > 0))
		return false;
	content->bytes = arena_copy_str(job->public.arena, bytes);
	if (bytes.length < content->size)
		job->content = arena_alloc(job->public.arena, content->size);
	return true;
}

static void job_free(struct job *job)
{
	os_file_close(job->public.content.file);
	buffer_clear(&job->reports);
	arena_free(job->public.arena);
	free(job);
}

static void give_job_to_transport(struct deliver_helper *helper, struct job *job)
{
	DL_APPEND2(helper->jobs, &job->public, previous, next);
	helper->job_count++;
	if (helper->is_draining || helper->is_retired) /* it was sent before "send" knew */
		deliver_helper_finish(&job->public);
	else
		helper->handler->job(helper->context, &job->public);
}

static void on_job_start(struct deliver_helper *helper, struct ipc_message *message)
{
	struct unpack body = {message->body, false};
	struct job *job = memory_alloc_zero(1, sizeof *job);
	bool is_read;

	job->public.arena = arena_new();
	job->public.helper = helper;
	job->public.tag = message->tag;
	job->public.content.file = -1;
	is_read = message->type == IPC_JOB_HAND ? read_package_job(&job->public, &body)
						: read_job(&job->public, &body);
	if (helper->incomplete != NULL || !is_read || !take_content(job, &body, message)) {
		ipc_channel_refuse(ipc_client_channel(helper->ipc), message->type);
		job_free(job);
	} else if (job->content != NULL) {
		helper->incomplete = job;
	} else {
		give_job_to_transport(helper, job);
	}
}

static void on_job_content(struct deliver_helper *helper, const struct ipc_message *message)
{
	struct job *job = helper->incomplete;
	struct ipc_content *content = job != NULL ? &job->public.content : NULL;

	if (job == NULL || message->tag != job->public.tag || message->body.length == 0 ||
	    message->body.length > content->size - job->content_length) {
		ipc_channel_refuse(ipc_client_channel(helper->ipc), message->type);
		return;
	}
	memcpy(job->content + job->content_length, message->body.data, message->body.length);
	job->content_length += message->body.length;
	if (job->content_length < content->size)
		return;
	content->bytes = str_slice(job->content, job->content_length);
	helper->incomplete = NULL;
	give_job_to_transport(helper, job);
}

static void drop_incomplete(struct deliver_helper *helper)
{
	if (helper->incomplete != NULL)
		job_free(helper->incomplete);
	helper->incomplete = NULL;
}

static void drain_transport(struct deliver_helper *helper)
{
	if (helper->handler->drain != NULL)
		helper->handler->drain(helper->context);
}

static void on_job_channel_connected(void *context)
{
	struct deliver_helper *helper = context;

	if (!helper->is_retired)
		ipc_channel_send(ipc_client_channel(helper->ipc), IPC_JOB_HELLO, 0,
				 buffer_view(&helper->hello), NULL, 0);
}

static void on_job_channel_message(void *context, struct ipc_message *message)
{
	struct deliver_helper *helper = context;

	switch (message->type) {
	case IPC_JOB_START:
	case IPC_JOB_HAND:
		on_job_start(helper, message);
		break;
	case IPC_JOB_RUN:
	case IPC_JOB_PEERED:
	case IPC_JOB_SETTLED:
	case IPC_JOB_ASK_NODES:
	case IPC_JOB_STATUS_IS:
		if (helper->handler->heard == NULL ||
		    !helper->handler->heard(helper->context, (enum ipc_job)message->type,
					    message->body))
			ipc_channel_refuse(ipc_client_channel(helper->ipc), message->type);
		break;
	case IPC_JOB_CONTENT:
		on_job_content(helper, message);
		break;
	case IPC_JOB_DRAIN:
		helper->is_draining = true;
		drain_transport(helper);
		break;
	default:
		ipc_channel_refuse(ipc_client_channel(helper->ipc), message->type);
	}
}

static void on_job_channel_lost(void *context)
{
	struct deliver_helper *helper = context;
	struct deliver_helper_job *job;

	helper->is_draining = false;
	drop_incomplete(helper);
	DL_FOREACH2 (helper->jobs, job, next)
		job_of(job)->is_orphan = true;
	helper->handler->lost(helper->context);
}

static const struct ipc_client_handler client_handler = {
	on_job_channel_connected, on_job_channel_message, on_job_channel_lost};

struct deliver_helper *deliver_helper_new(struct os_loop *loop,
					  const struct deliver_helper_call *call,
					  const struct deliver_helper_handler *handler,
					  void *context)
{
	struct deliver_helper *helper = memory_alloc_zero(1, sizeof *helper);

	ipc_job_add_hello(&helper->hello, &(struct ipc_job_hello){str_from(call->service),
								  call->concurrency, call->token});
	helper->handler = handler;
	helper->context = context;
	helper->ipc = ipc_client_new(loop, call->path, &client_handler, helper);
	return helper;
}

void deliver_helper_free(struct deliver_helper *helper)
{
	if (helper == NULL)
		return;
	while (helper->jobs != NULL)
		deliver_helper_finish(helper->jobs);
	drop_incomplete(helper);
	ipc_client_free(helper->ipc);
	buffer_clear(&helper->hello);
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

void deliver_helper_report(struct deliver_helper_job *public, size_t index,
			   const struct mail_verdict *verdict, const char *trigger)
{
	enum { FLUSH_AT = IPC_BODY_MAX - 2048 };
	struct deliver_helper_recipient *recipient = &public->recipients[index];
	struct job *job = job_of(public);
	struct ipc_job_report report = {
		.number = recipient->number,
		.flags = (recipient->is_passed_on ? IPC_JOB_PASSED_ON : 0) |
			 (recipient->is_timed ? IPC_JOB_TIMED : 0),
		.status = str_from(verdict->status),
		.text = str_from(verdict->text),
		.trigger = str_from(trigger != NULL ? trigger : ""),
	};

	if (recipient->is_reported)
		return;
	if (public->tls != NULL) {
		report.flags |= IPC_JOB_SECURED;
		report.tls = *public->tls;
	}
	if (public->source.length > 0) {
		report.flags |= IPC_JOB_SOURCED;
		report.source = public->source;
	}
	recipient->is_reported = true;
	ipc_job_add_report(&job->reports, &report);
	if (job->reports.length > FLUSH_AT)
		send_reports(job, IPC_JOB_REPORT);
}

void deliver_helper_report_rest(struct deliver_helper_job *job, const struct mail_verdict *verdict,
				const char *trigger)
{
	for (size_t i = 0; i < job->recipient_count; i++)
		deliver_helper_report(job, i, verdict, trigger);
}

void deliver_helper_tell(struct deliver_helper_job *public)
{
	struct job *job = job_of(public);

	if (job->reports.length > 0)
		send_reports(job, IPC_JOB_REPORT);
}

static void end_delivery_job(struct job *job, enum ipc_job type)
{
	struct deliver_helper_job *public = &job->public;
	struct deliver_helper *helper = public->helper;

	send_reports(job, type);
	DL_DELETE2(helper->jobs, public, previous, next);
	helper->job_count--;
	job_free(job);
}

void deliver_helper_finish(struct deliver_helper_job *job)
{
	end_delivery_job(job_of(job), IPC_JOB_FINISH);
}

void deliver_helper_finish_busy(struct deliver_helper_job *job, int64_t wait_us, uint32_t flags,
				const char *reason)
{
	enum { US_A_MS = 1000 };
	int64_t wait_ms = (wait_us + US_A_MS - 1) / US_A_MS;
	struct ipc_job_busy busy = {
		.wait_ms = IPC_JOB_BUSY_MAX_MS, .flags = flags, .reason = str_from(reason)};

	if (wait_ms < IPC_JOB_BUSY_MAX_MS)
		busy.wait_ms = (uint32_t)wait_ms;
	deliver_helper_tell(job);
	ipc_job_add_busy(&job_of(job)->reports, &busy);
	end_delivery_job(job_of(job), IPC_JOB_BUSY);
}

void deliver_helper_tell_said(const struct deliver_helper_job *job, const struct ipc_job_said *said)
{
	struct ipc_channel *channel = ipc_client_channel(job->helper->ipc);
	struct buffer body CLEANUP(buffer_clear) = {0};
	struct ipc_job_said own = *said;

	if (channel == NULL)
		return;
	own.id = job->id;
	ipc_job_add_said(&body, &own);
	ipc_channel_send(channel, IPC_JOB_SAID, 0, buffer_view(&body), NULL, 0);
}

bool deliver_helper_say(struct deliver_helper *helper, enum ipc_job type, struct str body)
{
	struct ipc_channel *channel = ipc_client_channel(helper->ipc);

	if (channel != NULL)
		ipc_channel_send(channel, (uint16_t)type, 0, body, NULL, 0);
	return channel != NULL;
}

void deliver_helper_retire(struct deliver_helper *helper)
{
	struct ipc_channel *channel = ipc_client_channel(helper->ipc);

	if (helper->is_retired)
		return;
	helper->is_retired = true;
	if (channel != NULL)
		ipc_channel_send(channel, IPC_JOB_RETIRE, 0, STR(""), NULL, 0);
	drain_transport(helper);
}

size_t deliver_helper_job_count(const struct deliver_helper *helper)
{
	return helper->job_count;
}
