// SPDX-License-Identifier: ISC
/* What is seen of a process: a child of which everything is known, and the sockets of this one. */
#include "base/attributes.h"
#include "os/inspect/inspect.h"
#include "os/inspect/sockets.h"
#include "scratch.h"
#include "test.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/netlink.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* A child that lives until its end of the pipe is closed, and has said that it is ready. */
struct child {
	pid_t pid;
	int end;
};

static struct child start_child(void (*become)(void))
{
	int ends[2];
	struct child child;
	char byte;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	child = (struct child){fork(), ends[0]};
	if (child.pid == 0) {
		close(ends[0]);
		become();
		(void)!write(ends[1], "r", 1);
		(void)!read(ends[1], &byte, 1);
		_exit(0);
	}
	close(ends[1]);
	assert_int_equal(read(child.end, &byte, 1), 1);
	return child;
}

static void end_child(struct child child)
{
	close(child.end);
	assert_int_equal(waitpid(child.pid, NULL, 0), child.pid);
}

/* --- rights --- */

static void become_somebody(void)
{
	gid_t groups[OS_INSPECT_GROUPS_MAX + 2];

	for (size_t i = 0; i < COUNT_OF(groups); i++)
		groups[i] = (gid_t)(5000 + i);
	if (setgroups(COUNT_OF(groups), groups) != 0 || setresgid(101, 102, 103) != 0 ||
	    prctl(PR_SET_KEEPCAPS, 1) != 0 || setresuid(201, 202, 203) != 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_DUMPABLE, 1) != 0)
		_exit(1);
}

static void rights_of_somebody(void **state)
{
	struct os_inspect_status status;
	struct child child;

	(void)state;
	if (geteuid() != 0)
		skip();
	child = start_child(become_somebody);
	assert_int_equal(os_inspect_status(child.pid, &status), 0);
	assert_int_equal(status.parent, getpid());
	assert_true(status.users[0] == 201 && status.users[1] == 202 && status.users[2] == 203 &&
		    status.users[3] == 202);
	assert_true(status.groups[0] == 101 && status.groups[1] == 102 && status.groups[2] == 103 &&
		    status.groups[3] == 102);
	assert_int_equal(status.other_count, OS_INSPECT_GROUPS_MAX + 2);
	for (size_t i = 0; i < OS_INSPECT_GROUPS_MAX; i++)
		assert_int_equal(status.others[i], 5000 + i);
	assert_int_equal(status.capabilities[OS_INSPECT_EFFECTIVE], 0);
	assert_true((status.capabilities[OS_INSPECT_PERMITTED] & 1U << CAP_SETUID) != 0);
	assert_int_equal(status.capabilities[OS_INSPECT_AMBIENT], 0);
	assert_true(status.may_not_gain);
	assert_true(status.may_be_trapped);
	assert_false(os_inspect_may_change_user(&status));
	end_child(child);
	assert_true(os_inspect_status(child.pid, &status) < 0);
}

static void become_hidden(void)
{
	if (setgroups(0, NULL) != 0 || setresuid(201, 201, 201) != 0 ||
	    prctl(PR_SET_DUMPABLE, 0) != 0)
		_exit(1);
}

static void one_that_is_hidden(void **state)
{
	struct os_inspect_status status, own;
	struct child child;

	(void)state;
	if (geteuid() != 0)
		skip();
	child = start_child(become_hidden);
	assert_int_equal(os_inspect_status(child.pid, &status), 0);
	assert_false(status.may_be_trapped);
	assert_false(status.may_not_gain);
	assert_int_equal(status.other_count, 0);
	end_child(child);
	assert_int_equal(os_inspect_status(getpid(), &own), 0);
	assert_int_equal(own.parent, getppid());
	assert_false(own.may_be_trapped); /* root's */
	assert_true(os_inspect_may_change_user(&own));
}

/* Root, or both capabilities. */
static void who_may_change_user(void **state)
{
	const uint64_t user = 1U << CAP_SETUID, group = 1U << CAP_SETGID;
	static const unsigned users[] = {0, 1000};

	(void)state;
	for (unsigned bits = 0; bits < 8; bits++) {
		struct os_inspect_status status = {.users = {1000, users[bits >> 2], 1000, 1000}};

		status.capabilities[OS_INSPECT_EFFECTIVE] =
			((bits & 1) != 0 ? user : 0) | ((bits & 2) != 0 ? group : 0);
		status.capabilities[OS_INSPECT_PERMITTED] = user | group;
		assert_int_equal(os_inspect_may_change_user(&status), bits < 4 || (bits & 3) == 3);
	}
}

