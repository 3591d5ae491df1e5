// SPDX-License-Identifier: ISC
/*
 * os/socket/limit.h - an end to the time of a library that makes a connection and may wait at it
 * without a limit: for a peer that says a byte now and then, each of its waits is short.
 */
#ifndef OS_SOCKET_LIMIT_H
#define OS_SOCKET_LIMIT_H

#include "base/attributes.h"
#include <stdint.h>

struct os_socket_limit;

/* Starts a thread, which waits until UNTIL_US (os_clock_monotonic_us()). -EAGAIN, -EPERM: no thread
 * can be created. */
MUST_CHECK int os_socket_limit_new(int64_t until_us, struct os_socket_limit **limit_out);
/* From now on it is SOCKET alone, a stream socket that stays the caller's, that is shut down both
 * ways at the end of the time: whoever reads from it sees the end, who writes to it an error.
 * -EMFILE: no descriptor is left. */
MUST_CHECK int os_socket_limit_set(struct os_socket_limit *limit, int socket);
/* The socket stays as it is. NULL is allowed. */
void os_socket_limit_free(struct os_socket_limit *limit);

#endif
