// SPDX-License-Identifier: ISC
#include "os/file/watch.h"
#include "base/panic.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

/* Of the directory itself, or of nobody knows what. */
enum { ABOUT_ALL = IN_Q_OVERFLOW | IN_MOVE_SELF | IN_DELETE_SELF | IN_UNMOUNT };

struct os_file_watch {
	int descriptor;
	struct os_watch *watch;
	char *name; /* in the directory that is watched; NULL: the file itself is */
	void (*call)(void *context);
	void *context;
};

static bool is_event_about_file(const struct os_file_watch *watch, const char *told, size_t length)
{
	for (size_t at = 0; at + sizeof(struct inotify_event) <= length;) {
		struct inotify_event event;

		memcpy(&event, told + at, sizeof event);
		if (watch->name == NULL || (event.mask & ABOUT_ALL) != 0 ||
		    (event.len > 0 && strcmp(told + at + sizeof event, watch->name) == 0))
			return true;
		at += sizeof event + event.len;
	}
	return false;
}

/* Whether any of what is reported was about the file. The kernel merges equal consecutive events.
 */
static bool drain_file_watch(const struct os_file_watch *watch)
{
	char told[1024];
	bool is_ours = false;
	ssize_t length;

	do {
		length = read(watch->descriptor, told, sizeof told);
		is_ours |= length > 0 && is_event_about_file(watch, told, (size_t)length);
	} while (length > 0 || (length < 0 && errno == EINTR));
	return is_ours;
}

static void on_events(void *context, unsigned events)
{
	const struct os_file_watch *watch = context;

	(void)events;
	if (drain_file_watch(watch))
		watch->call(watch->context);
}

static int new_inotify_watch(struct os_loop *loop, const char *path, uint32_t mask,
			     const char *name, struct os_file_watch **watch_out)
{
	struct os_file_watch *watch;
	int descriptor = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

	if (descriptor < 0)
		return -errno;
	if (inotify_add_watch(descriptor, path, mask) < 0) {
		int error = -errno;

		close(descriptor);
		return error;
	}
	watch = memory_alloc_zero(1, sizeof *watch);
	watch->descriptor = descriptor;
	watch->name = name != NULL ? memory_copy_string(name) : NULL;
	watch->watch = os_watch_new(loop, descriptor, OS_WATCH_READ, on_events, watch);
	*watch_out = watch;
	return 0;
}

int os_file_watch_new(struct os_loop *loop, const char *path, void (*call)(void *context),
		      void *context, struct os_file_watch **watch_out)
{
	int error = new_inotify_watch(loop, path, IN_MODIFY, NULL, watch_out);

	if (error < 0)
		return error;
	(*watch_out)->call = call;
	(*watch_out)->context = context;
	return 0;
}

/* MASK: of the directory that PATH is in. */
static int watch_in_directory(struct os_loop *loop, const char *path, uint32_t mask,
			      struct os_file_watch **watch_out)
{
	char directory[PATH_MAX];
	const char *slash = strrchr(path, '/');

	if (slash == NULL || (size_t)(slash - path) + 2 > sizeof directory)
		return -EINVAL;
	memcpy(directory, path, (size_t)(slash - path) + 1);
	directory[slash - path + 1] = '\0';
	return new_inotify_watch(loop, directory, mask, slash + 1, watch_out);
}

int os_file_watch_name(struct os_loop *loop, const char *path, void (*call)(void *context),
		       void *context, struct os_file_watch **watch_out)
{
	int error =
		watch_in_directory(loop, path, IN_MOVED_TO | IN_CREATE | IN_CLOSE_WRITE, watch_out);

	if (error < 0)
		return error;
	(*watch_out)->call = call;
	(*watch_out)->context = context;
	return 0;
}

int os_file_watch_place(struct os_loop *loop, const char *path, void (*call)(void *context),
			void *context, struct os_file_watch **watch_out)
{
	int error = watch_in_directory(loop, path,
				       IN_MODIFY | IN_CREATE | IN_DELETE | IN_MOVED_TO |
					       IN_MOVED_FROM | IN_MOVE_SELF | IN_DELETE_SELF,
				       watch_out);

	if (error < 0)
		return error;
	(*watch_out)->call = call;
	(*watch_out)->context = context;
	return 0;
}

void os_file_watch_forget(struct os_file_watch *watch)
{
	if (watch != NULL)
		(void)drain_file_watch(watch);
}

void os_file_watch_free(struct os_file_watch *watch)
{
	if (watch == NULL)
		return;
	os_watch_free(watch->watch);
	close(watch->descriptor);
	free(watch->name);
	free(watch);
}
