// SPDX-License-Identifier: ISC
#include "deliver/resolve.h"
#include "base/panic.h"
#include "directory/lookup/lookup.h"
#include "ipc/channel.h"
#include "ipc/job.h"
#include "ipc/pack.h"
#include "queue/control/control.h"
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

struct deliver_resolve {
	struct ipc_client *ipc;
	struct os_loop *loop;
	struct directory *directory;
	struct question *questions; /* not answered yet */
	struct buffer hello;
	struct buffer answers; /* not sent yet */
	struct os_task answers_task;
};

/* One recipient of a question. */
struct recipient {
	struct question *question;
	uint32_t number;
	struct str address; /* in the question's texts */
	struct directory_request request;
};

/* One question of "send": some recipients of a message. */
struct question {
	struct deliver_resolve *resolve;
	struct ipc_job_resolved answer; /* so far; its count is that of TARGETS */
	struct buffer targets;
	char *texts;
	size_t waiting; /* unanswered by the directory, plus one while asking */
	struct question *next, *previous;
	uint32_t recipient_count;
	struct recipient recipients[];
};

/* --- answers --- */

static void send_answers(void *context)
{
	struct deliver_resolve *resolve = context;
	struct ipc_channel *channel = ipc_client_channel(resolve->ipc);

	if (resolve->answers.length > 0 && channel != NULL)
		ipc_channel_send(channel, IPC_JOB_RESOLVED, 0, buffer_view(&resolve->answers), NULL,
				 0);
	buffer_reset(&resolve->answers);
}

/* Adds the answer so far; answers of one turn are sent together, as many as fit in a packet. */
static void add_answer(struct question *question, uint32_t flags)
{
	struct deliver_resolve *resolve = question->resolve;
	size_t size = IPC_JOB_RESOLVED_OVERHEAD + question->targets.length;

	question->answer.flags |= flags;
	if (resolve->answers.length + size > IPC_BODY_MAX)
		send_answers(resolve);
	ipc_job_add_resolved(&resolve->answers, &question->answer);
	buffer_append_str(&resolve->answers, buffer_view(&question->targets));
	question->answer.flags &= ~(uint32_t)IPC_JOB_RESOLVED_MORE;
	question->answer.count = 0;
	buffer_reset(&question->targets);
	os_loop_defer(resolve->loop, &resolve->answers_task);
}

static void add_target_to_answer(struct question *question, const struct ipc_job_target *target)
{
	size_t before = question->targets.length;

	ipc_job_add_target(&question->targets, target);
	question->answer.count++;
	if (question->targets.length <= IPC_BODY_MAX - IPC_JOB_RESOLVED_OVERHEAD)
		return;
	/* it does not fit: it begins the next part */
	buffer_truncate(&question->targets, before);
	question->answer.count--;
	add_answer(question, IPC_JOB_RESOLVED_MORE);
	ipc_job_add_target(&question->targets, target);
	question->answer.count++;
}

static void free_resolve_question(struct question *question)
{
	DL_DELETE2(question->resolve->questions, question, previous, next);
	buffer_clear(&question->targets);
	free(question->texts);
	free(question);
}

static void finish_one(struct question *question)
{
	if (--question->waiting > 0)
		return;
	add_answer(question, 0);
	free_resolve_question(question);
}

/* --- answers of the directory --- */

static void pack_target(const struct recipient *recipient, enum queue_route route,
			const struct directory_target *target, const struct mail_verdict *verdict)
{
	struct str address = target->address;
	const struct ipc_job_target packed = {
		.recipient = recipient->number,
		.route = route,
		.service = target->service,
		.server = target->server,
		.address = address.length > 0 ? address : recipient->address,
		.status = str_from(verdict != NULL ? verdict->status : ""),
		.text = str_from(verdict != NULL ? verdict->text : ""),
	};

	add_target_to_answer(recipient->question, &packed);
}

/* The recipient maps to itself. */
static void pack_itself(const struct recipient *recipient, enum queue_route route,
			const struct mail_verdict *verdict)
{
	pack_target(recipient, route, &(struct directory_target){.address = recipient->address},
		    verdict);
}

static void pack_targets(const struct recipient *recipient, const struct directory_result *result)
{
	for (size_t i = 0; i < result->target_count; i++) {
		struct directory_target target = result->targets[i];

		switch (target.kind) {
		case DIRECTORY_TARGET_LIST:
			target.service = STR(CONFIG_LIST_SERVICE);
			pack_target(recipient, QUEUE_ROUTE_LOCAL, &target, NULL);
			break;
		case DIRECTORY_TARGET_LOCAL:
			pack_target(recipient, QUEUE_ROUTE_LOCAL, &target, NULL);
			break;
		case DIRECTORY_TARGET_REMOTE:
			pack_target(recipient, QUEUE_ROUTE_REMOTE, &target, NULL);
			break;
		case DIRECTORY_TARGET_NONE:
			pack_target(recipient, QUEUE_ROUTE_NONE, &target, &target.verdict);
			break;
		}
	}
}

