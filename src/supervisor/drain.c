// SPDX-License-Identifier: ISC
/* While RUN/draining is there, the processes that face clients take in no mail. */
#include "supervisor/talk/drain.h"
#include "log/event.h"
#include "supervisor/internal.h"
#include <string.h>

static bool faces_clients(const struct process *process)
{
	return strcmp(process->program->name, "smtpd") == 0 ||
	       strcmp(process->program->name, "qmtpd") == 0;
}

/* For who waits for it. */
static void note_drain(const struct supervisor *supervisor)
{
	int error = drain_confirm(supervisor->config->run, supervisor->is_draining);

	if (error < 0)
		log_event(EVENT_PROCESS_ERROR, log_string(run, supervisor->config->run),
			  log_string(reason, "whether mail is taken in cannot be written"),
			  log_error(error));
}

void supervisor_begin_drain(struct supervisor *supervisor)
{
	supervisor->is_draining = drain_is_wanted(supervisor->config->run);
	if (supervisor->is_draining)
		log_event(EVENT_DRAIN_BEGUN);
	note_drain(supervisor);
}

void supervisor_watch_drain(struct supervisor *supervisor)
{
	bool is_draining = drain_is_wanted(supervisor->config->run);

	if (is_draining == supervisor->is_draining)
		return;
	supervisor->is_draining = is_draining;
	if (is_draining)
		log_event(EVENT_DRAIN_BEGUN);
	else
		log_event(EVENT_DRAIN_ENDED);
	for (size_t i = 0; i < supervisor->process_count; i++)
		if (faces_clients(&supervisor->processes[i]))
			supervisor_set_up(&supervisor->processes[i]);
	supervisor_tell_status(supervisor, "");
	note_drain(supervisor);
}
