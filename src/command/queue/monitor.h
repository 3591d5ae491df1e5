// SPDX-License-Identifier: ISC
/*
 * command/queue/monitor.h - "queue stats" for monitoring: figures against limits, one line,
 * and an exit status as Nagios and what is like it expect.
 */
#ifndef COMMAND_QUEUE_MONITOR_H
#define COMMAND_QUEUE_MONITOR_H

#include "command/queue/queue.h"

enum queue_monitor_status {
	QUEUE_MONITOR_OK = 0,
	QUEUE_MONITOR_WARNING = 1,
	QUEUE_MONITOR_CRITICAL = 2,
	QUEUE_MONITOR_UNKNOWN = 3,
};

/* Prints the line, or as JSON an object, for the limits in the arguments of --warn and --critical,
 * "messages=1000,oldest=2h", each of which may be NULL. Returns an enum queue_monitor_status. Only
 * what has a limit is counted. */
int queue_monitor_run(const char *config_file, const char *warn, const char *critical, bool json);

#endif
