// SPDX-License-Identifier: ISC
#include "os/notify.h"
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int os_notify(const char *text)
{
	const char *path = secure_getenv("NOTIFY_SOCKET");
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t length = path != NULL ? strlen(path) : 0;
	socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
	int descriptor;
	int error = 0;

	if (length == 0)
		return 0;
	if ((path[0] != '/' && path[0] != '@') || length >= sizeof address.sun_path)
		return -EINVAL;
	memcpy(address.sun_path, path, length);
	if (path[0] == '@') /* an abstract address */
		address.sun_path[0] = '\0';
	descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (descriptor < 0)
		return -errno;
	if (sendto(descriptor, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&address,
		   size) < 0)
		error = -errno;
	close(descriptor);
	return error;
}
