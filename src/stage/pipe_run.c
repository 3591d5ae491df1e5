// SPDX-License-Identifier: ISC
#include "stage/pipe_run.h"
#include "base/panic.h"
#include "log/event.h"
#include "mailbox/copy.h"
#include "os/program.h"
#include "os/stream.h"
#include "stage/owner.h"
#include "stage/pipe_status.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { DRAIN_MAX = 16 }; /* blocks; a pipe holds one */

struct pipe_run {
	struct os_program program;
	struct os_watch *ended;
	struct os_watch *input_ready;
	struct os_watch *output_ready;
	struct os_timer *timer;
	struct mailbox_copy copy;
	struct buffer input; /* not written yet */
	struct buffer output;
	size_t output_max;
	char *block;
	char *path; /* of the program */
	struct mail_id id;
	uint32_t timeout;
	struct mail_verdict fault; /* why it was killed; no text: it was not */
	void (*done)(void *context, const struct mail_verdict *verdict);
	void *context;
};

static void free_run(struct pipe_run *run)
{
	os_watch_free(run->ended);
	os_watch_free(run->input_ready);
	os_watch_free(run->output_ready);
	os_timer_free(run->timer);
	os_program_close(&run->program);
	buffer_clear(&run->input);
	buffer_clear(&run->output);
	free(run->path);
	free(run);
}

/* --- the message, on its way to standard input --- */

static void close_input(struct pipe_run *run)
{
	os_watch_free(run->input_ready);
	run->input_ready = NULL;
	os_program_close_input(&run->program);
}

/* An end of the input that is not the message's must never look like it. */
static void give_up(struct pipe_run *run, const char *what, int error)
{
	mail_verdict_set(&run->fault, "4.3.0", "%s: %s", what, strerror(-error));
	os_program_kill(&run->program);
	os_watch_set(run->input_ready, OS_WATCH_NONE);
}

/* False when nothing is left to write. */
static bool refill(struct pipe_run *run)
{
	int error;

	if (run->input.length > 0)
		return true;
	if (mailbox_copy_is_done(&run->copy)) {
		close_input(run);
		return false;
	}
	error = mailbox_copy_next(&run->copy, run->block, PIPE_BLOCK_SIZE, &run->input);
	if (error < 0)
		give_up(run, "The message cannot be read", error);
	return error == 0;
}

/* A program that does not read it all may have its reasons: its exit status tells. */
static void on_input_ready(void *context, unsigned events)
{
	struct pipe_run *run = context;
	ssize_t count = 0;

	(void)events;
	while (count >= 0 && refill(run)) {
		count = os_stream_write(run->program.input, buffer_data(&run->input),
					run->input.length);
		if (count > 0)
			buffer_consume(&run->input, (size_t)count);
	}
	if (count == -EPIPE)
		close_input(run);
	else if (count < 0 && count != -EAGAIN)
		give_up(run, "The program cannot be given the message", (int)count);
}

/* --- its output --- */

/* Whether there may be more. */
static bool read_output(struct pipe_run *run)
{
	ssize_t count = os_stream_read(run->program.output, run->block, PIPE_BLOCK_SIZE);
	size_t room = run->output_max - run->output.length;

	if (count > 0)
		buffer_append(&run->output, run->block,
			      (size_t)count < room ? (size_t)count : room);
	return count > 0;
}

static void on_output_ready(void *context, unsigned events)
{
	struct pipe_run *run = context;

	(void)events;
	if (!read_output(run)) {
		os_watch_free(run->output_ready);
		run->output_ready = NULL;
		os_program_close_output(&run->program);
	}
}

/* --- its end --- */

static void log_end(const struct pipe_run *run, const struct mail_verdict *verdict)
{
	log_event(EVENT_PROGRAM_FAILED, log_id(run->id), log_string("program", run->path),
		  log_str("to", run->copy.recipient), log_string("status", verdict->status),
		  log_str("output", buffer_view(&run->output)));
}

