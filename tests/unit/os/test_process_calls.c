// SPDX-License-Identifier: ISC
/* What functions on processes do: each step of a child; its exit status is the step that failed. */
#include "base/buffer.h"
#include "os/process/process.h"
#include "os/process/program.h"
#include "test.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct os_process_user same = {0};

static int status_of(pid_t pid)
{
	int status = -1;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void check_child(int (*live)(unsigned number), unsigned number)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(live(number));
	assert_int_equal(status_of(pid), 0);
}

static bool is_open(int descriptor)
{
	return fcntl(descriptor, F_GETFD) >= 0;
}

/* --- descriptors --- */

static int live_with_descriptors(unsigned kept)
{
	for (int number = 0; number < 10; number++)
		if (!is_open(number) && dup2(open("/dev/null", O_RDWR), number) < 0)
			return 1;
	os_process_close_inherited(kept);
	for (int number = 0; number < 10; number++)
		if (is_open(number) != (number <= 2 + (int)kept))
			return 2 + number;
	return 0;
}

static int live_with_kept_descriptors(unsigned number)
{
	(void)number;
	for (int i = 0; i < 10; i++)
		if (dup2(open("/dev/null", O_RDWR), i) < 0 || fcntl(i, F_SETFD, 0) < 0)
			return 1;
	os_process_keep_inherited();
	for (int i = 0; i < 10; i++)
		if (fcntl(i, F_GETFD) != (i > 2 ? FD_CLOEXEC : 0))
			return 2 + i;
	return 0;
}

static int live_with_limits(unsigned number)
{
	struct rlimit limit = {100, 200}, memory;

	(void)number;
	if (setrlimit(RLIMIT_NOFILE, &limit) != 0 || os_process_descriptor_limit() != 100)
		return 1;
	os_process_raise_descriptor_limit();
	if (os_process_descriptor_limit() != 200 || getrlimit(RLIMIT_NOFILE, &limit) != 0 ||
	    limit.rlim_max != 200)
		return 2;
#ifndef __SANITIZE_ADDRESS__
	if (getrlimit(RLIMIT_DATA, &memory) != 0 || memory.rlim_cur != RLIM_INFINITY)
		return 3;
	os_process_limit_memory(1 << 30);
	if (getrlimit(RLIMIT_DATA, &memory) != 0 || memory.rlim_cur != 1 << 30)
		return 4;
	os_process_limit_memory(1U << 31); /* it is never raised */
	if (getrlimit(RLIMIT_DATA, &memory) != 0 || memory.rlim_cur != 1 << 30)
		return 5;
	os_process_limit_memory(1 << 29);
	if (getrlimit(RLIMIT_DATA, &memory) != 0 || memory.rlim_cur != 1 << 29)
		return 6;
#else
	(void)memory;
#endif
	return 0;
}

static void descriptors_and_limits(void **state)
{
	(void)state;
	for (unsigned kept = 0; kept < 5; kept++)
		check_child(live_with_descriptors, kept);
	check_child(live_with_kept_descriptors, 0);
	check_child(live_with_limits, 0);
}

/* --- signals, masks, groups --- */

