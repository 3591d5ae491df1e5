// SPDX-License-Identifier: ISC
#include "deliver/pipe/run.h"
#include "base/panic.h"
#include "deliver/launch/launch.h"
#include "deliver/pipe/status.h"
#include "log/event.h"
#include "mailbox/copy.h"
#include "os/file/file.h"
#include "os/file/reason.h"
#include "os/stream/stream.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { DRAIN_MAX = 16 }; /* blocks; a pipe holds one */

struct pipe_run {
	struct os_loop *loop;
	struct launch launch;
	int input;              /* the program's; -1: closed, or not yet open */
	int output;             /* the same */
	int process;            /* becomes readable when the process has ended */
	struct os_watch *ended; /* used only if "launch" can no longer report it */
	struct os_watch *input_ready;
	struct os_watch *output_ready;
	struct mailbox_copy copy;
	struct buffer input_left; /* not written yet */
	struct buffer output_kept;
	size_t output_max;
	char *block;
	char *path; /* of the program */
	struct mail_id id;
	uint32_t timeout;
	struct mail_verdict fault; /* why it was killed; no text: it was not */
	char *service;
	pipe_run_done *done;
	void *context;
};

static void close_pipe_end(int *descriptor)
{
	os_file_close(*descriptor);
	*descriptor = -1;
}

static void free_run(struct pipe_run *run)
{
	launch_forget(&run->launch);
	os_watch_free(run->ended);
	os_watch_free(run->input_ready);
	os_watch_free(run->output_ready);
	close_pipe_end(&run->input);
	close_pipe_end(&run->output);
	close_pipe_end(&run->process);
	mailbox_copy_clear(&run->copy);
	buffer_clear(&run->input_left);
	buffer_clear(&run->output_kept);
	free(run->path);
	free(run->service);
	free(run);
}

static void finish_pipe_run(struct pipe_run *run, const struct mail_verdict *verdict,
			    const char *trigger)
{
	run->done(run->context, verdict, trigger);
	free_run(run);
}

/* --- the message, written to standard input --- */

static void close_input_of_program(struct pipe_run *run)
{
	os_watch_free(run->input_ready);
	run->input_ready = NULL;
	close_pipe_end(&run->input);
}

/* The program must not take a truncated input for the complete message. */
static void give_up_pipe_run(struct pipe_run *run, const char *what, const char *why)
{
	mail_verdict_set(&run->fault, "4.3.0", "%s: %s", what, why);
	launch_kill(&run->launch);
	os_watch_set(run->input_ready, OS_WATCH_NONE);
}

/* False when nothing is left to write. */
static bool refill_program_input(struct pipe_run *run)
{
	int error;

	if (run->input_left.length > 0)
		return true;
	if (mailbox_copy_is_done(&run->copy)) {
		launch_whole(&run->launch);
		close_input_of_program(run);
		return false;
	}
	error = mailbox_copy_next(&run->copy, run->block, PIPE_BLOCK_SIZE, &run->input_left);
	if (error < 0)
		give_up_pipe_run(run, "The message cannot be read", os_file_reason(error));
	return error == 0;
}

/* A program that does not read everything may have its reasons: its exit status decides. */
static void on_input_ready(void *context, unsigned events)
{
	struct pipe_run *run = context;
	ssize_t count = 0;

	(void)events;
	while (count >= 0 && refill_program_input(run)) {
		count = os_stream_write(run->input, buffer_data(&run->input_left),
					run->input_left.length);
		if (count > 0)
			buffer_consume(&run->input_left, (size_t)count);
	}
	if (count == -EPIPE)
		close_input_of_program(run);
	else if (count < 0 && count != -EAGAIN)
		give_up_pipe_run(run, "The program cannot be given the message",
				 strerror((int)-count));
}

/* --- its output --- */

/* Whether there may be more. */
static bool read_output_of_program(struct pipe_run *run)
{
	ssize_t count = os_stream_read(run->output, run->block, PIPE_BLOCK_SIZE);
	size_t room = run->output_max - run->output_kept.length;

	if (count > 0)
		buffer_append(&run->output_kept, run->block,
			      (size_t)count < room ? (size_t)count : room);
	return count > 0;
}

static void on_output_ready(void *context, unsigned events)
{
	struct pipe_run *run = context;

	(void)events;
	if (!read_output_of_program(run)) {
		os_watch_free(run->output_ready);
		run->output_ready = NULL;
		close_pipe_end(&run->output);
	}
}

/* --- its end --- */

static void log_failed_program(const struct pipe_run *run, const struct mail_verdict *verdict)
{
	log_event(EVENT_PROGRAM_FAILED, log_id(run->id), log_string(program, run->path),
		  log_str(to, run->copy.owner.recipient), log_string(status, verdict->status),
		  log_str(output, buffer_view(&run->output_kept)));
}

