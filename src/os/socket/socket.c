// SPDX-License-Identifier: ISC
#include "os/socket/socket.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

enum { POLITE_READS_MAX = 16 };

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
		descriptor = accept4(listening, &peer.any, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
	while (descriptor < 0 && (errno == EINTR || errno == ECONNABORTED));
	if (descriptor < 0)
		return -errno;
	*peer_out = peer;
	return descriptor;
}

void os_socket_never_wait(int socket)
{
	int flags = fcntl(socket, F_GETFL);

	if (flags >= 0 && (flags & O_NONBLOCK) == 0)
		(void)fcntl(socket, F_SETFL, flags | O_NONBLOCK);
}

bool os_socket_has_ended(int listening)
{
	struct pollfd one = {.fd = listening, .events = POLLRDHUP};

	os_socket_never_wait(listening);
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

static ssize_t send_with_flags(int socket, const void *data, size_t size, int flags)
{
	ssize_t count;

	do
		count = send(socket, data, size, MSG_NOSIGNAL | flags);
	while (count < 0 && errno == EINTR);
	return count < 0 ? -errno : count;
}

ssize_t os_socket_write(int socket, const void *data, size_t size)
{
	return send_with_flags(socket, data, size, 0);
}

ssize_t os_socket_write_part(int socket, const void *data, size_t size)
{
	return send_with_flags(socket, data, size, MSG_MORE);
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
	/* a process that can have no more descriptors gets fewer of them, and is told so likewise
	 */
	if ((message.msg_flags & MSG_TRUNC) != 0 ||
	    ((message.msg_flags & MSG_CTRUNC) != 0 && *descriptor_count == OS_SOCKET_DESCRIPTORS)) {
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

/* Leaves no room for descriptors, so that a sender cannot pass any. */
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
