// SPDX-License-Identifier: ISC
/* What functions on threads, on what the kernel shows and on the service manager return when a call
 * of the system fails. */
#include "os/inspect/inspect.h"
#include "os/inspect/sockets.h"
#include "os/notify.h"
#include "os/watchdog.h"
#include "os/worker.h"
#include "refusal.h"
#include "test.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int inspect_status(void)
{
	struct os_inspect_status status;

	return REFUSED(os_inspect_status(getpid(), &status));
}

static int inspect_program(void)
{
	char path[OS_PROCESS_PATH_SIZE];

	return REFUSED(os_inspect_program(getpid(), path));
}

static void count_descriptor(void *context, int number, const char *target, unsigned flags)
{
	(void)number;
	(void)target;
	(void)flags;
	++*(int *)context;
}

static int inspect_descriptors(void)
{
	int count = 0;
	int result = REFUSED(os_inspect_descriptors(getpid(), count_descriptor, &count));

	return result;
}

static int inspect_sockets(void)
{
	struct os_inspect_sockets *sockets;
	int result;

	refusal_fill(&sockets, sizeof sockets);
	result = REFUSED(os_inspect_sockets_new(getpid(), &sockets));
	refusal_check(result, &sockets, sizeof sockets);
	if (result == 0)
		os_inspect_sockets_free(sockets);
	return result;
}

/* --- threads --- */

static void work_nothing(void *context)
{
	(void)context;
}

static int new_worker(void)
{
	struct os_worker *worker;
	int result;

	refusal_fill(&worker, sizeof worker);
	result = REFUSED(os_worker_new(work_nothing, NULL, NULL, &worker));
	refusal_check(result, &worker, sizeof worker);
	if (result == 0)
		os_worker_free(worker);
	return result;
}

static int new_watchdog(void)
{
	struct os_watchdog *watchdog;
	int result;

	refusal_fill(&watchdog, sizeof watchdog);
	result = REFUSED(os_watchdog_new(60000000, work_nothing, NULL, &watchdog));
	refusal_check(result, &watchdog, sizeof watchdog);
	if (result == 0)
		os_watchdog_free(watchdog);
	return result;
}

/* --- the service manager --- */

static int manager;

static int with_manager(int (*tell)(void))
{
	const struct sockaddr_un any = {.sun_family = AF_UNIX};
	struct sockaddr_un address;
	socklen_t size = sizeof address;
	int result;

	manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_true(manager >= 0 &&
		    bind(manager, (const struct sockaddr *)&any, sizeof any.sun_family) == 0 &&
		    getsockname(manager, (struct sockaddr *)&address, &size) == 0);
	{
		char path[sizeof address.sun_path + 1] = "@";

		memcpy(path + 1, address.sun_path + 1,
		       size - offsetof(struct sockaddr_un, sun_path) - 1);
		setenv("NOTIFY_SOCKET", path, 1);
	}
	result = tell();
	unsetenv("NOTIFY_SOCKET");
	close(manager);
	return result;
}

static int tell_ready(void)
{
	return REFUSED(os_notify("READY=1"));
}

static int tell_barrier(void)
{
	int result = REFUSED(os_notify_barrier(0));

	return result == -ETIMEDOUT ? 0 : result; /* nobody closes it */
}

static int tell_store(void)
{
	return REFUSED(os_notify_store("name", STDERR_FILENO));
}

static int notify(void)
{
	return with_manager(tell_ready);
}

static int notify_barrier(void)
{
	return with_manager(tell_barrier);
}

static int notify_store(void)
{
	return with_manager(tell_store);
}

static const struct refusal_case cases[] = {
	{"os_inspect_status", inspect_status, NULL, NULL},
	{"os_inspect_program", inspect_program, NULL, NULL},
	{"os_inspect_descriptors", inspect_descriptors, NULL, "readlink fopen64"},
	{"os_inspect_sockets_new", inspect_sockets, NULL, "fopen64"},
	{"os_worker_new", new_worker, NULL, NULL},
	{"os_watchdog_new", new_watchdog, NULL, NULL},
	{"os_notify", notify, NULL, NULL},
	{"os_notify_barrier", notify_barrier, NULL, NULL},
	{"os_notify_store", notify_store, NULL, NULL},
};

static void each_call_fails_once(void **state)
{
	(void)state;
	refusal_try(cases, COUNT_OF(cases));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_call_fails_once),
	};

	alarm(60);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
