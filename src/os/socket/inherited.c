// SPDX-License-Identifier: ISC
#include "os/socket/inherited.h"
#include "base/str.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COUNT_MAX = 4096 };

static bool read_variable(const char *name, uint64_t *value_out)
{
	const char *text = secure_getenv(name);

	return text != NULL && str_to_u64(str_from(text), value_out);
}

unsigned os_inherited_count(struct buffer *names_out)
{
	const char *names = secure_getenv("LISTEN_FDNAMES");
	uint64_t pid;
	uint64_t count;
	bool is_ours = read_variable("LISTEN_PID", &pid) && pid == (uint64_t)getpid() &&
		       read_variable("LISTEN_FDS", &count) && count <= COUNT_MAX;

	if (is_ours && names != NULL)
		buffer_append_string(names_out, names);
	(void)unsetenv("LISTEN_PID");
	(void)unsetenv("LISTEN_FDS");
	(void)unsetenv("LISTEN_FDNAMES");
	return is_ours ? (unsigned)count : 0;
}

bool os_inherited_is_bound_to(int socket, int kind, const union os_socket_address *address)
{
	union os_socket_address own = {0};
	socklen_t size = sizeof own;
	socklen_t kind_size = sizeof(int);
	int own_kind = 0;

	if (getsockopt(socket, SOL_SOCKET, SO_TYPE, &own_kind, &kind_size) != 0 ||
	    own_kind != kind || getsockname(socket, &own.any, &size) != 0 ||
	    own.any.sa_family != address->any.sa_family)
		return false;
	switch (own.any.sa_family) {
	case AF_INET:
		return own.v4.sin_port == address->v4.sin_port &&
		       own.v4.sin_addr.s_addr == address->v4.sin_addr.s_addr;
	case AF_INET6:
		return own.v6.sin6_port == address->v6.sin6_port &&
		       own.v6.sin6_scope_id == address->v6.sin6_scope_id &&
		       memcmp(&own.v6.sin6_addr, &address->v6.sin6_addr, sizeof own.v6.sin6_addr) ==
			       0;
	case AF_UNIX:
		return strncmp(own.local.sun_path, address->local.sun_path,
			       sizeof own.local.sun_path) == 0;
	default:
		return false;
	}
}

uint16_t os_inherited_port(int socket)
{
	union os_socket_address own = {0};
	socklen_t size = sizeof own;

	return getsockname(socket, &own.any, &size) == 0 ? os_socket_address_port(&own) : 0;
}

void os_inherited_adopt(int socket)
{
	int flags = fcntl(socket, F_GETFL);

	if (flags >= 0)
		(void)fcntl(socket, F_SETFL, flags | O_NONBLOCK);
	(void)fcntl(socket, F_SETFD, FD_CLOEXEC);
}
