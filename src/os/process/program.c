// SPDX-License-Identifier: ISC
#include "os/process/program.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DESCRIPTORS = 1024 }; /* the limit, for programs that use select() */

/* In the new process, like everything until exec: only what is safe after fork() is allowed. */
static _Noreturn void fail_to_execute(int output, int status)
{
	const char *reason = strerrordesc_np(errno);

	if (reason == NULL || write(output, reason, strlen(reason)) < 0)
		_exit(status);
	_exit(status);
}

static void reset_signals(void)
{
	sigset_t none;

	for (int number = 1; number < NSIG; number++)
		(void)signal(number, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void limit_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur <= DESCRIPTORS)
		return;
	limit.rlim_cur = DESCRIPTORS;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

static _Noreturn void become_new_program(const char *const *arguments,
					 const char *const *environment,
					 const struct os_process_user *user, int input, int output,
					 pid_t parent)
{
	if (dup2(output, STDERR_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0 ||
	    dup2(input, STDIN_FILENO) < 0)
		fail_to_execute(output, 126);
	reset_signals();
	limit_descriptors();
	umask(077);
	if (setsid() < 0 || syscall(SYS_close_range, 3, UINT_MAX, 0) != 0 || chdir("/") != 0 ||
	    os_process_become(user) != 0)
		fail_to_execute(STDERR_FILENO, 126);
	/* After the change of user, which resets it. A process that dies before it has read the
	 * output must not leave a program that continues. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(126);
	execve(arguments[0], (char *const *)(uintptr_t)arguments,
	       (char *const *)(uintptr_t)environment);
	fail_to_execute(STDERR_FILENO, 127);
}

/* ENDS are the pipes; the first two are the program's. */
static int fail_to_start(const int ends[4], int error)
{
	for (size_t i = 0; i < 4; i++)
		if (ends[i] >= 0)
			close(ends[i]);
	return error;
}

/* ENDS_OUT: reads the input and writes the output, for the program; writes the input and
 * reads the output. None of them is 0 to 2, where the program's will be: those are open in our
 * processes. */
static int open_pipes(int ends_out[4])
{
	int input[2] = {-1, -1};
	int output[2] = {-1, -1};
	int error = 0;

	if (pipe2(input, O_CLOEXEC) != 0 || pipe2(output, O_CLOEXEC) != 0 ||
	    fcntl(input[1], F_SETFL, O_NONBLOCK) != 0 || fcntl(output[0], F_SETFL, O_NONBLOCK) != 0)
		error = -errno;
	memcpy(ends_out, (int[]){input[0], output[1], input[1], output[0]}, 4 * sizeof(int));
	return error == 0 ? 0 : fail_to_start(ends_out, error);
}

int os_program_start(const char *const *arguments, const char *const *environment,
		     const struct os_process_user *user, struct os_program *out)
{
	const pid_t parent = getpid();
	int ends[4];
	int ended;
	pid_t pid;
	int error = open_pipes(ends);

	if (error < 0)
		return error;
	pid = fork();
	if (pid < 0)
		return fail_to_start(ends, -errno);
	if (pid == 0)
		become_new_program(arguments, environment, user, ends[0], ends[1], parent);
	ended = (int)syscall(SYS_pidfd_open, pid, 0);
	if (ended < 0) {
		error = -errno;
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, NULL, 0);
		return fail_to_start(ends, error);
	}
	(void)fcntl(ended, F_SETFD, FD_CLOEXEC);
	close(ends[0]);
	close(ends[1]);
	*out = (struct os_program){pid, ended, ends[2], ends[3]};
	return 0;
}

bool os_program_has_ended(const struct os_program *program, bool waiting, int *status_out)
{
	pid_t pid;

	do
		pid = waitpid(program->pid, status_out, waiting ? 0 : WNOHANG);
	while (pid < 0 && errno == EINTR);
	return pid == program->pid;
}

/* Also kills it by its pid, as it may not have created its group yet. */
void os_program_kill(const struct os_program *program)
{
	(void)kill(-program->pid, SIGKILL);
	(void)kill(program->pid, SIGKILL);
}

static void close_program_descriptor(int *descriptor)
{
	if (*descriptor >= 0)
		close(*descriptor);
	*descriptor = -1;
}

void os_program_close_input(struct os_program *program)
{
	close_program_descriptor(&program->input);
}

void os_program_close_output(struct os_program *program)
{
	close_program_descriptor(&program->output);
}

void os_program_close(struct os_program *program)
{
	close_program_descriptor(&program->input);
	close_program_descriptor(&program->output);
	close_program_descriptor(&program->ended);
}