/* --- the program, descriptors --- */

static char directory[SCRATCH_SIZE];

static void become_nothing(void)
{
}

static void the_program(void **state)
{
	char path[OS_PROCESS_PATH_SIZE], own[OS_PROCESS_PATH_SIZE], copy[SCRATCH_SIZE + 10],
		command[2 * OS_PROCESS_PATH_SIZE];
	struct child child = start_child(become_nothing);
	ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
	pid_t pid;

	(void)state;
	assert_true(length > 0);
	own[length] = '\0';
	assert_int_equal(os_inspect_program(child.pid, path), 0);
	assert_string_equal(path, own);
	end_child(child);
	assert_true(os_inspect_program(child.pid, path) < 0);
	/* one that is removed meanwhile */
	snprintf(copy, sizeof copy, "%s/sleep", directory);
	snprintf(command, sizeof command, "cp /bin/sleep %s", copy);
	assert_int_equal(system(command), 0);
	pid = fork();
	if (pid == 0) {
		execl(copy, "sleep", "60", NULL);
		_exit(1);
	}
	do
		assert_int_equal(os_inspect_program(pid, path), 0);
	while (strcmp(path, own) == 0);
	assert_string_equal(path, copy);
	assert_int_equal(unlink(copy), 0);
	assert_int_equal(os_inspect_program(pid, path), 0);
	assert_string_equal(path, copy);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

struct seen {
	int number;
	unsigned count, flags;
	char target[100];
};

static void note_descriptor(void *context, int number, const char *target, unsigned flags)
{
	struct seen *seen = context;

	if (number != seen->number)
		return;
	seen->count++;
	seen->flags = flags;
	snprintf(seen->target, sizeof seen->target, "%s", target);
}

static void its_descriptors(void **state)
{
	struct seen seen = {.number = 333}, none = {.number = 334};
	int file = open("/dev/null", O_WRONLY | O_APPEND | O_CLOEXEC);

	(void)state;
	assert_int_equal(dup2(file, 333), 333);
	assert_int_equal(os_inspect_descriptors(getpid(), note_descriptor, &seen), 0);
	assert_int_equal(seen.count, 1);
	assert_string_equal(seen.target, "/dev/null");
	assert_int_equal(seen.flags & (O_ACCMODE | O_APPEND), O_WRONLY | O_APPEND);
	assert_int_equal(os_inspect_descriptors(getpid(), note_descriptor, &none), 0);
	assert_int_equal(none.count, 0);
	close(333);
	close(file);
	assert_int_equal(os_inspect_descriptors(0x7fffffff, note_descriptor, &none), -ENOENT);
}

struct family {
	pid_t child;
	unsigned children, own;
};

static void note_process(void *context, pid_t pid, pid_t parent)
{
	struct family *family = context;

	family->own += pid == getpid() && parent == getppid();
	family->children += pid == family->child && parent == getpid();
}

static void all_processes(void **state)
{
	struct child child = start_child(become_nothing);
	struct family family = {.child = child.pid};

	(void)state;
	assert_int_equal(os_inspect_processes(note_process, &family), 0);
	assert_true(family.own == 1 && family.children == 1);
	end_child(child);
}

/* --- sockets --- */

static uint64_t number_of(int socket)
{
	struct stat status;

	assert_int_equal(fstat(socket, &status), 0);
	return status.st_ino;
}

static const struct os_inspect_socket *find_socket(const struct os_inspect_sockets *sockets,
						   int socket, enum os_inspect_kind kind)
{
	const struct os_inspect_socket *found = os_inspect_sockets_find(sockets, number_of(socket));

	assert_non_null(found);
	assert_int_equal(found->number, number_of(socket));
	assert_int_equal(found->kind, kind);
	return found;
}

static struct os_inspect_sockets *see_sockets(void)
{
	struct os_inspect_sockets *sockets;

	assert_int_equal(os_inspect_sockets_new(getpid(), &sockets), 0);
	return sockets;
}

static void sockets_of_unix(void **state)
{
	struct sockaddr_un path = {.sun_family = AF_UNIX}, abstract = {.sun_family = AF_UNIX};
	int pair[2], bound = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0),
		     named = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct os_inspect_sockets *sockets;
	const struct os_inspect_socket *found;

	(void)state;
	snprintf(path.sun_path, sizeof path.sun_path, "%s/s", directory);
	memcpy(abstract.sun_path, "\0inspected", 10);
	assert_int_equal(bind(bound, (struct sockaddr *)&path, sizeof path), 0);
	assert_int_equal(listen(bound, 1), 0);
	assert_int_equal(bind(named, (struct sockaddr *)&abstract,
			      offsetof(struct sockaddr_un, sun_path) + 10),
			 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	sockets = see_sockets();
	found = find_socket(sockets, bound, OS_INSPECT_UNIX);
	assert_true(found->is_listening && found->is_bound && found->peer == 0);
	assert_string_equal(found->name, path.sun_path);
	found = find_socket(sockets, named, OS_INSPECT_UNIX);
	assert_true(!found->is_listening && found->is_bound && found->peer == 0);
	assert_string_equal(found->name, "@inspected");
	for (int i = 0; i < 2; i++) {
		found = find_socket(sockets, pair[i], OS_INSPECT_UNIX);
		assert_true(!found->is_listening && !found->is_bound);
		assert_int_equal(found->peer, number_of(pair[1 - i]));
		assert_string_equal(found->name, "");
	}
	close(pair[0]);
	close(pair[1]);
	os_inspect_sockets_free(sockets);
	close(bound);
	close(named);
}

static void check_addresses(const struct os_inspect_sockets *sockets, int socket,
			    enum os_inspect_kind kind, bool is_listening)
{
	union os_socket_address local = {0}, remote = {0};
	const struct os_inspect_socket *found = find_socket(sockets, socket, kind);
	socklen_t size = sizeof local;
	char expected[OS_SOCKET_TEXT_SIZE], text[OS_SOCKET_TEXT_SIZE];

	assert_int_equal(found->is_listening, is_listening);
	assert_int_equal(getsockname(socket, &local.any, &size), 0);
	os_socket_address_format(&local, expected);
	os_socket_address_format(&found->local, text);
	assert_string_equal(text, expected);
	size = sizeof remote;
	if (getpeername(socket, &remote.any, &size) != 0)
		remote.any.sa_family = local.any.sa_family;
	os_socket_address_format(&remote, expected);
	os_socket_address_format(&found->remote, text);
	assert_string_equal(text, expected);
}

static void sockets_of_the_internet(void **state)
{
	static const char *const hosts[] = {"127.0.0.1", "::1"};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(hosts); i++) {
		union os_socket_address address;
		socklen_t size = sizeof address;
		int family = i == 0 ? AF_INET : AF_INET6;
		int listening = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0),
		    connected = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0),
		    datagrams = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0),
		    lone = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		struct os_inspect_sockets *sockets;

		assert_true(os_socket_address_parse(hosts[i], 0, &address));
		size = os_socket_address_size(&address);
		assert_int_equal(bind(listening, &address.any, size), 0);
		assert_int_equal(bind(datagrams, &address.any, size), 0);
		assert_int_equal(listen(listening, 1), 0);
		assert_int_equal(getsockname(listening, &address.any, &size), 0);
		assert_int_equal(connect(connected, &address.any, size), 0);
		sockets = see_sockets();
		check_addresses(sockets, listening, OS_INSPECT_TCP, true);
		check_addresses(sockets, connected, OS_INSPECT_TCP, false);
		check_addresses(sockets, datagrams, OS_INSPECT_UDP, false);
		assert_null(os_inspect_sockets_find(sockets, number_of(lone)));
		os_inspect_sockets_free(sockets);
		close(listening);
		close(connected);
		close(datagrams);
		close(lone);
	}
	os_inspect_sockets_free(NULL);
}

