// SPDX-License-Identifier: ISC
/*
 * without - runs a program on a kernel that has neither Landlock nor seccomp, or only an older
 * Landlock, or only some calls.
 *
 * usage: without [--landlock VERSION | --only FILE] PROGRAM [ARGUMENT]...
 *
 * The kernel has them; a filter answers for it as one without would: landlock_*(2) and
 * seccomp(2) with ENOSYS, prctl(2) about seccomp with EINVAL. With --landlock there is seccomp,
 * and Landlock of that VERSION of its interface; 0: none. With --only only the calls that FILE
 * names, one a line, are known; others fail with EPERM. For root, so that set-user-ID
 * programs and changes of user work as ever. (Source: seccomp_unotify(2).)
 */
#include <errno.h>
#include <linux/prctl.h>
#include <poll.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LANDLOCK_FIRST = 444, LANDLOCK_LAST = 446, ASKS_VERSION = 1 };

static int fill_landlock(scmp_filter_ctx filter)
{
	int error = 0;

	for (int call = LANDLOCK_FIRST; error == 0 && call <= LANDLOCK_LAST; call++)
		error = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), call, 0);
	return error;
}

static int fill_seccomp(scmp_filter_ctx filter)
{
	int error = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(seccomp), 0);

	if (error == 0)
		error = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EINVAL), SCMP_SYS(prctl), 1,
					 SCMP_A0(SCMP_CMP_EQ, PR_GET_SECCOMP));
	if (error == 0)
		error = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EINVAL), SCMP_SYS(prctl), 1,
					 SCMP_A0(SCMP_CMP_EQ, PR_SET_SECCOMP));
	return error;
}

static int fill(scmp_filter_ctx filter, int version)
{
	int error = seccomp_attr_set(filter, SCMP_FLTATR_CTL_NNP, 0);

	if (error == 0 && version <= 0)
		error = fill_landlock(filter);
	if (error == 0 && version < 0)
		error = fill_seccomp(filter);
	if (error == 0 && version > 0)
		error = seccomp_rule_add(filter, SCMP_ACT_NOTIFY, LANDLOCK_FIRST, 1,
					 SCMP_A2(SCMP_CMP_EQ, ASKS_VERSION));
	return error == 0 ? seccomp_load(filter) : error;
}

/* Until nobody is left who could ask. */
static _Noreturn void answer(int asking, int version)
{
	struct seccomp_notif *question;
	struct seccomp_notif_resp *reply;

	if (seccomp_notify_alloc(&question, &reply) != 0)
		_exit(1);
	for (;;) {
		struct pollfd ready = {.fd = asking, .events = POLLIN};

		if (poll(&ready, 1, -1) < 0 || (ready.revents & POLLIN) == 0)
			_exit(0);
		memset(question, 0, sizeof *question);
		if (seccomp_notify_receive(asking, question) != 0)
			continue;
		*reply = (struct seccomp_notif_resp){.id = question->id, .val = version};
		(void)seccomp_notify_respond(asking, reply);
	}
}

union descriptor_space {
	char bytes[CMSG_SPACE(sizeof(int))];
	struct cmsghdr align;
};

static void send_descriptor(int to, int descriptor)
{
	char byte = 0;
	struct iovec part = {&byte, 1};
	union descriptor_space space = {{0}};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = space.bytes,
				 .msg_controllen = sizeof space.bytes};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof descriptor);
	memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
	if (sendmsg(to, &message, 0) != 1)
		perror("without: sendmsg");
}

static int receive_descriptor(int from)
{
	char byte;
	struct iovec part = {&byte, 1};
	union descriptor_space space;
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = space.bytes,
				 .msg_controllen = sizeof space.bytes};
	int descriptor = -1;

	if (recvmsg(from, &message, 0) == 1 && CMSG_FIRSTHDR(&message) != NULL)
		memcpy(&descriptor, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof descriptor);
	return descriptor;
}

/* Who answers is nobody's child and has no filter: where to send him what he answers at. */
static int start_answering(int version)
{
	int sockets[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
		return -1;
	if (fork() == 0) {
		int asking;

		if (fork() != 0)
			_exit(0);
		(void)setsid();
		close(sockets[0]);
		asking = receive_descriptor(sockets[1]);
		close(sockets[1]);
		close(STDOUT_FILENO);
		close(STDERR_FILENO);
		if (asking >= 0)
			answer(asking, version);
		_exit(1);
	}
	close(sockets[1]);
	return sockets[0];
}

static int fill_names(scmp_filter_ctx filter, const char *path)
{
	FILE *file = fopen(path, "r");
	int error = seccomp_attr_set(filter, SCMP_FLTATR_CTL_NNP, 0);
	char name[64];

	if (file == NULL)
		return -errno;
	while (error == 0 && fscanf(file, "%63s", name) == 1) {
		int number = seccomp_syscall_resolve_name(name);

		if (number != __NR_SCMP_ERROR)
			error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, number, 0);
	}
	fclose(file);
	return error == 0 ? seccomp_load(filter) : error;
}

static void run_with(const char *option, const char *value, char **program)
{
	bool has_names = option != NULL && strcmp(option, "--only") == 0;
	int version = option != NULL && !has_names ? atoi(value) : -1;
	scmp_filter_ctx filter = seccomp_init(has_names ? SCMP_ACT_ERRNO(EPERM) : SCMP_ACT_ALLOW);
	int to = version > 0 ? start_answering(version) : -1;
	int error = -ENOMEM;

	if (filter != NULL)
		error = has_names ? fill_names(filter, value) : fill(filter, version);
	if (error < 0) {
		fprintf(stderr, "without: %s\n", strerror(-error));
		return;
	}
	if (to >= 0)
		send_descriptor(to, seccomp_notify_fd(filter));
	execvp(program[0], program);
	perror(program[0]);
}

int main(int argc, char **argv)
{
	bool has_option = argc > 3 && strncmp(argv[1], "--", 2) == 0;

	if (argc < 2)
		fputs("without: no program\n", stderr);
	else if (has_option)
		run_with(argv[1], argv[2], argv + 3);
	else
		run_with(NULL, NULL, argv + 1);
	return 127;
}
