// SPDX-License-Identifier: ISC
/* The library's calls to the system that our programs make, each of which can be made to
 * fail. The list is that of what they import: nm -D. */
#include "shim.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The next library's NAME; FAILED is returned when the call is to fail. FILE is the
 * descriptor that it takes, or -1. */
#define WRAP(result, failed, name, parameters, arguments, file) \
	result name parameters                                  \
	{                                                       \
		static typeof(name) *real;                      \
		int action = shim_ask(#name, file);             \
		result outcome;                                 \
		if (action == SHIM_LIE)                         \
			return (result)0;                       \
		if (action > 0) {                               \
			errno = action;                         \
			return failed;                          \
		}                                               \
		if (real == NULL)                               \
			real = shim_next(#name);                \
		outcome = real arguments;                       \
		shim_returned((int64_t)outcome);                \
		return outcome;                                 \
	}
#define CALL(name, parameters, arguments, file) WRAP(int, -1, name, parameters, arguments, file)

/* Two descriptors; both are in what it is said to have returned. */
#define PAIR(name, parameters, arguments)                                                 \
	int name parameters                                                               \
	{                                                                                 \
		static typeof(name) *real;                                                \
		int action = shim_ask(#name, -1);                                         \
		if (action > 0) {                                                         \
			errno = action;                                                   \
			return -1;                                                        \
		}                                                                         \
		if (real == NULL)                                                         \
			real = shim_next(#name);                                          \
		action = real arguments;                                                  \
		shim_returned(action == 0 ? (int64_t)files[1] << 32 | files[0] : action); \
		return action;                                                            \
	}

/* One that handles up to SIZE bytes, and may handle fewer. */
#define SIZED(name, parameters, arguments)                 \
	ssize_t name parameters                            \
	{                                                  \
		static typeof(name) *real;                 \
		int action = shim_ask(#name, file);        \
		if (action == SHIM_LIE)                    \
			return (ssize_t)size;              \
		if (action == SHIM_SHORT)                  \
			size = size > 1 ? size / 2 : size; \
		if (action > 0) {                          \
			errno = action;                    \
			return -1;                         \
		}                                          \
		if (real == NULL)                          \
			real = shim_next(#name);           \
		return real arguments;                     \
	}

/* Files that are opened: the mode follows the flags. */
#define OPEN(name, parameters, arguments)                                                 \
	int name parameters                                                               \
	{                                                                                 \
		static int (*real)(int, const char *, int, ...);                          \
		int action = shim_ask(#name, -1);                                         \
		va_list list;                                                             \
		mode_t mode;                                                              \
		va_start(list, flags);                                                    \
		mode = (flags & (O_CREAT | __O_TMPFILE)) != 0 ? va_arg(list, mode_t) : 0; \
		va_end(list);                                                             \
		if (action > 0) {                                                         \
			errno = action;                                                   \
			return -1;                                                        \
		}                                                                         \
		if (real == NULL)                                                         \
			real = shim_next("openat");                                       \
		action = real arguments;                                                  \
		shim_returned(action);                                                    \
		return action;                                                            \
	}

#define CONTROL(name)                                                 \
	int name(int file, int command, ...)                          \
	{                                                             \
		static int (*real)(int, int, ...);                    \
		bool is_copy = command == F_DUPFD_CLOEXEC;            \
		int action = shim_ask(is_copy ? "dup" : #name, file); \
		va_list list;                                         \
		void *argument;                                       \
		va_start(list, command);                              \
		argument = va_arg(list, void *);                      \
		va_end(list);                                         \
		if (action > 0) {                                     \
			errno = action;                               \
			return -1;                                    \
		}                                                     \
		if (real == NULL)                                     \
			real = shim_next(#name);                      \
		action = real(file, command, argument);               \
		shim_returned(action);                                \
		return action;                                        \
	}

// clang-format off
OPEN(open, (const char *path, int flags, ...), (AT_FDCWD, path, flags, mode))
OPEN(open64, (const char *path, int flags, ...), (AT_FDCWD, path, flags, mode))
OPEN(openat, (int directory, const char *path, int flags, ...), (directory, path, flags, mode))
OPEN(openat64, (int directory, const char *path, int flags, ...), (directory, path, flags, mode))
CONTROL(fcntl)
CONTROL(fcntl64)

SIZED(read, (int file, void *data, size_t size), (file, data, size))
SIZED(pread64, (int file, void *data, size_t size, off64_t at), (file, data, size, at))
SIZED(write, (int file, const void *data, size_t size), (file, data, size))
SIZED(pwrite64, (int file, const void *data, size_t size, off64_t at), (file, data, size, at))
SIZED(send, (int file, const void *data, size_t size, int flags), (file, data, size, flags))
SIZED(recv, (int file, void *data, size_t size, int flags), (file, data, size, flags))
SIZED(sendto, (int file, const void *data, size_t size, int flags, const struct sockaddr *to, socklen_t length),
      (file, data, size, flags, to, length))
SIZED(recvfrom, (int file, void *data, size_t size, int flags, struct sockaddr *from, socklen_t *length),
      (file, data, size, flags, from, length))

WRAP(ssize_t, -1, sendmsg, (int file, const struct msghdr *message, int flags), (file, message, flags), file)
WRAP(ssize_t, -1, recvmsg, (int file, struct msghdr *message, int flags), (file, message, flags), file)
WRAP(ssize_t, -1, readlink, (const char *path, char *data, size_t size), (path, data, size), -1)
WRAP(DIR *, NULL, fdopendir, (int file), (file), file)
WRAP(struct dirent64 *, NULL, readdir64, (DIR *list), (list), dirfd(list))
WRAP(FILE *, NULL, fopen, (const char *path, const char *mode), (path, mode), -1)
WRAP(FILE *, NULL, fopen64, (const char *path, const char *mode), (path, mode), -1)
WRAP(pid_t, -1, fork, (void), (), -1)
WRAP(pid_t, -1, waitpid, (pid_t pid, int *status, int flags), (pid, status, flags), -1)

CALL(ftruncate64, (int file, off64_t size), (file, size), file)
CALL(fsync, (int file), (file), file)
CALL(fdatasync, (int file), (file), file)
CALL(syncfs, (int file), (file), file)
CALL(sync_file_range, (int file, off64_t from, off64_t size, unsigned flags), (file, from, size, flags), file)
CALL(linkat, (int a, const char *from, int b, const char *to, int flags), (a, from, b, to, flags), -1)
CALL(renameat, (int a, const char *from, int b, const char *to), (a, from, b, to), -1)
CALL(renameat2, (int a, const char *from, int b, const char *to, unsigned flags), (a, from, b, to, flags), -1)
CALL(unlink, (const char *path), (path), -1)
CALL(unlinkat, (int directory, const char *path, int flags), (directory, path, flags), -1)
CALL(mkdirat, (int directory, const char *path, mode_t mode), (directory, path, mode), -1)
CALL(mkfifoat, (int directory, const char *path, mode_t mode), (directory, path, mode), -1)
CALL(chmod, (const char *path, mode_t mode), (path, mode), -1)
CALL(utimensat, (int directory, const char *path, const struct timespec times[2], int flags),
     (directory, path, times, flags), -1)
CALL(fstat64, (int file, struct stat64 *status), (file, status), file)
CALL(fstatat64, (int directory, const char *path, struct stat64 *status, int flags), (directory, path, status, flags), -1)
CALL(stat64, (const char *path, struct stat64 *status), (path, status), -1)
CALL(lstat64, (const char *path, struct stat64 *status), (path, status), -1)
CALL(fstatfs64, (int file, struct statfs64 *status), (file, status), file)
CALL(fstatvfs64, (int file, struct statvfs64 *status), (file, status), file)
CALL(flock, (int file, int how), (file, how), file)
CALL(dup2, (int file, int to), (file, to), file)
CALL(memfd_create, (const char *name, unsigned flags), (name, flags), -1)
PAIR(pipe2, (int files[2], int flags), (files, flags))
CALL(eventfd, (unsigned value, int flags), (value, flags), -1)
CALL(socket, (int domain, int type, int protocol), (domain, type, protocol), -1)
PAIR(socketpair, (int domain, int type, int protocol, int files[2]), (domain, type, protocol, files))
CALL(bind, (int file, const struct sockaddr *address, socklen_t length), (file, address, length), file)
CALL(listen, (int file, int backlog), (file, backlog), file)
CALL(connect, (int file, const struct sockaddr *address, socklen_t length), (file, address, length), file)
CALL(accept4, (int file, struct sockaddr *address, socklen_t *length, int flags), (file, address, length, flags), file)
CALL(getsockname, (int file, struct sockaddr *address, socklen_t *length), (file, address, length), file)
CALL(setsockopt, (int file, int level, int option, const void *value, socklen_t length),
     (file, level, option, value, length), file)
CALL(getsockopt, (int file, int level, int option, void *value, socklen_t *length),
     (file, level, option, value, length), file)
CALL(shutdown, (int file, int how), (file, how), file)
CALL(poll, (struct pollfd *files, nfds_t count, int milliseconds), (files, count, milliseconds), -1)
CALL(epoll_create1, (int flags), (flags), -1)
CALL(epoll_wait, (int file, struct epoll_event *events, int count, int milliseconds),
     (file, events, count, shim_wait(milliseconds)), file)
// clang-format on

/* Only for what is new does the kernel need anything. */
int epoll_ctl(int file, int what, int other, struct epoll_event *event)
{
	static typeof(epoll_ctl) *real;
	int action = what == EPOLL_CTL_ADD ? shim_ask("epoll_ctl", file) : 0;

	if (action > 0) {
		errno = action;
		return -1;
	}
	if (real == NULL)
		real = shim_next("epoll_ctl");
	return real(file, what, other, event);
}

/* Linux closes it whatever it says. */
int close(int file)
{
	static typeof(close) *real;
	int action = shim_ask("close", file);
	int result;

	if (real == NULL)
		real = shim_next("close");
	result = real(file);
	if (action <= 0)
		return result;
	errno = action;
	return -1;
}

/* --- what time it is --- */

int clock_gettime(clockid_t clock, struct timespec *now)
{
	static typeof(clock_gettime) *real;
	bool is_time_of_day = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
	bool is_of_process = clock == CLOCK_PROCESS_CPUTIME_ID || clock == CLOCK_THREAD_CPUTIME_ID;
	int64_t offset = is_of_process ? 0 : shim_clock(is_time_of_day);
	int result;

	if (real == NULL)
		real = shim_next("clock_gettime");
	result = real(clock, now);
	if (result == 0 && offset != 0) {
		int64_t nanoseconds = now->tv_nsec + offset % 1000000 * 1000;

		now->tv_sec += offset / 1000000 + (nanoseconds >= 1000000000) - (nanoseconds < 0);
		now->tv_nsec = (nanoseconds + 1000000000) % 1000000000;
	}
	return result;
}

time_t time(time_t *out)
{
	struct timespec now = {0};

	clock_gettime(CLOCK_REALTIME, &now);
	if (out != NULL)
		*out = now.tv_sec;
	return now.tv_sec;
}

int gettimeofday(struct timeval *out, void *zone)
{
	struct timespec now = {0};

	(void)zone;
	clock_gettime(CLOCK_REALTIME, &now);
	*out = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
	return 0;
}

/* --- how busy the machine is --- */

int sysinfo(struct sysinfo *out)
{
	static typeof(sysinfo) *real;
	int result;

	if (real == NULL)
		real = shim_next("sysinfo");
	result = real(out);
	if (result == 0 && shim_load() > 0)
		out->loads[0] = ((unsigned long)shim_load() << SI_LOAD_SHIFT) / 100 + 1;
	return result;
}
