// SPDX-License-Identifier: ISC
#include "stage/resolve.h"
#include "base/panic.h"
#include "directory/lookup.h"
#include "ipc/channel.h"
#include "ipc/job.h"
#include "ipc/pack.h"
#include "queue/control.h"
#include <stdlib.h>

struct stage_resolve {
	struct ipc_client *ipc;
	const struct config *config;
};

static void pack_target(struct buffer *out, uint32_t recipient, enum queue_route route,
			struct str service, struct str address, const struct mail_verdict *verdict)
{
	struct ipc_job_target target = {
		.recipient = recipient,
		.route = route,
		.service = service,
		.address = address,
		.status = str_from(verdict != NULL ? verdict->status : ""),
		.text = str_from(verdict != NULL ? verdict->text : ""),
	};

	ipc_job_add_target(out, &target);
}

static uint32_t pack_targets(struct buffer *out, uint32_t recipient,
			     const struct directory_result *result)
{
	for (size_t i = 0; i < result->target_count; i++) {
		const struct directory_target *target = &result->targets[i];

		switch (target->kind) {
		case DIRECTORY_TARGET_LOCAL:
			pack_target(out, recipient, QUEUE_ROUTE_LOCAL, target->service,
				    target->address, NULL);
			break;
		case DIRECTORY_TARGET_REMOTE:
			pack_target(out, recipient, QUEUE_ROUTE_REMOTE, STR(""), target->address,
				    NULL);
			break;
		case DIRECTORY_TARGET_NONE:
			pack_target(out, recipient, QUEUE_ROUTE_NONE, STR(""), target->address,
				    &target->verdict);
			break;
		}
	}
	return (uint32_t)result->target_count;
}

/* How many deliveries the recipient became; the version they are from. */
static uint32_t resolve_one(struct stage_resolve *resolve, struct buffer *out, uint32_t recipient,
			    struct str address, uint64_t *version)
{
	struct directory_result result = {0};
	uint32_t count = 1;

	directory_lookup(resolve->config, address, &result);
	*version = result.version;
	switch (result.answer) {
	case DIRECTORY_FOUND:
		count = pack_targets(out, recipient, &result);
		break;
	case DIRECTORY_NOT_LOCAL:
		pack_target(out, recipient, QUEUE_ROUTE_REMOTE, STR(""), address, NULL);
		break;
	case DIRECTORY_REFUSED:
	case DIRECTORY_UNKNOWN:
		pack_target(out, recipient, QUEUE_ROUTE_NONE, STR(""), address, &result.verdict);
		break;
	}
	directory_result_clear(&result);
	return count;
}

static void send_answers(struct stage_resolve *resolve, struct buffer *answers)
{
	if (answers->length > 0)
		ipc_channel_send(ipc_client_channel(resolve->ipc), IPC_JOB_RESOLVED, 0,
				 buffer_view(answers), NULL, 0);
	buffer_reset(answers);
}

static void add_answer(struct stage_resolve *resolve, struct buffer *answers, uint64_t number,
		       uint64_t version, uint32_t count, struct str targets)
{
	if (answers->length + IPC_JOB_RESOLVED_OVERHEAD + targets.length > IPC_BODY_MAX)
		send_answers(resolve, answers);
	pack_u64(answers, number);
	pack_u64(answers, version);
	pack_u32(answers, count);
	buffer_append_str(answers, targets);
}

/* False when the question is malformed. */
static bool answer(struct stage_resolve *resolve, struct unpack *body, struct buffer *answers)
{
	uint64_t number = unpack_u64(body);
	struct str sender = unpack_str(body);
	uint32_t recipients = unpack_u32(body);
	struct buffer targets CLEANUP(buffer_clear) = {0};
	uint64_t version = 0;
	uint32_t count = 0;

	(void)sender;
	if (recipients > IPC_JOB_RECIPIENTS_MAX)
		return false;
	for (uint32_t i = 0; i < recipients && !body->failed; i++) {
		uint32_t recipient = unpack_u32(body);
		struct str address = unpack_str(body);

		if (!body->failed)
			count += resolve_one(resolve, &targets, recipient, address, &version);
	}
	if (!body->failed)
		add_answer(resolve, answers, number, version, count, buffer_view(&targets));
	return !body->failed;
}

/* All questions of a packet are answered in one, or as many as it takes. */
static void on_message(void *context, struct ipc_message *message)
{
	struct stage_resolve *resolve = context;
	struct unpack body = {message->body, false};
	struct buffer answers CLEANUP(buffer_clear) = {0};
	bool is_good = message->type == IPC_JOB_RESOLVE;

	while (is_good && body.rest.length > 0)
		is_good = answer(resolve, &body, &answers);
	if (is_good)
		send_answers(resolve, &answers);
	else
		ipc_channel_refuse(ipc_client_channel(resolve->ipc), message->type);
}

static void on_connected(void *context)
{
	struct stage_resolve *resolve = context;
	struct buffer body = {0};

	ipc_job_add_hello(&body, &(struct ipc_job_hello){STR("resolve"), UINT32_MAX});
	ipc_channel_send(ipc_client_channel(resolve->ipc), IPC_JOB_HELLO, 0, buffer_view(&body),
			 NULL, 0);
	buffer_clear(&body);
}

/* "send" asks again whatever it wants to know. */
static void on_lost(void *context)
{
	(void)context;
}

static const struct ipc_client_handler handler = {on_connected, on_message, on_lost};

struct stage_resolve *stage_resolve_new(struct os_loop *loop, const char *path,
					const struct config *config)
{
	struct stage_resolve *resolve = memory_alloc_zero(1, sizeof *resolve);

	resolve->config = config;
	resolve->ipc = ipc_client_new(loop, path, &handler, resolve);
	return resolve;
}

void stage_resolve_configure(struct stage_resolve *resolve, const struct config *config)
{
	resolve->config = config;
}

void stage_resolve_free(struct stage_resolve *resolve)
{
	ipc_client_free(resolve->ipc);
	free(resolve);
}
