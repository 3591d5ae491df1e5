// SPDX-License-Identifier: ISC
/* What functions on streams, secrets, watches and shared memory return when a call of the system
 * fails. */
#include "os/file/secret.h"
#include "os/file/watch.h"
#include "os/shared.h"
#include "os/stream/stream.h"
#include "refusal.h"
#include "scratch.h"
#include "test.h"
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* The present directory, with a file "f" that is open. */
static char directory[SCRATCH_SIZE];
static int file = -1;
static struct os_loop *loop;

/* 0, or the error: DESCRIPTOR is closed, and is inherited by nobody. */
static int closed_stream(int descriptor)
{
	if (descriptor < 0)
		return descriptor;
	assert_int_equal(fcntl(descriptor, F_GETFD), FD_CLOEXEC);
	close(descriptor);
	return 0;
}

static int read_secret(void)
{
	struct buffer secret = {0};
	int result = REFUSED(os_secret_read("f", &secret));

	assert_int_equal(secret.length > 0, result == 0);
	buffer_clear(&secret);
	return result;
}

static void on_file_change(void *context)
{
	(void)context;
}

static int new_watch(int (*make)(struct os_loop *, const char *, void (*)(void *), void *,
				 struct os_file_watch **))
{
	struct os_file_watch *watch;
	int result;

	refusal_fill(&watch, sizeof watch);
	result = REFUSED(make(loop, "./f", on_file_change, NULL, &watch));
	refusal_check(result, &watch, sizeof watch);
	if (result == 0)
		os_file_watch_free(watch);
	return result;
}

static int watch_file(void)
{
	return new_watch(os_file_watch_new);
}

static int watch_name(void)
{
	return new_watch(os_file_watch_name);
}

static int watch_place(void)
{
	return new_watch(os_file_watch_place);
}

static int new_shared(void)
{
	return closed_stream(REFUSED(os_shared_new("test", 8192, 4096)));
}

static int shared_reader(void)
{
	return closed_stream(REFUSED(os_shared_reader(file)));
}

static int map_shared(void)
{
	void *place;
	int result;

	refusal_fill(&place, sizeof place);
	result = REFUSED(os_shared_map(file, 4, true, &place));
	refusal_check(result, &place, sizeof place);
	if (result == 0)
		os_shared_unmap(place, 4);
	return result;
}

static int read_stream(void)
{
	char text[20];

	assert_int_equal(lseek(file, 0, SEEK_SET), 0);
	return (int)REFUSED(os_stream_read(file, text, sizeof text));
}

static int write_stream(void)
{
	assert_int_equal(lseek(file, 0, SEEK_SET), 0);
	return (int)REFUSED(os_stream_write(file, "text", 4));
}

static int copy_stream(void)
{
	int copy = REFUSED(os_stream_copy(file));

	assert_true(copy < 0 || copy > STDERR_FILENO);
	return closed_stream(copy);
}

static int set_blocking(void)
{
	return REFUSED(os_stream_set_blocking(file));
}

static int rewind_stream(void)
{
	return REFUSED(os_stream_rewind(file));
}

static int temporary_stream(void)
{
	return closed_stream(REFUSED(os_stream_temporary()));
}

static const struct refusal_case cases[] = {
	{"os_secret_read", read_secret, "openat64 pread64", NULL},
	{"os_file_watch_new", watch_file, NULL, NULL},
	{"os_file_watch_name", watch_name, NULL, NULL},
	{"os_file_watch_place", watch_place, NULL, NULL},
	{"os_shared_new", new_shared, NULL, NULL},
	{"os_shared_reader", shared_reader, NULL, NULL},
	{"os_shared_map", map_shared, NULL, NULL},
	{"os_stream_read", read_stream, "read", NULL},
	{"os_stream_write", write_stream, "write", NULL},
	{"os_stream_copy", copy_stream, NULL, NULL},
	{"os_stream_set_blocking", set_blocking, NULL, NULL},
	{"os_stream_rewind", rewind_stream, NULL, NULL},
	{"os_stream_temporary", temporary_stream, NULL, "unlink"},
};

static void each_call_fails_once(void **state)
{
	(void)state;
	refusal_try(cases, COUNT_OF(cases));
}

static int set_up(void **state)
{
	(void)state;
	alarm(60);
	if (scratch_make(directory) != 0 || chdir(directory) != 0)
		return -1;
	file = open("f", O_CREAT | O_RDWR | O_APPEND | O_CLOEXEC, 0600);
	loop = os_loop_new();
	return file >= 0 && write(file, "text", 4) == 4 ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	os_loop_free(loop);
	close(file);
	return chdir("/") == 0 ? scratch_remove(directory) : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_call_fails_once, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
