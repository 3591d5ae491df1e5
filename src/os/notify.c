// SPDX-License-Identifier: ISC
#include "os/notify.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* 0: nobody is to be told; or the length of the address. */
static int find_manager(struct sockaddr_un *address, socklen_t *size_out)
{
	const char *path = secure_getenv("NOTIFY_SOCKET");
	size_t length = path != NULL ? strlen(path) : 0;

	if (length == 0)
		return 0;
	if ((path[0] != '/' && path[0] != '@') || length >= sizeof address->sun_path)
		return -EINVAL;
	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	memcpy(address->sun_path, path, length);
	if (path[0] == '@') /* an abstract address */
		address->sun_path[0] = '\0';
	*size_out = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
	return 1;
}

static void add_passed_descriptor(struct msghdr *message, int passed)
{
	struct cmsghdr *part = CMSG_FIRSTHDR(message);

	part->cmsg_level = SOL_SOCKET;
	part->cmsg_type = SCM_RIGHTS;
	part->cmsg_len = CMSG_LEN(sizeof passed);
	memcpy(CMSG_DATA(part), &passed, sizeof passed);
}

/* PASSED: a descriptor that goes with it, or -1. */
static int send_service_notification(const char *text, int passed)
{
	char parts[CMSG_SPACE(sizeof passed)] __attribute__((aligned(sizeof(size_t)))) = {0};
	struct iovec bytes = {.iov_base = (char *)text, .iov_len = strlen(text)};
	struct sockaddr_un address;
	struct msghdr message = {.msg_name = &address, .msg_iov = &bytes, .msg_iovlen = 1};
	int result = find_manager(&address, &message.msg_namelen);
	int descriptor;

	if (result <= 0)
		return result;
	descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (descriptor < 0)
		return -errno;
	if (passed >= 0) {
		message.msg_control = parts;
		message.msg_controllen = sizeof parts;
		add_passed_descriptor(&message, passed);
	}
	if (sendmsg(descriptor, &message, MSG_NOSIGNAL) < 0)
		result = -errno;
	close(descriptor);
	return result;
}

int os_notify(const char *text)
{
	int result = send_service_notification(text, -1);

	return result < 0 ? result : 0;
}

/* The manager closes the descriptor in its turn, and then nobody has the pipe open for writing. */
int os_notify_barrier(int wait_ms)
{
	struct pollfd end = {.events = 0};
	int ends[2];
	int result;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return -errno;
	result = send_service_notification("BARRIER=1", ends[1]);
	close(ends[1]);
	end.fd = ends[0];
	if (result > 0) {
		result = poll(&end, 1, wait_ms);
		result = result < 0 ? -errno : result == 0 ? -ETIMEDOUT : 0;
	}
	close(ends[0]);
	return result;
}

int os_notify_store(const char *name, int descriptor)
{
	char text[320];
	int result;

	if (snprintf(text, sizeof text, "FDSTORE=1\nFDPOLL=0\nFDNAME=%s", name) >= (int)sizeof text)
		return -ENAMETOOLONG;
	result = send_service_notification(text, descriptor);
	return result < 0 ? result : 0;
}
