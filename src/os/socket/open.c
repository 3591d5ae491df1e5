// SPDX-License-Identifier: ISC
/* Creates listening sockets, and connects. */
#include "os/socket/connector.h"
#include "os/socket/socket.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FLAGS = SOCK_CLOEXEC | SOCK_NONBLOCK };

static int close_failed_socket(int socket)
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

/* Replies and commands are written in one piece, so Nagle's algorithm would only delay them. */
static void set_no_delay(int descriptor)
{
	static const int on = 1;

	(void)setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

static int listen_at(const union os_socket_address *address, int backlog, bool is_shared)
{
	static const int on = 1;
	int descriptor = new_stream(address);

	if (descriptor < 0)
		return descriptor;
	if (setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0)
		return close_failed_socket(descriptor);
	if (address->any.sa_family == AF_INET6 &&
	    setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) != 0)
		return close_failed_socket(descriptor);
	set_no_delay(descriptor); /* accepted sockets inherit it */
	if (is_shared)
		os_socket_share_address(descriptor, true);
	if (bind(descriptor, &address->any, os_socket_address_size(address)) != 0 ||
	    listen(descriptor, backlog) != 0)
		return close_failed_socket(descriptor);
	return descriptor;
}

int os_socket_listen(const union os_socket_address *address, int backlog)
{
	return listen_at(address, backlog, false);
}

int os_socket_listen_beside(const union os_socket_address *address, int backlog)
{
	int descriptor = listen_at(address, backlog, true);

	if (descriptor >= 0)
		os_socket_share_address(descriptor, false);
	return descriptor;
}

void os_socket_share_address(int listening, bool is_shared)
{
	const int value = is_shared ? 1 : 0;

	(void)setsockopt(listening, SOL_SOCKET, SO_REUSEPORT, &value, sizeof value);
}

void os_socket_shut(int listening)
{
	(void)shutdown(listening, SHUT_RD);
}

int os_socket_listen_again(int listening, int backlog)
{
	return listen(listening, backlog) < 0 ? -errno : 0;
}

/* The port is chosen when the peer is known: then it need only differ from those of connections to
 * the same one. */
static int bind_to(int descriptor, const struct in6_addr *source, sa_family_t family)
{
	static const int on = 1;
	union os_socket_address address = {.v6 = {.sin6_family = AF_INET6, .sin6_addr = *source}};

	if (family == AF_INET) {
		address = (union os_socket_address){.v4 = {.sin_family = AF_INET}};
		memcpy(&address.v4.sin_addr, source->s6_addr + 12, sizeof address.v4.sin_addr);
	}
	(void)setsockopt(descriptor, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
	return bind(descriptor, &address.any, os_socket_address_size(&address));
}

static int connect_stream(const struct in6_addr *source, const union os_socket_address *address)
{
	int descriptor = new_stream(address);

	if (descriptor < 0)
		return descriptor;
	if (address->any.sa_family != AF_UNIX)
		set_no_delay(descriptor);
	if (source != NULL && bind_to(descriptor, source, address->any.sa_family) != 0)
		return close_failed_socket(descriptor);
	if (connect(descriptor, &address->any, os_socket_address_size(address)) != 0 &&
	    errno != EINPROGRESS && errno != EINTR)
		return close_failed_socket(descriptor);
	return descriptor;
}

int os_socket_connect(const union os_socket_address *address)
{
	if (address->any.sa_family == AF_UNIX && os_connector_is_used())
		return os_connector_connect(address->local.sun_path, SOCK_STREAM);
	return connect_stream(NULL, address);
}

int os_socket_connect_from(const struct in6_addr *source, const union os_socket_address *address)
{
	return connect_stream(source, address);
}

static int unix_address(const char *path, union os_socket_address *out)
{
	return os_socket_address_of_path(path, out) ? 0 : -ENAMETOOLONG;
}

/* A chmod(2) afterwards could apply to a file that somebody put in its place. */
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
		return close_failed_socket(descriptor);
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
		return close_failed_socket(descriptor);
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
	/* without a name: the kernel chooses an address */
	if (bind(descriptor, (const struct sockaddr *)&any, sizeof any.sun_family) != 0 ||
	    connect(descriptor, &address.any, sizeof address.local) != 0)
		return close_failed_socket(descriptor);
	return descriptor;
}
