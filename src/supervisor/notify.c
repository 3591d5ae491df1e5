// SPDX-License-Identifier: ISC
/* What the service manager hears of this supervisor. */
#include "os/notify.h"
#include "log/event.h"
#include "supervisor/internal.h"

void supervisor_notify(const struct supervisor *supervisor, const char *text)
{
	bool is_ours = supervisor == NULL || supervisor->predecessor == NULL;
	int error = is_ours ? os_notify(text) : 0;

	if (error < 0)
		log_event(EVENT_PROCESS_ERROR,
			  log_string(reason, "the service manager cannot be told"),
			  log_error(error));
}
