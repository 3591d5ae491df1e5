// SPDX-License-Identifier: ISC
/* What the product asks the C library for that would reach the real system: the product is linked
 * with these instead (redirect.txt). */
#include "disk_table.h"
#include "files.h"
#include "inside.h"
#include "os/clock.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

int world_access(const char *path, int mode);
int world_close(int descriptor);
int world_fstat(int descriptor, struct stat *out);
int world_stat(const char *path, struct stat *out);
int world_open(const char *path, int flags, ...);
int world_fchmod(int descriptor, mode_t mode);
ssize_t world_read(int descriptor, void *data, size_t size);
ssize_t world_write(int descriptor, const void *data, size_t size);
ssize_t world_send(int descriptor, const void *data, size_t size, int flags);
int world_fcntl(int descriptor, int command, ...);
int world_poll(struct pollfd *list, nfds_t count, int timeout_ms);
int world_nanosleep(const struct timespec *time, struct timespec *left);
_Noreturn void world_exit(int status);
_Noreturn void world_abort(void);
pid_t world_getpid(void);
time_t world_time(time_t *out);
int world_clock_gettime(clockid_t clock, struct timespec *out);
char *world_getenv(const char *name);
int world_gethostname(char *name, size_t size);
int world_isatty(int descriptor);
int world_unlink(const char *path);
mode_t world_umask(mode_t mask);
int world_sigaction(int number, const struct sigaction *action, struct sigaction *before);
char *world_secure_getenv(const char *name);
int world_refused_sigtimedwait(void);
int world_refused_socket(void);
int world_refused_connect(void);
int world_refused_lchown(void);
int world_refused_syscall(void);
int world_sigmask(int how, const sigset_t *set, sigset_t *before);

static int said(int result)
{
	if (result >= 0)
		return result;
	errno = -result;
	return -1;
}

static ssize_t said_size(ssize_t result)
{
	if (result >= 0)
		return result;
	errno = (int)-result;
	return -1;
}

/* --- files --- */

static void fill(const struct os_file_info *info, struct stat *out)
{
	*out = (struct stat){.st_dev = info->device,
			     .st_ino = info->inode,
			     .st_nlink = info->links,
			     .st_uid = info->owner,
			     .st_gid = info->owner,
			     .st_size = (off_t)info->size,
			     .st_mode = info->mode};
}

int world_fstat(int descriptor, struct stat *out)
{
	struct disk_file *file = disk_table_find(descriptor);
	struct os_file_info info = {.device = 2};
	int error = file != NULL ? disk_info(file, &info)
				 : world_description(descriptor, &info.inode, &info.mode);

	if (error == 0)
		fill(&info, out);
	return said(error);
}

int world_stat(const char *path, struct stat *out)
{
	struct os_file_info info;
	int error = disk_info_at(disk_table_disk(), NULL, path, &info);

	if (error == 0)
		fill(&info, out);
	return said(error);
}

int world_access(const char *path, int mode)
{
	struct stat status;

	(void)mode;
	return world_stat(path, &status);
}

int world_open(const char *path, int flags, ...)
{
	struct disk_file *file;
	int error;

	if ((flags & O_ACCMODE) != O_RDONLY)
		return said(-EACCES);
	error = disk_open(disk_table_disk(), NULL, path, OS_FILE_READ, &file);
	return said(error < 0 ? error : disk_table_add(file));
}

int world_unlink(const char *path)
{
	return said(disk_unlink(disk_table_disk(), NULL, path));
}

mode_t world_umask(mode_t mask)
{
	(void)mask;
	return 022;
}

/* --- descriptors --- */

int world_close(int descriptor)
{
	return said(table_close(descriptor));
}

ssize_t world_read(int descriptor, void *data, size_t size)
{
	struct description *description = table_find(descriptor);

	if (description == NULL)
		return said(-EBADF);
	return said_size(description->kind->read != NULL
				 ? description->kind->read(description, data, size)
				 : -EINVAL);
}

