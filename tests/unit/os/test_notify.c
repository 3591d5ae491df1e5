// SPDX-License-Identifier: ISC
/* What the service manager hears, at each form of address that it may name. */
#include "os/notify.h"
#include "scratch.h"
#include "test.h"
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static char folder[SCRATCH_SIZE];
static atomic_bool handled; /* by the manager */

/* A socket at NAME, in which '@' begins an abstract address; $NOTIFY_SOCKET names it. */
static int listen_at(const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));
	int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);

	assert_true(descriptor >= 0 && strlen(name) < sizeof address.sun_path);
	memcpy(address.sun_path, name, strlen(name));
	if (name[0] == '@')
		address.sun_path[0] = '\0';
	assert_int_equal(bind(descriptor, (struct sockaddr *)&address, size), 0);
	assert_int_equal(setenv("NOTIFY_SOCKET", name, 1), 0);
	return descriptor;
}

static void check_heard(const char *name)
{
	static const char said[] = "READY=1\nSTATUS=All is ready";
	char heard[100];
	int descriptor = listen_at(name);

	assert_int_equal(os_notify(said), 0);
	assert_int_equal(recv(descriptor, heard, sizeof heard, 0), strlen(said));
	assert_memory_equal(heard, said, strlen(said));
	close(descriptor);
}

static void test_paths(void **state)
{
	char path[SCRATCH_SIZE + 16];

	(void)state;
	snprintf(path, sizeof path, "%s/notify", folder);
	check_heard(path);
	assert_int_equal(os_notify("STOPPING=1"), -ECONNREFUSED); /* it is there, nobody listens */
	unlink(path);
	assert_int_equal(os_notify("STOPPING=1"), -ENOENT);
}

static void test_abstract(void **state)
{
	char name[SCRATCH_SIZE + 16];

	(void)state;
	snprintf(name, sizeof name, "@%s/notify", folder);
	check_heard(name);
	assert_int_equal(os_notify("STOPPING=1"), -ECONNREFUSED);
}

static void test_nobody_is_named(void **state)
{
	(void)state;
	unsetenv("NOTIFY_SOCKET");
	assert_int_equal(os_notify("READY=1"), 0);
	setenv("NOTIFY_SOCKET", "", 1);
	assert_int_equal(os_notify("READY=1"), 0);
}

static void test_no_address(void **state)
{
	char name[sizeof(struct sockaddr_un)];

	(void)state;
	setenv("NOTIFY_SOCKET", "relative/notify", 1);
	assert_int_equal(os_notify("READY=1"), -EINVAL);
	memset(name, 'a', sizeof name);
	name[0] = '/';
	name[sizeof((struct sockaddr_un *)NULL)->sun_path] = '\0';
	setenv("NOTIFY_SOCKET", name, 1);
	assert_int_equal(os_notify("READY=1"), -EINVAL);
}

/* A manager that gets to it later: takes what was sent, and closes the descriptor. */
static void *handle_late(void *context)
{
	const int *descriptor = context;
	char text[100];
	char parts[CMSG_SPACE(sizeof(int))] __attribute__((aligned(sizeof(size_t))));
	struct iovec bytes = {text, sizeof text};
	struct msghdr message = {.msg_iov = &bytes,
				 .msg_iovlen = 1,
				 .msg_control = parts,
				 .msg_controllen = sizeof parts};
	int passed;

	usleep(50000);
	assert_int_equal(recvmsg(*descriptor, &message, 0), strlen("BARRIER=1"));
	assert_memory_equal(text, "BARRIER=1", strlen("BARRIER=1"));
	assert_non_null(CMSG_FIRSTHDR(&message));
	memcpy(&passed, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof passed);
	usleep(50000);
	handled = true;
	close(passed);
	return NULL;
}

static void test_barrier(void **state)
{
	char path[SCRATCH_SIZE + 16];
	pthread_t thread;
	int descriptor;

	(void)state;
	snprintf(path, sizeof path, "%s/barrier", folder);
	descriptor = listen_at(path);
	assert_int_equal(os_notify_barrier(50), -ETIMEDOUT); /* one that does not get to it */
	assert_int_equal(recv(descriptor, path, sizeof path, 0), strlen("BARRIER=1"));
	assert_int_equal(pthread_create(&thread, NULL, handle_late, &descriptor), 0);
	assert_int_equal(os_notify_barrier(20000), 0);
	assert_true(handled);
	pthread_join(thread, NULL);
	close(descriptor);
	unsetenv("NOTIFY_SOCKET");
	assert_int_equal(os_notify_barrier(20000), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths),           cmocka_unit_test(test_abstract),
		cmocka_unit_test(test_nobody_is_named), cmocka_unit_test(test_no_address),
		cmocka_unit_test(test_barrier),
	};
	int failed;

	if (scratch_make(folder) < 0)
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	scratch_remove(folder);
	return failed;
}
