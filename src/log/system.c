// SPDX-License-Identifier: ISC
/* The system's own logs: the journal behind standard error, and syslog. */
#include "base/descriptor.h"
#include "log/sink.h"
#include <errno.h>
#include <paths.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

/* As much as collectors take; a value of 1000 bytes has up to 4000 when it is escaped. */
enum { MESSAGE_SIZE = 8192 };

bool log_sink_is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long device;
	unsigned long long inode;
	struct stat status;

	return stream != NULL && sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
	       descriptor_status(STDERR_FILENO, &status) == 0 && status.st_dev == device &&
	       status.st_ino == inode;
}

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

/* Not for each of the lines that nobody takes. */
static int connect_elsewhere(void)
{
	static time_t failed;
	time_t now = time(NULL);
	int socket_to = now != failed ? connect_by(_PATH_LOG, SOCK_DGRAM) : -1;

	if (socket_to < 0)
		failed = now;
	return socket_to;
}

static int connect_here(void)
{
	static const struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = _PATH_LOG};
	int socket_to = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (socket_to < 0)
		return -1;
	if (connect(socket_to, (const struct sockaddr *)&address, sizeof address) == 0)
		return socket_to;
	close(socket_to);
	return -1;
}

static bool send_to_syslog(int socket_to, enum log_level level, struct str line)
{
	char stamp[32];
	char message[MESSAGE_SIZE];
	time_t now = time(NULL);
	struct tm local;
	int length;

	strftime(stamp, sizeof stamp, "%b %e %T", localtime_r(&now, &local));
	length = snprintf(message, sizeof message, "<%d>%s stagepost[%d]: " STR_FORMAT,
			  LOG_MAIL | log_sink_priority(level), stamp, (int)getpid(),
			  STR_ARGUMENTS(line));
	if (length >= (int)sizeof message)
		length = sizeof message - 1;
	return length > 0 && send(socket_to, message, (size_t)length, MSG_NOSIGNAL) == length;
}

/* syslog(3) waits for a collector that does not read; a log must not stop the mail. */
bool log_sink_syslog(enum log_level level, struct str line)
{
	static int socket_to = -1;

	if (line.length > 0 && line.data[line.length - 1] == '\n')
		line.length--;
	if (socket_to >= 0 && send_to_syslog(socket_to, level, line))
		return true;
	if (socket_to >= 0 && errno == EAGAIN)
		return false;
	if (socket_to >= 0)
		close(socket_to);
	socket_to = connect_by != NULL ? connect_elsewhere() : connect_here();
	return socket_to >= 0 && send_to_syslog(socket_to, level, line);
}
