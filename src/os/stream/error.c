// SPDX-License-Identifier: ISC
#include "os/stream/error.h"
#include "base/descriptor.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static enum { SINK_PIPE, SINK_FILE, SINK_SOCKET, SINK_OWN } error_kind;

/* A pipe of the kind that the supervisor gives each process: it neither blocks nor is shared. */
static bool is_supervisor_pipe(void)
{
	struct sigaction broken;
	int flags = fcntl(STDERR_FILENO, F_GETFL);

	return flags >= 0 && (flags & O_NONBLOCK) != 0 && sigaction(SIGPIPE, NULL, &broken) == 0 &&
	       broken.sa_handler == SIG_IGN;
}

void os_error_stream_open(void)
{
	struct stat status;

	error_kind = SINK_PIPE;
	if (descriptor_status(STDERR_FILENO, &status) == 0 && S_ISREG(status.st_mode))
		error_kind = SINK_FILE;
	else if (descriptor_status(STDERR_FILENO, &status) == 0 && S_ISSOCK(status.st_mode))
		error_kind = SINK_SOCKET;
	else if (descriptor_status(STDERR_FILENO, &status) == 0 && S_ISFIFO(status.st_mode) &&
		 is_supervisor_pipe())
		error_kind = SINK_OWN;
}

/* The length of a write: whole lines that fit into PIPE_BUF. A pipe that polls as writable accepts
 * that many bytes without blocking, and never interleaves them with others. */
static size_t length_of_whole_lines(struct str lines)
{
	ptrdiff_t end;

	if (error_kind == SINK_FILE || error_kind == SINK_OWN || lines.length <= PIPE_BUF)
		return lines.length;
	end = str_find_last(str_slice(lines.data, PIPE_BUF), '\n');
	return end < 0 ? PIPE_BUF : (size_t)end + 1;
}

/* write(2) without SIGPIPE, whatever its disposition is. */
static ssize_t write_quietly(const char *data, size_t length)
{
	static const struct timespec now = {0, 0};
	sigset_t broken;
	sigset_t before;
	ssize_t result;
	int error;

	sigemptyset(&broken);
	sigaddset(&broken, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &broken, &before);
	result = write(STDERR_FILENO, data, length);
	error = errno;
	if (result < 0 && error == EPIPE && sigismember(&before, SIGPIPE) == 0)
		sigtimedwait(&broken, NULL, &now);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = error;
	return result;
}

static ssize_t write_piece(struct str piece, int wait_ms)
{
	struct pollfd ready = {.fd = STDERR_FILENO, .events = POLLOUT};

	if (error_kind == SINK_FILE || (error_kind == SINK_OWN && wait_ms == 0))
		return write(STDERR_FILENO, piece.data, piece.length);
	if (poll(&ready, 1, wait_ms) == 0) {
		errno = EAGAIN;
		return -1;
	}
	if (error_kind == SINK_OWN)
		return write(STDERR_FILENO, piece.data, piece.length);
	if (error_kind == SINK_SOCKET)
		return send(STDERR_FILENO, piece.data, piece.length, MSG_DONTWAIT | MSG_NOSIGNAL);
	return write_quietly(piece.data, piece.length);
}

ssize_t os_error_stream_write(struct str lines, int wait_ms)
{
	ssize_t count = write_piece(str_slice(lines.data, length_of_whole_lines(lines)), wait_ms);

	return count < 0 ? -errno : count;
}

bool os_error_stream_is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long device;
	unsigned long long inode;
	struct stat status;

	return stream != NULL && sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
	       descriptor_status(STDERR_FILENO, &status) == 0 && status.st_dev == device &&
	       status.st_ino == inode;
}