static int live_with_signals(unsigned number)
{
	static const int stops[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction action;

	(void)number;
	os_process_ignore_pipe_signal();
	if (sigaction(SIGPIPE, NULL, &action) != 0 || action.sa_handler != SIG_IGN)
		return 1;
	os_process_ignore_size_signal();
	if (sigaction(SIGXFSZ, NULL, &action) != 0 || action.sa_handler != SIG_IGN)
		return 2;
	if (sigaction(SIGTERM, NULL, &action) != 0 || action.sa_handler != SIG_DFL)
		return 3;
	os_process_ignore_stop_signals();
	for (size_t i = 0; i < COUNT_OF(stops); i++)
		if (sigaction(stops[i], NULL, &action) != 0 || action.sa_handler != SIG_IGN)
			return 4;
	os_process_own_mask();
	if (umask(022) != 0)
		return 5;
	os_process_private_mask();
	if (umask(022) != 077)
		return 6;
	return 0;
}

static int live_as_leader(unsigned number)
{
	char name[20] = "";
	pid_t child;
	int status;

	(void)number;
	os_process_lead_group();
	if (getpgrp() != getpid() || os_process_id() != getpid())
		return 1;
	os_process_set_name("/a/path/of-process");
	if (prctl(PR_GET_NAME, name) != 0 || strcmp(name, "of-process") != 0)
		return 2;
	os_process_set_name("alone");
	if (prctl(PR_GET_NAME, name) != 0 || strcmp(name, "alone") != 0)
		return 3;
	if (prctl(PR_SET_DUMPABLE, 1) != 0)
		return 4;
	os_process_hide_memory();
	if (prctl(PR_GET_DUMPABLE) != 0)
		return 5;
	if (os_process_effective_user() != geteuid() || os_process_effective_group() != getegid() ||
	    os_process_is_root() != (geteuid() == 0) || os_process_is_privileged())
		return 6;
	child = fork();
	if (child == 0) {
		pause();
		_exit(0);
	}
	os_process_kill(0, SIGKILL); /* nobody */
	os_process_kill(-1, SIGKILL);
	os_process_kill(child, SIGUSR1);
	if (waitpid(child, &status, 0) != child || !WIFSIGNALED(status) ||
	    WTERMSIG(status) != SIGUSR1)
		return 7;
	return 0;
}

static void signals_and_groups(void **state)
{
	(void)state;
	check_child(live_with_signals, 0);
	check_child(live_as_leader, 0);
}

static int live_and_kill_group(unsigned number)
{
	int status;
	pid_t leader = fork();

	(void)number;
	if (leader == 0) {
		setpgid(0, 0);
		pause();
		_exit(0);
	}
	while (getpgid(leader) != leader)
		;
	os_process_kill_group(0); /* nobody: not our own, not all */
	os_process_kill_group(1);
	os_process_kill_group(leader);
	return waitpid(leader, &status, 0) == leader && WIFSIGNALED(status) &&
			       WTERMSIG(status) == SIGKILL
		       ? 0
		       : 1;
}

static int live_too_long(unsigned status)
{
	if (os_process_limit_time(1, (int)status) != 0)
		return 1;
	for (;;)
		pause();
}

static void groups_and_time_end(void **state)
{
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(live_too_long(75));
	check_child(live_and_kill_group, 0);
	assert_int_equal(status_of(pid), 75 << 8);
	pid = fork();
	if (pid == 0)
		os_process_quit(76);
	assert_int_equal(status_of(pid), 76 << 8);
}

/* --- programs --- */

/* Above those that the program is given. */
static int lowest_unused(void)
{
	int number = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 4);

	close(number);
	return number;
}

/* The script checks what it was given. */
static void a_process_is_started(void **state)
{
	static const char script[] =
		"test \"$(readlink /proc/$$/fd/0)\" = /dev/null || exit 11\n"
		"test -S /proc/$$/fd/3 || exit 12\n"
		"test ! -e /proc/$$/fd/50 || exit 13\n"
		"test \"$(grep SigBlk /proc/$$/status | tr -d '[:space:]')\" = "
		"SigBlk:0000000000000000 || exit 14\n"
		"test ! -e /proc/$$/fd/$3 || exit 17\n"
		"test \"$1\" = argument || exit 15\n"
		"grep -q \"NoNewPrivs:[[:space:]]*$2\" /proc/$$/status || exit 16\n"
		"echo out; echo err >&2\n";
	int opened = os_process_open_program("/bin/sh"),
	    program = fcntl(opened, F_DUPFD_CLOEXEC, 70);

	(void)state;
	assert_true(program >= 70);
	close(opened);
	for (unsigned way = 0; way < 16; way++) {
		bool may_gain = (way & 1) != 0, is_opened = (way & 2) != 0;
		bool is_at_3 = way / 4 == 1, has_program_at_3 = way / 4 == 2,
		     has_output_at_3 = way / 4 == 3;
		char unused[12];
		const char *const words[] = {
			"sh", "-c", script, "sh", "argument", may_gain ? "0" : "1", unused, NULL};
		struct os_process_user user = {.may_gain = may_gain};
		int control[2], output[2], saved = is_open(3) ? fcntl(3, F_DUPFD_CLOEXEC, 60) : -1;
		char said[100] = "";
		sigset_t all, before;
		size_t length = 0;
		ssize_t count;
		pid_t pid;

		assert_int_equal(os_process_socket_pair(control), 0);
		assert_int_equal(os_process_pipe(4096, output), 0);
		if (is_at_3)
			assert_int_equal(dup3(control[1], 3, O_CLOEXEC), 3);
		if (has_program_at_3)
			assert_int_equal(dup3(program, 3, O_CLOEXEC), 3);
		if (has_output_at_3)
			assert_int_equal(dup3(output[1], 3, O_CLOEXEC), 3);
		snprintf(unused, sizeof unused, "%d", lowest_unused());
		sigfillset(&all);
		assert_int_equal(sigprocmask(SIG_SETMASK, &all, &before), 0);
		pid = os_process_start(is_opened ? "/none" : "/bin/sh",
				       is_opened ? has_program_at_3 ? 3 : program : -1, words,
				       &user, is_at_3 ? 3 : control[1],
				       has_output_at_3 ? 3 : output[1]);
		assert_int_equal(sigprocmask(SIG_SETMASK, &before, NULL), 0);
		assert_true(pid > 0);
		if (saved >= 0)
			assert_int_equal(dup3(saved, 3, O_CLOEXEC), 3);
		else if (way > 3)
			close(3);
		if (saved >= 0)
			close(saved);
		assert_int_equal(status_of(pid), 0);
		while ((count = read(output[0], said + length, sizeof said - 1 - length)) > 0)
			length += (size_t)count;
		assert_string_equal(said, "out\nerr\n");
		close(control[0]);
		close(control[1]);
		close(output[0]);
		close(output[1]);
	}
	close(program);
	{
		static const char *const words[] = {"none", NULL};
		pid_t pid = os_process_start("/none", -1, words, &same, 0, -1);

		assert_int_equal(status_of(pid), 127 << 8);
	}
}

