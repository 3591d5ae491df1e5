// SPDX-License-Identifier: ISC
/*
 * Passes on what processes write to their standard error to the log.
 *
 * A process that reads foreign input could be compromised, and with a shared descriptor it could
 * write lines in the names of others, or tear theirs. So it writes into a pipe of its own, and what
 * is not a line of its log is passed on as a line that names its writer. Processes that are
 * involved in every message, and read no foreign bytes before others have, write directly: their
 * lines are half of all.
 *
 * A process never waits for its log: while the supervisor is blocked, the pipe takes 1 MiB, the
 * process buffers as much, and then counts what is lost (log/sink.h).
 */
#include "base/buffer.h"
#include "log/event.h"
#include "log/pass.h"
#include "os/clock.h"
#include "os/file/file.h"
#include "os/stream/stream.h"
#include "supervisor/internal.h"
#include <stdio.h>
#include <string.h>

enum {
	ROOM = 1 << 20,
	READ_MAX = 256 << 10,
	LINE_MAX_BYTES = 32 << 10,
};

/* More than a process writes under full load: 8 MiB at once, 4 MiB a second. */
static const int64_t LOG_BYTES_A_SECOND = 4 << 20;
static const int64_t LOG_BURST_US = 2 * SECOND_US;
/* The first line after a silence is read at once. Later lines are gathered, for all processes at
 * the same times, as a wakeup costs more than the lines do. */
static const int64_t GATHER_US = SECOND_US / 40;

int supervisor_log_open(struct process *process, int *to_out)
{
	int ends[2];
	int error;

	if (process->program->writes_log)
		return 0;
	error = os_process_pipe(ROOM, ends);
	if (error < 0)
		return error;
	process->log.from = ends[0];
	*to_out = ends[1];
	return 0;
}

static void pass_line(const struct process *process, struct str line)
{
	if (line.length > 0 && !log_pass(str_from(process->log.name), line))
		log_event_rated(EVENT_PROCESS_SAID, log_string(program, process->program->name),
				log_number(pid, process->pid), log_str(text, line));
}

static void pass_lines(struct process *process, bool is_end)
{
	struct buffer *kept = &process->log.kept;
	struct str rest = buffer_view(kept);

	for (;;) {
		ptrdiff_t end = str_find(rest, '\n');

		if (end < 0)
			break;
		pass_line(process, str_slice(rest.data, (size_t)end));
		rest = str_skip(rest, (size_t)end + 1);
	}
	if (is_end || rest.length > LINE_MAX_BYTES) {
		pass_line(process, rest);
		rest.length = 0;
	}
	buffer_consume(kept, kept->length - rest.length);
}

/* Returns the number of bytes. */
static size_t read_process_output(struct process *process)
{
	struct supervisor_log *log = &process->log;
	ssize_t count = os_stream_read(log->from, buffer_reserve(&log->kept, READ_MAX), READ_MAX);

	if (count <= 0)
		return 0;
	buffer_commit(&log->kept, (size_t)count);
	return (size_t)count;
}

/* The time at which it may be read again, after COUNT bytes. */
static int64_t charge_process_for_output(struct process *process, size_t count)
{
	struct supervisor_log *log = &process->log;
	int64_t now_us = os_clock_monotonic_us();
	int64_t excess_us;

	if (log->credit_from < now_us)
		log->credit_from = now_us;
	log->credit_from += (int64_t)count * SECOND_US / LOG_BYTES_A_SECOND;
	excess_us = log->credit_from - now_us - LOG_BURST_US;
	if (excess_us > 0 && !log->is_flood)
		log_event_rated(EVENT_LOG_FLOOD, log_string(program, process->program->name),
				log_number(pid, process->pid));
	log->is_flood = excess_us > 0 || (log->is_flood && log->credit_from > now_us + GATHER_US);
	return excess_us > 0 ? excess_us + GATHER_US : GATHER_US - now_us % GATHER_US;
}

static size_t read_log_lines(struct process *process)
{
	size_t count = log_pass_has_room() ? read_process_output(process) : 0;

	pass_lines(process, false);
	return count;
}

/* A pause always follows: a closed pipe is readable, too, and must not keep the loop busy. */
static void on_process_output_ready(void *context, unsigned events)
{
	struct process *process = context;
	struct supervisor_log *log = &process->log;

	(void)events;
	os_watch_set(log->watch, OS_WATCH_NONE);
	os_timer_start(log->pause, charge_process_for_output(process, read_log_lines(process)));
}

/* If nothing came, the next line wakes us. */
static void on_paused(void *context)
{
	struct process *process = context;
	struct supervisor_log *log = &process->log;
	size_t count = read_log_lines(process);

	if (count > 0)
		os_timer_start(log->pause, charge_process_for_output(process, count));
	else
		os_watch_set(log->watch, OS_WATCH_READ);
}

void supervisor_log_begin(struct process *process, const char *file)
{
	struct supervisor_log *log = &process->log;
	struct os_loop *loop = process->supervisor->loop;

	snprintf(log->name, sizeof log->name, "%s[%d]", file, (int)process->pid);
	if (log->from < 0)
		return;
	log->watch = os_watch_new(loop, log->from, OS_WATCH_READ, on_process_output_ready, process);
	log->pause = os_timer_new(loop, on_paused, process);
}

void supervisor_log_end(struct process *process)
{
	struct supervisor_log *log = &process->log;

	if (log->from < 0)
		return;
	os_watch_free(log->watch);
	if (log->pause != NULL)
		os_timer_free(log->pause);
	/* others may have inherited the writing end: read no more than the pipe's capacity */
	for (size_t count = 0, more = 1; more > 0 && count <= ROOM; count += more)
		more = read_process_output(process);
	pass_lines(process, true);
	os_file_close(log->from);
	buffer_clear(&log->kept);
	*log = (struct supervisor_log){.from = -1};
}
