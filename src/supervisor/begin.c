// SPDX-License-Identifier: ISC
/* Decides whether the node can start, has started, or never can; reports that to the log, and to
 * the service manager that started it. */
#include "log/event.h"
#include "os/file/reason.h"
#include "os/notify.h"
#include "supervisor/access.h"
#include "supervisor/internal.h"
#include "supervisor/machine_check/machine_check.h"
#include "supervisor/start/status.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

enum { BARRIER_MS = 1000 };

static void append_finding(struct buffer *out, const struct machine_finding *finding)
{
	if (out == NULL)
		return;
	if (out->length > 0)
		buffer_append_byte(out, '\n');
	buffer_append_string(out, finding->text);
}

/* By whether nothing can begin, or all else works; NULL: not kept. */
struct supervisor_findings {
	struct buffer *fatal;
	struct buffer *others;
};

static void log_finding(void *context, const struct machine_finding *finding)
{
	const struct supervisor_findings *findings = context;
	bool is_fatal = finding->severity == MACHINE_FATAL;

	if (finding->severity == MACHINE_WARNING)
		return; /* "stagepost check" reports these */
	log_event(EVENT_CONFIG_REFUSED, log_string(problem, finding->text),
		  log_string(then, is_fatal ? "nothing begins" : "all else works"));
	append_finding(is_fatal ? findings->fatal : findings->others, finding);
}

/* Whether nothing but a change to the machine or the configuration helps. */
static bool is_permanent(int error)
{
	switch (-error) {
	case EACCES:
	case EPERM:
	case EROFS:
	case ENOENT:
	case ENOTDIR:
	case EISDIR:
	case ELOOP:
	case ENAMETOOLONG:
	case EINVAL:
		return true;
	default:
		return false;
	}
}

void supervisor_cannot(struct supervisor *supervisor, enum log_key field, const char *what,
		       const char *reason, int error)
{
	struct buffer *failure = &supervisor->failure;
	struct os_process_caller user;

	log_event(EVENT_PROCESS_ERROR, log_field_text(field, str_from(what)),
		  log_string(reason, reason != NULL ? reason : ""), log_error(error));
	if (supervisor->process_count > 0 || failure->length > 0)
		return;
	os_process_caller_find(&user);
	buffer_append_format(failure, "user %s: %s %s: ", user.name, log_key_name(field), what);
	if (reason != NULL)
		buffer_append_format(failure, "%s: ", reason);
	buffer_append_string(failure, os_file_reason(error));
	supervisor->exit_status = is_permanent(error) ? COMMAND_NEVER : COMMAND_FAILED;
}

/* Another line would be another message. SUPERVISOR: see supervisor_notify(). */
static void tell_failure(const struct supervisor *supervisor, struct str reason)
{
	char status[512];

	snprintf(status, sizeof status, "STATUS=" STR_FORMAT, STR_ARGUMENTS(reason));
	status[strcspn(status, "\n")] = '\0';
	supervisor_notify(supervisor, status);
}

int supervisor_end(struct str failure, int status)
{
	if (failure.length > 0)
		tell_failure(NULL, failure);
	log_flush();
	(void)!os_notify_barrier(BARRIER_MS); /* without it, only that line may be missing */
	return status;
}

bool supervisor_can_work(const struct config *config, struct str text, struct buffer *reason,
			 struct buffer *faults)
{
	struct supervisor_findings findings = {reason, faults};

	if (machine_check(config, text, false, log_finding, &findings) == (int)MACHINE_FATAL)
		return false;
	return supervisor_check_access(config, text, NULL, false, log_finding, &findings) <
	       (int)MACHINE_FATAL;
}

void supervisor_announce_ready(struct supervisor *supervisor)
{
	int64_t wanted = 0;

	if (supervisor->was_ready || supervisor->is_stopping)
		return;
	for (size_t i = 0; i < supervisor->process_count; i++) {
		const struct process *process = &supervisor->processes[i];

		if (process->is_wanted && !process->is_ready)
			return;
		wanted += process->is_wanted;
	}
	supervisor->was_ready = true;
	log_event(EVENT_SERVE_READY, log_number(processes, wanted), log_string(release, VERSION));
	supervisor_tell_predecessor(supervisor, UPGRADE_READY, STR(""));
	supervisor_record_success(supervisor);
	supervisor_tell_status(supervisor, "READY=1\n");
}

void supervisor_give_up(struct supervisor *supervisor, struct str reason)
{
	if (supervisor->was_ready || supervisor->is_stopping)
		return;
	supervisor->exit_status = COMMAND_NEVER;
	buffer_append_str(&supervisor->failure, reason);
	tell_failure(supervisor, reason);
	supervisor_tell_predecessor(supervisor, UPGRADE_FAILED, reason);
	supervisor_stop(supervisor);
}

void supervisor_judge_end(struct supervisor *supervisor, const char *program, int status)
{
	char text[160];

	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSYS)
		return;
	snprintf(text, sizeof text,
		 "%s was killed by a system call filter: what started Stagepost forbids a call "
		 "that it needs (SystemCallFilter of the unit?)",
		 program);
	log_event(EVENT_PROCESS_ERROR, log_string(program, program), log_string(reason, text));
	supervisor_give_up(supervisor, str_from(text));
}