static void on_ended(void *context, unsigned events)
{
	struct pipe_run *run = context;
	struct mail_verdict verdict;
	int status;

	(void)events;
	if (!os_program_has_ended(&run->program, false, &status))
		return;
	for (int i = 0; i < DRAIN_MAX && run->output_ready != NULL && read_output(run); i++)
		continue;
	pipe_status_verdict(status, buffer_view(&run->output), run->path, &verdict);
	if (run->fault.text[0] != '\0')
		verdict = run->fault;
	if (verdict.class != MAIL_OK)
		log_end(run, &verdict);
	run->done(run->context, &verdict);
	free_run(run);
}

static void on_timeout(void *context)
{
	struct pipe_run *run = context;

	mail_verdict_set(&run->fault, "4.3.0", "%s was killed after %u seconds", run->path,
			 run->timeout);
	os_program_kill(&run->program);
}

void pipe_run_kill(struct pipe_run *run)
{
	if (run->fault.text[0] == '\0')
		mail_verdict_set(&run->fault, "4.3.0", "%s was stopped", run->path);
	os_program_kill(&run->program);
}

void pipe_run_free(struct pipe_run *run)
{
	int status;

	os_program_kill(&run->program);
	(void)!os_program_has_ended(&run->program, true, &status);
	free_run(run);
}

/* --- its beginning --- */

/* The first block, before anything is started: a message that loops ends here. */
static bool begin_copy(struct pipe_run *run, const struct pipe_run_order *order,
		       struct mail_verdict *verdict)
{
	int result = 0;

	mailbox_copy_begin(&run->copy, &order->content, order->sender, order->recipient,
			   &run->input);
	if (!mailbox_copy_is_done(&run->copy))
		result = mailbox_copy_next(&run->copy, order->block, PIPE_BLOCK_SIZE, &run->input);
	if (result == MAILBOX_COPY_LOOP)
		mail_verdict_set(verdict, "5.4.6",
				 "This message was delivered here before: a loop");
	else if (result < 0)
		mail_verdict_set(verdict, "4.3.0", "The message cannot be read: %s",
				 strerror(-result));
	return result == 0;
}

static bool start_program(struct pipe_run *run, const struct pipe_run_order *order,
			  struct mail_verdict *verdict)
{
	struct os_process_account owner;
	struct pipe_envelope envelope = {order->id, order->sender, order->recipient, &owner};
	struct pipe_command command;
	int error;

	if (!owner_find(order->config, order->service, order->recipient, &owner, verdict) ||
	    !pipe_command_fill(order->arena, order->service, &envelope, &command, verdict) ||
	    !begin_copy(run, order, verdict))
		return false;
	error = os_program_start(command.arguments, command.environment, &owner.user,
				 &run->program);
	if (error < 0)
		mail_verdict_set(verdict, "4.3.0", "Cannot start %s: %s", command.arguments[0],
				 strerror(-error));
	return error == 0;
}

static void watch(struct pipe_run *run, struct os_loop *loop)
{
	run->ended = os_watch_new(loop, run->program.ended, OS_WATCH_READ, on_ended, run);
	run->input_ready =
		os_watch_new(loop, run->program.input, OS_WATCH_WRITE, on_input_ready, run);
	run->output_ready =
		os_watch_new(loop, run->program.output, OS_WATCH_READ, on_output_ready, run);
	run->timer = os_timer_new(loop, on_timeout, run);
	os_timer_start(run->timer, run->timeout * SECOND_US);
}

struct pipe_run *pipe_run_start(struct os_loop *loop, const struct pipe_run_order *order,
				void (*done)(void *context, const struct mail_verdict *verdict),
				void *context, struct mail_verdict *verdict_out)
{
	struct pipe_run *run = memory_alloc_zero(1, sizeof *run);

	run->program = (struct os_program){0, -1, -1, -1};
	run->path = memory_copy_string(order->service->command[0]);
	run->timeout = order->service->timeout;
	run->output_max = order->service->output_max;
	run->block = order->block;
	run->id = order->id;
	run->done = done;
	run->context = context;
	if (!start_program(run, order, verdict_out)) {
		buffer_clear(&run->input);
		free(run->path);
		free(run);
		return NULL;
	}
	watch(run, loop);
	return run;
}
