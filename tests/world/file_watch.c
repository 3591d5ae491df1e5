// SPDX-License-Identifier: ISC
/* os/file/watch.h over the simulated disk. */
#include "description.h"
#include "disk_ear.h"
#include "os/file/watch.h"
#include <err.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What its descriptor leads to: it ends with the process, if it is not closed before. */
struct listening {
	struct description description;
	struct disk_ear ear;
	bool is_told;
};

struct os_file_watch {
	int descriptor;
	struct listening *listening;
	struct os_watch *watch;
	void (*call)(void *context);
	void *context;
};

static unsigned poll_listening(struct description *description)
{
	return ((struct listening *)(void *)description)->is_told ? OS_WATCH_READ : 0;
}

static void close_listening(struct description *description)
{
	struct listening *listening = (void *)description;

	disk_ear_close(&listening->ear);
	free(listening);
}

static const struct description_kind kind = {"inotify", poll_listening, close_listening,
					     NULL,      NULL,           0};

static void heard(struct disk_ear *ear)
{
	struct listening *listening =
		(struct listening *)((char *)ear - offsetof(struct listening, ear));

	listening->is_told = true;
	description_changed(&listening->description);
}

static void on_told(void *context, unsigned events)
{
	const struct os_file_watch *watch = context;

	(void)events;
	watch->listening->is_told = false;
	watch->call(watch->context);
}

static struct listening *listening_new(unsigned sounds)
{
	struct listening *listening = calloc(1, sizeof *listening);

	if (listening == NULL)
		err(1, "no memory");
	listening->ear.sounds = sounds;
	listening->ear.heard = heard;
	description_init(&listening->description, &kind);
	return listening;
}

static int watch_new(struct os_loop *loop, struct listening *listening,
		     struct os_file_watch **watch_out)
{
	int descriptor = table_add(&listening->description);
	struct os_file_watch *watch;

	if (descriptor < 0)
		return descriptor;
	watch = world_calloc(1, sizeof *watch);
	watch->descriptor = descriptor;
	watch->listening = listening;
	watch->watch = os_watch_new(loop, descriptor, OS_WATCH_READ, on_told, watch);
	*watch_out = watch;
	return 0;
}

/* EAR_OPEN: of the file or of its name. */
static int begin(struct os_loop *loop, const char *path, unsigned sounds,
		 int (*ear_open)(struct disk *disk, const char *path, struct disk_ear *ear),
		 struct os_file_watch **watch_out)
{
	struct listening *listening = listening_new(sounds);
	int error = ear_open(kernel_process()->machine->disk, path, &listening->ear);

	if (error < 0) {
		free(listening);
		return error;
	}
	return watch_new(loop, listening, watch_out);
}

int os_file_watch_new(struct os_loop *loop, const char *path, void (*call)(void *context),
		      void *context, struct os_file_watch **watch_out)
{
	int error = begin(loop, path, DISK_WRITTEN, disk_ear_open, watch_out);

	if (error < 0)
		return error;
	(*watch_out)->call = call;
	(*watch_out)->context = context;
	return 0;
}

static int watch_name(struct os_loop *loop, const char *path, unsigned sounds,
		      void (*call)(void *context), void *context, struct os_file_watch **watch_out)
{
	int error;

	if (strchr(path, '/') == NULL)
		return -EINVAL;
	error = begin(loop, path, sounds, disk_ear_open_name, watch_out);
	if (error < 0)
		return error;
	(*watch_out)->call = call;
	(*watch_out)->context = context;
	return 0;
}

int os_file_watch_name(struct os_loop *loop, const char *path, void (*call)(void *context),
		       void *context, struct os_file_watch **watch_out)
{
	return watch_name(loop, path, DISK_NAMED | DISK_CLOSED, call, context, watch_out);
}

int os_file_watch_place(struct os_loop *loop, const char *path, void (*call)(void *context),
			void *context, struct os_file_watch **watch_out)
{
	return watch_name(loop, path, DISK_NAMED | DISK_UNNAMED | DISK_WRITTEN | DISK_MOVED, call,
			  context, watch_out);
}

void os_file_watch_forget(struct os_file_watch *watch)
{
	if (watch != NULL)
		watch->listening->is_told = false;
}

void os_file_watch_free(struct os_file_watch *watch)
{
	if (watch == NULL)
		return;
	os_watch_free(watch->watch);
	(void)table_close(watch->descriptor);
	world_free(watch);
}
