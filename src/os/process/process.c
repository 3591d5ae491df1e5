// SPDX-License-Identifier: ISC
#include "os/process/process.h"
#include "base/buffer.h"
#include "base/panic.h"
#include "os/process/capability.h"
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/close_range.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int os_process_user_find(const char *name, struct os_process_user *out)
{
	const struct passwd *entry;

	errno = 0;
	entry = getpwnam(name);
	if (entry == NULL)
		return errno != 0 ? -errno : -ENOENT;
	*out = (struct os_process_user){.change = true, .uid = entry->pw_uid, .gid = entry->pw_gid};
	return 0;
}

size_t os_process_groups_find(const char *name, gid_t gid, gid_t groups[OS_PROCESS_GROUPS_MAX])
{
	int count = OS_PROCESS_GROUPS_MAX;
	size_t kept = 0;

	(void)getgrouplist(name, gid, groups, &count);
	for (int i = 0; i < count && i < OS_PROCESS_GROUPS_MAX; i++)
		if (groups[i] != gid)
			groups[kept++] = groups[i];
	return kept;
}

int os_process_become(const struct os_process_user *user)
{
	if (user->change && user->capabilities != 0 && prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0)
		return -errno;
	if (user->change && (setgroups(user->group_count, user->groups) != 0 ||
			     setresgid(user->gid, user->gid, user->gid) != 0 ||
			     setresuid(user->uid, user->uid, user->uid) != 0))
		return -errno;
	if (user->change ? user->uid == 0 : user->capabilities == 0)
		return 0;
	return os_capability_keep(user->capabilities, user->capabilities != 0);
}

int os_process_change_group(const struct os_process_user *user, gid_t *before_out)
{
	*before_out = getegid();
	return user->change && setegid(user->gid) != 0 ? -errno : 0;
}

void os_process_change_group_back(const struct os_process_user *user, gid_t before)
{
	if (user->change && setegid(before) != 0)
		panic("cannot be of the former group again");
}

int os_process_open_program(const char *path)
{
	int program = open(path, O_PATH | O_CLOEXEC);

	return program < 0 ? -errno : program;
}

void os_process_set_name(const char *name)
{
	const char *slash = strrchr(name, '/');

	(void)prctl(PR_SET_NAME, slash != NULL ? slash + 1 : name, 0, 0, 0);
}

void os_process_lead_group(void)
{
	(void)setpgid(0, 0); /* fails only for the leader of a session, who leads a group */
}

/* A script cannot be run from a descriptor that is closed meanwhile. */
static void run_program(const char *path, int program, const char *const *arguments)
{
	char *const *words = (char *const *)(uintptr_t)arguments;

	if (program >= 0)
		(void)syscall(SYS_execveat, program, "", words, environ, AT_EMPTY_PATH);
	execv(path, words);
}

/* Another number of DESCRIPTOR, beyond those that the new program is given; -1 stays -1. */
static int descriptor_out_of_the_way(int descriptor)
{
	return descriptor < 0 ? -1 : fcntl(descriptor, F_DUPFD_CLOEXEC, OS_PROCESS_CONTROL + 1);
}

/* Runs in the new process: only what is safe after fork() is allowed. */
static _Noreturn void become_program(const char *path, int program, const char *const *arguments,
				     const struct os_process_user *user, int control, int output)
{
	sigset_t none;
	int input = descriptor_out_of_the_way(open("/dev/null", O_RDONLY | O_CLOEXEC));
	int kept_program = descriptor_out_of_the_way(program);
	int kept_control = descriptor_out_of_the_way(control);
	int kept_output = descriptor_out_of_the_way(output);

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (input < 0 || dup2(input, STDIN_FILENO) < 0 ||
	    dup2(kept_control, OS_PROCESS_CONTROL) < 0 || (program >= 0 && kept_program < 0))
		_exit(71);
	if (output >= 0 &&
	    (dup2(kept_output, STDOUT_FILENO) < 0 || dup2(kept_output, STDERR_FILENO) < 0))
		_exit(71);
	if (os_process_become(user) != 0)
		_exit(77);
	if (!user->may_gain)
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	run_program(path, kept_program, arguments);
	_exit(127);
}

pid_t os_process_start(const char *path, int program, const char *const *arguments,
		       const struct os_process_user *user, int control, int output)
{
	pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (pid == 0)
		become_program(path, program, arguments, user, control, output);
	return pid;
}

int os_process_pipe(size_t room, int ends_out[2])
{
	if (pipe2(ends_out, O_CLOEXEC | O_NONBLOCK) != 0)
		return -errno;
	(void)fcntl(ends_out[0], F_SETPIPE_SZ, (int)room);
	return 0;
}

pid_t os_process_ended(int *status_out)
{
	pid_t pid;

	do
		pid = waitpid(-1, status_out, WNOHANG);
	while (pid < 0 && errno == EINTR);
	return pid < 0 ? 0 : pid;
}

void os_process_kill(pid_t pid, int signal)
{
	if (pid > 0)
		(void)kill(pid, signal);
}

void os_process_kill_group(pid_t pid)
{
	if (pid > 1)
		(void)kill(-pid, SIGKILL);
}