static void on_recipient_resolved(void *context, const struct directory_result *result)
{
	struct recipient *recipient = context;
	struct question *question = recipient->question;

	if (result->version > question->answer.version)
		question->answer.version = result->version;
	if (result->is_away)
		question->answer.flags |= IPC_JOB_RESOLVED_AWAY;
	switch (result->answer) {
	case DIRECTORY_FOUND:
		pack_targets(recipient, result);
		break;
	case DIRECTORY_NOT_LOCAL:
		pack_itself(recipient, QUEUE_ROUTE_REMOTE, NULL);
		break;
	case DIRECTORY_REFUSED:
	case DIRECTORY_UNKNOWN:
		pack_itself(recipient, QUEUE_ROUTE_NONE, &result->verdict);
		break;
	}
	finish_one(question);
}

/* --- questions of "send" --- */

/* Reads the recipients, whose addresses are views until they are copied together. */
static bool read_recipients(struct question *question, struct unpack *body)
{
	uint32_t count = question->recipient_count;
	size_t size = 0;
	char *place;

	for (uint32_t i = 0; i < count && !body->failed; i++) {
		question->recipients[i].question = question;
		question->recipients[i].number = unpack_u32(body);
		question->recipients[i].address = unpack_str(body);
		size += question->recipients[i].address.length;
	}
	question->texts = memory_alloc(size + 1);
	place = question->texts;
	for (uint32_t i = 0; i < count && !body->failed; i++) {
		struct str *address = &question->recipients[i].address;

		memcpy(place, address->data, address->length);
		*address = str_slice(place, address->length);
		place += address->length;
	}
	return !body->failed;
}

static void ask_directory_for_recipients(struct question *question)
{
	struct directory *directory = question->resolve->directory;

	question->waiting = (size_t)question->recipient_count + 1;
	for (uint32_t i = 0; i < question->recipient_count; i++) {
		struct recipient *recipient = &question->recipients[i];

		directory_lookup(directory, recipient->address, on_recipient_resolved, recipient,
				 &recipient->request);
	}
	finish_one(question);
}

/* False when the question is malformed. */
static bool answer_resolve_question(struct deliver_resolve *resolve, struct unpack *body)
{
	uint64_t number = unpack_u64(body);
	uint32_t name = unpack_u32(body);
	struct str sender = unpack_str(body);
	uint32_t count = unpack_u32(body);
	struct question *question;

	(void)sender;
	if (body->failed || count > IPC_JOB_RECIPIENTS_MAX)
		return false;
	question = memory_alloc_zero(1, sizeof *question + count * sizeof(*question->recipients));
	question->resolve = resolve;
	question->recipient_count = count;
	question->answer = (struct ipc_job_resolved){.number = number, .question = name};
	DL_APPEND2(resolve->questions, question, previous, next);
	if (!read_recipients(question, body)) {
		free_resolve_question(question);
		return false;
	}
	ask_directory_for_recipients(question);
	return true;
}

static void on_back(void *context)
{
	struct deliver_resolve *resolve = context;
	struct ipc_channel *channel = ipc_client_channel(resolve->ipc);

	send_answers(resolve); /* answers given before */
	if (channel != NULL)
		ipc_channel_send(channel, IPC_JOB_BACK, 0, STR(""), NULL, 0);
}

static bool on_questions(struct deliver_resolve *resolve, struct str text)
{
	struct unpack body = {text, false};
	bool is_good = true;

	while (is_good && body.rest.length > 0)
		is_good = answer_resolve_question(resolve, &body);
	return is_good;
}

static void on_resolve_channel_message(void *context, struct ipc_message *message)
{
	struct deliver_resolve *resolve = context;
	bool is_good = false;

	if (message->type == IPC_JOB_RESOLVE)
		is_good = on_questions(resolve, message->body);
	if (message->type == IPC_JOB_AWAIT) {
		directory_await(resolve->directory, on_back, resolve);
		is_good = true;
	}
	if (!is_good)
		ipc_channel_refuse(ipc_client_channel(resolve->ipc), message->type);
}

static void on_resolve_channel_connected(void *context)
{
	struct deliver_resolve *resolve = context;

	ipc_channel_send(ipc_client_channel(resolve->ipc), IPC_JOB_HELLO, 0,
			 buffer_view(&resolve->hello), NULL, 0);
}

/* "send" will ask again. */
static void on_resolve_channel_lost(void *context)
{
	struct deliver_resolve *resolve = context;

	while (resolve->questions != NULL) {
		for (uint32_t i = 0; i < resolve->questions->recipient_count; i++)
			directory_request_cancel(&resolve->questions->recipients[i].request);
		free_resolve_question(resolve->questions);
	}
	buffer_reset(&resolve->answers);
}

static const struct ipc_client_handler handler = {
	on_resolve_channel_connected, on_resolve_channel_message, on_resolve_channel_lost};

struct deliver_resolve *deliver_resolve_new(struct os_loop *loop, const char *path,
					    struct str token, struct directory *directory)
{
	struct deliver_resolve *resolve = memory_alloc_zero(1, sizeof *resolve);

	ipc_job_add_hello(&resolve->hello,
			  &(struct ipc_job_hello){STR("resolve"), UINT32_MAX, token});
	resolve->loop = loop;
	resolve->directory = directory;
	resolve->answers_task = (struct os_task){.call = send_answers, .context = resolve};
	resolve->ipc = ipc_client_new(loop, path, &handler, resolve);
	return resolve;
}

void deliver_resolve_free(struct deliver_resolve *resolve)
{
	on_resolve_channel_lost(resolve);
	os_task_cancel(resolve->loop, &resolve->answers_task);
	ipc_client_free(resolve->ipc);
	buffer_clear(&resolve->answers);
	buffer_clear(&resolve->hello);
	free(resolve);
}
