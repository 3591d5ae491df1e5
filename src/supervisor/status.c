// SPDX-License-Identifier: ISC
/* What the service manager shows of a node: whether it is ready, and what its processes wait for or
 * work without. */
#include "base/timestamp.h"
#include "supervisor/internal.h"

enum { STATUS_MAX = 900 }; /* bytes: systemctl(1) shows one line */

static const int64_t LATE_US = 10 * SECOND_US;

/* Processes of one program, which stand side by side, wait for the same. */
static bool is_said_already(const struct process *process)
{
	const struct process *before = process - 1;

	return process != process->supervisor->processes && before->program == process->program &&
	       str_equal(buffer_view(&before->waits), buffer_view(&process->waits));
}

static void append_waits(const struct supervisor *supervisor, struct buffer *out)
{
	for (size_t i = 0; i < supervisor->process_count; i++) {
		const struct process *process = &supervisor->processes[i];
		bool is_late = supervisor->is_late && !supervisor->was_ready &&
			       process->is_wanted && !process->is_ready;

		if ((process->waits.length == 0 && !is_late) || is_said_already(process))
			continue;
		buffer_append_format(out, "; %s: ", process->program->name);
		if (process->waits.length > 0)
			buffer_append_str(out, buffer_view(&process->waits));
		else
			buffer_append_string(out, "not ready yet, see the log");
	}
}

/* Another line would be another message. */
static void append_status_line(struct buffer *out, struct str text)
{
	for (size_t i = 0; i < text.length && out->length < STATUS_MAX; i++)
		buffer_append_byte(out, text.data[i] == '\n' ? ' ' : text.data[i]);
	buffer_append_byte(out, '\0');
}

void supervisor_tell_status(const struct supervisor *supervisor, const char *state)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct buffer status CLEANUP(buffer_clear) = {0};

	if (supervisor->is_stopping)
		return;
	buffer_append_string(&text,
			     supervisor->was_ready ? "All processes are ready" : "Not ready");
	if (supervisor->is_draining)
		buffer_append_string(&text, "; no mail is taken in (stagepost queue drain)");
	append_waits(supervisor, &text);
	if (!supervisor->was_ready && supervisor->faults.length > 0)
		buffer_append_format(&text, "; " STR_FORMAT,
				     STR_ARGUMENTS(buffer_view(&supervisor->faults)));
	buffer_append_format(&status, "%sSTATUS=", state);
	append_status_line(&status, buffer_view(&text));
	supervisor_notify(supervisor, buffer_data(&status));
}

void supervisor_note_waits(struct process *process, struct str reason)
{
	buffer_clear(&process->waits);
	buffer_append(&process->waits, reason.data,
		      reason.length < STATUS_MAX ? reason.length : STATUS_MAX);
	process->waits_since = process->pid;
	supervisor_tell_status(process->supervisor, "");
}

static void on_late_start(void *context)
{
	struct supervisor *supervisor = context;

	supervisor->is_late = !supervisor->was_ready;
	if (supervisor->is_late)
		supervisor_tell_status(supervisor, "");
}

void supervisor_expect_ready(struct supervisor *supervisor)
{
	supervisor->lateness = os_timer_new(supervisor->loop, on_late_start, supervisor);
	os_timer_start(supervisor->lateness, LATE_US);
}
