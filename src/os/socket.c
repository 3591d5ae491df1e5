// SPDX-License-Identifier: ISC
#include "os/socket.h"
#include "os/connector.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FLAGS = SOCK_CLOEXEC | SOCK_NONBLOCK, POLITE_READS_MAX = 16 };

static int fail(int socket)
{
	int error = -errno;

	if (socket >= 0)
		close(socket);
	return error;
}

static int new_stream(const union os_socket_address *address)
{
	int descriptor = socket(address->any.sa_family, SOCK_STREAM | FLAGS, 0);

	return descriptor < 0 ? -errno : descriptor;
}

/* Replies and commands are written whole: waiting for more would only delay. */
static void set_no_delay(int descriptor)
{
	static const int on = 1;

	(void)setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

int os_socket_listen(const union os_socket_address *address, int backlog)
{
	static const int on = 1;
	int descriptor = new_stream(address);

	if (descriptor < 0)
		return descriptor;
	if (setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0)
		return fail(descriptor);
	if (address->any.sa_family == AF_INET6 &&
	    setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) != 0)
		return fail(descriptor);
	set_no_delay(descriptor); /* accepted sockets inherit it */
	if (bind(descriptor, &address->any, os_socket_address_size(address)) != 0 ||
	    listen(descriptor, backlog) != 0)
		return fail(descriptor);
	return descriptor;
}

int os_socket_connect(const union os_socket_address *address)
{
	int descriptor;

	if (address->any.sa_family == AF_UNIX && os_connector_is_used())
		return os_connector_connect(address->local.sun_path, SOCK_STREAM);
	descriptor = new_stream(address);
	if (descriptor < 0)
		return descriptor;
	if (address->any.sa_family != AF_UNIX)
		set_no_delay(descriptor);
	if (connect(descriptor, &address->any, os_socket_address_size(address)) != 0 &&
	    errno != EINPROGRESS && errno != EINTR)
		return fail(descriptor);
	return descriptor;
}

void os_socket_keep_alive(int socket)
{
	static const int on = 1;
	static const int idle_s = 20;
	static const int interval_s = 10;
	static const int probes = 3;
	static const unsigned unanswered_ms = 30000;

	(void)setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
	(void)setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
	(void)setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
	(void)setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
	(void)setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &unanswered_ms,
			 sizeof unanswered_ms);
}

int os_socket_error(int socket)
{
	int error = 0;
	socklen_t size = sizeof error;

	if (getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
		return -errno;
	return -error;
}

uint64_t os_socket_received(int socket)
{
	struct tcp_info info = {0};
	socklen_t size = sizeof info;

	if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0)
		return 0;
	return info.tcpi_bytes_received;
}

int os_socket_accept(int listening, union os_socket_address *peer_out)
{
	union os_socket_address peer = {0};
	socklen_t size = sizeof peer;
	int descriptor;

	do
		descriptor = accept4(listening, &peer.any, &size, FLAGS);
	while (descriptor < 0 && (errno == EINTR || errno == ECONNABORTED));
	if (descriptor < 0)
		return -errno;
	*peer_out = peer;
	return descriptor;
}

bool os_socket_has_ended(int listening)
{
	struct pollfd one = {.fd = listening, .events = POLLRDHUP};
	int flags = fcntl(listening, F_GETFL);

	if (flags >= 0 && (flags & O_NONBLOCK) == 0)
		(void)fcntl(listening, F_SETFL, flags | O_NONBLOCK);
	return poll(&one, 1, 0) > 0 && one.revents != 0;
}

int os_socket_local_address(int socket, union os_socket_address *out)
{
	union os_socket_address address = {0};
	socklen_t size = sizeof address;

	if (getsockname(socket, &address.any, &size) != 0)
		return -errno;
	*out = address;
	return 0;
}

static int unix_address(const char *path, union os_socket_address *out)
{
	return os_socket_address_of_path(path, out) ? 0 : -ENAMETOOLONG;
}