static size_t read_all(int input, char *text, size_t size)
{
	size_t length = 0;

	for (;;) {
		struct pollfd one = {.fd = input, .events = POLLIN};
		ssize_t count;

		assert_int_equal(poll(&one, 1, 30000), 1);
		count = read(input, text + length, size - 1 - length);
		if (count <= 0)
			break;
		length += (size_t)count;
	}
	text[length] = '\0';
	return length;
}

static void a_program_is_run(void **state)
{
	static const char script[] = "read line; echo $line; pwd; umask; echo $VALUE; ulimit -n;"
				     "test -e /proc/$$/fd/50 && echo descriptor;"
				     "test $(cut -d' ' -f6 /proc/$$/stat) = $$ && echo session;"
				     "kill -PIPE $$; echo not here";
	static const char *const words[] = {"/bin/sh", "-c", script, NULL},
				 *const none[] = {"/none", NULL},
				 *const environment[] = {"VALUE=value", "PATH=/bin:/usr/bin", NULL};
	struct os_program program;
	char said[200];
	int status = -1, left = open("/dev/null", O_RDONLY);

	(void)state;
	assert_int_equal(dup2(left, 50), 50);
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(os_program_start(words, environment, &same, &program), 0);
	assert_true((fcntl(program.input, F_GETFL) & O_NONBLOCK) != 0);
	assert_true((fcntl(program.output, F_GETFL) & O_NONBLOCK) != 0);
	assert_int_equal(fcntl(program.ended, F_GETFD), FD_CLOEXEC);
	assert_false(os_program_has_ended(&program, false, &status));
	assert_int_equal(write(program.input, "line\n", 5), 5);
	os_program_close_input(&program);
	assert_int_equal(program.input, -1);
	read_all(program.output, said, sizeof said);
	assert_string_equal(said, "line\n/\n0077\nvalue\n1024\nsession\n");
	os_program_close_output(&program);
	assert_int_equal(program.output, -1);
	{
		struct pollfd ended = {.fd = program.ended, .events = POLLIN};

		assert_int_equal(poll(&ended, 1, 30000), 1);
	}
	assert_true(os_program_has_ended(&program, false, &status));
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE);
	os_program_close(&program);
	assert_int_equal(program.ended, -1);
	os_program_close(&program);
	/* one that is none */
	assert_int_equal(os_program_start(none, environment, &same, &program), 0);
	read_all(program.output, said, sizeof said);
	assert_string_equal(said, strerror(ENOENT));
	assert_true(os_program_has_ended(&program, true, &status));
	assert_int_equal(status, 127 << 8);
	os_program_close(&program);
	signal(SIGPIPE, SIG_DFL);
	close(50);
	close(left);
}

