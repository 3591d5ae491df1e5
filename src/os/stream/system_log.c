// SPDX-License-Identifier: ISC
#include "os/stream/system_log.h"
#include <errno.h>
#include <paths.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

int os_system_log_connect(void)
{
	static const struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = _PATH_LOG};
	int made = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int error;

	if (made < 0)
		return -errno;
	if (connect(made, (const struct sockaddr *)&address, sizeof address) == 0)
		return made;
	error = -errno;
	close(made);
	return error;
}

int os_system_log_send(int socket, const char *line, size_t size)
{
	return send(socket, line, size, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

void os_system_log_close(int socket)
{
	close(socket);
}