/* A chmod(2) afterwards could meet what somebody has put in its place. */
static int bind_with_mode(int descriptor, const union os_socket_address *address, unsigned mode)
{
	mode_t before = umask(0777 & ~mode);
	int result = bind(descriptor, &address->any, sizeof address->local);
	int error = errno;

	umask(before);
	errno = error;
	return result;
}

int os_socket_listen_unix(const char *path, int kind, unsigned mode)
{
	static const int on = 1;
	union os_socket_address address;
	struct stat status;
	int descriptor;
	int error = unix_address(path, &address);

	if (error < 0)
		return error;
	if (lstat(path, &status) != 0) {
		if (errno != ENOENT)
			return -errno;
	} else if (S_ISSOCK(status.st_mode) && unlink(path) != 0) {
		return -errno;
	}
	descriptor = socket(AF_UNIX, kind | FLAGS, 0);
	if (descriptor < 0)
		return -errno;
	if ((kind == SOCK_DGRAM &&
	     setsockopt(descriptor, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0) ||
	    bind_with_mode(descriptor, &address, mode) != 0 ||
	    (kind != SOCK_DGRAM && listen(descriptor, SOMAXCONN) != 0))
		return fail(descriptor);
	return descriptor;
}

int os_socket_connect_unix(const char *path, int kind)
{
	union os_socket_address address;
	int descriptor;
	int error = unix_address(path, &address);

	if (error < 0)
		return error;
	if (os_connector_is_used())
		return os_connector_connect(path, kind);
	descriptor = socket(AF_UNIX, kind | FLAGS, 0);
	if (descriptor < 0)
		return -errno;
	if (connect(descriptor, &address.any, sizeof address.local) != 0)
		return fail(descriptor);
	return descriptor;
}

int os_socket_ask_unix(const char *path)
{
	const struct sockaddr_un any = {.sun_family = AF_UNIX};
	union os_socket_address address;
	int descriptor;
	int error = unix_address(path, &address);

	if (error < 0)
		return error;
	descriptor = socket(AF_UNIX, SOCK_DGRAM | FLAGS, 0);
	if (descriptor < 0)
		return -errno;
	/* an address without a name: the kernel chooses one */
	if (bind(descriptor, (const struct sockaddr *)&any, sizeof any.sun_family) != 0 ||
	    connect(descriptor, &address.any, sizeof address.local) != 0)
		return fail(descriptor);
	return descriptor;
}

int os_socket_wait(int socket, bool for_writing, int64_t timeout_us)
{
	struct pollfd one = {.fd = socket, .events = for_writing ? POLLOUT : POLLIN};
	int count;

	do
		count = poll(&one, 1, (int)(timeout_us / 1000));
	while (count < 0 && errno == EINTR);
	if (count < 0)
		return -errno;
	return count == 0 ? -ETIMEDOUT : 0;
}

ssize_t os_socket_read(int socket, void *data, size_t size)
{
	ssize_t count;

	do
		count = recv(socket, data, size, 0);
	while (count < 0 && errno == EINTR);
	return count < 0 ? -errno : count;
}

ssize_t os_socket_write(int socket, const void *data, size_t size)
{
	ssize_t count;

	do
		count = send(socket, data, size, MSG_NOSIGNAL);
	while (count < 0 && errno == EINTR);
	return count < 0 ? -errno : count;
}

void os_socket_close(int socket)
{
	if (socket >= 0)
		close(socket);
}

void os_socket_close_politely(int socket)
{
	char unread[4096];
	unsigned reads = 0;

	if (shutdown(socket, SHUT_WR) == 0)
		while (reads < POLITE_READS_MAX &&
		       os_socket_read(socket, unread, sizeof unread) > 0)
			reads++;
	os_socket_close(socket);
}

union descriptor_space {
	char bytes[CMSG_SPACE(sizeof(int) * OS_SOCKET_DESCRIPTORS)];
	struct cmsghdr align;
};

ssize_t os_socket_send(int socket, const void *data, size_t size, const int *descriptors,
		       size_t descriptor_count)
{
	struct iovec part = {(void *)(uintptr_t)data, size};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	union descriptor_space space = {0};
	ssize_t count;

	if (descriptor_count > OS_SOCKET_DESCRIPTORS)
		return -EINVAL;
	if (descriptor_count > 0) {
		struct cmsghdr *header;

		message.msg_control = space.bytes;
		message.msg_controllen = CMSG_SPACE(sizeof(int) * descriptor_count);
		header = CMSG_FIRSTHDR(&message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(sizeof(int) * descriptor_count);
		memcpy(CMSG_DATA(header), descriptors, sizeof(int) * descriptor_count);
	}
	do
		count = sendmsg(socket, &message, MSG_NOSIGNAL);
	while (count < 0 && errno == EINTR);
	return count < 0 ? -errno : count;
}

static size_t take_descriptors(struct msghdr *message, int *descriptors)
{
	size_t count = 0;

	for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header != NULL;
	     header = CMSG_NXTHDR(message, header)) {
		size_t here;

		if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
			continue;
		here = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		if (here > OS_SOCKET_DESCRIPTORS - count)
			here = OS_SOCKET_DESCRIPTORS - count;
		memcpy(descriptors + count, CMSG_DATA(header), here * sizeof(int));
		count += here;
	}
	return count;
}

ssize_t os_socket_receive(int socket, void *data, size_t size, int *descriptors,
			  size_t *descriptor_count)
{
	struct iovec part = {data, size};
	union descriptor_space space;
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = space.bytes,
				 .msg_controllen = sizeof space.bytes};
	ssize_t count;

	*descriptor_count = 0;
	do
		count = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
	while (count < 0 && errno == EINTR);
	if (count < 0)
		return -errno;
	*descriptor_count = take_descriptors(&message, descriptors);
	if (message.msg_flags & MSG_TRUNC) {
		while (*descriptor_count > 0)
			close(descriptors[--*descriptor_count]);
		return -EMSGSIZE;
	}
	return count;
}

