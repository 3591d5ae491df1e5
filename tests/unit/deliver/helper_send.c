// SPDX-License-Identifier: ISC
#include "helper_send.h"
#include "test.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct helper_send_job helper_send_jobs[HELPER_SEND_JOBS];
struct helper_send helper_send;

/* --- ipc/ --- */

struct ipc_client *ipc_client_new(struct os_loop *loop, const char *path,
				  const struct ipc_client_handler *handler, void *context)
{
	assert_ptr_equal(loop, &helper_send_jobs);
	assert_string_equal(path, "send");
	helper_send.handler = handler;
	helper_send.context = context;
	return (struct ipc_client *)&helper_send;
}

void ipc_client_free(struct ipc_client *client)
{
	assert_ptr_equal(client, &helper_send);
	helper_send.is_freed = true;
}

struct ipc_channel *ipc_client_channel(struct ipc_client *client)
{
	assert_ptr_equal(client, &helper_send);
	return helper_send.is_connected ? (struct ipc_channel *)&helper_send : NULL;
}

void ipc_channel_refuse(struct ipc_channel *channel, uint16_t type)
{
	assert_ptr_equal(channel, &helper_send);
	(void)type;
	helper_send.refused++;
}

static struct helper_send_job *test_job_of(uint32_t tag)
{
	for (size_t i = 0; i < HELPER_SEND_JOBS; i++)
		if (helper_send_jobs[i].job != NULL && helper_send_jobs[i].tag == tag)
			return &helper_send_jobs[i];
	fail();
	return NULL;
}

static void take_reports(struct helper_send_job *of, struct str text)
{
	struct buffer came CLEANUP(buffer_clear) = {0};
	struct unpack body = {text, false};

	while (body.rest.length > 0) {
		struct ipc_job_report report;

		assert_true(ipc_job_take_report(&body, &report));
		buffer_append_format(&came,
				     "%u %u " STR_FORMAT " " STR_FORMAT " " STR_FORMAT
				     " " STR_FORMAT " " STR_FORMAT " " STR_FORMAT "\n",
				     report.number, report.flags, STR_ARGUMENTS(report.status),
				     STR_ARGUMENTS(report.text), STR_ARGUMENTS(report.trigger),
				     STR_ARGUMENTS(report.tls.version),
				     STR_ARGUMENTS(report.tls.verified),
				     STR_ARGUMENTS(report.source));
	}
	assert_true(str_starts_with(buffer_view(&of->wanted), buffer_view(&came)));
	buffer_consume(&of->wanted, came.length);
}

void ipc_channel_send(struct ipc_channel *channel, uint16_t type, uint32_t tag, struct str body,
		      const int *descriptors, size_t descriptor_count)
{
	struct ipc_job_hello hello;
	struct ipc_job_said said;

	assert_ptr_equal(channel, &helper_send);
	assert_true(helper_send.is_connected && descriptors == NULL && descriptor_count == 0);
	assert_true(body.length <= IPC_BODY_MAX);
	if (type == IPC_JOB_HELLO || type == IPC_JOB_RETIRE || type == IPC_JOB_SAID)
		assert_int_equal(tag, 0);
	switch (type) {
	case IPC_JOB_HELLO:
		assert_true(ipc_job_read_hello(body, &hello));
		assert_true(str_equal(hello.service, STR("box")) && hello.concurrency == 7 &&
			    str_equal(hello.token, STR("a token")));
		helper_send.hellos++;
		break;
	case IPC_JOB_REPORT:
		assert_true(body.length > 0);
		take_reports(test_job_of(tag), body);
		break;
	case IPC_JOB_FINISH:
		take_reports(test_job_of(tag), body);
		assert_int_equal(test_job_of(tag)->wanted.length, 0);
		helper_send.ended = tag;
		break;
	case IPC_JOB_BUSY:
		assert_true(ipc_job_read_busy(body, &helper_send.last_busy));
		snprintf(helper_send.last_reason, sizeof helper_send.last_reason, STR_FORMAT,
			 STR_ARGUMENTS(helper_send.last_busy.reason));
		assert_int_equal(test_job_of(tag)->wanted.length, 0);
		helper_send.ended = tag;
		helper_send.busy++;
		break;
	case IPC_JOB_SAID:
		assert_true(ipc_job_read_said(body, &said));
		assert_true(said.id.number == 457 && said.id.born_us == 8 && said.amount == 5 &&
			    said.port == 25 && str_equal(said.host, STR("mx.test")));
		helper_send.said++;
		break;
	default:
		assert_int_equal(type, IPC_JOB_RETIRE);
		assert_int_equal(body.length, 0);
		helper_send.retired++;
	}
}

