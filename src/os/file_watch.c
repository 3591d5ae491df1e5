// SPDX-License-Identifier: ISC
#include "os/file_watch.h"
#include "base/panic.h"
#include <errno.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <unistd.h>

struct os_file_watch {
	int descriptor;
	struct os_watch *watch;
	void (*call)(void *context);
	void *context;
};

/* The kernel merges equal consecutive events. */
static void drain(const struct os_file_watch *watch)
{
	char told[1024];
	ssize_t length;

	do
		length = read(watch->descriptor, told, sizeof told);
	while (length > 0 || (length < 0 && errno == EINTR));
}

static void on_events(void *context, unsigned events)
{
	const struct os_file_watch *watch = context;

	(void)events;
	drain(watch);
	watch->call(watch->context);
}

int os_file_watch_new(struct os_loop *loop, const char *path, void (*call)(void *context),
		      void *context, struct os_file_watch **watch_out)
{
	struct os_file_watch *watch;
	int descriptor = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

	if (descriptor < 0)
		return -errno;
	if (inotify_add_watch(descriptor, path, IN_MODIFY) < 0) {
		int error = -errno;

		close(descriptor);
		return error;
	}
	watch = memory_alloc_zero(1, sizeof *watch);
	watch->descriptor = descriptor;
	watch->call = call;
	watch->context = context;
	watch->watch = os_watch_new(loop, descriptor, OS_WATCH_READ, on_events, watch);
	*watch_out = watch;
	return 0;
}

void os_file_watch_forget(struct os_file_watch *watch)
{
	if (watch != NULL)
		drain(watch);
}

void os_file_watch_free(struct os_file_watch *watch)
{
	if (watch == NULL)
		return;
	os_watch_free(watch->watch);
	close(watch->descriptor);
	free(watch);
}