ssize_t world_write(int descriptor, const void *data, size_t size)
{
	struct description *description = table_find(descriptor);

	if (description == NULL)
		return said(-EBADF);
	return said_size(description->kind->write != NULL
				 ? description->kind->write(description, data, size)
				 : -EINVAL);
}

ssize_t world_send(int descriptor, const void *data, size_t size, int flags)
{
	(void)flags;
	return world_write(descriptor, data, size);
}

int world_fcntl(int descriptor, int command, ...)
{
	if (table_find(descriptor) == NULL)
		return said(-EBADF);
	if (command == F_GETFL)
		return O_NONBLOCK;
	if (command == F_DUPFD_CLOEXEC)
		return said(table_copy(descriptor, 3));
	return 0;
}

/* Of one descriptor. */
int world_poll(struct pollfd *list, nfds_t count, int timeout_ms)
{
	unsigned events = (list->events & POLLIN ? (unsigned)OS_WATCH_READ : 0) |
			  (list->events & POLLOUT ? (unsigned)OS_WATCH_WRITE : 0);
	int result;

	if (count != 1)
		abort();
	result = table_wait(list->fd, events, timeout_ms < 0 ? -1 : timeout_ms * 1000LL);
	list->revents = result == 0 ? list->events : 0;
	return result == 0 ? 1 : result == -ETIMEDOUT ? 0 : said(result);
}

int world_isatty(int descriptor)
{
	(void)descriptor;
	errno = ENOTTY;
	return 0;
}

/* --- time --- */

int world_nanosleep(const struct timespec *time, struct timespec *left)
{
	(void)left;
	task_sleep_until(kernel_now_us() + time->tv_sec * 1000000 + time->tv_nsec / 1000);
	return 0;
}

time_t world_time(time_t *out)
{
	time_t now = (time_t)(os_clock_wall_us() / 1000000);

	if (out != NULL)
		*out = now;
	return now;
}

int world_clock_gettime(clockid_t clock, struct timespec *out)
{
	int64_t now = clock == CLOCK_REALTIME ? os_clock_wall_us() : os_clock_monotonic_us();

	*out = (struct timespec){now / 1000000, now % 1000000 * 1000};
	return 0;
}

/* --- the process --- */

void world_exit(int status)
{
	process_leave((status & 0xff) << 8);
}

void world_abort(void)
{
	process_leave(SIGABRT);
}

pid_t world_getpid(void)
{
	return kernel_process()->pid;
}

char *world_getenv(const char *name)
{
	(void)name;
	return NULL;
}

char *world_secure_getenv(const char *name)
{
	return world_getenv(name);
}

int world_gethostname(char *name, size_t size)
{
	snprintf(name, size, "%s", kernel_process()->machine->name);
	return 0;
}

int world_sigaction(int number, const struct sigaction *action, struct sigaction *before)
{
	if (before != NULL) {
		memset(before, 0, sizeof *before);
		before->sa_handler = kernel_process()->ignored[number] ? SIG_IGN : SIG_DFL;
	}
	if (action != NULL)
		kernel_process()->ignored[number] = action->sa_handler == SIG_IGN;
	return 0;
}

int world_sigmask(int how, const sigset_t *set, sigset_t *before)
{
	(void)how;
	(void)set;
	if (before != NULL)
		sigemptyset(before);
	return 0;
}

int world_fchmod(int descriptor, mode_t mode)
{
	struct disk_file *file = disk_table_find(descriptor);

	if (file == NULL)
		return said(-EBADF);
	disk_set_mode(file, mode);
	return 0;
}

/* What nothing in a world comes to. */
#define REFUSED(name)                  \
	int world_refused_##name(void) \
	{                              \
		errno = ENOSYS;        \
		return -1;             \
	}
REFUSED(sigtimedwait)
REFUSED(socket)
REFUSED(connect)
REFUSED(lchown)
REFUSED(syscall)