/* With all that it has started. */
static void a_program_is_killed(void **state)
{
	static const char *const words[] = {"/bin/sh", "-c", "sleep 60 & echo begun; wait", NULL},
				 *const environment[] = {"PATH=/bin:/usr/bin", NULL};
	struct os_program program;
	char said[20];
	int status;

	(void)state;
	assert_int_equal(os_program_start(words, environment, &same, &program), 0);
	{
		struct pollfd one = {.fd = program.output, .events = POLLIN};

		assert_int_equal(poll(&one, 1, 30000), 1);
		assert_int_equal(read(program.output, said, sizeof said), 6);
	}
	os_program_kill(&program);
	assert_int_equal(read_all(program.output, said, sizeof said), 0); /* nobody has it open */
	assert_true(os_program_has_ended(&program, true, &status));
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	os_program_close(&program);
}

/* --- texts, places, statuses --- */

static void texts_are_shared(void **state)
{
	static char text[200000];

	(void)state;
	for (size_t i = 0; i < sizeof text; i++)
		text[i] = (char)(i * 13);
	for (size_t length = 0; length <= sizeof text; length = length * 3 + 1) {
		int shared = os_process_share_text(str_slice(text, length));
		struct buffer out = {0};

		assert_true(shared >= 0);
		assert_int_equal(write(shared, "x", 1), -1);
		assert_int_equal(ftruncate(shared, (off_t)length + 1), -1);
		buffer_append_string(&out, "as before");
		assert_int_equal(os_process_read_text(shared, length, &out), 0);
		assert_int_equal(out.length, 9 + length);
		assert_memory_equal(buffer_data(&out) + 9, text, length);
		if (length > 0)
			assert_int_equal(os_process_read_text(shared, length - 1, &out), -EFBIG);
		buffer_clear(&out);
		close(shared);
	}
}

/* The first digits of what the kernel says, without what divides them. */
static void check_boot(const char *boot)
{
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
	char text[60] = "", digits[60] = "";
	size_t used = 0;

	assert_non_null(file);
	assert_non_null(fgets(text, sizeof text, file));
	fclose(file);
	for (size_t i = 0; i < strlen(text); i++)
		if (strchr("0123456789abcdef", text[i]) != NULL)
			digits[used++] = text[i];
	digits[OS_BOOT_SIZE - 1] = '\0';
	assert_string_equal(boot, digits);
}

static void places_and_statuses(void **state)
{
	char path[OS_PROCESS_PATH_SIZE], expected[OS_PROCESS_PATH_SIZE], text[20];
	char boot[OS_BOOT_SIZE], again[OS_BOOT_SIZE], name[65], cut[3];
	ssize_t length = readlink("/proc/self/exe", expected, sizeof expected - 1);
	uid_t owner = 99;

	(void)state;
	assert_true(length > 0);
	expected[length] = '\0';
	*strrchr(expected, '/') = '\0';
	assert_int_equal(os_process_own_directory(path), 0);
	assert_string_equal(path, expected);
	assert_int_equal(os_process_directory(path), 0);
	assert_non_null(getcwd(expected, sizeof expected));
	assert_string_equal(path, expected);
	os_process_status_format(3 << 8, text, sizeof text);
	assert_string_equal(text, "exit 3");
	os_process_status_format(9, text, sizeof text);
	assert_string_equal(text, "signal 9");
	os_boot(boot);
	os_boot(again);
	assert_string_equal(boot, again);
	check_boot(boot);
	assert_int_equal(os_host_name(name, sizeof name), 0);
	assert_int_equal(gethostname(expected, sizeof expected), 0);
	assert_string_equal(name, expected);
	{
		int result = os_host_name(cut, sizeof cut);

		assert_true(result == -ENAMETOOLONG || strlen(cut) <= 2);
	}
	assert_int_equal(os_process_owner_of("/", &owner), 0);
	assert_int_equal(owner, 0);
	assert_int_equal(os_process_owns("/"), geteuid() == 0);
	assert_int_equal(os_process_owns("/none"), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(descriptors_and_limits), cmocka_unit_test(signals_and_groups),
		cmocka_unit_test(groups_and_time_end),    cmocka_unit_test(a_process_is_started),
		cmocka_unit_test(a_program_is_run),       cmocka_unit_test(a_program_is_killed),
		cmocka_unit_test(texts_are_shared),       cmocka_unit_test(places_and_statuses),
	};

	alarm(60);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
