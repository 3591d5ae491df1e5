// SPDX-License-Identifier: ISC
/* Connected UDP sockets. */
#include "os/socket/socket.h"
#include <errno.h>
#include <unistd.h>

int os_socket_connect_udp(const union os_socket_address *address)
{
	int descriptor =
		socket(address->any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (descriptor < 0)
		return -errno;
	if (connect(descriptor, &address->any, os_socket_address_size(address)) != 0) {
		int error = -errno;

		close(descriptor);
		return error;
	}
	return descriptor;
}