static void on_pipe_run_ended(void *context, int status, bool is_late)
{
	struct pipe_run *run = context;
	char trigger[PIPE_TRIGGER_SIZE];
	struct mail_verdict verdict;

	for (int i = 0; i < DRAIN_MAX && run->output_ready != NULL && read_output_of_program(run);
	     i++)
		continue;
	pipe_status_verdict(status, buffer_view(&run->output_kept), run->path, &verdict);
	pipe_status_trigger(&verdict, buffer_view(&run->output_kept), run->service, trigger);
	if (is_late && run->fault.text[0] == '\0')
		mail_verdict_set(&run->fault, "4.3.0", "%s was killed after %u seconds", run->path,
				 run->timeout);
	if (run->fault.text[0] != '\0')
		verdict = run->fault;
	if (verdict.class != MAIL_OK)
		log_failed_program(run, &verdict);
	finish_pipe_run(run, &verdict, run->fault.text[0] == '\0' ? trigger : "");
}

static void on_pipe_run_refused(void *context, const struct mail_verdict *why)
{
	finish_pipe_run(context, why, "");
}

/* Without "launch" we see that it ended, but not how. */
static void on_gone(void *context, unsigned events)
{
	struct pipe_run *run = context;

	(void)events;
	mail_verdict_set(&run->fault, "4.3.0", "What watched over %s has ended", run->path);
	log_failed_program(run, &run->fault);
	finish_pipe_run(run, &run->fault, "");
}

/* The kernel kills the program, but perhaps a little later: it must not see the end of its
 * input. */
static void on_pipe_run_lost(void *context)
{
	struct pipe_run *run = context;

	if (run->process < 0) {
		on_gone(run, 0);
		return;
	}
	os_watch_free(run->input_ready);
	run->input_ready = NULL;
	run->ended = os_watch_new(run->loop, run->process, OS_WATCH_READ, on_gone, run);
}

void pipe_run_kill(struct pipe_run *run)
{
	if (run->fault.text[0] == '\0')
		mail_verdict_set(&run->fault, "4.3.0", "%s was stopped", run->path);
	launch_kill(&run->launch);
}

void pipe_run_free(struct pipe_run *run)
{
	launch_kill(&run->launch);
	free_run(run);
}

/* --- starting it --- */

/* Copies the first block before anything is started: a message that loops, or cannot be encoded,
 * fails here. */
static bool begin_copy_for_program(struct pipe_run *run, const struct pipe_run_order *order,
				   struct mail_verdict *verdict)
{
	int result = 0;

	mailbox_copy_begin(&run->copy, &order->content, order->sender, &order->owner,
			   &run->input_left);
	if (order->is_binary)
		result = mailbox_copy_set_binary(&run->copy, order->block, PIPE_BLOCK_SIZE);
	if (result == 0 && !mailbox_copy_is_done(&run->copy))
		result = mailbox_copy_next(&run->copy, order->block, PIPE_BLOCK_SIZE,
					   &run->input_left);
	if (result == MAILBOX_COPY_SEALED)
		mail_verdict_set(verdict, "5.6.3", "%s", MAILBOX_COPY_SEALED_TEXT);
	else if (result == MAILBOX_COPY_LOOP)
		mail_verdict_set(verdict, "5.4.6",
				 "This message was delivered here before: a loop");
	else if (result < 0)
		mail_verdict_set(verdict, "4.3.0", "The message cannot be read: %s",
				 os_file_reason(result));
	return result == 0;
}

static void on_pipe_run_started(void *context, const int *descriptors)
{
	struct pipe_run *run = context;

	run->input = descriptors[LAUNCH_INPUT];
	run->output = descriptors[LAUNCH_OUTPUT];
	run->process = descriptors[LAUNCH_PROCESS];
	run->input_ready = os_watch_new(run->loop, run->input, OS_WATCH_WRITE, on_input_ready, run);
	run->output_ready =
		os_watch_new(run->loop, run->output, OS_WATCH_READ, on_output_ready, run);
}

static const struct launch_handler run_handler = {on_pipe_run_started, on_pipe_run_refused,
						  on_pipe_run_ended, on_pipe_run_lost};

struct pipe_run *pipe_run_start(struct os_loop *loop, struct launch_client *launcher,
				const struct pipe_run_order *order, pipe_run_done *done,
				void *context, struct mail_verdict *verdict_out)
{
	struct pipe_run *run = memory_alloc_zero(1, sizeof *run);

	run->loop = loop;
	run->launch = (struct launch){.handler = &run_handler, .context = run};
	run->input = run->output = run->process = -1;
	run->path = memory_copy_string(order->service->command[0]);
	run->service = memory_copy_string(order->service->name);
	run->timeout = order->service->timeout;
	run->output_max = order->service->output_max;
	run->block = order->block;
	run->id = order->id;
	run->done = done;
	run->context = context;
	if (!begin_copy_for_program(run, order, verdict_out)) {
		free_run(run);
		return NULL;
	}
	launch_begin(launcher, &run->launch,
		     &(struct launch_order){order->service->name, order->id, order->sender,
					    order->owner.recipient});
	return run;
}