/* --- the transport --- */

void helper_send_on_job(void *context, struct deliver_helper_job *job)
{
	assert_ptr_equal(context, &helper_send.helper);
	helper_send.given = job;
}

void helper_send_on_drain(void *context)
{
	assert_ptr_equal(context, &helper_send.helper);
	helper_send.drained++;
}

void helper_send_on_lost(void *context)
{
	assert_ptr_equal(context, &helper_send.helper);
	helper_send.lost++;
}

void helper_send_begin(const struct deliver_helper_handler *of)
{
	char path[] = "send";
	char token[] = "a token";
	char service[] = "box";
	const struct deliver_helper_call call = {path, str_from(token), service, 7};

	memset(&helper_send, 0, sizeof helper_send);
	helper_send.helper = deliver_helper_new((struct os_loop *)&helper_send_jobs, &call, of,
						&helper_send.helper);
	memset(token, 'z', sizeof token - 1); /* it was copied */
	memset(service, 'z', sizeof service - 1);
}

void helper_send_connect(void)
{
	helper_send.is_connected = true;
	helper_send.handler->connected(helper_send.context);
}

void helper_send_say(uint16_t type, uint32_t tag, struct str body, int file)
{
	int files[1] = {file};
	struct ipc_message message = {.type = type, .tag = tag, .body = body};

	if (file >= 0) {
		message.descriptors[0] = files[0];
		message.descriptor_count = 1;
	}
	helper_send.handler->message(helper_send.context, &message);
	if (file >= 0 && message.descriptors[0] >= 0)
		close(message.descriptors[0]);
}

void helper_send_pack(struct buffer *body, const struct helper_send_start *start)
{
	char text[32];

	pack_u64(body, 457);
	pack_u64(body, 8);
	pack_str(body, STR("s@a.test"));
	pack_u64(body, strlen(start->content));
	pack_u32(body, start->checksum);
	pack_u32(body, start->needs);
	pack_u64(body, 99);
	pack_u32(body, start->ret);
	pack_str(body, STR("envid"));
	pack_str(body, STR("b.test"));
	pack_str(body, STR("smtp"));
	pack_u32(body, (uint32_t)start->recipients);
	for (size_t i = 0; i < start->recipients; i++) {
		pack_u32(body, (uint32_t)i + 3);
		pack_u32(body, (uint32_t)i % 4);
		snprintf(text, sizeof text, "r%zu@b.test", i);
		pack_str(body, str_from(text));
		pack_str(body, i % 2 == 0 ? STR("rfc822;o") : STR(""));
		pack_str(body, i % 3 == 0 ? STR("via@b.test") : STR(""));
	}
	pack_str(body, str_from(start->content));
}

void helper_send_lose(void)
{
	unsigned lost = helper_send.lost;

	helper_send.is_connected = false;
	helper_send.handler->lost(helper_send.context);
	assert_int_equal(helper_send.lost, lost + 1);
	for (size_t i = 0; i < HELPER_SEND_JOBS; i++) {
		helper_send_jobs[i].is_orphan = true;
		buffer_reset(&helper_send_jobs[i].wanted);
	}
}
