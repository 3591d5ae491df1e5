// SPDX-License-Identifier: ISC
#include "manager/wait/scan/pull.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include "log/event.h"
#include "os/file/file.h"
#include "os/stream/stream.h"
#include <stdlib.h>

static const int64_t PULL_AGAIN_US = SECOND_US;

struct pull {
	struct os_loop *loop;
	struct queue_store *store;
	void (*pulled)(void *context);
	void *context;
	int pipe; /* lock/trigger, or negative */
	struct os_watch *watch;
	struct os_timer *again; /* while it cannot be opened */
};

static void open_trigger_pipe(struct pull *pull);

/* What was written stays in it while a writer has it open, and would be reported again in each turn
 * until that is scheduled to close it. No more than a pipe holds: who writes without end keeps
 * nobody here. */
static void empty_pipe(const struct pull *pull)
{
	enum { PIECES = 16 };
	char bytes[4096];

	for (unsigned i = 0; i < PIECES && pull->pipe >= 0; i++)
		if (os_stream_read(pull->pipe, bytes, sizeof bytes) != (ssize_t)sizeof bytes)
			return;
}

/* The pipe is reopened before each scan (sources, section 7), so that a pull during the scan is
 * not lost. */
static void on_pipe_pulled(void *context, unsigned events)
{
	struct pull *pull = context;

	(void)events;
	open_trigger_pipe(pull);
	empty_pipe(pull);
	pull->pulled(pull->context);
}

static void close_pipe(struct pull *pull)
{
	os_watch_free(pull->watch);
	pull->watch = NULL;
	if (pull->pipe >= 0)
		os_file_close(pull->pipe);
}

static void open_trigger_pipe(struct pull *pull)
{
	close_pipe(pull);
	pull->pipe = os_file_open(queue_store_directory(pull->store), "lock/trigger",
				  OS_FILE_READ | OS_FILE_NO_BLOCK);
	if (pull->pipe < 0) {
		log_event_rated(EVENT_QUEUE_ERROR, log_string(operation, "open lock/trigger"),
				log_error(pull->pipe));
		os_timer_start(pull->again, PULL_AGAIN_US);
		return;
	}
	pull->watch = os_watch_new(pull->loop, pull->pipe, OS_WATCH_READ, on_pipe_pulled, pull);
}

/* Who pulled while it was closed found nobody who listens. */
static void on_reopen_pipe(void *context)
{
	struct pull *pull = context;

	open_trigger_pipe(pull);
	if (pull->pipe >= 0)
		pull->pulled(pull->context);
}

struct pull *pull_new(struct os_loop *loop, struct queue_store *store,
		      void (*pulled)(void *context), void *context)
{
	struct pull *pull = memory_alloc_zero(1, sizeof *pull);

	pull->loop = loop;
	pull->store = store;
	pull->pulled = pulled;
	pull->context = context;
	pull->pipe = -1;
	pull->again = os_timer_new(loop, on_reopen_pipe, pull);
	open_trigger_pipe(pull);
	return pull;
}

void pull_free(struct pull *pull)
{
	close_pipe(pull);
	os_timer_free(pull->again);
	free(pull);
}