/* The real user id of process PID; -1 if there is none. */
static uid_t user_of(pid_t pid)
{
	char path[64];
	char text[1024] = "";
	const char *line;
	int file;

	snprintf(path, sizeof path, "/proc/%ld/status", (long)pid);
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return (uid_t)-1;
	if (read(file, text, sizeof text - 1) < 0)
		text[0] = '\0';
	close(file);
	line = strstr(text, "\nUid:\t");
	return line != NULL ? (uid_t)strtoul(line + 6, NULL, 10) : (uid_t)-1;
}

/* Whether PROCESS, with the number PID, belongs to USER. If /proc hides it, a caller without
 * capabilities finds out by whether the kernel allows a signal. */
static int check_process_user(int process, pid_t pid, uid_t user)
{
	uid_t owner = user_of(pid);
	int error = 0;

	if (owner == (uid_t)-1 && user == geteuid() && user != 0) {
		error = os_capability_keep(0, false);
		if (error == 0 && syscall(SYS_pidfd_send_signal, process, 0, NULL, 0) == 0)
			owner = user;
	}
	return error < 0 ? error : owner == user ? 0 : -ENOTUNIQ;
}

/* A pidfd holds the process, so that its number is not reused meanwhile. */
int os_process_signal_of(pid_t pid, uid_t user, int signal)
{
	int process = (int)syscall(SYS_pidfd_open, pid, 0);
	int error;

	if (process < 0)
		return -errno;
	error = check_process_user(process, pid, user);
	if (error == 0 && syscall(SYS_pidfd_send_signal, process, signal, NULL, 0) != 0)
		error = -errno;
	close(process);
	return error;
}

void os_process_status_format(int status, char *text, size_t size)
{
	if (WIFSIGNALED(status))
		snprintf(text, size, "signal %d", WTERMSIG(status));
	else
		snprintf(text, size, "exit %d", WEXITSTATUS(status));
}

int os_process_own_directory(char *path)
{
	char own[OS_PROCESS_PATH_SIZE];
	ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);

	if (length < 0)
		return -errno;
	while (length > 1 && own[length - 1] != '/')
		length--;
	own[length > 1 ? length - 1 : 1] = '\0';
	memcpy(path, own, strlen(own) + 1);
	return 0;
}

int os_process_directory(char *path)
{
	return getcwd(path, OS_PROCESS_PATH_SIZE) == NULL ? -errno : 0;
}

int os_process_socket_pair(int sockets_out[2])
{
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sockets_out) ==
			       0
		       ? 0
		       : -errno;
}

void os_process_hide_memory(void)
{
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* fails for no process */
}

int os_process_share_text(struct str text)
{
	int descriptor = memfd_create("configuration", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	size_t written = 0;

	if (descriptor < 0)
		return -errno;
	while (written < text.length) {
		ssize_t count = write(descriptor, text.data + written, text.length - written);

		if (count < 0 && errno != EINTR) {
			int error = -errno;

			close(descriptor);
			return error;
		}
		if (count > 0)
			written += (size_t)count;
	}
	(void)fcntl(descriptor, F_ADD_SEALS,
		    F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
	return descriptor;
}

int os_process_read_text(int descriptor, size_t limit, struct buffer *out)
{
	off_t position = 0;

	for (;;) {
		char *place = buffer_reserve(out, 65536);
		ssize_t count = pread(descriptor, place, 65536, position);

		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			return -errno;
		if (count == 0)
			return 0;
		buffer_commit(out, (size_t)count);
		position += count;
		if ((size_t)position > limit)
			return -EFBIG;
	}
}

void os_process_close_inherited(unsigned kept)
{
	(void)syscall(SYS_close_range, STDERR_FILENO + 1 + kept, UINT_MAX, 0);
}

void os_process_keep_inherited(void)
{
	(void)syscall(SYS_close_range, STDERR_FILENO + 1, UINT_MAX, CLOSE_RANGE_CLOEXEC);
}

void os_process_raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

size_t os_process_descriptor_limit(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? (size_t)limit.rlim_cur : 0;
}

void os_process_limit_memory(uint64_t bytes)
{
	struct rlimit limit;

#ifdef __SANITIZE_ADDRESS__
	bytes = RLIM_INFINITY; /* a sanitizer's shadow memory counts, too */
#endif
	if (getrlimit(RLIMIT_DATA, &limit) != 0 || limit.rlim_cur <= bytes)
		return;
	limit.rlim_cur = bytes;
	(void)setrlimit(RLIMIT_DATA, &limit);
}

void os_process_ignore_size_signal(void)
{
	signal(SIGXFSZ, SIG_IGN);
}

void os_process_quit(int status)
{
	_exit(status);
}

void os_process_ignore_pipe_signal(void)
{
	signal(SIGPIPE, SIG_IGN);
}

void os_process_ignore_stop_signals(void)
{
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
}

int os_process_replace(const char *path, char **arguments)
{
	execv(path, arguments);
	return -errno;
}

const char *os_process_environment(const char *name)
{
	return secure_getenv(name);
}
