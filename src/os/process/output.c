// SPDX-License-Identifier: ISC
#include "os/process/output.h"
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OUTPUT_PIECE = 4096 };

static int start_quietly(const char *const *arguments, int output, pid_t *pid_out)
{
	static const char *const environment[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C",
						  NULL};
	posix_spawn_file_actions_t actions;
	int error = posix_spawn_file_actions_init(&actions);

	if (error != 0)
		return -error;
	error = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (error == 0)
		error = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null",
							 O_WRONLY, 0);
	if (error == 0)
		error = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
	if (error == 0)
		error = posix_spawn(pid_out, arguments[0], &actions, NULL,
				    (char *const *)(uintptr_t)arguments,
				    (char *const *)(uintptr_t)environment);
	posix_spawn_file_actions_destroy(&actions);
	return -error;
}

static int read_output_to_end(int input, size_t max, struct buffer *out)
{
	size_t begin = out->length;

	for (;;) {
		ssize_t count = read(input, buffer_reserve(out, OUTPUT_PIECE), OUTPUT_PIECE);

		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0)
			return count < 0 ? -errno : 0;
		buffer_commit(out, (size_t)count);
		if (out->length - begin > max)
			return -EFBIG;
	}
}

int os_process_output(const char *const *arguments, size_t max, struct buffer *out)
{
	int ends[2];
	int status = 0;
	pid_t pid;
	int error;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return -errno;
	error = start_quietly(arguments, ends[1], &pid);
	close(ends[1]);
	if (error < 0) {
		close(ends[0]);
		return error;
	}
	error = read_output_to_end(ends[0], max, out);
	close(ends[0]);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (error == 0 && (!WIFEXITED(status) || WEXITSTATUS(status) != 0))
		error = -ECHILD;
	return error;
}