static void other_sockets(void **state)
{
	const struct sockaddr_nl any = {.nl_family = AF_NETLINK};
	struct os_inspect_sockets *sockets;
	int netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE), raw, packet;

	(void)state;
	assert_true(netlink >= 0);
	assert_int_equal(bind(netlink, (const struct sockaddr *)&any, sizeof any), 0);
	raw = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_UDP);
	packet = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	sockets = see_sockets();
	find_socket(sockets, netlink, OS_INSPECT_NETLINK);
	if (raw >= 0)
		find_socket(sockets, raw, OS_INSPECT_RAW);
	if (packet >= 0)
		find_socket(sockets, packet, OS_INSPECT_RAW);
	os_inspect_sockets_free(sockets);
	close(netlink);
	if (raw >= 0)
		close(raw);
	if (packet >= 0)
		close(packet);
}

static int set_up(void **state)
{
	(void)state;
	alarm(60);
	return scratch_make(directory);
}

static int tear_down(void **state)
{
	(void)state;
	return scratch_remove(directory);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(rights_of_somebody), CASE(one_that_is_hidden),      CASE(who_may_change_user),
		CASE(the_program),        CASE(its_descriptors),         CASE(all_processes),
		CASE(sockets_of_unix),    CASE(sockets_of_the_internet), CASE(other_sockets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
