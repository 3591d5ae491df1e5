// SPDX-License-Identifier: ISC
/* The system's own log: syslog. */
#include "base/timestamp.h"
#include "log/sink.h"
#include "os/clock.h"
#include "os/process/process.h"
#include "os/stream/system_log.h"
#include <errno.h>
#include <paths.h>
#include <stdio.h>
#include <sys/socket.h>
#include <syslog.h>
#include <time.h>

/* The limit of common collectors; a value of 1000 bytes may take 4000 when escaped. */
enum { MESSAGE_SIZE = 8192 };

int log_sink_priority(enum log_level level)
{
	static const int priorities[] = {LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERR};

	return priorities[level];
}

static int (*connect_by)(const char *path, int kind);

void log_sink_connect_by(int (*connect)(const char *path, int kind))
{
	connect_by = connect;
}

/* Not again for each line while nobody accepts them. */
static int connect_elsewhere(void)
{
	static time_t failed;
	time_t now = os_clock_wall_us() / SECOND_US;
	int socket_to = now != failed ? connect_by(_PATH_LOG, SOCK_DGRAM) : -1;

	if (socket_to < 0)
		failed = now;
	return socket_to;
}

/* 0 or -errno. */
static int send_to_syslog(int socket_to, enum log_level level, struct str line)
{
	char stamp[32];
	char message[MESSAGE_SIZE];
	time_t now = os_clock_wall_us() / SECOND_US;
	struct tm local;
	int length;

	strftime(stamp, sizeof stamp, "%b %e %T", localtime_r(&now, &local));
	length = snprintf(message, sizeof message, "<%d>%s stagepost[%d]: " STR_FORMAT,
			  LOG_MAIL | log_sink_priority(level), stamp, (int)os_process_id(),
			  STR_ARGUMENTS(line));
	if (length >= (int)sizeof message)
		length = sizeof message - 1;
	return os_system_log_send(socket_to, message, (size_t)length);
}

/* Not by syslog(3), which blocks while a collector does not read; the log must not block mail. */
bool log_sink_syslog(enum log_level level, struct str line)
{
	static int socket_to = -1;

	if (line.length > 0 && line.data[line.length - 1] == '\n')
		line.length--;
	if (socket_to >= 0) {
		int sent = send_to_syslog(socket_to, level, line);

		if (sent >= 0 || sent == -EAGAIN)
			return sent >= 0;
		os_system_log_close(socket_to);
	}
	socket_to = connect_by != NULL ? connect_elsewhere() : os_system_log_connect();
	return socket_to >= 0 && send_to_syslog(socket_to, level, line) >= 0;
}
