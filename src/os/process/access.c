// SPDX-License-Identifier: ISC
#include "os/process/access.h"
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ACCESS_REFUSED = 77 };

struct access_answer {
	int error;
	size_t refused_at;
	bool is_there;
	unsigned mode;
};

static int ask_system(const char *path, unsigned wanted)
{
	return faccessat(AT_FDCWD, path, (int)wanted, AT_EACCESS) != 0 ? -errno : 0;
}

/* The first directory on the way that refuses. */
static size_t find_refusal(const char *path, int *error)
{
	char begin[PATH_MAX];
	size_t length = strlen(path);

	if (length >= sizeof begin)
		return length;
	memcpy(begin, path, length + 1);
	for (size_t i = 1; i < length; i++) {
		int refused;

		if (begin[i] != '/')
			continue;
		begin[i] = '\0';
		refused = ask_system(begin, OS_ACCESS_PASS);
		begin[i] = '/';
		if (refused == 0)
			continue;
		*error = refused;
		return i;
	}
	return length;
}

/* In the new process. */
static _Noreturn void answer_as(const struct os_process_user *user, const struct os_access *asked,
				size_t count, int output)
{
	if (os_process_become(user) != 0)
		_exit(ACCESS_REFUSED);
	for (size_t i = 0; i < count; i++) {
		struct access_answer answer = {ask_system(asked[i].path, asked[i].wanted), 0, false,
					       0};
		struct stat status;

		answer.is_there = lstat(asked[i].path, &status) == 0;
		if (stat(asked[i].path, &status) == 0)
			answer.mode = status.st_mode;
		if (answer.error < 0)
			answer.refused_at = find_refusal(asked[i].path, &answer.error);
		if (write(output, &answer, sizeof answer) != (ssize_t)sizeof answer)
			_exit(1);
	}
	_exit(0);
}

static bool read_access_answer(int input, struct access_answer *answer)
{
	size_t have = 0;

	while (have < sizeof *answer) {
		ssize_t count = read(input, (char *)answer + have, sizeof *answer - have);

		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0)
			return false;
		have += (size_t)count;
	}
	return true;
}

static int read_answers(int input, struct os_access *asked, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct access_answer answer;

		if (!read_access_answer(input, &answer))
			return -EIO;
		asked[i].error = answer.error;
		asked[i].refused_at = answer.refused_at;
		asked[i].is_there = answer.is_there;
		asked[i].mode = answer.mode;
	}
	return 0;
}

int os_access_as(const struct os_process_user *user, struct os_access *asked, size_t count)
{
	int ends[2];
	int status = 0;
	pid_t pid;
	int error;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return -errno;
	pid = fork();
	if (pid == 0)
		answer_as(user, asked, count, ends[1]);
	error = pid < 0 ? -errno : 0;
	close(ends[1]);
	if (error == 0)
		error = read_answers(ends[0], asked, count);
	close(ends[0]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return error < 0 && WIFEXITED(status) && WEXITSTATUS(status) == ACCESS_REFUSED ? -EPERM
										       : error;
}

void os_access_name_user(uid_t uid, struct buffer *out)
{
	const struct passwd *entry = getpwuid(uid);

	if (entry != NULL)
		buffer_append_string(out, entry->pw_name);
	else
		buffer_append_format(out, "%lu", (unsigned long)uid);
}

static void append_group(gid_t gid, struct buffer *out)
{
	const struct group *entry = getgrgid(gid);

	if (entry != NULL)
		buffer_append_string(out, entry->gr_name);
	else
		buffer_append_format(out, "%lu", (unsigned long)gid);
}

void os_access_describe(const char *path, size_t length, struct buffer *out)
{
	char begin[PATH_MAX];
	struct stat status;

	if (length >= sizeof begin)
		return;
	memcpy(begin, path, length);
	begin[length] = '\0';
	if (stat(begin, &status) != 0)
		return;
	buffer_append_format(out, "mode %04o ", (unsigned)(status.st_mode & 07777));
	os_access_name_user(status.st_uid, out);
	buffer_append_byte(out, ':');
	append_group(status.st_gid, out);
}
