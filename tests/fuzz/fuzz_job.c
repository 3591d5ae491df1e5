// SPDX-License-Identifier: ISC
/*
 * tests/fuzz/fuzz_job.c - what helpers say. The first byte chooses the message. What is
 * accepted is packed to the very bytes that it came from, and has texts of one line.
 */
#include "base/panic.h"
#include "input.h"
#include "ipc/job.h"
#include "mail/verdict.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(struct str text)
{
	for (size_t i = 0; i < text.length; i++)
		if ((unsigned char)text.data[i] < ' ' || text.data[i] == 0x7f)
			panic("a text of more than one line");
	if (text.length >= MAIL_TEXT_SIZE)
		panic("a text over its bound");
}

static void check_said(struct str body)
{
	struct ipc_job_said said;
	struct buffer again = {0};

	if (!ipc_job_read_said(body, &said))
		return;
	ipc_job_add_said(&again, &said);
	check_equal(buffer_view(&again), body, "what servers said");
	check_text(said.host);
	check_text(said.to);
	check_text(said.text);
	if (said.what >= IPC_JOB_SAID_KINDS)
		panic("a server said what nobody knows");
	buffer_clear(&again);
}

static void check_hello(struct str body)
{
	struct ipc_job_hello hello;
	struct buffer again = {0};

	if (!ipc_job_read_hello(body, &hello))
		return;
	ipc_job_add_hello(&again, &hello);
	check_equal(buffer_view(&again), body, "greetings");
	buffer_clear(&again);
}

static void check_reports(struct str body)
{
	struct unpack unpack = {body, false};
	struct ipc_job_report report;
	struct buffer again = {0};

	while (unpack.rest.length > 0 && ipc_job_take_report(&unpack, &report)) {
		ipc_job_add_report(&again, &report);
		check_text(report.text);
		check_text(report.trigger);
		if (!mail_status_is_valid(report.status))
			panic("a report without a status");
	}
	check_equal(buffer_view(&again), str_slice(body.data, again.length), "reports");
	buffer_clear(&again);
}

static void check_targets(struct str body)
{
	struct unpack unpack = {body, false};
	struct ipc_job_target target;
	struct buffer again = {0};

	while (unpack.rest.length > 0 && ipc_job_take_target(&unpack, &target)) {
		ipc_job_add_target(&again, &target);
		check_text(target.service);
		check_text(target.address);
		check_text(target.text);
	}
	check_equal(buffer_view(&again), str_slice(body.data, again.length), "targets");
	buffer_clear(&again);
}

static void check_resolved(struct str body)
{
	struct unpack unpack = {body, false};
	struct ipc_job_resolved resolved;
	struct buffer again = {0};

	if (!ipc_job_take_resolved(&unpack, &resolved))
		return;
	ipc_job_add_resolved(&again, &resolved);
	check_equal(buffer_view(&again), str_slice(body.data, again.length), "answers");
	buffer_clear(&again);
}

static void check_busy(struct str body)
{
	struct ipc_job_busy busy;
	struct buffer again = {0};

	if (!ipc_job_read_busy(body, &busy))
		return;
	ipc_job_add_busy(&again, &busy);
	check_equal(buffer_view(&again), body, "pauses");
	check_text(busy.reason);
	if (busy.wait_ms > IPC_JOB_BUSY_MAX_MS)
		panic("a pause over its bound");
	buffer_clear(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = {str_slice((const char *)data, size)};

	switch (input_byte(&input) % 6) {
	case 0:
		check_hello(input.rest);
		break;
	case 1:
		check_reports(input.rest);
		break;
	case 3:
		check_resolved(input.rest);
		break;
	case 4:
		check_busy(input.rest);
		break;
	case 5:
		check_said(input.rest);
		break;
	default:
		check_targets(input.rest);
	}
	return 0;
}
