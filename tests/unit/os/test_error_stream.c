// SPDX-License-Identifier: ISC
/* Standard error of each kind, in a child whose exit status is the step that failed: full, read,
 * and without a reader. */
#include "os/stream/error.h"
#include "scratch.h"
#include "test.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LINE = 100, LINES = 200, ALL = LINE * LINES };
enum kind { PIPE, OWN_PIPE, SOCKET, STREAM_FILE, KINDS };

static char lines[ALL + 1];
static char directory[SCRATCH_SIZE];

/* The reader's end; the other one is standard error. */
static int open_stream(enum kind kind)
{
	int ends[2] = {-1, -1};

	switch (kind) {
	case PIPE:
	case OWN_PIPE:
		if (pipe2(ends, O_CLOEXEC) != 0 || fcntl(ends[0], F_SETPIPE_SZ, 4096) < 0)
			_exit(99);
		break;
	case SOCKET:
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
			_exit(99);
		break;
	default:
		ends[0] = open("log", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		ends[1] = open("log", O_RDWR | O_APPEND | O_CLOEXEC);
	}
	if (kind == OWN_PIPE &&
	    (fcntl(ends[1], F_SETFL, O_NONBLOCK) != 0 || signal(SIGPIPE, SIG_IGN) == SIG_ERR))
		_exit(99);
	if (dup2(ends[1], STDERR_FILENO) < 0)
		_exit(99);
	close(ends[1]);
	return ends[0];
}

/* All lines come through, in whole lines, however slowly they are read. */
static int live_with_reader(enum kind kind)
{
	static char text[ALL + 1];
	size_t written = 0, length = 0;
	unsigned full = 0;
	int reader = open_stream(kind);

	os_error_stream_open();
	if (fcntl(reader, F_SETFL, O_NONBLOCK) != 0)
		return 1;
	while (length < ALL) {
		struct str rest = str_slice(lines + written, ALL - written);
		ssize_t count = written < ALL ? os_error_stream_write(rest, 0) : -EAGAIN;

		if (count == -EAGAIN)
			full++;
		else if (count <= 0 || (kind == PIPE && (count > PIPE_BUF || count % LINE != 0)))
			return 2;
		if (count > 0)
			written += (size_t)count;
		if (count > 0 && kind != STREAM_FILE)
			continue;
		count = read(reader, text + length, ALL - length);
		if (count > 0)
			length += (size_t)count;
	}
	if (memcmp(text, lines, ALL) != 0)
		return 3;
	return kind != STREAM_FILE && kind != SOCKET && full == 0 ? 4 : 0;
}

/* Nobody reads any more: that is no signal. */
static int live_without_reader(enum kind kind)
{
	sigset_t blocked;
	int reader = open_stream(kind);

	os_error_stream_open();
	close(reader);
	if (os_error_stream_write(STR("line\n"), 0) != (kind == STREAM_FILE ? 5 : -EPIPE))
		return 1;
	if (sigprocmask(SIG_BLOCK, NULL, &blocked) != 0 || sigismember(&blocked, SIGPIPE) == 1)
		return 2;
	return sigpending(&blocked) != 0 || sigismember(&blocked, SIGPIPE) == 1 ? 3 : 0;
}

/* A long line alone is cut. */
static int live_with_long_line(enum kind kind)
{
	static char line[3 * PIPE_BUF];
	int reader = open_stream(kind);

	memset(line, 'x', sizeof line);
	os_error_stream_open();
	(void)reader;
	if (kind == PIPE)
		return os_error_stream_write(str_slice(line, sizeof line), 0) == PIPE_BUF ? 0 : 1;
	return os_error_stream_write(str_slice(line, 10), 0) == 10 ? 0 : 1;
}

/* So long, and not longer. */
static int live_with_full_stream(enum kind kind)
{
	int reader = open_stream(kind);
	struct timespec begin, end;
	ssize_t count;

	(void)reader;
	os_error_stream_open();
	if (kind == STREAM_FILE || kind == SOCKET)
		return 0;
	do
		count = os_error_stream_write(str_slice(lines, LINE), 0);
	while (count > 0);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	if (count != -EAGAIN || os_error_stream_write(str_slice(lines, LINE), 30) != -EAGAIN)
		return 1;
	clock_gettime(CLOCK_MONOTONIC, &end);
	return (end.tv_sec - begin.tv_sec) * 1000 + (end.tv_nsec - begin.tv_nsec) / 1000000 >= 29
		       ? 0
		       : 2;
}

/* It was another kind before. */
static int live_with_another(enum kind kind)
{
	for (int before = 0; before < KINDS; before++) {
		(void)open_stream((enum kind)before);
		os_error_stream_open();
	}
	signal(SIGPIPE, SIG_DFL);
	return live_without_reader(kind);
}

static int live_with_journal(enum kind kind)
{
	struct stat status;
	char stream[60];
	int reader = open_stream(kind);

	(void)reader;
	if (fstat(STDERR_FILENO, &status) != 0)
		return 1;
	unsetenv("JOURNAL_STREAM");
	if (os_error_stream_is_journal())
		return 2;
	for (unsigned change = 0; change < 4; change++) {
		snprintf(stream, sizeof stream, change == 3 ? "%llu" : "%llu:%llu",
			 (unsigned long long)status.st_dev + (change == 1),
			 (unsigned long long)status.st_ino + (change == 2));
		setenv("JOURNAL_STREAM", stream, 1);
		if (os_error_stream_is_journal() != (change == 0))
			return 3 + (int)change;
	}
	setenv("JOURNAL_STREAM", "x:y", 1);
	return os_error_stream_is_journal() ? 7 : 0;
}

static void each_kind_of_stream(void **state)
{
	static int (*const lives[])(enum kind kind) = {live_with_reader,    live_without_reader,
						       live_with_long_line, live_with_full_stream,
						       live_with_another,   live_with_journal};

	(void)state;
	for (size_t i = 0; i < LINES; i++) {
		memset(lines + i * LINE, 'a' + (int)(i % 26), LINE);
		lines[(i + 1) * LINE - 1] = '\n';
	}
	for (size_t life = 0; life < COUNT_OF(lives); life++)
		for (int kind = 0; kind < KINDS; kind++) {
			pid_t pid = fork();
			int status;

			if (pid == 0)
				_exit(lives[life]((enum kind)kind));
			assert_int_equal(waitpid(pid, &status, 0), pid);
			if (status != 0)
				fail_msg("life %zu of kind %d: %x", life, kind, (unsigned)status);
		}
}

static int set_up(void **state)
{
	(void)state;
	alarm(60);
	return scratch_make(directory) == 0 ? chdir(directory) : -1;
}

static int tear_down(void **state)
{
	(void)state;
	return chdir("/") == 0 ? scratch_remove(directory) : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_kind_of_stream, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
