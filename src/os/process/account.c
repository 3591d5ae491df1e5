// SPDX-License-Identifier: ISC
/*
 * Account look-ups, in this process or by a helper process: the modules of the system's name
 * service open files, connect to servers and load code, each in its own way, which a sandbox cannot
 * foresee.
 */
#include "os/process/account.h"
#include "base/panic.h"
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { HELPER_SOCKET = 3, PATIENCE_MS = 10000 };

struct account_answer {
	int error;
	struct os_process_account account;
};

static struct {
	int socket;
	bool is_late; /* it has not answered yet what nobody waits for any more */
} helper = {.socket = -1};

/* The C library sets errno to 0 exactly if all services were asked, and none knows the name. A
 * service that cannot be reached may leave ENOENT there, for its socket or its file. */
static int find_here(const char *name, struct os_process_account *out)
{
	const struct passwd *entry;

	errno = EIO;
	entry = getpwnam(name);
	if (entry == NULL && errno == 0)
		return -ENOENT;
	if (entry == NULL)
		return errno == ENOENT ? -EIO : -errno;
	if (strlen(entry->pw_name) >= sizeof out->name || strlen(entry->pw_dir) >= sizeof out->home)
		return -ENAMETOOLONG;
	out->user = (struct os_process_user){
		.change = true, .uid = entry->pw_uid, .gid = entry->pw_gid};
	snprintf(out->name, sizeof out->name, "%s", entry->pw_name);
	snprintf(out->home, sizeof out->home, "%s", entry->pw_dir);
	return 0;
}

/* Waits up to so long for the helper's answer; false: there is none. */
static bool await_answer(struct account_answer *answer, int milliseconds)
{
	struct pollfd ready = {.fd = helper.socket, .events = POLLIN};
	ssize_t length;
	int count;

	do
		count = poll(&ready, 1, milliseconds);
	while (count < 0 && errno == EINTR);
	if (count == 0)
		return false;
	do
		length = recv(helper.socket, answer, sizeof *answer, 0);
	while (length < 0 && errno == EINTR);
	if (length != (ssize_t)sizeof *answer)
		panic("the process that looks users up has ended");
	return true;
}

/* One that did not answer in time is not waited for again until it has. */
static int ask_helper_process(const char *name, struct os_process_account *out)
{
	struct account_answer answer;
	ssize_t length;

	if (strlen(name) >= sizeof answer.account.name)
		return -ENOENT;
	if (helper.is_late && !await_answer(&answer, 0))
		return -ETIMEDOUT;
	do
		length = send(helper.socket, name, strlen(name), MSG_NOSIGNAL);
	while (length < 0 && errno == EINTR);
	helper.is_late = !await_answer(&answer, PATIENCE_MS);
	if (helper.is_late)
		return -ETIMEDOUT;
	if (answer.error == 0)
		*out = answer.account;
	return answer.error;
}

int os_process_account_find(const char *name, struct os_process_account *out)
{
	return helper.socket >= 0 ? ask_helper_process(name, out) : find_here(name, out);
}

static _Noreturn void serve_account_questions(int socket, const struct os_process_user *user)
{
	struct account_answer answer;
	char name[sizeof answer.account.name];

	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	if (dup2(socket, HELPER_SOCKET) < 0 ||
	    syscall(SYS_close_range, HELPER_SOCKET + 1, UINT_MAX, 0) != 0 ||
	    os_process_become(user) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		_exit(77);
	for (;;) {
		ssize_t length = recv(HELPER_SOCKET, name, sizeof name - 1, 0);

		if (length < 0 && errno == EINTR)
			continue;
		if (length <= 0)
			_exit(0);
		name[length] = '\0';
		answer = (struct account_answer){0};
		answer.error = find_here(name, &answer.account);
		do
			length = send(HELPER_SOCKET, &answer, sizeof answer, MSG_NOSIGNAL);
		while (length < 0 && errno == EINTR);
		if (length < 0)
			_exit(0);
	}
}

/* Returns the socket of a helper that runs as USER. */
static int start_helper(const struct os_process_user *user)
{
	int sockets[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0)
		return -errno;
	pid = fork();
	if (pid < 0) {
		int error = -errno;

		close(sockets[0]);
		close(sockets[1]);
		return error;
	}
	if (pid == 0)
		serve_account_questions(sockets[1], user);
	close(sockets[1]);
	return sockets[0];
}

int os_process_account_helper(const struct os_process_user *user)
{
	int socket = start_helper(user);

	if (socket < 0)
		return socket;
	helper.socket = socket;
	return 0;
}

/* --- without waiting --- */

int os_process_account_open(void)
{
	return start_helper(&(struct os_process_user){0});
}

int os_process_account_ask(int socket, const char *name)
{
	ssize_t length;

	do
		length = send(socket, name, strlen(name), MSG_NOSIGNAL | MSG_DONTWAIT);
	while (length < 0 && errno == EINTR);
	return length < 0 ? -errno : 0;
}

int os_process_account_answer(int socket, int *error_out, struct os_process_account *out)
{
	struct account_answer answer;
	ssize_t length;

	do
		length = recv(socket, &answer, sizeof answer, MSG_DONTWAIT);
	while (length < 0 && errno == EINTR);
	if (length < 0)
		return errno == EAGAIN ? 0 : -errno;
	if (length != (ssize_t)sizeof answer)
		return -EPIPE;
	*error_out = answer.error;
	if (answer.error == 0)
		*out = answer.account;
	return 1;
}