uid_t os_socket_peer_user(int socket)
{
	struct ucred peer;
	socklen_t size = sizeof peer;

	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
		return (uid_t)-1;
	return peer.uid;
}

/* There is room for no descriptors that somebody sends along. */
static void read_credentials(struct msghdr *message, struct os_socket_sender *sender)
{
	for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header != NULL;
	     header = CMSG_NXTHDR(message, header)) {
		struct ucred credentials;

		if (header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_CREDENTIALS) {
			memcpy(&credentials, CMSG_DATA(header), sizeof credentials);
			sender->user = credentials.uid;
		}
	}
}

ssize_t os_socket_receive_from(int socket, void *data, size_t size,
			       struct os_socket_sender *sender_out)
{
	union {
		char bytes[CMSG_SPACE(sizeof(struct ucred))];
		struct cmsghdr align;
	} space;
	struct iovec part = {data, size};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_name = &sender_out->address,
				 .msg_control = space.bytes};
	ssize_t count;

	do {
		message.msg_namelen = sizeof sender_out->address;
		message.msg_controllen = sizeof space.bytes;
		count = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
	} while (count < 0 && errno == EINTR);
	if (count < 0)
		return -errno;
	sender_out->size = message.msg_namelen;
	sender_out->user = (uid_t)-1;
	read_credentials(&message, sender_out);
	return count;
}

void os_socket_answer(int socket, const void *data, size_t size,
		      const struct os_socket_sender *sender)
{
	if (sender->size > sizeof(sa_family_t))
		(void)!sendto(socket, data, size, MSG_NOSIGNAL | MSG_DONTWAIT,
			      (const struct sockaddr *)&sender->address, sender->size);
}
