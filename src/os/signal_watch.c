// SPDX-License-Identifier: ISC
/* Not by libevent, which calls exit(1) if it cannot read from its signal pipe. A wakeup is read in
 * the next turn. */
#include "os/signal_watch.h"
#include "base/panic.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

struct os_signal_watch {
	struct os_wakeup *wakeup;
	struct sigaction before;
	pid_t process;
	int number;
};

/* Global, as a signal handler gets only the number. */
static struct os_signal_watch *listeners[NSIG];

/* A child that has not executed its program yet shares the wakeup's descriptor, but its signals are
 * not for us. */
static void handle_watched_signal(int number)
{
	const struct os_signal_watch *watch = listeners[number];
	int error = errno;

	if (watch->process == getpid())
		os_wakeup_send(watch->wakeup);
	errno = error;
}

struct os_signal_watch *os_signal_watch_new(struct os_loop *loop, int number,
					    void (*call)(void *context), void *context)
{
	struct os_signal_watch *watch = memory_alloc_zero(1, sizeof *watch);
	struct sigaction action = {.sa_handler = handle_watched_signal, .sa_flags = SA_RESTART};

	watch->wakeup = os_wakeup_new(loop, call, context);
	watch->process = getpid();
	watch->number = number;
	listeners[number] = watch;
	sigfillset(&action.sa_mask);
	if (sigaction(number, &action, &watch->before) != 0)
		cannot_begin("signals cannot be watched", -errno);
	return watch;
}

void os_signal_watch_free(struct os_signal_watch *watch)
{
	if (watch == NULL)
		return;
	if (sigaction(watch->number, &watch->before, NULL) != 0)
		panic("signal %d cannot be given back", watch->number);
	listeners[watch->number] = NULL;
	os_wakeup_free(watch->wakeup);
	free(watch);
}
